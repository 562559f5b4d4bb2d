//! Modules: PTX or machine code that is loaded.

use std::{
    ffi::{CStr, CString, c_uint, c_void},
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    path::Path,
    ptr,
};

use crate::{
    error::{CudaError, CudaResult, DropResult},
    function::Function,
    memory::{CopyDestination, DeviceCopy, DevicePointer, copy_to_device, copy_to_host},
    sys::{self, CUdeviceptr, CUjit_option, CUjit_target, CUmodule},
};

/// A loaded module. It is unloaded when it is dropped.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(std::fs::read_to_string("kernels.ptx").unwrap(), &[])?;
/// let function = module.get_function("sum")?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Module {
    inner: CUmodule,
}

// SAFETY: any thread with the module's context may use it, and several may at once.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// How much the driver's compiler optimises.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptLevel {
    /// Not at all.
    O0 = 0,
    /// A little.
    O1 = 1,
    /// More.
    O2 = 2,
    /// Almost all.
    O3 = 3,
    /// All; the default.
    O4 = 4,
}

/// What to take if a fat binary has no machine code for the device.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitFallback {
    /// PTX.
    PreferPtx = 0,
    /// Machine code for another device that this one runs.
    PreferCompatibleBinary = 1,
}

/// How the driver compiles a module that it loads.
///
/// ```
/// use cust::module::{ModuleJitOption, OptLevel};
///
/// let options = [ModuleJitOption::MaxRegisters(64), ModuleJitOption::OptLevel(OptLevel::O4)];
/// let (keys, values) = ModuleJitOption::into_raw(&options);
/// assert_eq!((keys, values.len()), (vec![0, 7], 2));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleJitOption {
    /// A thread has at most so many registers.
    MaxRegisters(u32),
    /// How much is optimised.
    OptLevel(OptLevel),
    /// The target is the device of the current context; the default.
    DetermineTargetFromContext,
    /// The target is this architecture.
    Target(CUjit_target),
    /// What is taken where no machine code fits.
    Fallback(JitFallback),
    /// Whether debug information is made.
    GenerateDebugInfo(bool),
    /// Whether line tables are made.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    /// Two arrays of one length, as `cuModuleLoadDataEx` takes them: a value is passed in the place
    /// of a pointer to it.
    pub fn into_raw(opts: &[Self]) -> (Vec<CUjit_option>, Vec<*mut c_void>) {
        let option = |option: &Self| match *option {
            Self::MaxRegisters(count) => (sys::CU_JIT_MAX_REGISTERS, count),
            Self::OptLevel(level) => (sys::CU_JIT_OPTIMIZATION_LEVEL, level as u32),
            Self::DetermineTargetFromContext => (sys::CU_JIT_TARGET_FROM_CUCONTEXT, 0),
            Self::Target(target) => (sys::CU_JIT_TARGET, target),
            Self::Fallback(fallback) => (sys::CU_JIT_FALLBACK_STRATEGY, fallback as u32),
            Self::GenerateDebugInfo(wanted) => (sys::CU_JIT_GENERATE_DEBUG_INFO, u32::from(wanted)),
            Self::GenerateLineInfo(wanted) => (sys::CU_JIT_GENERATE_LINE_INFO, u32::from(wanted)),
        };
        opts.iter()
            .map(option)
            .map(|(key, value)| (key, ptr::without_provenance_mut(value as usize)))
            .unzip()
    }
}

impl Module {
    /// Loads a file: PTX, a cubin or a fat binary.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::FileNotFound`] also for a path that no C program could name.
    pub fn from_file<P: AsRef<Path>>(path: P) -> CudaResult<Module> {
        let path = path
            .as_ref()
            .to_str()
            .and_then(|path| CString::new(path).ok())
            .ok_or(CudaError::FileNotFound)?;
        let mut inner = ptr::null_mut();
        // SAFETY: the path ends with a NUL, and the pointer is to a live variable.
        unsafe { call!(cuModuleLoad(&raw mut inner, path.as_ptr())) }?;
        Ok(Module { inner })
    }

    /// Loads a fat binary: code for several architectures, from which the driver chooses.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::NoBinaryForGpu`] if nothing in it fits the device.
    pub fn from_fatbin<T: AsRef<[u8]>>(
        bytes: T,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        Self::from_cubin(bytes, options)
    }

    /// Loads machine code that was compiled for this device. The driver learns its length from the
    /// code itself.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::NoBinaryForGpu`] if it was made for another architecture.
    pub fn from_cubin<T: AsRef<[u8]>>(bytes: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let mut image = bytes.as_ref().to_vec();
        // PTX may be given as bytes too, and must end with a NUL.
        image.push(0);
        // SAFETY: the image lives as long as the call, and ends with a NUL.
        unsafe { Self::load(image.as_ptr().cast(), options) }
    }

    /// Loads PTX that ends with a NUL; the driver compiles it.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::InvalidPtx`] if it cannot be compiled.
    pub fn from_ptx_cstr(cstr: &CStr, options: &[ModuleJitOption]) -> CudaResult<Module> {
        // SAFETY: the text lives as long as the call, and ends with a NUL.
        unsafe { Self::load(cstr.as_ptr().cast(), options) }
    }

    /// Loads PTX; the driver compiles it.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::InvalidPtx`] if it cannot be compiled, or has a NUL inside.
    pub fn from_ptx<T: AsRef<str>>(string: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let text = CString::new(string.as_ref()).map_err(|_| CudaError::InvalidPtx)?;
        Self::from_ptx_cstr(&text, options)
    }

    /// # Safety
    ///
    /// The image is one that the driver finds the end of, and lives as long as the call.
    unsafe fn load(image: *const c_void, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let (mut keys, mut values) = ModuleJitOption::into_raw(options);
        let (count, keys, values) = (keys.len() as c_uint, keys.as_mut_ptr(), values.as_mut_ptr());
        let mut inner = ptr::null_mut();
        // SAFETY: the caller's promise; both arrays have so many entries and live as long as the
        // call.
        unsafe { call!(cuModuleLoadDataEx(&raw mut inner, image, count, keys, values)) }?;
        Ok(Module { inner })
    }

    /// A global variable of the module.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotFound`] if there is none of this name, [`CudaError::InvalidValue`] if it is
    /// smaller than a `T`.
    pub fn get_global<'a, T: DeviceCopy>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        let (mut address, mut bytes): (CUdeviceptr, usize) = (0, 0);
        // SAFETY: the module is loaded, the name ends with a NUL, and the pointers are to live
        // variables.
        unsafe {
            call!(cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, self.inner, name.as_ptr()))
        }?;
        if bytes < size_of::<T>() {
            return Err(CudaError::InvalidValue);
        }
        Ok(Symbol { ptr: DevicePointer::from_raw(address), module: PhantomData })
    }

    /// A kernel of the module.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotFound`] if there is none of this name.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::NotFound)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a NUL, and the pointer is to a live
        // variable.
        unsafe { call!(cuModuleGetFunction(&raw mut function, self.inner, name.as_ptr())) }?;
        Ok(Function::new(function, self))
    }

    /// The driver's handle, which is good as long as the module lives.
    pub fn as_inner(&self) -> CUmodule {
        self.inner
    }

    /// Unloads the module, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the module.
    pub fn drop(module: Module) -> DropResult<Module> {
        let module = ManuallyDrop::new(module);
        // SAFETY: loaded by this object, whose borrows have ended.
        unsafe { call!(cuModuleUnload(module.inner)) }
            .map_err(|error| (error, ManuallyDrop::into_inner(module)))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by this object, whose borrows have ended.
        let _ = unsafe { call!(cuModuleUnload(self.inner)) };
    }
}

/// A global variable of a module, on the device.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let module = Module::from_file("kernels.ptx")?;
/// let mut factor = module.get_global::<f32>(c"FACTOR")?;
/// factor.copy_from(&2.5)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Symbol<'a, T: DeviceCopy> {
    ptr: DevicePointer<T>,
    module: PhantomData<&'a Module>,
}

impl<T: DeviceCopy> crate::private::Sealed for Symbol<'_, T> {}

impl<T: DeviceCopy> fmt::Pointer for Symbol<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<T: DeviceCopy> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: the variable is as large as a `T`, and its module is loaded.
        unsafe { copy_to_device(self.ptr.as_raw(), source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe { copy_to_host(dest, self.ptr.as_raw(), 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_has_a_value() {
        let options = [
            ModuleJitOption::DetermineTargetFromContext,
            ModuleJitOption::Target(90),
            ModuleJitOption::Fallback(JitFallback::PreferCompatibleBinary),
            ModuleJitOption::GenerateDebugInfo(true),
            ModuleJitOption::GenerateLineInfo(false),
        ];
        let (keys, values) = ModuleJitOption::into_raw(&options);
        assert_eq!(keys, [8, 9, 10, 11, 13]);
        assert_eq!(values.iter().map(|value| value.addr()).collect::<Vec<_>>(), [0, 90, 1, 1, 0]);
    }
}
