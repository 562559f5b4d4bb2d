//! The device interface, on every available device: both backends keep the same promises.

mod faults;
mod graphs;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod views;

use std::time::Duration;

use support::{Launch, devices};
use warpfold::device::{
    Arg, Buffer, Device, DeviceError, DeviceKind, Event, Graph, Kernel, LaunchShape, Module,
    PinnedBuffer, RawSlice, Stream, View, ViewMut, WORKSPACE_BYTES,
};

/// Five kernels. `add` computes `data[i] += value` for `i` below `n`. `nothing` has no parameters
/// and does nothing. `find` sets `found = 1` if one of the `n` words from `data` on is not 0.
/// `spoil` writes a word at `data` and then one outside of all allocations. `keep` has 32 KiB of
/// static shared memory, and writes a word there and to `data`.
const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64

.visible .entry add(.param .u64 data, .param .u32 value, .param .u64 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;

    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u32 %r1, [value];
    ld.param.u64 %rd2, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r2, %r2, %r3, %r4;
    cvt.u64.u32 %rd3, %r2;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra $done;
    shl.b64 %rd4, %rd3, 2;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r5, [%rd5];
    add.s32 %r5, %r5, %r1;
    st.global.u32 [%rd5], %r5;
$done:
    ret;
}

.visible .entry nothing()
{
    ret;
}

.visible .entry keep(.param .u64 data)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .shared .align 4 .b8 kept[32768];

    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, 7;
    st.shared.u32 [kept], %r1;
    ld.shared.u32 %r1, [kept];
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry find(.param .u64 data, .param .u64 n, .param .u64 found)
{
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<6>;

    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [n];
    ld.param.u64 %rd3, [found];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r1, %r2, %r3;
    cvt.u64.u32 %rd4, %r1;
    setp.ge.u64 %p1, %rd4, %rd2;
    @%p1 bra $done;
    shl.b64 %rd4, %rd4, 2;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r4, [%rd5];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra $done;
    st.global.u32 [%rd3], 1;
$done:
    ret;
}

.visible .entry spoil(.param .u64 data)
{
    .reg .b64 %rd<3>;

    ld.param.u64 %rd1, [data];
    st.global.u32 [%rd1], 1;
    mov.u64 %rd2, 64;
    st.global.u32 [%rd2], 1;
    ret;
}
";

fn kernel(device: &Device, name: &str) -> Kernel {
    device.load("test.ptx", PTX).unwrap().kernel(name).unwrap()
}

fn shape(grid: u32, block: u32) -> LaunchShape {
    LaunchShape::linear(grid, block, 0)
}

/// Whether a workspace contains anything but zeros.
fn is_spoilt(device: &Device, stream: &Stream, workspace: u64) -> bool {
    let words = WORKSPACE_BYTES / 4;
    let found = device.upload(&[0u32]).unwrap();
    let args = [Arg::Pointer(workspace), Arg::U64(words), Arg::Pointer(found.address())];
    stream.start(&kernel(device, "find"), shape(words.div_ceil(256) as u32, 256), &args).unwrap();
    found.copy_to_host().unwrap() == [1]
}

fn add_args(data: &Buffer<u32>, value: u32) -> [Arg; 3] {
    [Arg::Pointer(data.address()), Arg::U32(value), Arg::U64(data.len() as u64)]
}

#[test]
fn any_thread_may_use_anything() {
    fn both<T: Send + Sync + 'static>() {}

    both::<Device>();
    both::<Stream>();
    both::<Event>();
    both::<Graph>();
    both::<Module>();
    both::<Kernel>();
    both::<Buffer<f32>>();
    both::<PinnedBuffer<f32>>();
    both::<RawSlice<f32>>();
    both::<View<'static, f32>>();
    both::<ViewMut<'static, f32>>();
    both::<DeviceError>();
}

#[test]
fn values_go_there_and_back() {
    for device in devices() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3_000_001).collect();
        assert_eq!(device.upload(&bytes).unwrap().copy_to_host().unwrap(), bytes);
        let floats = [f64::MIN_POSITIVE, -0.0, f64::INFINITY, 1.5];
        let copied = device.upload(&floats).unwrap().copy_to_host().unwrap();
        assert!(copied.into_iter().map(f64::to_bits).eq(floats.map(f64::to_bits)));

        let mut buffer = device.alloc::<u32>(5).unwrap();
        assert_eq!((buffer.len(), buffer.is_empty()), (5, false));
        assert_eq!(buffer.address() % 256, 0, "as aligned as any vector load needs");
        buffer.copy_from_host(&[1, 2, 3, 4, 5]).unwrap();
        let mut copy = device.alloc(5).unwrap();
        copy.copy_from(&buffer).unwrap();
        buffer.fill_bytes(0xab).unwrap();
        assert_eq!(buffer.copy_to_host().unwrap(), [0xabab_abab; 5]);
        assert_eq!(copy.copy_to_host().unwrap(), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn copies_larger_than_any_chunk_are_whole() {
    for device in devices() {
        let values: Vec<u32> = (0..3 << 20).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let source = device.upload(&values).unwrap();
        let mut target = device.alloc(values.len()).unwrap();
        target.copy_from(&source).unwrap();
        assert!(target.copy_to_host().unwrap() == values);
        target.fill_bytes(7).unwrap();
        assert!(target.copy_to_host().unwrap().iter().all(|&value| value == 0x0707_0707));
    }
}

#[test]
fn an_empty_buffer_takes_nothing_and_works() {
    for device in devices() {
        let mut empty = device.upload::<i64>(&[]).unwrap();
        let other = device.alloc::<i64>(0).unwrap();
        assert_eq!((empty.len(), empty.address()), (0, 0));
        empty.copy_from(&other).unwrap();
        empty.copy_from_host(&[]).unwrap();
        empty.fill_bytes(1).unwrap();
        assert!(empty.copy_to_host().unwrap().is_empty());
    }
}

#[test]
fn memory_is_given_back() {
    for device in devices() {
        let free = device.free_memory().unwrap();
        assert!(free <= device.info().memory_bytes);
        // Together, these allocations need far more memory than the device has. One after another,
        // they fit.
        let half = (free / 2) as usize;
        for _ in 0..5 {
            let buffer = device.alloc::<u8>(half).unwrap();
            assert_eq!(buffer.len(), half);
        }
        if device.info().kind == DeviceKind::Simulator {
            assert_eq!(device.free_memory().unwrap(), free);
        }
    }
}

#[test]
fn too_much_memory_is_refused_with_the_numbers() {
    for device in devices() {
        let total = device.info().memory_bytes;
        for (len, bytes) in [(total as usize / 8 + 1, (total / 8 + 1) * 8), (usize::MAX, 0)] {
            match device.alloc::<u64>(len) {
                Err(DeviceError::OutOfMemory { requested, free }) => {
                    assert!(free <= total);
                    assert_eq!(requested, len as u128 * 8);
                    assert!(bytes == 0 || requested == u128::from(bytes));
                }
                other => panic!("{other:?}"),
            }
        }
        // The refusal leaves the device usable.
        assert_eq!(device.upload(&[1u8]).unwrap().copy_to_host().unwrap(), [1]);
    }
}

#[test]
fn lengths_must_agree() {
    for device in devices() {
        let mut two = device.alloc::<i32>(2).unwrap();
        let three = device.alloc::<i32>(3).unwrap();
        let message = "cannot copy 3 values into a buffer of 2";
        assert_eq!(two.copy_from_host(&[1, 2, 3]).unwrap_err().to_string(), message);
        assert_eq!(two.copy_from(&three).unwrap_err().to_string(), message);
    }
}

#[test]
fn launches_run_in_order_and_see_each_other() {
    for device in devices() {
        let add = kernel(&device, "add");
        assert_eq!(add.name(), "add");
        let data = device.upload(&vec![7u32; 1000]).unwrap();
        for value in 1..=10 {
            device.start(&add, shape(4, 256), &add_args(&data, value)).unwrap();
        }
        assert_eq!(data.copy_to_host().unwrap(), [7 + 55; 1000]);
        device.start(&kernel(&device, "nothing"), shape(1, 1), &[]).unwrap();
        device.synchronize().unwrap();
    }
}

#[test]
fn a_kernel_outlives_its_module_and_a_buffer_its_device() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&[1u32, 2, 3]).unwrap();
        device.start(&add, shape(1, 32), &add_args(&data, 10)).unwrap();
        drop(add);
        drop(device);
        assert_eq!(data.copy_to_host().unwrap(), [11, 12, 13]);
    }
}

#[test]
fn time_covers_the_work() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&vec![0u32; 1 << 16]).unwrap();
        let time =
            device.time(|| device.start(&add, shape(256, 256), &add_args(&data, 1))).unwrap();
        assert!(time > Duration::ZERO);
        assert_eq!(data.copy_to_host().unwrap(), vec![1; 1 << 16]);
        let failed: Result<_, DeviceError> =
            device.time(|| Err::<(), _>(DeviceError::OtherDevice("buffer")));
        assert!(matches!(failed, Err(DeviceError::OtherDevice("buffer"))));
        assert_eq!(
            device.info().kind.time_kind(),
            if device.info().kind == DeviceKind::Cuda { "gpu" } else { "simulation" }
        );
    }
}

#[test]
fn launches_that_cannot_be_are_refused() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&[0u32; 4]).unwrap();
        let refused =
            |shape, args: &[Arg]| device.start(&add, shape, args).unwrap_err().to_string();
        let args = add_args(&data, 1);
        assert_eq!(
            refused(shape(0, 32), &args),
            "cannot launch add: grid is 0, and 1 to 2147483647 are allowed"
        );
        assert_eq!(
            refused(shape(1, 0), &args),
            "cannot launch add: block is 0, and 1 to 1024 are allowed"
        );
        assert_eq!(
            refused(shape(1, 1025), &args),
            "cannot launch add: block is 1025, and 1 to 1024 are allowed"
        );
        let most = device.info().most_shared_bytes_per_block;
        assert_eq!(
            refused(LaunchShape::linear(1, 1, most + 1), &args),
            format!(
                "cannot launch add: dynamic shared memory in bytes is {}, and 0 to {most} are allowed",
                most + 1
            )
        );
        let takes =
            "cannot launch add: its parameters take (8, 4, 8) bytes, and the arguments take";
        assert_eq!(refused(shape(1, 1), &[]), format!("{takes} ()"));
        assert_eq!(refused(shape(1, 1), &args[..2]), format!("{takes} (8, 4)"));
        assert_eq!(
            refused(shape(1, 1), &[args[0], args[2], args[1]]),
            format!("{takes} (8, 8, 4)")
        );
        assert_eq!(data.copy_to_host().unwrap(), [0; 4], "nothing ran");
    }
}

#[test]
fn static_and_dynamic_shared_memory_add_up() {
    for device in devices() {
        let info = device.info();
        let (least, most) = (info.shared_bytes_per_block, info.most_shared_bytes_per_block);
        let keep = kernel(&device, "keep");
        // Each of them is less than a block has without being asked, and both together are not.
        for dynamic in [0, 1 << 10, 20 << 10] {
            if (32 << 10) + dynamic <= most {
                assert!(dynamic < least);
                let data = device.upload(&[0u32]).unwrap();
                let args = [Arg::Pointer(data.address())];
                device.start(&keep, LaunchShape::linear(1, 1, dynamic), &args).unwrap();
                assert_eq!(data.copy_to_host().unwrap(), [7]);
            }
        }
    }
}

#[test]
fn missing_kernels_and_bad_modules_are_named() {
    for device in devices() {
        let module = device.load("test.ptx", PTX).unwrap();
        for name in ["ad", "", "add\0"] {
            let error = module.kernel(name).unwrap_err();
            assert_eq!(error.to_string(), format!("module test.ptx has no kernel {name}"));
        }
        let broken = PTX.replace("add.s64 %rd5", "add.s64 %bad5");
        let error = device.load("broken.ptx", &broken).unwrap_err().to_string();
        assert!(error.starts_with("module broken.ptx cannot be loaded: "), "{error}");
        assert!(error.contains("bad5"), "the reason names the register: {error}");
        assert!(device.load_image("noise", &[0xff; 100]).is_err());
        // The refusals leave the device usable.
        module.kernel("add").unwrap();
    }
}

#[test]
fn the_simulator_refuses_the_kernels_with_an_instruction_that_it_does_not_know() {
    let device = Device::simulator();
    let strange = PTX.replace("add.s64", "bad.s64");
    let module = device.load("strange.ptx", &strange).unwrap();
    let data = device.upload(&[0u32; 4]).unwrap();
    let kernel = module.kernel("add").unwrap();
    let error = device.start(&kernel, shape(1, 1), &add_args(&data, 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel add uses an instruction or declaration that the simulator does not support: \
         strange.ptx:24:5: unknown instruction `bad.s64`: `bad.s64 %rd5, %rd1, %rd4;`"
    );
    // The other kernels run.
    device.start(&module.kernel("nothing").unwrap(), shape(1, 1), &[]).unwrap();
    device.synchronize().unwrap();
}

#[test]
fn another_devices_objects_are_refused() {
    let simulator = Device::simulator();
    for device in devices() {
        let foreign = kernel(&simulator, "nothing");
        let error = device.start(&foreign, shape(1, 1), &[]).unwrap_err();
        assert_eq!(error.to_string(), "this kernel belongs to another device");
        let theirs = simulator.upload(&[1u8]).unwrap();
        let error = device.alloc(1).unwrap().copy_from(&theirs).unwrap_err();
        assert_eq!(error.to_string(), "this buffer belongs to another device");
    }
}

#[test]
fn a_fault_of_a_simulated_kernel_says_where() {
    // On a GPU the fault would destroy the context that other tests of this process use.
    let device = Device::simulator();
    let add = kernel(&device, "add");
    let data = device.upload(&[0u32; 4]).unwrap();
    let args = [Arg::Pointer(data.address()), Arg::U32(1), Arg::U64(5)];
    let error = device.start(&add, shape(1, 32), &args).unwrap_err();
    assert!(matches!(error, DeviceError::Fault(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("add"), "{text}");
    assert!(text.contains("test.ptx"), "{text}");
}

#[test]
fn auto_takes_a_device_and_says_why_it_is_the_simulator() {
    let device = Device::auto().unwrap();
    match device.info().kind {
        DeviceKind::Cuda => assert_eq!(device.fallback_note(), None),
        DeviceKind::Simulator => {
            let note = device.fallback_note().unwrap();
            let why = cuda_driver::load().unwrap_err().to_string();
            assert_eq!(note, format!("using the simulator, because {why}"));
            assert!(!note.contains('\n'));
            let refused = Device::cuda(0).unwrap_err();
            assert_eq!(refused.to_string(), format!("there is no CUDA device: {why}"));
        }
    }
    assert_eq!(Device::simulator().fallback_note(), None);
}
