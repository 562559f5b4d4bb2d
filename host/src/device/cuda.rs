//! The CUDA home: the first GPU, through `cust`.
//!
//! All work goes through one stream that is ordered with the legacy default stream, on which `cust`'s plain copies run.
//! The primary context is made current before each call, so that any thread may use a device.
//!
//! `cust` knows the error codes of CUDA 11; newer ones arrive as `CUDA_ERROR_UNKNOWN`. Module loading, where they matter
//! most, asks the driver directly.

use std::{
    any::Any,
    ffi::{c_int, c_uint, c_void},
    mem, ptr,
    sync::Arc,
    time::Duration,
};

use cust::{
    context::{Context, CurrentContext},
    device::{self, DeviceAttribute},
    error::CudaError,
    event::{Event, EventFlags},
    function::Function,
    memory::{
        AsyncCopyDestination, CopyDestination, DevicePointer, DeviceSlice, cuda_free, cuda_free_locked, cuda_malloc,
        cuda_malloc_locked, mem_get_info,
    },
    module,
    stream::{Stream, StreamFlags},
    sys::{CUfunction, CUmodule, CUstream},
};

use super::{
    Arg, Clock, DeviceError, DeviceInfo, DeviceKind, Dim3, Home, HomeStream, LaunchShape, LoadedKernel, LoadedModule,
};

pub(super) fn open() -> Result<Arc<dyn Home>, DeviceError> {
    cuda_driver::status().map_err(DeviceError::NoCuda)?;
    let gpu = Gpu::new().map_err(failed("set up the first CUDA device"))?;
    Ok(Arc::new(gpu))
}

/// Turns the error of `cust` into ours. `action` completes the sentence "cannot …".
fn failed(action: &str) -> impl FnOnce(CudaError) -> DeviceError {
    move |error| DeviceError::Driver {
        action: action.to_owned(),
        code: error as u32,
        text: cuda_driver::error_text(error as u32),
    }
}

#[derive(Debug)]
struct Gpu {
    info: DeviceInfo,
    // Destroyed before the context that it lives in.
    stream: Stream,
    context: Context,
}

impl Gpu {
    fn new() -> Result<Self, CudaError> {
        let device = device::Device::get_device(0)?;
        let context = Context::new(device)?;
        CurrentContext::set_current(&context)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None)?;
        Ok(Self { info: info(device)?, stream, context })
    }

    fn make_current(&self) -> Result<(), DeviceError> {
        CurrentContext::set_current(&self.context).map_err(failed("select the CUDA device"))
    }

    /// `len` bytes from `address` on.
    ///
    /// # Safety
    ///
    /// They are one allocation, or part of one, and stay so as long as the slice is used.
    unsafe fn slice(address: u64, len: usize) -> DeviceSlice<u8> {
        // SAFETY: the caller's promise; bytes have no alignment.
        unsafe { DeviceSlice::from_raw_parts_mut(DevicePointer::from_raw(address), len) }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // For the stream, which is destroyed next, perhaps by a thread that never used this device.
        let _ = self.make_current();
    }
}

fn info(device: device::Device) -> Result<DeviceInfo, CudaError> {
    let attribute = |attribute| device.get_attribute(attribute).map(i32::unsigned_abs);
    let clock_khz = attribute(DeviceAttribute::MemoryClockRate).unwrap_or(0);
    let bus_bits = attribute(DeviceAttribute::GlobalMemoryBusWidth).unwrap_or(0);
    Ok(DeviceInfo {
        name: device.name()?,
        kind: DeviceKind::Cuda,
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        memory_bytes: device.total_memory()? as u64,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        max_threads_per_block: attribute(DeviceAttribute::MaxThreadsPerBlock)?,
        shared_bytes_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?,
        most_shared_bytes_per_block: most_shared_bytes(device)
            .unwrap_or(0)
            .max(attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?),
        peak_bytes_per_second: peak(clock_khz, bus_bits),
    })
}

/// Shared memory that a block may ask for: an attribute that `cust` does not name.
fn most_shared_bytes(device: device::Device) -> Option<u32> {
    /// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`.
    const MOST_SHARED_BYTES: c_uint = 97;

    unsafe extern "C" {
        fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> c_uint;
    }
    let mut bytes = 0;
    // SAFETY: the pointer is to a live variable.
    let code = unsafe { cuDeviceGetAttribute(&raw mut bytes, MOST_SHARED_BYTES, device.as_raw()) };
    (code == 0).then_some(bytes.unsigned_abs())
}

/// Two transfers a clock, `bus_bits` wide. Drivers that no longer tell the clock report 0.
fn peak(clock_khz: u32, bus_bits: u32) -> Option<f64> {
    (clock_khz > 0 && bus_bits > 0).then(|| f64::from(clock_khz) * 1e3 * 2.0 * f64::from(bus_bits) / 8.0)
}

impl Home for Gpu {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn free_memory(&self) -> Result<u64, DeviceError> {
        self.make_current()?;
        let (free, _total) = mem_get_info().map_err(failed("ask for the free memory"))?;
        Ok(free as u64)
    }

    fn alloc(&self, bytes: u64) -> Result<Option<u64>, DeviceError> {
        self.make_current()?;
        // SAFETY: the memory is freed by `free` alone, which `Buffer` calls once.
        match unsafe { cuda_malloc::<u8>(bytes as usize) } {
            Ok(pointer) => Ok(Some(pointer.as_raw())),
            Err(CudaError::OutOfMemory) => Ok(None),
            Err(error) => Err(failed(&format!("allocate {bytes} bytes"))(error)),
        }
    }

    fn free(&self, address: u64) {
        if self.make_current().is_ok() {
            // SAFETY: `address` came from `alloc`, and `Buffer` gives it back once. An error is that of an earlier
            // launch, which the next call reports as well.
            let _ = unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) };
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: `Home`'s contract: the range lies within one live allocation.
        let mut slice = unsafe { Self::slice(address, bytes.len()) };
        slice.copy_from(bytes).map_err(failed("copy to the device"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: `Home`'s contract: the range lies within one live allocation.
        let slice = unsafe { Self::slice(address, bytes.len()) };
        slice.copy_to(bytes).map_err(failed("copy from the device"))
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: `Home`'s contract: both ranges lie within live allocations.
        let (source, mut target) = unsafe { (Self::slice(from, bytes as usize), Self::slice(to, bytes as usize)) };
        target.copy_from(&source).map_err(failed("copy on the device"))
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: `Home`'s contract: the range lies within one live allocation.
        let mut slice = unsafe { Self::slice(address, bytes as usize) };
        slice.set_8(byte).map_err(failed("fill memory of the device"))
    }

    fn load(self: Arc<Self>, name: &str, image: &[u8]) -> Result<Arc<dyn LoadedModule>, DeviceError> {
        self.make_current()?;
        // It takes PTX as well as machine code.
        let module = module::Module::from_cubin(image, &[]).map_err(|error| refused(name, image, error))?;
        Ok(Arc::new(GpuModule { name: name.to_owned(), module, gpu: self }))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.make_current()?;
        self.stream.synchronize().map_err(failed("finish the work on the device"))
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.make_current()?;
        // SAFETY: the memory is freed by `free_pinned` alone, which `PinnedBuffer` calls once; it is as long as it says.
        unsafe {
            let memory = match cuda_malloc_locked::<u8>(bytes) {
                Ok(memory) => memory,
                Err(CudaError::OutOfMemory) => {
                    return Err(DeviceError::OutOfHostMemory { requested: bytes as u128 });
                }
                Err(error) => return Err(failed(&format!("lock {bytes} bytes of host memory"))(error)),
            };
            memory.write_bytes(0, bytes);
            Ok(memory)
        }
    }

    fn free_pinned(&self, memory: *mut u8, _bytes: usize) {
        if self.make_current().is_ok() {
            // SAFETY: `memory` came from `alloc_pinned`, and is given back once. Errors as in `free`.
            let _ = unsafe { cuda_free_locked(memory) };
        }
    }

    fn open_stream(self: Arc<Self>) -> Result<Box<dyn HomeStream>, DeviceError> {
        self.make_current()?;
        // Not ordered with the default stream, on which other copies would wait for it.
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed("open a stream"))?;
        Ok(Box::new(GpuStream { stream, gpu: self }))
    }

    fn start_clock(self: Arc<Self>) -> Result<Box<dyn Clock>, DeviceError> {
        self.make_current()?;
        let failed = failed("start the clock");
        match Event::new(EventFlags::DEFAULT).and_then(|start| start.record(&self.stream).map(|()| start)) {
            Ok(start) => Ok(Box::new(EventClock { start, gpu: self })),
            Err(error) => Err(failed(error)),
        }
    }
}

#[derive(Debug)]
struct GpuStream {
    // Destroyed before the context may go.
    stream: Stream,
    gpu: Arc<Gpu>,
}

impl Drop for GpuStream {
    fn drop(&mut self) {
        // For the stream, as for `Gpu`'s.
        let _ = self.gpu.make_current();
    }
}

impl HomeStream for GpuStream {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Home`'s contract for the range, and the caller's for the bytes.
        unsafe { Gpu::slice(address, bytes.len()).async_copy_from(bytes, &self.stream) }
            .map_err(failed("copy to the device"))
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: as above.
        unsafe { Gpu::slice(address, bytes.len()).async_copy_to(bytes, &self.stream) }
            .map_err(failed("copy from the device"))
    }

    fn launch(&self, kernel: &dyn LoadedKernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        kernel.launch_on(&self.stream, shape, args)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        self.stream.synchronize().map_err(failed("finish the work on the device"))
    }
}

#[derive(Debug)]
struct EventClock {
    start: Event,
    gpu: Arc<Gpu>,
}

impl Clock for EventClock {
    fn stop(self: Box<Self>) -> Result<Duration, DeviceError> {
        self.gpu.make_current()?;
        let elapsed = || {
            let end = Event::new(EventFlags::DEFAULT)?;
            end.record(&self.gpu.stream)?;
            end.synchronize()?;
            end.elapsed(&self.start)
        };
        elapsed().map_err(failed("finish the work on the device"))
    }
}

/// Loads the image that `cust` could not load once more, this time with a buffer for the compiler's messages.
fn refused(module: &str, image: &[u8], error: CudaError) -> DeviceError {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const OPTIONS: [c_uint; 2] = [5, 6];

    unsafe extern "C" {
        // As in cust::sys, but with a result that may be newer than cust.
        fn cuModuleLoadDataEx(
            module: *mut CUmodule,
            image: *const c_void,
            option_count: c_uint,
            options: *const c_uint,
            values: *const *mut c_void,
        ) -> c_uint;
        fn cuModuleUnload(module: CUmodule) -> c_uint;
    }

    let mut image = image.to_vec();
    image.push(0);
    let mut log = vec![0u8; 16 << 10];
    // Values that fit a pointer are passed in its place.
    let values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len())];
    let mut loaded: CUmodule = ptr::null_mut();
    // SAFETY: the image ends with a NUL; both arrays have two entries; the buffer is as long as it is said to be and
    // outlives the call.
    let mut code =
        unsafe { cuModuleLoadDataEx(&raw mut loaded, image.as_ptr().cast(), 2, OPTIONS.as_ptr(), values.as_ptr()) };
    if code == 0 {
        // It was refused only a moment ago, so the reason was not the image.
        // SAFETY: loaded by the call above and used by nobody.
        let _ = unsafe { cuModuleUnload(loaded) };
        code = error as u32;
    }
    let log = String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or_default()).trim().to_owned();
    DeviceError::ModuleRefused { module: module.to_owned(), code, text: cuda_driver::error_text(code), log }
}

#[derive(Debug)]
struct GpuModule {
    name: String,
    // Unloaded before the context may go.
    module: module::Module,
    gpu: Arc<Gpu>,
}

impl Drop for GpuModule {
    fn drop(&mut self) {
        // For the module, as for `Gpu`'s stream.
        let _ = self.gpu.make_current();
    }
}

impl LoadedModule for GpuModule {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn LoadedKernel>, DeviceError> {
        self.gpu.make_current()?;
        let no_kernel = || DeviceError::NoKernel { module: self.name.clone(), kernel: name.to_owned() };
        // `cust` panics on a NUL inside a name, and the driver calls an empty one an invalid value.
        if name.is_empty() || name.contains('\0') {
            return Err(no_kernel());
        }
        let function = self.module.get_function(name).map_err(|error| match error {
            CudaError::NotFound => no_kernel(),
            error => failed(&format!("look up kernel {name}"))(error),
        })?;
        let parameters = parameter_sizes(function.to_raw());
        // SAFETY: the lifetime is that of the module, which is kept beside the function and dropped after it.
        let function = unsafe { mem::transmute::<Function<'_>, Function<'static>>(function) };
        Ok(Arc::new(GpuKernel { name: name.to_owned(), parameters, function, module: self }))
    }
}

fn parameter_sizes(function: CUfunction) -> Vec<usize> {
    unsafe extern "C" {
        fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize) -> c_uint;
    }

    let mut sizes = Vec::new();
    let (mut offset, mut size) = (0, 0);
    // SAFETY: the function is loaded; the pointers are to live variables. Past the last parameter it returns an error.
    while unsafe { cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size) } == 0 {
        sizes.push(size);
    }
    sizes
}

#[derive(Debug)]
struct GpuKernel {
    name: String,
    parameters: Vec<usize>,
    function: Function<'static>,
    module: Arc<GpuModule>,
}

impl GpuKernel {
    fn failed(&self, code: c_uint) -> DeviceError {
        let (action, text) = (format!("launch {}", self.name), cuda_driver::error_text(code));
        DeviceError::Driver { action, code, text }
    }

    /// Lets a block have more dynamic shared memory than it gets without asking.
    fn allow_shared(&self, bytes: u32) -> Result<(), DeviceError> {
        /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
        const MAX_DYNAMIC_SHARED_BYTES: c_uint = 8;

        unsafe extern "C" {
            fn cuFuncSetAttribute(function: CUfunction, attribute: c_uint, value: c_int) -> c_uint;
        }
        // SAFETY: the function is loaded.
        match unsafe { cuFuncSetAttribute(self.function.to_raw(), MAX_DYNAMIC_SHARED_BYTES, bytes as c_int) } {
            0 => Ok(()),
            code => Err(self.failed(code)),
        }
    }

    /// A launch that binds its blocks together.
    fn launch_together(
        &self,
        stream: &Stream,
        shape: LaunchShape,
        pointers: &[*mut c_void],
    ) -> Result<(), DeviceError> {
        let mut attributes = Vec::new();
        if shape.cooperative {
            attributes.push(LaunchAttribute::new(LaunchAttribute::COOPERATIVE, [1, 0, 0]));
        }
        if shape.cluster > 1 {
            attributes.push(LaunchAttribute::new(LaunchAttribute::CLUSTER_DIMENSION, [shape.cluster, 1, 1]));
        }
        let config = LaunchConfig {
            grid: [shape.grid.x, shape.grid.y, shape.grid.z],
            block: [shape.block.x, shape.block.y, shape.block.z],
            shared_bytes: shape.shared_bytes,
            stream: stream.as_inner(),
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as c_uint,
        };
        // SAFETY: as for a plain launch; the configuration and its attributes outlive the call.
        match unsafe { cuLaunchKernelEx(&raw const config, self.function.to_raw(), pointers.as_ptr(), ptr::null()) } {
            0 => Ok(()),
            code => Err(self.failed(code)),
        }
    }
}

unsafe extern "C" {
    fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: CUfunction,
        parameters: *const *mut c_void,
        extra: *const *mut c_void,
    ) -> c_uint;
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *const LaunchAttribute,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`, of which the values that are used here are words.
#[repr(C)]
struct LaunchAttribute {
    id: c_uint,
    pad: c_uint,
    value: [c_uint; 16],
}

// cuda.h: the value is a union of 64 bytes, 8 bytes from the beginning.
const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);

impl LaunchAttribute {
    const COOPERATIVE: c_uint = 2;
    const CLUSTER_DIMENSION: c_uint = 4;

    fn new(id: c_uint, words: [c_uint; 3]) -> Self {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&words);
        Self { id, pad: 0, value }
    }
}

impl LoadedKernel for GpuKernel {
    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        unsafe extern "C" {
            fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
                blocks: *mut c_int,
                function: CUfunction,
                threads: c_int,
                shared_bytes: usize,
            ) -> c_uint;
        }
        self.module.gpu.make_current()?;
        let mut blocks = 0;
        let (function, threads) = (self.function.to_raw(), threads as c_int);
        // SAFETY: the function is loaded; the pointer is to a live variable.
        let code = unsafe {
            cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, function, threads, shared_bytes as usize)
        };
        if code == 0 { Ok(blocks.unsigned_abs()) } else { Err(self.failed(code)) }
    }

    fn check_launch(&self, shape: LaunchShape) -> Result<(), DeviceError> {
        const FUNCTION: &str = "cuLaunchKernelEx";
        let what = match (shape.cluster > 1, shape.cooperative) {
            (true, _) => "a thread-block cluster",
            (_, true) => "a cooperative launch",
            _ => return Ok(()),
        };
        if cuda_driver::has(FUNCTION) {
            return Ok(());
        }
        Err(DeviceError::DriverLacks { kernel: self.name.clone(), what, function: FUNCTION })
    }

    fn launch(&self, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        self.launch_on(&self.module.gpu.stream, shape, args)
    }

    fn launch_on(&self, stream: &dyn Any, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        let stream: &Stream = stream.downcast_ref().expect("the streams of a GPU are cust's");
        self.module.gpu.make_current()?;
        // Little-endian, as every host with CUDA: a narrower value is the first bytes of the wider one.
        let mut values: Vec<u64> = args
            .iter()
            .map(|arg| match *arg {
                Arg::Pointer(value) | Arg::U64(value) => value,
                Arg::U32(value) => u64::from(value),
            })
            .collect();
        let pointers: Vec<*mut c_void> = values.iter_mut().map(|value| ptr::from_mut(value).cast()).collect();
        if shape.shared_bytes > self.module.gpu.info.shared_bytes_per_block {
            self.allow_shared(shape.shared_bytes)?;
        }
        if shape.cooperative || shape.cluster > 1 {
            return self.launch_together(stream, shape, &pointers);
        }
        // SAFETY: there is one pointer for each parameter, to at least as many bytes as it takes (`Device` has checked
        // both), and the driver reads them before it returns. What the kernel does with addresses stays within the memory
        // of the GPU.
        unsafe { stream.launch(&self.function, dim3(shape.grid), dim3(shape.block), shape.shared_bytes, &pointers) }
            .map_err(failed(&format!("launch {}", self.name)))
    }
}

/// As `cust` spells it.
fn dim3(Dim3 { x, y, z }: Dim3) -> (u32, u32, u32) {
    (x, y, z)
}

#[cfg(test)]
mod tests {
    use super::peak;

    #[test]
    fn the_peak_of_an_h100() {
        // H100 SXM5 80GB: HBM3 at 2619 MHz on a bus of 5120 bits; NVIDIA's data sheet says 3.35 TB/s.
        assert_eq!(peak(2_619_000, 5120), Some(3_352.32e9));
        assert_eq!(peak(0, 5120), None);
        assert_eq!(peak(2_619_000, 0), None);
    }
}
