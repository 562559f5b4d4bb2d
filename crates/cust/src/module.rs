//! Modules: loaded PTX or machine code.

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

/// A loaded module. Dropping it unloads it.
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

// SAFETY: any thread with the module's context may use a module, and several may do so at once.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// The level of optimisation of the driver's compiler.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptLevel {
    /// No optimisation.
    O0 = 0,
    /// Level 1.
    O1 = 1,
    /// Level 2.
    O2 = 2,
    /// Level 3.
    O3 = 3,
    /// Level 4, which is all optimisations and the default.
    O4 = 4,
}

/// The code that the driver takes if a fat binary has no machine code for the device.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitFallback {
    /// The driver compiles PTX.
    PreferPtx = 0,
    /// The driver takes machine code for another device, if this device can run it.
    PreferCompatibleBinary = 1,
}

/// An option for the driver's compiler when it loads a module.
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
    /// The most registers that a thread may have.
    MaxRegisters(u32),
    /// The level of optimisation.
    OptLevel(OptLevel),
    /// The target is the device of the current context. This is the default.
    DetermineTargetFromContext,
    /// The target is the architecture with this number of the driver.
    Target(CUjit_target),
    /// The code that is taken if no machine code fits the device.
    Fallback(JitFallback),
    /// Whether the compiler makes debug information.
    GenerateDebugInfo(bool),
    /// Whether the compiler makes line tables.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    /// The keys and the values of the options, as `cuModuleLoadDataEx` takes them. Each value is
    /// stored in the pointer itself and not behind it.
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
    /// Loads a file, which holds PTX, a cubin or a fat binary.
    ///
    /// # Errors
    ///
    /// An error of the driver; [`CudaError::FileNotFound`] if the file does not exist, or if its
    /// path is not UTF-8 or contains a NUL.
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
    /// [`CudaError::NoBinaryForGpu`] if no code in the fat binary fits the device; or another error
    /// of the driver.
    pub fn from_fatbin<T: AsRef<[u8]>>(
        bytes: T,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        Self::from_cubin(bytes, options)
    }

    /// Loads machine code (a cubin) that was compiled for this device. The driver finds the length
    /// of the code in the code itself.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoBinaryForGpu`] if the code was compiled for another architecture; or another
    /// error of the driver.
    pub fn from_cubin<T: AsRef<[u8]>>(bytes: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let mut image = bytes.as_ref().to_vec();
        // A caller may also pass PTX, and the driver finds its end by a NUL.
        image.push(0);
        // SAFETY: the image lives as long as the call, and ends with a NUL.
        unsafe { Self::load(image.as_ptr().cast(), options) }
    }

    /// Loads PTX in a C string. The driver compiles it.
    ///
    /// # Errors
    ///
    /// [`CudaError::InvalidPtx`] if the PTX cannot be compiled; or another error of the driver.
    pub fn from_ptx_cstr(cstr: &CStr, options: &[ModuleJitOption]) -> CudaResult<Module> {
        // SAFETY: the text lives as long as the call, and ends with a NUL.
        unsafe { Self::load(cstr.as_ptr().cast(), options) }
    }

    /// Loads PTX. The driver compiles it.
    ///
    /// # Errors
    ///
    /// [`CudaError::InvalidPtx`] if the PTX cannot be compiled or has a NUL inside; or another
    /// error of the driver.
    pub fn from_ptx<T: AsRef<str>>(string: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let text = CString::new(string.as_ref()).map_err(|_| CudaError::InvalidPtx)?;
        Self::from_ptx_cstr(&text, options)
    }

    /// Loads an image.
    ///
    /// # Safety
    ///
    /// The driver can find the end of the image, and the image lives as long as the call.
    unsafe fn load(image: *const c_void, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let (mut keys, mut values) = ModuleJitOption::into_raw(options);
        let (count, keys, values) = (keys.len() as c_uint, keys.as_mut_ptr(), values.as_mut_ptr());
        let mut inner = ptr::null_mut();
        // SAFETY: the caller's promise. Both arrays have `count` entries and live as long as the
        // call.
        unsafe { call!(cuModuleLoadDataEx(&raw mut inner, image, count, keys, values)) }?;
        Ok(Module { inner })
    }

    /// The global variable of the module that has this name.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotFound`] if the module has no variable of this name;
    /// [`CudaError::InvalidValue`] if the variable is smaller than a `T`; or another error of the
    /// driver.
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

    /// The kernel of the module that has this name.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotFound`] if the module has no kernel of this name; or another error of the
    /// driver.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::NotFound)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a NUL, and the pointer is to a live
        // variable.
        unsafe { call!(cuModuleGetFunction(&raw mut function, self.inner, name.as_ptr())) }?;
        Ok(Function::new(function, self))
    }

    /// The driver's handle, which is valid as long as the module lives.
    pub fn as_inner(&self) -> CUmodule {
        self.inner
    }

    /// Unloads the module and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the module, which still lives.
    pub fn drop(module: Module) -> DropResult<Module> {
        let module = ManuallyDrop::new(module);
        // SAFETY: this object has loaded the module, and all borrows of it have ended.
        unsafe { call!(cuModuleUnload(module.inner)) }
            .map_err(|error| (error, ManuallyDrop::into_inner(module)))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: this object has loaded the module, and all borrows of it have ended.
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
