//! A launch by a direct call of the driver, without warpfold's code around it.

use std::ffi::c_void;

use anyhow::{Context, ensure};
use cuda_driver::{CUfunction, CUstream, Driver};
use cust::module::Module;

/// A kernel with arguments of up to 64 bits, ready to be launched again and again.
pub(crate) struct BareLaunch {
    driver: &'static Driver,
    // The function stays loaded only as long as the module lives.
    _module: Module,
    function: CUfunction,
    block: u32,
    args: Vec<u64>,
    stream: CUstream,
}

impl BareLaunch {
    /// Prepares a launch of one block of `block` threads. The context of the stream must be
    /// current.
    pub(crate) fn new(
        ptx: &str,
        kernel: &str,
        block: u32,
        args: Vec<u64>,
        stream: *mut c_void,
    ) -> anyhow::Result<Self> {
        let driver = cuda_driver::load()?;
        let module =
            Module::from_ptx(ptx, &[]).with_context(|| format!("{kernel} cannot be loaded"))?;
        let function = module
            .get_function(kernel)
            .with_context(|| format!("there is no kernel {kernel}"))?
            .to_raw();
        Ok(Self { driver, _module: module, function, block, args, stream: stream.cast() })
    }

    /// Launches the kernel.
    ///
    /// # Safety
    ///
    /// The arguments must fit the kernel, and the memory to which they point must live until the
    /// stream has done the work.
    pub(crate) unsafe fn launch(&mut self) -> anyhow::Result<()> {
        let mut pointers = [std::ptr::null_mut(); 8];
        for (pointer, arg) in pointers.iter_mut().zip(&mut self.args) {
            *pointer = (&raw mut *arg).cast::<c_void>();
        }
        let (pointers, none) = (pointers.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: there is a pointer for each argument, and the driver reads the arguments before
        // it returns. The caller promises the rest.
        let code = unsafe {
            self.driver.cuLaunchKernel(
                self.function,
                1,
                1,
                1,
                self.block,
                1,
                1,
                0,
                self.stream,
                pointers,
                none,
            )
        };
        ensure!(code == 0, "a bare launch failed: {}", cuda_driver::error_text(code));
        Ok(())
    }
}
