//! Copies and kernels that run beside each other: page-locked host memory, and streams.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut, Range},
    slice,
    sync::Arc,
};

use super::{Arg, Buffer, Device, DeviceError, Home, HomeStream, Kernel, LaunchShape, Pod, same_home};

/// `len` values in host memory that is page-locked ("pinned"), so that the GPU can copy to and from it by itself; a slice.
/// On the simulator it is memory like any other. Freed on drop.
///
/// ```
/// use warpfold::device::{Device, DeviceChoice};
///
/// let device = Device::open(DeviceChoice::Auto)?;
/// let mut pinned = device.alloc_pinned::<u32>(3)?;
/// assert_eq!(*pinned, [0; 3]);
/// pinned.copy_from_slice(&[1, 2, 3]);
/// assert_eq!(device.upload(&pinned)?.copy_to_host()?, [1, 2, 3]);
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
pub struct PinnedBuffer<T> {
    home: Arc<dyn Home>,
    /// Dangling for no values.
    values: *mut T,
    len: usize,
}

// SAFETY: it owns its memory, as a `Vec<T>` does.
unsafe impl<T: Send> Send for PinnedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for PinnedBuffer<T> {}

impl<T> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values that `alloc_pinned` zeroed, and any bytes are a value.
        unsafe { slice::from_raw_parts(self.values, self.len) }
    }
}

impl<T> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.values, self.len) }
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        let bytes = self.len * size_of::<T>();
        if bytes > 0 {
            self.home.free_pinned(self.values.cast(), bytes);
        }
    }
}

/// Several streams: what is given to one runs in order, what is given to different ones may run at the same time. On the
/// simulator everything runs at once and in the order in which it is given, which is one of the orders allowed.
///
/// Made by [`Device::streams`]. `'env` is what the copies borrow.
pub struct Streams<'env> {
    device: &'env Device,
    open: Vec<Box<dyn HomeStream>>,
    /// Invariant: what is borrowed for less than the whole scope must not pass for `'env`.
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("streams", &self.open.len()).finish_non_exhaustive()
    }
}

impl Device {
    /// Allocates page-locked host memory for `len` values, all bytes 0.
    ///
    /// # Errors
    ///
    /// The driver's, also where the host has not that much memory to lock.
    pub fn alloc_pinned<T: Pod>(&self, len: usize) -> Result<PinnedBuffer<T>, DeviceError> {
        let requested = len as u128 * size_of::<T>() as u128;
        let bytes = isize::try_from(requested).map_err(|_| DeviceError::OutOfHostMemory { requested })? as usize;
        let values = if bytes == 0 { std::ptr::dangling_mut() } else { self.home.alloc_pinned(bytes)?.cast() };
        Ok(PinnedBuffer { home: Arc::clone(&self.home), values, len })
    }

    /// Opens `count` streams, lets `work` use them, and waits until all of them are done, also if it fails or panics. Only
    /// then is what the copies borrowed free again.
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceChoice};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let mut pinned = device.alloc_pinned::<u32>(4)?;
    /// pinned.copy_from_slice(&[1, 2, 3, 4]);
    /// let buffer = device.alloc::<u32>(4)?;
    /// device.streams(2, |streams| {
    ///     streams.upload(0, &pinned[..2], &buffer, 0)?;
    ///     streams.upload(1, &pinned[2..], &buffer, 2)
    /// })?;
    /// assert_eq!(buffer.copy_to_host()?, [1, 2, 3, 4]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    ///
    /// Memory of the closure's own would be gone too soon, and is refused:
    ///
    /// ```compile_fail
    /// # use warpfold::device::{Device, DeviceChoice, DeviceError};
    /// # let device = Device::open(DeviceChoice::Simulator)?;
    /// let buffer = device.alloc::<u32>(4)?;
    /// device.streams(1, |streams| {
    ///     let values = [1, 2, 3, 4];
    ///     streams.upload(0, &values, &buffer, 0)
    /// })?;
    /// # Ok::<(), DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What `work` returns; else the driver's, also for what the streams did.
    pub fn streams<'env, E: From<DeviceError>>(
        &'env self,
        count: usize,
        work: impl FnOnce(&Streams<'env>) -> Result<(), E>,
    ) -> Result<(), E> {
        /// Waits, whatever happens.
        struct Wait<'env>(Streams<'env>);

        impl Drop for Wait<'_> {
            fn drop(&mut self) {
                // The error of a stream that was already waited for is reported there.
                let _ = self.0.synchronize();
            }
        }

        // What was given to the device before comes before.
        self.synchronize()?;
        let open = (0..count).map(|_| Arc::clone(&self.home).open_stream()).collect::<Result<_, _>>()?;
        let scope = Wait(Streams { device: self, open, env: PhantomData });
        work(&scope.0)?;
        Ok(scope.0.synchronize()?)
    }
}

impl<'env> Streams<'env> {
    /// Copies `values` into `buffer`, from its element `at` on. Page-locked values are copied while the host goes on; others
    /// the driver copies to page-locked memory first.
    ///
    /// # Errors
    ///
    /// More values than the buffer has room for; another device's buffer; the driver's.
    ///
    /// # Panics
    ///
    /// If there is no such stream.
    pub fn upload<T: Pod>(
        &self,
        stream: usize,
        values: &'env [T],
        buffer: &'env Buffer<T>,
        at: usize,
    ) -> Result<(), DeviceError> {
        let stream = &self.open[stream];
        let address = self.place(buffer, at, values.len())?;
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: the values are borrowed for `'env`, and `Device::streams` waits for the stream before that ends.
        unsafe { stream.write(address, bytemuck::cast_slice(values)) }
    }

    /// Copies elements of `buffer`, from `at` on, into `values`. As [`upload`](Self::upload).
    ///
    /// # Errors
    ///
    /// As [`upload`](Self::upload).
    ///
    /// # Panics
    ///
    /// If there is no such stream.
    pub fn download<T: Pod>(
        &self,
        stream: usize,
        buffer: &'env Buffer<T>,
        at: usize,
        values: &'env mut [T],
    ) -> Result<(), DeviceError> {
        let stream = &self.open[stream];
        let address = self.place(buffer, at, values.len())?;
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: as above, and they are borrowed alone.
        unsafe { stream.read(address, bytemuck::cast_slice_mut(values)) }
    }

    /// Starts a kernel, as [`Device::launch`] does.
    ///
    /// # Errors
    ///
    /// As [`Device::launch`].
    ///
    /// # Panics
    ///
    /// If there is no such stream.
    pub fn launch(&self, stream: usize, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        let stream = &self.open[stream];
        self.device.check_launchable(kernel, shape, args)?;
        stream.launch(&*kernel.loaded, shape, args)
    }

    /// Waits for all streams.
    ///
    /// # Errors
    ///
    /// What failed in one of them.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // All are waited for, whatever the first says.
        let waited: Vec<_> = self.open.iter().map(|stream| stream.synchronize()).collect();
        waited.into_iter().collect()
    }

    /// The device address of `len` elements from `at` on.
    fn place<T: Pod>(&self, buffer: &Buffer<T>, at: usize, len: usize) -> Result<u64, DeviceError> {
        if !same_home(&self.device.home, &buffer.home) {
            return Err(DeviceError::OtherDevice("buffer"));
        }
        let Range { start, end } = at..at.saturating_add(len);
        if end > buffer.len() {
            return Err(DeviceError::Length { source_len: len, buffer_len: buffer.len().saturating_sub(start) });
        }
        Ok(buffer.address() + (start * size_of::<T>()) as u64)
    }
}
