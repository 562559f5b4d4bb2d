//! Streams that live as long as a closure runs, so they can borrow the memory that they copy.

use std::{fmt, marker::PhantomData};

use super::{
    Arg, Buffer, Core, Device, DeviceError, Kernel, LaunchShape, Pod, backend::Purpose,
    stream::Queue,
};

/// Several streams. The work of one stream runs in order; the work of different streams may run at
/// the same time. The simulator runs each piece of work immediately, in the order of the calls,
/// which is one of the allowed orders.
///
/// [`Device::streams`] makes them. `'env` is the lifetime of the memory that the copies borrow.
pub struct Streams<'env> {
    core: &'env Core,
    open: Vec<Queue>,
    /// Makes `'env` invariant, so that a shorter borrow is never accepted as `'env`.
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("streams", &self.open.len()).finish_non_exhaustive()
    }
}

impl Device {
    /// Opens `count` streams, lets `work` use them, and waits until all of them are done, even if
    /// `work` fails or panics. The memory that the copies borrow is free again only after this
    /// wait.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
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
    /// Memory that the closure owns would be freed too soon, so the compiler refuses it:
    ///
    /// ```compile_fail
    /// # use warpfold::device::{Device, DeviceError};
    /// # let device = Device::simulator();
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
    /// The error that `work` returns, or an error of the driver, including errors of the streams'
    /// work.
    pub fn streams<'env, E: From<DeviceError>>(
        &'env self,
        count: usize,
        work: impl FnOnce(&Streams<'env>) -> Result<(), E>,
    ) -> Result<(), E> {
        /// Waits for the streams when it is dropped, also after an error or a panic.
        struct Wait<'env>(Streams<'env>);

        impl Drop for Wait<'_> {
            fn drop(&mut self) {
                // The backend is called directly, so that neither a planned fault nor a capture can
                // skip the wait. Its error is ignored, because another call has reported or will
                // report it.
                for queue in &self.0.open {
                    let _ = queue.stream.synchronize();
                }
            }
        }

        // The work that the device was given before must end first.
        self.synchronize()?;
        let core = &self.shared.core;
        let open =
            (0..count).map(|_| Queue::open(core, Purpose::Work)).collect::<Result<_, _>>()?;
        let scope = Wait(Streams { core, open, env: PhantomData });
        work(&scope.0)?;
        Ok(scope.0.synchronize()?)
    }
}

impl<'env> Streams<'env> {
    /// Copies `values` into `buffer`, from its element `at` on. Page-locked values are copied while
    /// the host goes on; for other memory, the driver copies to page-locked memory first.
    ///
    /// # Errors
    ///
    /// A range that does not lie within the buffer; a buffer of another device; or an error of the
    /// driver.
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
        // SAFETY: the values are borrowed for `'env`, and `Device::streams` waits for the stream
        // before that ends.
        unsafe { stream.write(address, bytemuck::cast_slice(values)) }
    }

    /// Copies the elements of `buffer` from `at` on into `values`, in the way of
    /// [`upload`](Self::upload).
    ///
    /// # Errors
    ///
    /// The errors of [`upload`](Self::upload).
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
        // SAFETY: as above, and `&'env mut` is the only borrow.
        unsafe { stream.read(address, bytemuck::cast_slice_mut(values)) }
    }

    /// Starts a kernel, as [`Device::launch`] does.
    ///
    /// # Safety
    ///
    /// As [`Device::launch`].
    ///
    /// # Errors
    ///
    /// As [`Device::launch`].
    ///
    /// # Panics
    ///
    /// If there is no such stream.
    pub unsafe fn launch(
        &self,
        stream: usize,
        kernel: &Kernel,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        let stream = &self.open[stream];
        self.core.check_launchable(kernel, shape, args)?;
        // SAFETY: the caller's promise.
        unsafe { stream.launch(kernel, shape, args) }
    }

    /// Waits for all streams.
    ///
    /// # Errors
    ///
    /// The first error of a stream.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // Every stream is waited for, even if the first one reports an error.
        let waited: Vec<_> = self.open.iter().map(Queue::synchronize).collect();
        waited.into_iter().collect()
    }

    /// The device address of `len` elements from `at` on.
    fn place<T: Pod>(&self, buffer: &Buffer<T>, at: usize, len: usize) -> Result<u64, DeviceError> {
        self.core.check_own(buffer.core(), "buffer")?;
        if at.saturating_add(len) > buffer.len() {
            return Err(DeviceError::Length {
                source_len: len,
                buffer_len: buffer.len().saturating_sub(at),
            });
        }
        Ok(buffer.view(at..at + len).address())
    }
}
