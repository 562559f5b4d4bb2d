//! Buffers, which own memory of the device.

use std::{marker::PhantomData, ops::RangeBounds, sync::Arc};

use super::{Core, DeviceError, Pod, View, ViewMut, allocation::Allocation, view::bounds};

/// A fixed number of values of type `T` in the device's global memory.
/// [`Device::alloc`](super::Device::alloc) and [`Device::upload`](super::Device::upload) make
/// buffers. The buffer is `Send` and `Sync` if `T` is.
///
/// Dropping the buffer frees its memory, after all work that was added to any stream before the
/// drop has ended. A [`Graph`](super::Graph) that reads or writes the buffer by a safe call keeps
/// the memory until the graph itself is dropped.
///
/// ```
/// use warpfold::Device;
///
/// let device = Device::simulator();
/// let mut buffer = device.upload(&[1u32, 2, 3, 4])?;
/// assert_eq!(buffer.view(1..3).copy_to_host()?, [2, 3]);
/// buffer.view_mut(2..).copy_from_host(&[7, 8])?;
/// assert_eq!(buffer.copy_to_host()?, [1, 2, 7, 8]);
/// # Ok::<(), warpfold::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Buffer<T> {
    allocation: Arc<Allocation>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    pub(super) fn new(core: &Arc<Core>, len: usize) -> Result<Self, DeviceError> {
        let allocation = Allocation::new(core, len as u128 * size_of::<T>() as u128)?;
        Ok(Self { allocation, len, element: PhantomData })
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first value, for [`Arg::Pointer`](super::Arg::Pointer). It is a
    /// multiple of 256, or 0 for an empty buffer.
    pub fn address(&self) -> u64 {
        self.allocation.address()
    }

    /// A view of the values in `range`.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the buffer, as slice indexing does.
    pub fn view(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        let range = bounds(range, self.len);
        View::new(
            &self.allocation,
            self.address() + (range.start * size_of::<T>()) as u64,
            range.len(),
        )
    }

    /// A view of the values in `range` through which they can be overwritten.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the buffer, as slice indexing does.
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        let range = bounds(range, self.len);
        ViewMut::new(
            &self.allocation,
            self.address() + (range.start * size_of::<T>()) as u64,
            range.len(),
        )
    }

    /// Waits for all earlier work and copies the values to the host.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; or an error of the driver.
    pub fn copy_to_host(&self) -> Result<Vec<T>, DeviceError> {
        self.view(..).copy_to_host()
    }

    /// Waits for all earlier work and copies the buffer's values into `values`, which may be
    /// page-locked memory.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the length of `values` differs from that of this buffer; a fault
    /// of an earlier launch; or an error of the driver.
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<(), DeviceError> {
        self.view(..).copy_to_slice(values)
    }

    /// Overwrites the whole buffer with `values`.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the length of `values` differs from that of this buffer; or an
    /// error of the driver.
    pub fn copy_from_host(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.view_mut(..).copy_from_host(values)
    }

    /// Overwrites the whole buffer with the values of `source`, by a copy within the device.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the lengths differ; [`DeviceError::OtherDevice`] if `source`
    /// belongs to another device; or an error of the driver.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.view_mut(..).copy_from(source)
    }

    /// Sets every byte of the buffer to `byte`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), DeviceError> {
        self.view_mut(..).fill_bytes(byte)
    }

    /// The core of the device that the buffer belongs to.
    pub(super) fn core(&self) -> &Arc<Core> {
        self.allocation.core()
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
