//! Stands in for the CUDA home on hosts for which NVIDIA has no driver or this workspace no trampolines.

use std::sync::Arc;

use super::{DeviceError, home::Home};

pub(super) fn open() -> Result<Arc<dyn Home>, DeviceError> {
    Err(DeviceError::NoCuda(cuda_driver::DriverError::UnsupportedHost))
}
