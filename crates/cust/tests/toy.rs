//! The whole API on a toy driver whose device is the host. The test checks the arguments that reach
//! the driver, the results that come back, and that all objects are freed.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::Write as _,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use cust::{
    CudaApiVersion, DeviceCopy,
    context::CurrentContext,
    device::DeviceAttribute,
    error::{CudaError, CudaResult},
    graph::{CaptureMode, GraphNodeType},
    memory::{
        AsyncCopyDestination, DeviceBox, GpuBuffer, LockedBox, LockedBuffer, UnifiedBox,
        cuda_malloc_async, mem_get_info,
    },
    module::ModuleJitOption,
    prelude::*,
};
use libloading::Library;

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
struct Pair<T> {
    number: T,
    kind: u8,
}

/// The last launch. The toy driver declares the same struct in C.
#[repr(C)]
#[derive(Debug, PartialEq)]
struct Launched {
    shape: [u32; 7],
    address: u64,
    len: u32,
    factor: f32,
}

struct Toy {
    // Keeps the library loaded, because the pointers below point to its variables.
    _library: Library,
    live: *const [i32; 6],
    next_free: *mut u32,
    launched: *const Launched,
}

impl Toy {
    /// Compiles the toy driver and loads it as the driver of this process. Without a C compiler, it
    /// prints a note and returns `None`.
    fn load() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("toy.so");
        let source = folder.path().join("toy.c");
        fs::write(&source, include_str!("toy_cuda/toy_cuda.c")).unwrap();
        match Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&file)
            .arg(source)
            .output()
        {
            Ok(output) => {
                assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
            }
            Err(error) => {
                let note = "not tested with a toy driver, which needs a C compiler named cc";
                let _ = writeln!(std::io::stderr(), "{note} ({error})");
                return None;
            }
        }
        cust::sys::load_from(&file).unwrap();
        // SAFETY: the library is loaded already, and its variables have these types.
        unsafe {
            let library = Library::new(&file).unwrap();
            Some(Self {
                live: *library.get::<*const [i32; 6]>(b"toy_live\0").unwrap(),
                next_free: *library.get::<*mut u32>(b"toy_next_free\0").unwrap(),
                launched: *library.get::<*const Launched>(b"toy_launch\0").unwrap(),
                _library: library,
            })
        }
    }

    /// The number of live objects: allocations of the device, allocations of the host, contexts,
    /// modules, streams and events.
    fn live(&self) -> [i32; 6] {
        // SAFETY: this test has one thread, which runs no call of the toy meanwhile.
        unsafe { *self.live }
    }

    fn refuse_next_free(&self, code: u32) {
        // SAFETY: as above.
        unsafe { *self.next_free = code };
    }

    fn launched(&self) -> Launched {
        // SAFETY: as above.
        unsafe { self.launched.read() }
    }
}

// There is only one test, because the toy counts the objects of the whole process.
#[test]
fn calls_reach_the_driver_and_all_is_freed() {
    let Some(toy) = Toy::load() else {
        return;
    };
    devices();
    let context = cust::quick_init().unwrap();
    assert_eq!(toy.live(), [0, 0, 1, 0, 0, 0]);
    assert_eq!(CurrentContext::get_device().unwrap(), Device::get_device(0).unwrap());
    let second = Context::new(Device::get_device(1).unwrap()).unwrap();
    assert_eq!(CurrentContext::get_device().unwrap().as_raw(), 11);
    CurrentContext::set_current(&context).unwrap();
    assert_eq!(CurrentContext::get_device().unwrap().as_raw(), 10);
    drop(second.clone());
    assert!(Context::drop(second).is_ok());
    assert_eq!(mem_get_info(), Ok((5, 7)));
    // The toy driver lacks the function that waits for a context.
    assert_eq!(CurrentContext::synchronize(), Err(CudaError::CallRequiresNewerDriver));

    memory(&toy);
    shared_memory(&toy);
    launches(&toy);
    streams_and_events(&toy);
    drop(context);
    assert_eq!(toy.live(), [0; 6]);
}

fn devices() {
    assert_eq!(Device::num_devices(), Ok(2));
    let names: Vec<String> =
        Device::devices().unwrap().map(|device| device.unwrap().name().unwrap()).collect();
    assert_eq!(names, ["first", "other"]);
    let device = Device::get_device(1).unwrap();
    assert_eq!(device.total_memory(), Ok(1011));
    assert_eq!(device.get_attribute(DeviceAttribute::ComputeCapabilityMajor), Ok(7511));
    assert_eq!(device.uuid().unwrap()[..3], [240, 241, 242]);
    assert_eq!(Device::get_device(2), Err(CudaError::InvalidDevice));
    assert_eq!(CudaApiVersion::get().unwrap().to_string(), "12.8");
}

fn memory(toy: &Toy) {
    let numbers = [1u32, 2, 3, 4, 5];
    let mut buffer = DeviceBuffer::from_slice(&numbers).unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), numbers);
    assert_eq!((&buffer as &dyn GpuBuffer<u32>).len(), 5);
    buffer[1..3].copy_from(&[8, 9]).unwrap();
    let mut back = [0; 5];
    buffer.copy_to(&mut back).unwrap();
    assert_eq!(back, [1, 8, 9, 4, 5]);
    let mut other = DeviceBuffer::<u32>::zeroed(5).unwrap();
    assert_eq!(other.as_host_vec().unwrap(), [0; 5]);
    other[..2].copy_from(&buffer[3..]).unwrap();
    assert_eq!(other.as_host_vec().unwrap(), [4, 5, 0, 0, 0]);
    other.copy_from(&buffer).unwrap();
    other[4..].set_8(1).unwrap();
    other[..1].set_32(77).unwrap();
    assert_eq!(other.as_host_vec().unwrap(), [77, 8, 9, 4, 0x0101_0101]);
    let bytes = other.cast::<u8>();
    assert_eq!((bytes.len(), bytes.as_host_vec().unwrap()[0]), (20, 77));
    assert_eq!(toy.live()[0], 2);

    // A code that rust-cuda does not know is kept, with the driver's text.
    let error = DeviceBuffer::from_slice(&[0u8; 46]).unwrap_err();
    assert_eq!(
        (error.as_raw(), error.to_string()),
        (46, "CUDA_ERROR_DEVICE_UNAVAILABLE (busy)".to_owned())
    );
    assert!(matches!(DeviceBuffer::<u64>::zeroed(1 << 20), Err(CudaError::OutOfMemory)));
    assert_eq!(
        DeviceBuffer::<u64>::zeroed(usize::MAX).unwrap_err(),
        CudaError::InvalidMemoryAllocation
    );

    // A buffer that could not be freed comes back with the error.
    toy.refuse_next_free(700);
    let (error, bytes) = DeviceBuffer::drop(bytes).unwrap_err();
    assert_eq!((error, bytes.as_host_vec().unwrap()[0]), (CudaError::IllegalAddress, 77));
    assert!(DeviceBuffer::drop(bytes).is_ok());
    drop(buffer);

    let pair = Pair { number: 5.5f64, kind: 3 };
    let mut value = pair.as_dbox().unwrap();
    assert_eq!(value.as_host_value().unwrap(), pair);
    let from = DeviceBox::new(&Pair { number: 6.5f64, kind: 4 }).unwrap();
    value.copy_from(&from).unwrap();
    assert_eq!(value.as_host_value().unwrap(), Pair { number: 6.5, kind: 4 });
    let mut variable = DeviceVariable::new(1u16).unwrap();
    *variable += 1;
    variable.copy_htod().unwrap();
    *variable = 0;
    variable.copy_dtoh().unwrap();
    assert_eq!(*variable, 2);
    drop((value, from, variable));
    assert_eq!(toy.live()[0], 0);
}

fn shared_memory(toy: &Toy) {
    let mut locked = LockedBuffer::from_slice(&[1u16, 2, 3]).unwrap();
    locked[1] = 7;
    assert_eq!(locked.as_slice(), [1, 7, 3]);
    let value = LockedBox::new(&9u8).unwrap();
    let unified = [4u8; 3].as_unified_buf().unwrap();
    let one = UnifiedBox::new(4u64).unwrap();
    assert_eq!((*value, unified.as_slice(), *one), (9, &[4u8; 3][..], 4));
    assert_eq!(toy.live()[..2], [2, 2]);
    drop((locked, value, unified, one));
    assert_eq!(toy.live()[..2], [0, 0]);
}

fn launches(toy: &Toy) {
    let options = [ModuleJitOption::MaxRegisters(64)];
    assert_eq!(Module::from_ptx("nonsense", &options).unwrap_err(), CudaError::InvalidPtx);
    assert_eq!(Module::from_ptx("a\0b", &options).unwrap_err(), CudaError::InvalidPtx);
    let module = Module::from_ptx("ptx", &options).unwrap();
    let same = Module::from_cubin(b"ptx", &options).unwrap();
    assert_eq!(module.get_function("none").unwrap_err(), CudaError::NotFound);
    assert_eq!(module.get_function("sc\0ale").unwrap_err(), CudaError::NotFound);
    let mut factor = module.get_global::<f32>(c"FACTOR").unwrap();
    let mut value = 0.0;
    factor.copy_to(&mut value).unwrap();
    assert_eq!(value.to_bits(), 1.5f32.to_bits());
    factor.copy_from(&2.5).unwrap();
    assert_eq!(module.get_global::<f64>(c"FACTOR").unwrap_err(), CudaError::InvalidValue);

    let stream = Stream::new(StreamFlags::NON_BLOCKING, Some(-7)).unwrap();
    assert_eq!(
        stream.get_flags(),
        Ok(StreamFlags::DEFAULT),
        "a non-blocking stream would race with plain copies"
    );
    let numbers = [1.0f32; 4].as_dbuf().unwrap();
    let address = numbers.as_device_ptr();
    let scale = module.get_function("scale").unwrap();
    let expected = |shape, factor| Launched { shape, address: address.as_raw(), len: 4, factor };
    // SAFETY: the toy has one kernel with these parameters, which does nothing.
    unsafe {
        launch!(scale<<<3, (8, 4), 5, stream>>>(address, numbers.len() as u32, 0.5f32)).unwrap();
        assert_eq!(toy.launched(), expected([3, 1, 1, 8, 4, 1, 5], 0.5));
        let factor = 2.0f32;
        launch!(module.scale<<<(1, 2, 3), 64, 0, stream>>>(address, 4u32, factor * 2.0,)).unwrap();
        assert_eq!(toy.launched(), expected([1, 2, 3, 64, 1, 1, 0], 4.0));
        assert_eq!(launch!(module.none<<<1, 1, 0, stream>>>()), Err(CudaError::NotFound));
    }
    assert_eq!(toy.live(), [1, 0, 1, 2, 1, 0]);
    assert!(Module::drop(same).is_ok());
}

fn streams_and_events(toy: &Toy) {
    let stream = Stream::new(StreamFlags::DEFAULT, Some(-7)).unwrap();
    assert_eq!(stream.synchronize(), Err(CudaError::LaunchFailed));
    let called = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&called);
    stream
        .add_callback(Box::new(move |result: CudaResult<()>| {
            counter.store(1 + u32::from(result.is_err()), Relaxed);
        }))
        .unwrap();
    assert_eq!((called.load(Relaxed), Arc::strong_count(&called)), (1, 1));

    let mut buffer = [1u8, 2, 3].as_dbuf().unwrap();
    let mut back = [0; 3];
    // SAFETY: the toy copies immediately.
    unsafe {
        buffer.async_copy_from(&[4u8, 5, 6], &stream).unwrap();
        buffer.async_copy_to(&mut back, &stream).unwrap();
        assert_eq!(back, [4, 5, 6]);
        let zeros = [7u8; 3].as_dbuf().unwrap();
        buffer.async_copy_from(&zeros, &stream).unwrap();
        assert_eq!(buffer.as_host_vec().unwrap(), [7; 3]);
        buffer.set_zero_async(&stream).unwrap();
        assert_eq!(buffer.as_host_vec().unwrap(), [0; 3]);
        // The toy driver has no memory pools.
        assert_eq!(cuda_malloc_async::<u8>(&stream, 5), Err(CudaError::CallRequiresNewerDriver));
    }

    let (start, end) =
        (Event::new(EventFlags::DEFAULT).unwrap(), Event::new(EventFlags::DEFAULT).unwrap());
    start.record(&stream).unwrap();
    assert_eq!(end.query(), Ok(EventStatus::NotReady));
    assert_eq!(end.elapsed(&start), Ok(Duration::from_micros(1500)));
    assert!(Event::drop(start).is_ok());

    assert_eq!(stream.begin_capture(CaptureMode::Global), Err(CudaError::InvalidValue));
    stream.begin_capture(CaptureMode::ThreadLocal).unwrap();
    let mut graph = stream.end_capture().unwrap();
    let nodes = graph.nodes().unwrap();
    assert_eq!((nodes.len(), graph.node_type(nodes[1]).unwrap()), (2, GraphNodeType::Memcpy));
    // SAFETY: the toy launches nothing.
    unsafe { graph.instantiate().unwrap().launch(&stream).unwrap() };
    assert_eq!(toy.live(), [1, 0, 1, 0, 1, 1]);
}
