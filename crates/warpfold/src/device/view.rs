//! Slices of the device's memory: parts of buffers, and memory that other code has allocated.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, Range, RangeBounds},
    sync::Arc,
};

use super::{Core, DeviceError, Pod, allocation::Allocation};

/// A shared slice of the device's memory: some consecutive values of a [`Buffer`](super::Buffer). A
/// view is `Copy`, and `Send` and `Sync` if `T` is `Sync`.
///
/// ```
/// use warpfold::device::{Device, View};
///
/// let device = Device::simulator();
/// let buffer = device.upload(&[1u16, 2, 3, 4, 5])?;
/// let odd = buffer.view(1..);
/// assert_eq!((odd.len(), odd.address()), (4, buffer.address() + 2));
/// assert_eq!(odd.view(..=1).copy_to_host()?, [2, 3]);
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
pub struct View<'a, T> {
    allocation: &'a Arc<Allocation>,
    address: u64,
    len: usize,
    values: PhantomData<&'a [T]>,
}

/// An exclusive slice of the device's memory: some consecutive values of a
/// [`Buffer`](super::Buffer), which can be overwritten. It is `Send` and `Sync` if `T` is.
///
/// ```
/// use warpfold::Device;
///
/// let device = Device::simulator();
/// let mut buffer = device.upload(&[1u32, 2, 3])?;
/// buffer.view_mut(..2).fill_bytes(0)?;
/// assert_eq!(buffer.copy_to_host()?, [0, 0, 3]);
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
pub struct ViewMut<'a, T> {
    allocation: &'a Arc<Allocation>,
    address: u64,
    len: usize,
    values: PhantomData<&'a mut [T]>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<T> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("address", &self.address)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewMut")
            .field("address", &self.address)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Pod> View<'a, T> {
    pub(super) fn new(allocation: &'a Arc<Allocation>, address: u64, len: usize) -> Self {
        Self { allocation, address, len, values: PhantomData }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first value. It is a multiple of the size of `T`, if that size is
    /// a power of two up to 256.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// A view of the values in `range`.
    ///
    /// # Panics
    ///
    /// If the range does not lie within the view, as slice indexing does.
    #[must_use]
    pub fn view(&self, range: impl RangeBounds<usize>) -> Self {
        let range = bounds(range, self.len);
        Self::new(
            self.allocation,
            self.address + (range.start * size_of::<T>()) as u64,
            range.len(),
        )
    }

    /// Waits for all earlier work and copies the values to the host.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; or an error of the driver.
    pub fn copy_to_host(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = vec![T::zeroed(); self.len];
        self.copy_to_slice(&mut values)?;
        Ok(values)
    }

    /// Waits for all earlier work and copies the values of this view into `values`, which may be
    /// page-locked memory.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the length of `values` differs from that of this view; a fault of
    /// an earlier launch; or an error of the driver.
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<(), DeviceError> {
        check_len(values.len(), self.len)?;
        self.core().read(self.address, bytemuck::cast_slice_mut(values))
    }

    /// The core of the device that the values belong to.
    pub(super) fn core(&self) -> &'a Arc<Core> {
        self.allocation.core()
    }

    /// The allocation in which the values lie.
    pub(super) fn allocation(&self) -> &'a Arc<Allocation> {
        self.allocation
    }

    /// The length in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.len as u64 * size_of::<T>() as u64
    }
}

impl<'a, T: Pod> ViewMut<'a, T> {
    pub(super) fn new(allocation: &'a Arc<Allocation>, address: u64, len: usize) -> Self {
        Self { allocation, address, len, values: PhantomData }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address of the first value, aligned as [`View::address`] says.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// A shared view of the same values.
    pub fn as_view(&self) -> View<'_, T> {
        View::new(self.allocation, self.address, self.len)
    }

    /// Overwrites all values of the view with `values`.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the length of `values` differs from that of this view; or an
    /// error of the driver.
    pub fn copy_from_host(&mut self, values: &[T]) -> Result<(), DeviceError> {
        check_len(values.len(), self.len)?;
        self.core().write(self.address, bytemuck::cast_slice(values))
    }

    /// Overwrites all values of the view with those of `source`, a buffer or a view, by a copy
    /// within the device.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the lengths differ; [`DeviceError::OtherDevice`] if `source`
    /// belongs to another device; or an error of the driver.
    pub fn copy_from<'b>(&mut self, source: impl Into<View<'b, T>>) -> Result<(), DeviceError>
    where
        T: 'b,
    {
        let source = source.into();
        check_len(source.len, self.len)?;
        self.core().check_own(source.core(), "buffer")?;
        self.core().copy(source.address, self.address, source.bytes())
    }

    /// Sets every byte of the view to `byte`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), DeviceError> {
        self.core().fill(self.address, self.as_view().bytes(), byte)
    }

    /// The core of the device that the values belong to.
    pub(super) fn core(&self) -> &'a Arc<Core> {
        self.allocation.core()
    }

    /// The allocation in which the values lie.
    pub(super) fn allocation(&self) -> &'a Arc<Allocation> {
        self.allocation
    }
}

/// Defines the slices of device memory that other code has allocated.
macro_rules! raw_slices {
    ($($(#[$doc:meta])* $name:ident { $(#[$new:meta])* new })*) => {$(
        $(#[$doc])*
        pub struct $name<T> {
            address: u64,
            len: usize,
            values: PhantomData<fn() -> T>,
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("address", &self.address).field("len", &self.len).finish()
            }
        }

        impl<T: Pod> $name<T> {
            $(#[$new])*
            pub const unsafe fn new(address: u64, len: usize) -> Self {
                Self { address, len, values: PhantomData }
            }

            /// The device address of the first value.
            pub const fn address(&self) -> u64 {
                self.address
            }

            /// The number of values.
            pub const fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no values.
            pub const fn is_empty(&self) -> bool {
                self.len == 0
            }
        }
    )*};
}

raw_slices! {
    /// A slice of device memory that other code has allocated and that reductions read. A raw slice
    /// is `Copy`, `Send` and `Sync`. It does not borrow the memory, so its constructor is `unsafe`.
    ///
    /// ```
    /// use warpfold::{Device, RawSlice, Sum};
    ///
    /// let device = Device::simulator();
    /// let buffer = device.upload(&[1.0f32, 2.0])?;
    /// // SAFETY: the buffer lives as long as the slice, and holds two values of this type.
    /// let raw = unsafe { RawSlice::<f32>::new(buffer.address(), buffer.len()) };
    /// assert_eq!(device.reduce(raw, Sum)?, 3.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    RawSlice {
        /// Makes a slice of `len` values, of which the first lies at `address`.
        ///
        /// # Safety
        ///
        /// `address` is a multiple of the size of `T`. The following holds as long as this slice or
        /// a copy of it is used, and until all work that was given the slice has ended, including
        /// the replays of a graph: the values lie within one live allocation of the device that the
        /// slice is used with (on a GPU, of its primary context), all of them are initialized, and
        /// nothing overwrites them.
        new
    }

    /// A slice of device memory that other code has allocated and that a reduction overwrites with
    /// its raw result. A raw slice is `Copy`, `Send` and `Sync`. It does not borrow the memory, so
    /// its constructor is `unsafe`.
    ///
    /// ```
    /// use warpfold::{Device, RawSliceMut, Sum};
    ///
    /// let device = Device::simulator();
    /// let (input, output) = (device.upload(&[1.0f32, 2.0])?, device.alloc::<f32>(1)?);
    /// // SAFETY: the buffer lives until the work is done, and nobody else uses it meanwhile.
    /// let raw = unsafe { RawSliceMut::<f32>::new(output.address(), 1) };
    /// let stream = device.stream()?;
    /// device.reducer::<f32, _>(Sum)?.reduce_into(&input, raw, &stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(output.copy_to_host()?, [3.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    RawSliceMut {
        /// Makes a slice of `len` values, of which the first lies at `address`.
        ///
        /// # Safety
        ///
        /// `address` is a multiple of the size of `T`. The following holds as long as this slice or
        /// a copy of it is used, and until all work that was given the slice has ended, including
        /// the replays of a graph: the values lie within one live allocation of the device that the
        /// slice is used with (on a GPU, of its primary context), and nothing else reads or writes
        /// them.
        new
    }
}

/// Turns `range` into its start and its end. Panics if the range does not lie within `len` values.
pub(super) fn bounds(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "range {start}..{end} of {len} values");
    start..end
}

pub(super) fn check_len(source_len: usize, buffer_len: usize) -> Result<(), DeviceError> {
    if source_len == buffer_len {
        Ok(())
    } else {
        Err(DeviceError::Length { source_len, buffer_len })
    }
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn ranges_are_those_of_slices() {
        let values = [0; 5];
        for (range, len) in [(0..5, 5), (2..2, 0), (5..5, 0), (1..4, 3)] {
            assert_eq!(bounds(range.clone(), 5), range);
            assert_eq!(values[range].len(), len);
        }
        assert_eq!(bounds(.., 5), 0..5);
        assert_eq!(bounds(..=2, 5), 0..3);
        assert_eq!(bounds(3.., 5), 3..5);
        assert_eq!(bounds(.., 0), 0..0);
    }

    #[test]
    fn ranges_outside_are_refused() {
        for (start, end) in [(0, 6), (6, 6), (3, 2), (0, usize::MAX), (usize::MAX, usize::MAX)] {
            let refused = std::panic::catch_unwind(|| bounds(start..end, 5));
            assert!(refused.is_err(), "{start}..{end}");
        }
        assert!(std::panic::catch_unwind(|| bounds(0..=usize::MAX, usize::MAX)).is_ok());
        assert!(std::panic::catch_unwind(|| bounds(0..=5, 5)).is_err());
    }
}
