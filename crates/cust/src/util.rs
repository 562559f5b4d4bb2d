//! Methods that copy values to a device in a shorter way.

use crate::{
    error::CudaResult,
    memory::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBuffer},
};

/// The method [`as_dbox`](Self::as_dbox), for every value that can be copied to a device.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// assert_eq!(5u64.as_dbox()?.as_host_value()?, 5);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait DeviceCopyExt: DeviceCopy {
    /// Makes a copy in the memory of the device.
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceBox::new`].
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// The methods that copy a slice or an array.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// assert_eq!([1, 2, 3].as_dbuf()?.as_host_vec()?, [1, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait SliceExt<T: DeviceCopy> {
    /// Makes a copy in the memory of the device.
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceBuffer::from_slice`].
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;

    /// Makes a copy in memory that host and device share.
    ///
    /// # Errors
    ///
    /// The errors of [`UnifiedBuffer::from_slice`].
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>>;
}

impl<T: DeviceCopy> SliceExt<T> for &[T] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }

    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self)
    }
}

impl<T: DeviceCopy, const N: usize> SliceExt<T> for [T; N] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }

    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self)
    }
}
