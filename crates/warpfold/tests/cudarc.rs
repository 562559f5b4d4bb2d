//! Memory of cudarc on a GPU, reduced in place and as output: the results, the order of the work of
//! both libraries, and the calls that are refused.
//!
//! Without a GPU cudarc has no memory, and all of it is skipped.

mod support;

use std::{ptr, sync::Arc};

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr as _,
    sys::{self, CUcontext, CUdevice, CUgraphInstantiate_flags, CUstreamCaptureMode},
};
use support::devices;
use warpfold::{
    Buffer, Device, DeviceError, Dot, Error, Item, RawSlice, Stream, Sum, device::DeviceKind,
    testing::Faults,
};

/// `cuCtxCreate_v2`, which cudarc lacks for some versions of CUDA.
type CreateContext = unsafe extern "C" fn(*mut CUcontext, u32, CUdevice) -> u32;

/// 64 MiB of `u32`: a copy takes the GPU a while.
const MANY: usize = 1 << 24;

/// The GPU to test on.
fn gpu() -> Option<Device> {
    devices().into_iter().find(|device| device.info().kind == DeviceKind::Cuda)
}

fn context(device: &Device) -> Arc<CudaContext> {
    CudaContext::new(device.info().ordinal.unwrap() as usize).unwrap()
}

/// cudarc's default stream, and one of its own, which no other stream waits for.
fn streams(device: &Device) -> [Arc<CudaStream>; 2] {
    let context = context(device);
    [context.default_stream(), context.new_stream().unwrap()]
}

fn floats(len: usize) -> Vec<f32> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e5).collect()
}

/// The address that cudarc gives the elements.
fn raw<T: Item>(slice: &CudaSlice<T>, start: usize, len: usize) -> RawSlice<T> {
    let (address, _read) = slice.device_ptr(slice.stream());
    slice.stream().synchronize().unwrap();
    // SAFETY: the slice outlives what the tests do with this, and its stream has written all of it.
    unsafe { RawSlice::new(address + (start * size_of::<T>()) as u64, len) }
}

/// Gives a stream of cudarc's enough work for those that do not wait to come first.
fn keep_busy(stream: &Arc<CudaStream>, from: &CudaSlice<u32>, to: &mut CudaSlice<u32>) {
    for _ in 0..20 {
        stream.memcpy_dtod(from, to).unwrap();
    }
}

/// The same for a stream of ours.
fn keep_ours_busy(stream: &Stream, from: &Buffer<u32>, to: &mut Buffer<u32>) {
    for _ in 0..20 {
        stream.copy(from, &mut *to).unwrap();
    }
}

#[test]
fn slices_and_views_are_summed_from_any_start() {
    let Some(device) = gpu() else { return };
    let values = floats(100_003);
    for theirs in streams(&device) {
        let slice = theirs.clone_htod(&values).unwrap();
        let whole = device.reduce(&slice, Sum).unwrap();
        assert_eq!(
            whole.to_bits(),
            device.reduce(raw(&slice, 0, values.len()), Sum).unwrap().to_bits()
        );
        // The bits of a sum of floats depend on the address of its first element, so the sum at the
        // same address is the reference.
        for start in (0..40).chain([99_999, 100_002, 100_003]) {
            let len = values.len() - start;
            let view = slice.slice(start..);
            let expected = device.reduce(raw(&slice, start, len), Sum).unwrap().to_bits();
            assert_eq!(device.reduce(&view, Sum).unwrap().to_bits(), expected, "from {start}");
            assert_eq!(device.reduce(view, Sum).unwrap().to_bits(), expected, "from {start}");
        }
        let bytes = theirs.clone_htod(&[255u8; 1001]).unwrap();
        assert_eq!(device.reduce(bytes.slice(1..1000), Sum).unwrap(), 999 * 255);
        assert_eq!(device.reduce(bytes.slice(5..5), Sum).unwrap(), 0);
    }
}

#[test]
fn pairs_may_be_of_two_streams_and_of_two_libraries() {
    let Some(device) = gpu() else { return };
    let [first, second] = streams(&device);
    let (x, y) = (vec![2i32; 1000], (0..1000).collect::<Vec<i32>>());
    let (a, b) = (first.clone_htod(&x).unwrap(), second.clone_htod(&y).unwrap());
    let ours = device.upload(&y).unwrap();
    let expected = 999 * 1000;
    assert_eq!(device.reduce((&a, &b), Dot).unwrap(), expected);
    assert_eq!(device.reduce((&a, &ours), Dot).unwrap(), expected);
    assert_eq!(device.reduce((&y, &a), Dot).unwrap(), expected);
    let uneven = device.reduce((&a, b.slice(1..)), Dot).unwrap_err();
    assert!(matches!(uneven, Error::Lengths { first: 1000, second: 999 }), "{uneven}");
}

/// The plan lets the next allocation and the next copy fail. Both are still to come after the
/// reduction, because the reduction allocates and copies nothing.
#[test]
fn nothing_is_copied_or_allocated() {
    let Some(device) = gpu() else { return };
    let theirs = context(&device).new_stream().unwrap();
    let slice = theirs.clone_htod(&vec![1u32; MANY]).unwrap();
    // Before the reduction, the reducer and the stream each allocate and zero a workspace, and two
    // outputs are allocated.
    let device = device.with_faults(Faults::none().alloc(4).copy(2)).unwrap();
    let sum = device.reducer::<u32, _>(Sum).unwrap();
    let stream = device.stream().unwrap();
    let mut output = device.alloc(1).unwrap();
    let pending = sum.reduce_into(&slice, &mut output, &stream).unwrap();
    assert!(
        matches!(device.alloc::<u32>(1), Err(DeviceError::OutOfMemory { .. })),
        "the plan's allocation"
    );
    output.copy_to_host().unwrap_err();
    assert_eq!(pending.finish(output.copy_to_host().unwrap()[0]).unwrap(), MANY as u64);
}

#[test]
fn a_reduction_waits_for_the_streams_that_wrote() {
    let Some(device) = gpu() else { return };
    for theirs in streams(&device) {
        let other = theirs.context().new_stream().unwrap();
        let zeros = theirs.alloc_zeros::<u32>(MANY).unwrap();
        let ones = theirs.clone_htod(&vec![1u32; MANY]).unwrap();
        let mut slice = theirs.alloc_zeros::<u32>(MANY).unwrap();
        let stream = device.stream().unwrap();
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        let mut output = device.alloc(1).unwrap();
        for writer in [&theirs, &other] {
            for _ in 0..3 {
                keep_busy(writer, &zeros, &mut slice);
                writer.memcpy_dtod(&ones, &mut slice).unwrap();
                assert_eq!(device.reduce(&slice, Sum).unwrap(), MANY as u64);
                keep_busy(writer, &ones, &mut slice);
                writer.memset_zeros(&mut slice).unwrap();
                sum.reduce_into(slice.slice(1..), &mut output, &stream).unwrap();
                assert_eq!(output.copy_to_host().unwrap(), [0]);
            }
        }
    }
}

#[test]
fn what_cudarc_does_next_waits_for_the_reduction() {
    let Some(device) = gpu() else { return };
    let ours = device.upload(&vec![7u32; MANY]).unwrap();
    let mut copy = device.alloc::<u32>(MANY).unwrap();
    let stream = device.stream().unwrap();
    let sum = device.reducer::<u32, _>(Sum).unwrap();
    let mut output = device.alloc(1).unwrap();
    for theirs in streams(&device) {
        let other = theirs.context().new_stream().unwrap();
        for writer in [&theirs, &other] {
            let mut slice = theirs.clone_htod(&vec![1u32; MANY]).unwrap();
            keep_ours_busy(&stream, &ours, &mut copy);
            let pending = sum.reduce_into(&slice, &mut output, &stream).unwrap();
            writer.memset_zeros(&mut slice).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(
                pending.finish(output.copy_to_host().unwrap()[0]).unwrap(),
                MANY as u64,
                "overwritten"
            );
        }
        let slice = theirs.clone_htod(&vec![1u32; MANY]).unwrap();
        keep_ours_busy(&stream, &ours, &mut copy);
        let pending = sum.reduce_into(&slice, &mut output, &stream).unwrap();
        drop(slice);
        // Most likely the same memory again.
        let again = theirs.alloc_zeros::<u32>(MANY).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(
            pending.finish(output.copy_to_host().unwrap()[0]).unwrap(),
            MANY as u64,
            "freed"
        );
        drop(again);
    }
}

/// No call of this test lets the host wait, but the copies of cudarc that read the results.
#[test]
fn results_go_into_memory_of_cudarc_in_order() {
    let Some(device) = gpu() else { return };
    let ones = device.upload(&vec![1u32; MANY]).unwrap();
    let mut copy = device.alloc::<u32>(MANY).unwrap();
    let stream = device.stream().unwrap();
    let sum = device.reducer::<u32, _>(Sum).unwrap();
    for theirs in streams(&device) {
        let other = theirs.context().new_stream().unwrap();
        let (from, mut to) =
            (theirs.alloc_zeros(MANY).unwrap(), theirs.alloc_zeros::<u32>(MANY).unwrap());
        let mut results = theirs.alloc_zeros::<u64>(5).unwrap();
        for writer in [&theirs, &other] {
            // What cudarc was given before comes first: this zeroes the results late.
            keep_busy(writer, &from, &mut to);
            writer.memset_zeros(&mut results).unwrap();
            sum.reduce_into(&ones, results.slice_mut(1..2), &stream).unwrap();
            sum.reduce_into(&ones, &mut results.slice_mut(4..), &stream).unwrap();
            // What cudarc is given afterwards comes later: this result is late.
            keep_ours_busy(&stream, &ones, &mut copy);
            let pending =
                sum.reduce_into(ones.view(1..), results.slice_mut(3..4), &stream).unwrap();
            let all = writer.clone_dtoh(&results).unwrap();
            assert_eq!(all, [0, MANY as u64, 0, MANY as u64 - 1, MANY as u64]);
            assert_eq!(pending.finish(all[3]).unwrap(), MANY as u64 - 1);
        }
        // Input and output of cudarc, and its stream: nothing of ours is in between.
        let input = theirs.clone_htod(&[5u32, 6, 7]).unwrap();
        let mut result = theirs.alloc_zeros::<u64>(1).unwrap();
        let adopted = device.adopt_cudarc_stream(&theirs).unwrap();
        for stream in [&adopted, &stream] {
            theirs.memset_zeros(&mut result).unwrap();
            sum.reduce_into(&input, &mut result, stream).unwrap();
            assert_eq!(theirs.clone_dtoh(&result).unwrap(), [18]);
        }
    }
}

#[test]
fn outputs_of_cudarc_that_do_not_fit_are_refused() {
    let Some(device) = gpu() else { return };
    let theirs = context(&device).new_stream().unwrap();
    let input = device.upload(&[5u32, 6, 7]).unwrap();
    let mut results = theirs.clone_htod(&[1u64, 2]).unwrap();
    let stream = device.stream().unwrap();
    let sum = device.reducer::<u32, _>(Sum).unwrap();
    let refused = sum.reduce_into(&input, &mut results, &stream).unwrap_err();
    assert!(matches!(refused, Error::Output { len: 2 }), "{refused}");
    let refused = device
        .capture(|stream| sum.reduce_into(&input, results.slice_mut(..1), stream))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot reduce into memory of cudarc while a graph is captured: that would happen once, and not in each replay"
    );
    theirs.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    let refused = sum.reduce_into(&input, results.slice_mut(..1), &stream).unwrap_err();
    assert!(matches!(refused, Error::Device(DeviceError::Capturing { .. })), "{refused}");
    drop(theirs.end_capture(CUgraphInstantiate_flags(0)));

    let simulator = Device::simulator();
    let input = simulator.upload(&[5u32, 6, 7]).unwrap();
    let (sum, stream) = (simulator.reducer::<u32, _>(Sum).unwrap(), simulator.stream().unwrap());
    let refused = sum.reduce_into(&input, results.slice_mut(..1), &stream).unwrap_err();
    assert!(matches!(refused, Error::Device(DeviceError::OtherDevice("memory"))), "{refused}");
    assert_eq!(theirs.clone_dtoh(&results).unwrap(), [1, 2]);
}

#[test]
fn an_adopted_stream_works_in_order_and_is_kept() {
    let Some(device) = gpu() else { return };
    for theirs in streams(&device) {
        let ones = theirs.clone_htod(&vec![1u32; MANY]).unwrap();
        let zeros = theirs.alloc_zeros::<u32>(MANY).unwrap();
        let mut slice = theirs.alloc_zeros::<u32>(MANY).unwrap();
        let stream = device.adopt_cudarc_stream(&theirs).unwrap();
        assert_eq!(stream.raw(), Some(theirs.cu_stream().cast()));
        let mut outputs = device.alloc(2).unwrap();
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        keep_busy(&theirs, &zeros, &mut slice);
        theirs.memcpy_dtod(&ones, &mut slice).unwrap();
        sum.reduce_into(&slice, outputs.view_mut(..1), &stream).unwrap();
        theirs.memset_zeros(&mut slice).unwrap();
        sum.reduce_into(&slice, outputs.view_mut(1..), &stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(outputs.copy_to_host().unwrap(), [MANY as u64, 0]);

        // Without cudarc's own handles the stream lives on.
        drop((ones, zeros, slice));
        let weak = Arc::downgrade(&theirs);
        drop(theirs);
        let mut buffer = device.alloc::<u8>(3).unwrap();
        stream.fill_bytes(&mut buffer, 7).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(buffer.copy_to_host().unwrap(), [7; 3]);
        assert!(weak.upgrade().is_some());
        drop(stream);
        assert!(weak.upgrade().is_none());
    }
}

#[test]
fn our_captures_refuse_what_cudarc_holds() {
    let Some(device) = gpu() else { return };
    for theirs in streams(&device) {
        let slice = theirs.clone_htod(&[1u32, 2]).unwrap();
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        let mut output = device.alloc(1).unwrap();
        let refused =
            device.capture(|stream| sum.reduce_into(&slice, &mut output, stream)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot reduce memory of cudarc while a graph is captured: that would happen once, and not in each replay"
        );
        assert_eq!(device.reduce(&slice, Sum).unwrap(), 3);
    }
}

#[test]
fn captures_of_cudarc_refuse_our_work() {
    let Some(device) = gpu() else { return };
    let theirs = context(&device).new_stream().unwrap();
    let slice = theirs.clone_htod(&[1u32, 2]).unwrap();
    let buffer = device.upload(&[1u32, 2]).unwrap();
    let mut copy = device.alloc::<u32>(2).unwrap();
    let mut output = device.alloc(1).unwrap();
    let sum = device.reducer::<u32, _>(Sum).unwrap();
    let stream = device.adopt_cudarc_stream(&theirs).unwrap();
    stream.synchronize().unwrap();

    theirs.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    let capturing = |refused: Result<(), Error>| {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Device(DeviceError::Capturing { .. })), "{refused}");
    };
    capturing(device.reduce(&slice, Sum).map(drop));
    capturing(sum.reduce_into(&slice, &mut output, &stream).map(drop));
    capturing(sum.reduce_into(&buffer, &mut output, &stream).map(drop));
    capturing(stream.copy(&buffer, &mut copy).map_err(Error::from));
    capturing(stream.fill_bytes(&mut copy, 1).map_err(Error::from));
    capturing(stream.synchronize().map_err(Error::from));
    capturing(device.adopt_cudarc_stream(&theirs).map(drop).map_err(Error::from));
    // A call that was refused is no part of the graph. cudarc orders memory by events, and these
    // may have made the capture invalid.
    drop(theirs.end_capture(CUgraphInstantiate_flags(0)));

    assert_eq!(device.reduce(&slice, Sum).unwrap(), 3);
    sum.reduce_into(&buffer, &mut output, &stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(output.copy_to_host().unwrap(), [3]);
}

#[test]
fn a_stream_of_each_thread_is_refused() {
    let Some(device) = gpu() else { return };
    let theirs = context(&device).per_thread_stream();
    let slice = theirs.clone_htod(&[1u32, 2]).unwrap();
    let refused = device.reduce(&slice, Sum).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot reduce memory of cudarc: a per-thread stream is another one in each thread"
    );
    let refused = device.adopt_cudarc_stream(&theirs).unwrap_err();
    assert!(matches!(refused, DeviceError::PerThread { .. }), "{refused}");
}

#[test]
fn other_devices_and_contexts_are_refused() {
    let Some(device) = gpu() else { return };
    let refuse = |device: &Device, theirs: &Arc<CudaStream>| {
        let slice = theirs.clone_htod(&[1u32, 2]).unwrap();
        let refused = device.reduce(&slice, Sum).unwrap_err();
        assert_eq!(refused.to_string(), "this memory belongs to another device");
        device.adopt_cudarc_stream(theirs).unwrap_err()
    };

    let theirs = context(&device).new_stream().unwrap();
    let refused = refuse(&Device::simulator(), &theirs);
    assert_eq!(
        refused.to_string(),
        "cannot adopt a stream of cudarc: this device is the simulator"
    );

    // A context of the same GPU that is not its primary one.
    let gpu = context(&device);
    let mut raw = ptr::null_mut();
    // SAFETY: the signature is that of cuda.h, and the pointer is to a live variable. The context
    // is given to cudarc, which destroys it.
    let apart = unsafe {
        let create = sys::culib().get::<CreateContext>(b"cuCtxCreate_v2\0").unwrap();
        assert_eq!(create(&raw mut raw, 0, gpu.cu_device()), 0);
        CudaContext::from_raw_context(gpu.ordinal(), gpu.cu_device(), raw).unwrap()
    };
    for theirs in [apart.default_stream(), apart.new_stream().unwrap()] {
        assert_eq!(refuse(&device, &theirs).to_string(), "this stream belongs to another device");
    }
    drop(apart);

    if let Some(other) =
        Device::all().unwrap().iter().find(|other| other.info().ordinal != device.info().ordinal)
    {
        let theirs = context(other).new_stream().unwrap();
        assert_eq!(refuse(&device, &theirs).to_string(), "this stream belongs to another device");
    }
    assert_eq!(device.reduce(&theirs.clone_htod(&[1u32, 2]).unwrap(), Sum).unwrap(), 3);
}
