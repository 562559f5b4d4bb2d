//! A program for rust-cuda. It uses only features that three versions of `cust` have in common:
//! rust-cuda's main branch, crates.io's `cust` 0.3.2 and this workspace's `cust`. It scales numbers
//! on the first GPU and checks the result. Without a GPU it says so and ends successfully.
//!
//! ```console
//! $ cargo run --manifest-path tests/cust_program/Cargo.toml --features ours
//! ```

#[cfg(all(feature = "ours", feature = "published"))]
compile_error!("one of the features `ours` and `published`, not both");

#[cfg(feature = "published")]
extern crate cust_published as cust;

use std::{error::Error, process::ExitCode};

use cust::{
    CudaApiVersion, CudaFlags, DeviceCopy,
    context::{Context, CurrentContext},
    device::{Device, DeviceAttribute},
    error::CudaError,
    function::{BlockSize, FunctionAttribute, GridSize},
    memory::{
        AsyncCopyDestination, DeviceBox, DeviceMemory, LockedBuffer, cuda_free, cuda_malloc,
        mem_get_info,
    },
    module::{ModuleJitOption, OptLevel},
    prelude::*,
};

/// The settings, which the kernel takes by value.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Settings {
    factor: f32,
    offset: f32,
}

fn main() -> ExitCode {
    match cust::init(CudaFlags::empty()) {
        Ok(()) => {}
        Err(CudaError::NoDevice) => {
            println!("no CUDA device: {}", CudaError::NoDevice);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    const LEN: usize = 100_000;
    const SETTINGS: Settings = Settings { factor: 2.0, offset: 0.5 };

    let context: Context = cust::quick_init()?;
    CurrentContext::set_current(&context)?;
    let device: Device = CurrentContext::get_device()?;
    let version = CudaApiVersion::get()?;
    println!(
        "{}, {} multiprocessors, CUDA {}.{}",
        device.name()?,
        device.get_attribute(DeviceAttribute::MultiprocessorCount)?,
        version.major(),
        version.minor()
    );
    let (free, total) = mem_get_info()?;
    assert!(free <= total && total <= device.total_memory()?);

    let module =
        Module::from_ptx(include_str!("scale.ptx"), &[ModuleJitOption::OptLevel(OptLevel::O4)])?;
    let scale: Function = module.get_function("scale")?;
    assert!(matches!(module.get_function("no_such_kernel"), Err(CudaError::NotFound)));
    assert!(scale.get_attribute(FunctionAttribute::NumRegisters)? > 0);
    let (_blocks, threads) = scale.suggested_launch_configuration(0, BlockSize::from(256))?;
    let blocks = (LEN as u32).div_ceil(threads);

    let numbers: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
    let expected: Vec<f32> =
        numbers.iter().map(|x| x * SETTINGS.factor + SETTINGS.offset).collect();
    let from: DeviceBuffer<f32> = DeviceBuffer::from_slice(&numbers)?;
    let mut to: DeviceBuffer<f32> = DeviceBuffer::zeroed(LEN)?;
    assert_eq!((to.len(), to.size_in_bytes()), (LEN, LEN * 4));

    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    start.record(&stream)?;
    // SAFETY: the kernel has these parameters, and each buffer has `LEN` numbers.
    unsafe {
        launch!(scale<<<blocks, threads, 0, stream>>>(from.as_device_ptr(), to.as_device_ptr(), LEN as u32, SETTINGS))?;
        launch!(module.scale<<<GridSize::x(blocks), BlockSize::x(threads), 0, stream>>>(
            from.as_device_ptr(),
            to.as_device_ptr(),
            LEN as u32,
            SETTINGS
        ))?;
    }
    end.record(&stream)?;
    end.synchronize()?;
    assert_eq!(end.query()?, EventStatus::Ready);
    println!(
        "two launches took {:?}, or {} ms",
        end.elapsed(&start)?,
        end.elapsed_time_f32(&start)?
    );

    let mut result = vec![0.0; LEN];
    to.copy_to(&mut result)?;
    assert_eq!(result, expected);
    assert_eq!(to.as_host_vec()?, expected);

    // The next copies go through page-locked memory, on the stream.
    let mut locked = LockedBuffer::new(&1.0f32, LEN)?;
    // SAFETY: both buffers live until the stream has copied, and nobody uses them before that.
    unsafe {
        to.async_copy_from(&from, &stream)?;
        to.async_copy_to(&mut locked, &stream)?;
    }
    stream.synchronize()?;
    assert_eq!(locked.as_slice(), numbers);

    // The rest of the test uses other kinds of memory.
    let mut settings = DeviceBox::new(&SETTINGS)?;
    assert_eq!(settings.as_host_value_of()?, SETTINGS);
    let other = Settings { factor: 3.0, offset: 0.0 };
    settings.copy_from(&other)?;
    assert_eq!(settings.as_host_value_of()?, other);
    to.set_8(0)?;
    assert!(to.as_host_vec()?.iter().all(|&x| x == 0.0));
    let bytes: DeviceBuffer<u8> = [1u8, 2, 3].as_dbuf()?;
    assert_eq!(bytes.as_host_vec()?, [1, 2, 3]);
    let mut shared = UnifiedBuffer::new(&5u64, 10)?;
    shared[9] += 1;
    assert_eq!(shared.iter().sum::<u64>(), 51);
    // SAFETY: the memory is freed once, and nobody uses it.
    unsafe {
        let memory: DevicePointer<u64> = cuda_malloc(10)?;
        cuda_free(memory)?;
    }
    assert!(matches!(DeviceBuffer::<u8>::zeroed(1 << 60), Err(CudaError::OutOfMemory)));
    assert!(Stream::drop(stream).is_ok());
    println!("all as expected");
    Ok(())
}

/// A replacement for `DeviceBox::as_host_value`. That of crates.io's `cust` needs a `Default`,
/// which a value on the device need not have.
trait HostValue<T> {
    fn as_host_value_of(&self) -> Result<T, CudaError>;
}

impl HostValue<Settings> for DeviceBox<Settings> {
    fn as_host_value_of(&self) -> Result<Settings, CudaError> {
        let mut value = Settings { factor: 0.0, offset: 0.0 };
        self.copy_to(&mut value)?;
        Ok(value)
    }
}
