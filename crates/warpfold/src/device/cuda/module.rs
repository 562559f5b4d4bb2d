//! Modules and kernels of a GPU.

use std::{
    ffi::{c_int, c_void},
    mem, ptr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use cuda_driver::{
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CUfunction, Driver,
};
use cust::{
    error::CudaError,
    function::{Function, FunctionAttribute},
    module,
};

use super::{
    super::{
        DeviceError, LaunchShape,
        backend::{LoadedKernel, LoadedModule},
    },
    Gpu,
    driver::{check_with, error_text, failed},
};

pub(super) fn load(
    gpu: Arc<Gpu>,
    name: &str,
    image: &[u8],
) -> Result<Arc<dyn LoadedModule>, DeviceError> {
    gpu.make_current()?;
    // Despite its name, `from_cubin` takes PTX as well as machine code.
    let module = module::Module::from_cubin(image, &[])
        .map_err(|error| refused(gpu.driver, name, image, error))?;
    Ok(Arc::new(GpuModule { name: name.to_owned(), module, gpu }))
}

/// Makes the error for an image that `cust` could not load. It loads the image once more, this time
/// with a buffer for the messages of the driver's compiler.
fn refused(driver: &Driver, module: &str, image: &[u8], error: CudaError) -> DeviceError {
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut image = image.to_vec();
    image.push(0);
    let mut log = vec![0u8; 16 << 10];
    // An option's value that fits into a pointer is passed as the pointer itself. The length of the
    // buffer is such a value.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len())];
    let mut loaded = ptr::null_mut();
    // SAFETY: the image ends with a NUL; both arrays have two entries; the buffer has the length
    // that the second value states, and it outlives the call.
    let mut code = unsafe {
        driver.cuModuleLoadDataEx(
            &raw mut loaded,
            image.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if code == 0 {
        // The driver accepts the image this time, so the image was not the reason for the first
        // error.
        // SAFETY: the call above loaded the module, and nobody uses it.
        let _ = unsafe { driver.cuModuleUnload(loaded) };
        code = error.as_raw();
    }
    let log = String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or_default())
        .trim()
        .to_owned();
    DeviceError::ModuleRefused { module: module.to_owned(), code, text: error_text(code), log }
}

#[derive(Debug)]
pub(super) struct GpuModule {
    name: String,
    // Declared before `gpu`, so that the module is unloaded before the context is released.
    module: module::Module,
    pub(super) gpu: Arc<Gpu>,
}

impl Drop for GpuModule {
    fn drop(&mut self) {
        // Dropping the module needs the context to be current.
        let _ = self.gpu.make_current();
    }
}

impl LoadedModule for GpuModule {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn LoadedKernel>, DeviceError> {
        self.gpu.make_current()?;
        let no_kernel =
            || DeviceError::NoKernel { module: self.name.clone(), kernel: name.to_owned() };
        // For an empty name, the driver reports an invalid value instead of a missing kernel.
        if name.is_empty() {
            return Err(no_kernel());
        }
        let function = self.module.get_function(name).map_err(|error| match error {
            CudaError::NotFound => no_kernel(),
            error => failed(format!("look up kernel {name}"))(error),
        })?;
        let parameters = parameter_sizes(self.gpu.driver, function.to_raw());
        // SAFETY: the function lives as long as the module, which is stored beside it and dropped
        // after it.
        let function = unsafe { mem::transmute::<Function<'_>, Function<'static>>(function) };
        // A kernel has its static shared memory out of the same bytes.
        let static_shared_bytes = function
            .get_attribute(FunctionAttribute::SharedMemorySizeBytes)
            .map_err(failed(format!("look up kernel {name}")))?
            .unsigned_abs();
        let allowed_shared =
            self.gpu.info.shared_bytes_per_block.saturating_sub(static_shared_bytes);
        Ok(Arc::new(GpuKernel {
            name: name.to_owned(),
            parameters,
            function,
            static_shared_bytes,
            allowed_shared: AtomicU32::new(allowed_shared),
            allowing: Mutex::new(()),
            module: self,
        }))
    }
}

fn parameter_sizes(driver: &Driver, function: CUfunction) -> Vec<usize> {
    let mut sizes = Vec::new();
    let (mut offset, mut size) = (0, 0);
    // SAFETY: the function is loaded, and the pointers are to live variables. Past the last
    // parameter the driver returns an error, which ends the loop.
    while unsafe {
        driver.cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size)
    } == 0
    {
        sizes.push(size);
    }
    sizes
}

#[derive(Debug)]
pub(super) struct GpuKernel {
    pub(super) name: String,
    parameters: Vec<usize>,
    function: Function<'static>,
    static_shared_bytes: u32,
    /// The dynamic shared memory, in bytes, that the driver allows a block of this kernel so far.
    allowed_shared: AtomicU32,
    /// Held while the driver is told a new number, because a smaller one would replace a larger.
    allowing: Mutex<()>,
    pub(super) module: Arc<GpuModule>,
}

impl GpuKernel {
    pub(super) fn function(&self) -> CUfunction {
        self.function.to_raw()
    }

    /// Tells the driver that a block of this kernel may have `bytes` bytes of dynamic shared
    /// memory, if it does not allow so many yet.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), DeviceError> {
        if bytes <= self.allowed_shared.load(Relaxed) {
            return Ok(());
        }
        let _held = self.allowing.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes <= self.allowed_shared.load(Relaxed) {
            return Ok(());
        }
        // SAFETY: the function is loaded.
        let code = unsafe {
            self.module.gpu.driver.cuFuncSetAttribute(
                self.function(),
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                bytes as c_int,
            )
        };
        check_with(code, || format!("launch {}", self.name))?;
        self.allowed_shared.fetch_max(bytes, Relaxed);
        Ok(())
    }
}

impl LoadedKernel for GpuKernel {
    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn static_shared_bytes(&self) -> u32 {
        self.static_shared_bytes
    }

    fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        let Gpu { driver, .. } = &*self.module.gpu;
        self.module.gpu.make_current()?;
        let mut blocks = 0;
        let (threads, shared_bytes) = (threads as c_int, shared_bytes as usize);
        // SAFETY: the function is loaded; the pointer is to a live variable.
        let code = unsafe {
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.function(),
                threads,
                shared_bytes,
            )
        };
        check_with(code, || format!("ask for the occupancy of {}", self.name))?;
        Ok(blocks.unsigned_abs())
    }

    fn check_launch(&self, shape: LaunchShape) -> Result<(), DeviceError> {
        let what = match (shape.cluster > 1, shape.cooperative) {
            (true, _) => "a thread-block cluster",
            (_, true) => "a cooperative launch",
            _ => return Ok(()),
        };
        if self.module.gpu.driver.cuLaunchKernelEx.is_some() {
            return Ok(());
        }
        let action = format!("launch {}", self.name);
        Err(DeviceError::DriverLacks { action, what, function: "cuLaunchKernelEx" })
    }
}
