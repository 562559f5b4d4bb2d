//! What this machine has, for `python -m warpfold doctor`.

use cuda_driver::DriverError;
use pyo3::prelude::*;

use crate::{
    device::{of, with_context},
    error::raise,
};

/// The newest CUDA version that the driver supports, and the number of GPUs. If there are none, the
/// reason follows, and whether it is that something which is there does not work.
#[pyfunction]
pub(crate) fn driver() -> (String, u32, String, bool) {
    match cuda_driver::load() {
        Ok(driver) => (driver.version.to_string(), driver.devices, String::new(), false),
        Err(error) => {
            let is_absent = matches!(
                error,
                DriverError::LibraryNotFound { .. }
                    | DriverError::NoDevice { .. }
                    | DriverError::UnsupportedHost
            );
            (String::new(), 0, error.to_string(), !is_absent)
        }
    }
}

/// The name of a GPU, its compute capability, and its numbers of multiprocessors and of bytes.
#[pyfunction]
pub(crate) fn gpu(ordinal: u32) -> PyResult<(String, (u32, u32), u32, u64)> {
    let target = with_context(|| of(ordinal)).map_err(|error| raise(error.into()))?;
    let info = target.info();
    Ok((info.name.clone(), info.compute_capability, info.multiprocessors, info.memory_bytes))
}
