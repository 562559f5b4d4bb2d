//! One value that has a copy on the host and one on the device.

use std::ops::{Deref, DerefMut};

use super::{CopyDestination as _, DeviceBox, DeviceCopy, DevicePointer};
use crate::error::CudaResult;

/// One value with two copies, one on the host and one on the device. The program decides when one
/// is copied to the other.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let mut step = DeviceVariable::new(1u32)?;
/// *step += 1;
/// step.copy_htod()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct DeviceVariable<T: DeviceCopy> {
    mem: DeviceBox<T>,
    var: T,
}

impl<T: DeviceCopy> DeviceVariable<T> {
    /// Makes both copies, with this value.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn new(var: T) -> CudaResult<Self> {
        Ok(Self { mem: DeviceBox::new(&var)?, var })
    }

    /// Copies the host's value to the device.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn copy_htod(&mut self) -> CudaResult<()> {
        self.mem.copy_from(&self.var)
    }

    /// Copies the device's value to the host.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn copy_dtoh(&mut self) -> CudaResult<()> {
        self.mem.copy_to(&mut self.var)
    }

    /// The address of the value on the device.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.mem.as_device_ptr()
    }
}

impl<T: DeviceCopy> Deref for DeviceVariable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.var
    }
}

impl<T: DeviceCopy> DerefMut for DeviceVariable<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.var
    }
}
