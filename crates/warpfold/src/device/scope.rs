//! Streams for the time of a closure, which borrow what they copy.

use std::{fmt, marker::PhantomData};

use super::{Arg, Buffer, Core, Device, DeviceError, Kernel, LaunchShape, Pod, backend::Purpose, stream::Queue};

/// Several streams: what is given to one runs in order, what is given to different ones may run at the same time. On the
/// simulator everything runs at once and in the order in which it is given, which is one of the orders allowed.
///
/// Made by [`Device::streams`]. `'env` is what the copies borrow.
pub struct Streams<'env> {
    core: &'env Core,
    open: Vec<Queue>,
    /// Invariant: what is borrowed for less than the whole scope must not pass for `'env`.
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("streams", &self.open.len()).finish_non_exhaustive()
    }
}

impl Device {
    /// Opens `count` streams, lets `work` use them, and waits until all of them are done, also if it fails or panics. Only
    /// then is what the copies borrowed free again.
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
    /// Memory of the closure's own would be gone too soon, and is refused:
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
                // No way around the wait, neither by a planned fault nor by a capture. Its error was or will be reported.
                for queue in &self.0.open {
                    let _ = queue.stream.synchronize();
                }
            }
        }

        // What was given to the device before comes before.
        self.synchronize()?;
        let core = &self.shared.core;
        let open = (0..count).map(|_| Queue::open(core, Purpose::Work)).collect::<Result<_, _>>()?;
        let scope = Wait(Streams { core, open, env: PhantomData });
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
        // SAFETY: as above, and they are borrowed alone.
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
    /// What failed in one of them.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // All are waited for, whatever the first says.
        let waited: Vec<_> = self.open.iter().map(Queue::synchronize).collect();
        waited.into_iter().collect()
    }

    /// The device address of `len` elements from `at` on.
    fn place<T: Pod>(&self, buffer: &Buffer<T>, at: usize, len: usize) -> Result<u64, DeviceError> {
        self.core.check_own(buffer.core(), "buffer")?;
        if at.saturating_add(len) > buffer.len() {
            return Err(DeviceError::Length { source_len: len, buffer_len: buffer.len().saturating_sub(at) });
        }
        Ok(buffer.view(at..at + len).address())
    }
}
