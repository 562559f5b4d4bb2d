//! Streams that live only while a closure runs, so that they can borrow the memory that they copy.

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
    /// Opens `count` streams, calls `work` with them, and waits until the work of all of them has
    /// ended, even if `work` fails or panics. The caller can use the memory that the copies borrow
    /// again only after this wait.
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
        /// Waits for the streams when it is dropped, even after an error or a panic.
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

        // Earlier work of the device must end before the streams begin, because they are not
        // ordered with it.
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
    /// Adds to stream number `stream` a copy of `values` into `buffer`, from its element `at` on.
    /// Streams are counted from 0. If the values lie in page-locked memory, they are copied while
    /// the host goes on. For other memory, the driver first copies them to page-locked memory.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the values do not fit into the buffer from `at` on;
    /// [`DeviceError::OtherDevice`] if the buffer belongs to another device; or an error of the
    /// driver.
    ///
    /// # Panics
    ///
    /// If there is no stream of that number.
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

    /// Adds to stream number `stream` a copy into `values` of the elements of `buffer` from `at`
    /// on. Page-locked memory is written while the host goes on; for other memory, the driver may
    /// wait.
    ///
    /// # Errors
    ///
    /// The errors of [`upload`](Self::upload).
    ///
    /// # Panics
    ///
    /// If there is no stream of that number.
    pub fn download<T: Pod>(
        &self,
        stream: usize,
        buffer: &'env Buffer<T>,
        at: usize,
        values: &'env mut [T],
    ) -> Result<(), DeviceError> {
        let stream = &self.open[stream];
        let address = self.place(buffer, at, values.len())?;
        // SAFETY: the wait is as in `upload`, and `&'env mut` is the only borrow.
        unsafe { stream.read(address, bytemuck::cast_slice_mut(values)) }
    }

    /// Adds a launch to stream number `stream`, as [`Device::launch`] adds one to the device's own
    /// stream.
    ///
    /// # Safety
    ///
    /// The contract is that of [`Device::launch`].
    ///
    /// # Errors
    ///
    /// The errors of [`Device::launch`].
    ///
    /// # Panics
    ///
    /// If there is no stream of that number.
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
    /// The error of the first stream that has one.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // Every stream is waited for, even if the first one reports an error.
        let waited: Vec<_> = self.open.iter().map(Queue::synchronize).collect();
        waited.into_iter().collect()
    }

    /// The device address of the element `at` of `buffer`, if `len` elements from there on lie
    /// within the buffer.
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
