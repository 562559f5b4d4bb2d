//! Stands in for `gpu` on hosts that CUDA does not know.

use std::ffi::c_void;

pub(crate) struct BareLaunch;

impl BareLaunch {
    pub(crate) fn new(_: &str, _: &str, _: u32, _: Vec<u64>, _: *mut c_void) -> anyhow::Result<Self> {
        cuda_driver::status()?;
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "as the other `BareLaunch`")]
    pub(crate) unsafe fn launch(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
