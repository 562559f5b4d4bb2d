//! Stands in for `gpu` on hosts that CUDA does not know.

use bench::plan::Case;

pub(crate) struct Gpu;

impl Gpu {
    pub(crate) fn open() -> anyhow::Result<Gpu> {
        cuda_driver::status()?;
        Ok(Gpu)
    }

    #[expect(clippy::unused_self, reason = "as the other `gpu`")]
    pub(crate) fn launch(&self, _case: &Case, _ptx: &str) -> anyhow::Result<Result<(), String>> {
        Ok(Err("there is no CUDA".to_owned()))
    }
}
