//! Streams: work in order.

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
    /// How a stream is ordered with the legacy default stream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// They wait for each other.
        const DEFAULT = 0x00;
        /// They have nothing to do with each other. [`Stream::new`] ignores it, as rust-cuda does.
        const NON_BLOCKING = 0x01;
    }
}

bitflags::bitflags! {
    /// How a stream waits for an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// As usual.
        const DEFAULT = 0x0;
    }
}

/// Work in order, beside that of other streams. It is destroyed when it is dropped, once its work
/// is done.
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

// SAFETY: any thread with the stream's context may use it, and several may at once.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream with this priority, or with the usual one. A smaller number is more urgent.
    ///
    /// The plain copies of this crate run on the legacy default stream, so a stream that has
    /// nothing to do with that one would let safe code read what a kernel still writes; therefore
    /// [`StreamFlags::NON_BLOCKING`] is ignored.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let flags = flags - StreamFlags::NON_BLOCKING;
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe {
            call!(cuStreamCreateWithPriority(&raw mut inner, flags.bits(), priority.unwrap_or(0)))
        }?;
        Ok(Stream { inner })
    }

    /// Its flags.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        let mut flags = 0;
        // SAFETY: the stream lives, and the pointer is to a live variable.
        unsafe { call!(cuStreamGetFlags(self.inner, &raw mut flags)) }?;
        Ok(StreamFlags::from_bits_truncate(flags))
    }

    /// Its priority.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn get_priority(&self) -> CudaResult<i32> {
        let mut priority = 0;
        // SAFETY: the stream lives, and the pointer is to a live variable.
        unsafe { call!(cuStreamGetPriority(self.inner, &raw mut priority)) }?;
        Ok(priority)
    }

    /// Calls a function on a thread of the driver when the stream comes to it, with the result of
    /// the work before it. The function calls nothing of CUDA. If it panics, the panic ends there.
    ///
    /// # Errors
    ///
    /// The driver's; then the function is never called.
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
        // SAFETY: the driver calls the function at most once, with the pointer that it is given
        // here.
        let result = unsafe {
            call!(cuStreamAddCallback(self.inner, Some(call_back::<T>), callback.cast(), 0))
        };
        if result.is_err() {
            // SAFETY: made above, and the driver has not taken it.
            drop(unsafe { Box::from_raw(callback) });
        }
        result
    }

    /// Waits until the stream has done all its work.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream lives.
        unsafe { call!(cuStreamSynchronize(self.inner)) }
    }

    /// What the stream is given from now on waits for the event. This call does not.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: both live.
        unsafe { call!(cuStreamWaitEvent(self.inner, event.as_inner(), flags.bits())) }
    }

    /// Launches a kernel whose arguments are at these addresses. [`launch!`](crate::launch!) is
    /// easier to use right.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    ///
    /// # Safety
    ///
    /// There is an address for each argument of the kernel, of a value of its size. What the kernel
    /// does with addresses among the values stays within memory that is there until it has ended,
    /// and races with nothing.
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
        // SAFETY: the caller's promise. The driver reads the values before it returns, and writes
        // to none of the arrays.
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

    /// The driver's handle, which is good as long as the stream lives.
    pub fn as_inner(&self) -> CUstream {
        self.inner
    }

    /// Destroys the stream, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the stream.
    pub fn drop(stream: Stream) -> DropResult<Stream> {
        let stream = ManuallyDrop::new(stream);
        // SAFETY: made by this object. The driver lets its work end first.
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

/// # Safety
///
/// `callback` comes from a `Box<T>`, and from nobody else.
unsafe extern "system" fn call_back<T>(_stream: CUstream, status: CUresult, callback: *mut c_void)
where
    T: FnOnce(CudaResult<()>) + Send + 'static,
{
    // SAFETY: the caller's promise.
    let callback = unsafe { Box::from_raw(callback.cast::<T>()) };
    // A panic must not reach the driver. Its own payload may panic when it is dropped, so it is
    // leaked.
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| callback(status.to_result()))) {
        std::mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::error::CudaError;

    /// As the driver does.
    fn call<T: FnOnce(CudaResult<()>) + Send + 'static>(callback: T, status: u32) {
        // SAFETY: from a box, once.
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
