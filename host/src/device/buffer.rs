//! Memory of the device, owned.

use std::{marker::PhantomData, ops::RangeBounds, sync::Arc};

use super::{Core, DeviceError, Pod, View, ViewMut, view::bounds};

/// `len` values of type `T` in the device's global memory; freed on drop. `Send` and `Sync` where `T` is.
///
/// Dropping it waits for the work that was given to the device before, on whichever stream: nothing that runs loses its
/// memory. A launch that is given the address *after* the drop, also by a replayed [`Graph`](super::Graph), meets memory
/// that belongs to nobody or to another buffer.
///
/// ```
/// use warpfold::device::{Device, DeviceChoice};
///
/// let device = Device::open(DeviceChoice::Simulator)?;
/// let mut buffer = device.upload(&[1u32, 2, 3, 4])?;
/// assert_eq!(buffer.view(1..3).copy_to_host()?, [2, 3]);
/// buffer.view_mut(2..).copy_from_host(&[7, 8])?;
/// assert_eq!(buffer.copy_to_host()?, [1, 2, 7, 8]);
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Buffer<T> {
    core: Arc<Core>,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.core.free(self.address);
    }
}

impl<T: Pod> Buffer<T> {
    pub(super) fn new(core: &Arc<Core>, len: usize) -> Result<Self, DeviceError> {
        let address = core.alloc(len as u128 * size_of::<T>() as u128)?;
        Ok(Self { core: Arc::clone(core), address, len, element: PhantomData })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Device address of the first value, for [`Arg::Pointer`](super::Arg::Pointer), a multiple of 256; 0 for an empty
    /// buffer.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Some of the values, from any element on.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the buffer, as for slices.
    pub fn view(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        let range = bounds(range, self.len);
        View::new(&self.core, self.address + (range.start * size_of::<T>()) as u64, range.len())
    }

    /// Some of the values, to be overwritten.
    ///
    /// # Panics
    ///
    /// As [`view`](Self::view).
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        let range = bounds(range, self.len);
        ViewMut::new(&self.core, self.address + (range.start * size_of::<T>()) as u64, range.len())
    }

    /// Waits for all earlier work and copies the values to the host.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; the driver's.
    pub fn copy_to_host(&self) -> Result<Vec<T>, DeviceError> {
        self.view(..).copy_to_host()
    }

    /// Waits for all earlier work and copies the values into `values`, page-locked or not.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; a fault of an earlier launch; the driver's.
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<(), DeviceError> {
        self.view(..).copy_to_slice(values)
    }

    /// Overwrites the whole buffer with `values`.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; the driver's.
    pub fn copy_from_host(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.view_mut(..).copy_from_host(values)
    }

    /// Overwrites the whole buffer with the values of `source`, without passing through the host.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; a buffer of another device; the driver's.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.view_mut(..).copy_from(source)
    }

    /// Sets every byte of the buffer.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), DeviceError> {
        self.view_mut(..).fill_bytes(byte)
    }

    /// Which device it belongs to.
    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

impl<'a, T: Pod> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.view(..)
    }
}

impl<'a, T: Pod> From<&'a mut Buffer<T>> for ViewMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.view_mut(..)
    }
}
