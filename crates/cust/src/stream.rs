//! Streams: queues of work that runs in order.

use std::{
    ffi::c_void,
    mem::ManuallyDrop,
    panic::{self, AssertUnwindSafe},
    ptr,
};

use crate::{
    error::{CudaResult, DropResult, ToResult as _},
    event::Event,
    function::{BlockSize, Function, GridSize},
    sys::{CUresult, CUstream},
};

bitflags::bitflags! {
    /// The order between a stream and the legacy default stream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// The two streams wait for each other's work.
        const DEFAULT = 0x00;
        /// The two streams do not wait for each other. [`Stream::new`] ignores this flag, as
        /// rust-cuda does.
        const NON_BLOCKING = 0x01;
    }
}

bitflags::bitflags! {
    /// The way in which a stream waits for an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// The usual way.
        const DEFAULT = 0x0;
    }
}

/// A queue of work. Its work runs in order, and may run at the same time as the work of other
/// streams. After the stream is dropped, the driver destroys it as soon as its work has ended.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// // Launches and copies.
/// stream.synchronize()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    inner: CUstream,
}

// SAFETY: any thread with the stream's context may use a stream, and several may do so at once.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream with this priority, or with the default one for `None`. A smaller number is
    /// more urgent.
    ///
    /// [`StreamFlags::NON_BLOCKING`] is ignored, because the plain copies of this crate run on the
    /// legacy default stream. With a stream that does not wait for that one, safe code could read
    /// values that a kernel is still writing.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let flags = flags - StreamFlags::NON_BLOCKING;
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe {
            call!(cuStreamCreateWithPriority(&raw mut inner, flags.bits(), priority.unwrap_or(0)))
        }?;
        Ok(Stream { inner })
    }

    /// The flags of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        let mut flags = 0;
        // SAFETY: the stream lives, and the pointer is to a live variable.
        unsafe { call!(cuStreamGetFlags(self.inner, &raw mut flags)) }?;
        Ok(StreamFlags::from_bits_truncate(flags))
    }

    /// The priority of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_priority(&self) -> CudaResult<i32> {
        let mut priority = 0;
        // SAFETY: the stream lives, and the pointer is to a live variable.
        unsafe { call!(cuStreamGetPriority(self.inner, &raw mut priority)) }?;
        Ok(priority)
    }

    /// Adds a call of `callback` to the work of the stream. A thread of the driver calls it after
    /// the earlier work of the stream, and passes the result of that work. The callback must not
    /// call any function of CUDA. A panic of the callback is caught and has no further effect.
    ///
    /// # Errors
    ///
    /// An error of the driver. The callback is then never called.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use cust::prelude::*;
    /// # let _context = cust::quick_init()?;
    /// # let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    /// stream.add_callback(Box::new(|result| println!("done: {result:?}")))?;
    /// # Ok::<(), cust::error::CudaError>(())
    /// ```
    pub fn add_callback<T>(&self, callback: Box<T>) -> CudaResult<()>
    where
        T: FnOnce(CudaResult<()>) + Send + 'static,
    {
        let callback = Box::into_raw(callback);
        // SAFETY: the driver calls `call_back` at most once, with the pointer that is passed here.
        let result = unsafe {
            call!(cuStreamAddCallback(self.inner, Some(call_back::<T>), callback.cast(), 0))
        };
        if result.is_err() {
            // SAFETY: the pointer was made above from a box, and the driver has not taken it.
            drop(unsafe { Box::from_raw(callback) });
        }
        result
    }

    /// Waits until all work of the stream has ended.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream lives.
        unsafe { call!(cuStreamSynchronize(self.inner)) }
    }

    /// Makes all work that is added to the stream later wait for the event. The call itself does
    /// not wait.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: both objects live.
        unsafe { call!(cuStreamWaitEvent(self.inner, event.as_inner(), flags.bits())) }
    }

    /// Launches a kernel whose arguments lie at these addresses. The macro
    /// [`launch!`](crate::launch!) is easier to use correctly.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    ///
    /// # Safety
    ///
    /// `args` has one address for each parameter of the kernel, and a value of the parameter's size
    /// lies there. The kernel accesses only memory that stays allocated until the kernel has ended,
    /// and its accesses race with no others.
    pub unsafe fn launch<G, B>(
        &self,
        func: &Function<'_>,
        grid_size: G,
        block_size: B,
        shared_mem_bytes: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        let (grid, block): (GridSize, BlockSize) = (grid_size.into(), block_size.into());
        // SAFETY: the caller's promise. The driver reads the values before it returns, and does not
        // write to the arrays.
        unsafe {
            call!(cuLaunchKernel(
                func.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_mem_bytes,
                self.inner,
                args.as_ptr().cast_mut(),
                ptr::null_mut(),
            ))
        }
    }

    /// The driver's handle, which is valid as long as the stream lives.
    pub fn as_inner(&self) -> CUstream {
        self.inner
    }

    /// Destroys the stream and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the stream, which still lives.
    pub fn drop(stream: Stream) -> DropResult<Stream> {
        let stream = ManuallyDrop::new(stream);
        // SAFETY: this object has made the stream. The driver lets its work end first.
        unsafe { call!(cuStreamDestroy_v2(stream.inner)) }
            .map_err(|error| (error, ManuallyDrop::into_inner(stream)))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: as in `Stream::drop`.
        let _ = unsafe { call!(cuStreamDestroy_v2(self.inner)) };
    }
}

/// The function that the driver calls for [`Stream::add_callback`].
///
/// # Safety
///
/// `callback` comes from a `Box<T>` that nobody else uses.
unsafe extern "system" fn call_back<T>(_stream: CUstream, status: CUresult, callback: *mut c_void)
where
    T: FnOnce(CudaResult<()>) + Send + 'static,
{
    // SAFETY: the caller's promise.
    let callback = unsafe { Box::from_raw(callback.cast::<T>()) };
    // A panic must not reach the driver. The payload of the panic is leaked, because dropping it
    // could panic again.
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| callback(status.to_result()))) {
        std::mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::error::CudaError;

    /// Calls `callback` in the way in which the driver calls it.
    fn call<T: FnOnce(CudaResult<()>) + Send + 'static>(callback: T, status: u32) {
        // SAFETY: the pointer comes from a box, and is used once.
        unsafe { call_back::<T>(ptr::null_mut(), status, Box::into_raw(Box::new(callback)).cast()) }
    }

    #[test]
    fn a_callback_gets_the_result_and_is_dropped() {
        let (sender, receiver) = mpsc::channel();
        call(move |result| sender.send(result).unwrap(), 721);
        assert_eq!(receiver.recv(), Ok(Err(CudaError::from_raw(721))));
        assert!(receiver.recv().is_err(), "the sender was dropped with the callback");
    }

    #[test]
    fn a_panic_ends_in_the_callback() {
        call(|result| result.unwrap(), 1);
        call(|_| {}, 0);
    }
}
