//! Memory and streams of crates.io's `cudarc`. Memory is borrowed for the work of one call; a
//! stream is adopted.
//!
//! cudarc frees a slice on the stream that allocated the slice, and cudarc lets other streams wait
//! for the slice's events. So our work on borrowed memory is ordered between two points of the
//! slice's own stream: our stream waits for the first point, and the second point waits for our
//! stream. This order holds whether cudarc tracks events or not.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, SyncOnDrop};

use super::{
    Device, DeviceError, DeviceKind, Stream,
    backend::{BackendStream, Purpose},
    cuda,
    faults::Call,
    stream::Queue,
};

/// `CU_STREAM_PER_THREAD`, a handle that stands for a different stream in each thread.
const PER_THREAD: usize = 2;

/// Memory of cudarc's that the work of one of our streams uses. The work is given to our stream
/// while this value lives.
pub(crate) struct Borrowed<'a> {
    queue: &'a Queue,
    /// The stream that cudarc allocated the memory on, unless it is the queue's own stream.
    owner: Option<Box<dyn BackendStream>>,
    context: &'a CudaContext,
    /// cudarc's guard. When it is dropped, cudarc records that the memory was read or written.
    /// `None` once the memory was given back.
    used: Option<SyncOnDrop<'a>>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // The memory is dropped before `give_back` only after another error. The caller gets that
        // error, so this one is ignored.
        let _ = self.end();
    }
}

impl Borrowed<'_> {
    /// Gives the memory back: what cudarc does with it from now on comes after the work that our
    /// stream was given.
    pub(crate) fn give_back(mut self) -> Result<(), DeviceError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), DeviceError> {
        let Some(used) = self.used.take() else { return Ok(()) };
        let mut ordered = match &self.owner {
            None => Ok(()),
            Some(owner) => follow(&**owner, &*self.queue.stream),
        };
        drop(used);
        ordered = ordered.and(take_error(self.context));
        if ordered.is_err() {
            // cudarc could free the memory while our work uses it, so the host waits here. If the
            // wait fails too, its error is the same as that of the call before.
            let _ = self.queue.stream.synchronize();
        }
        ordered
    }
}

impl Stream {
    /// Borrows memory that cudarc allocated on the stream `theirs`, for work on this stream.
    ///
    /// `address` asks cudarc for the memory's address, which makes `theirs` wait for the work of
    /// other streams that cudarc tracks. The work on this stream then comes after all that `theirs`
    /// was given.
    pub(crate) fn borrow_cudarc<'a>(
        &'a self,
        theirs: &'a Arc<CudaStream>,
        action: &'static str,
        address: impl FnOnce(&'a CudaStream) -> (u64, SyncOnDrop<'a>),
    ) -> Result<(u64, Borrowed<'a>), DeviceError> {
        let queue = &*self.queue;
        self.refuse_in_capture(action)?;
        let context = theirs.context();
        let backend = &queue.core.backend;
        if !backend.is_context(context.cu_ctx().cast()) {
            return Err(DeviceError::OtherDevice("memory"));
        }
        refuse_per_thread(theirs, action)?;
        queue.core.enter(Call::Other, || action.to_owned())?;
        let raw = theirs.cu_stream().cast();
        // SAFETY: `theirs` lives for longer than the result.
        let owner = unsafe { Arc::clone(backend).adopt_stream(raw)? };
        if owner.is_capturing()? {
            return Err(DeviceError::Capturing { action });
        }
        let (address, used) = address(theirs);
        // From here on, dropping `borrowed` gives the memory back.
        let mut borrowed = Borrowed { queue, owner: None, context, used: Some(used) };
        take_error(context)?;
        if queue.stream.raw() != Some(raw) {
            follow(&*queue.stream, &*owner)?;
            borrowed.owner = Some(owner);
        }
        Ok((address, borrowed))
    }
}

impl Queue {
    /// Refuses work for an adopted stream while other code captures the stream, because a graph of
    /// cudarc's would keep neither the memory nor the kernels of that work alive.
    pub(super) fn refuse_foreign_capture(&self, action: &'static str) -> Result<(), DeviceError> {
        if self.lender.is_some() && self.stream.is_capturing()? {
            return Err(DeviceError::Capturing { action });
        }
        Ok(())
    }
}

impl Device {
    /// Makes a [`Stream`] of a stream of cudarc's. Work that is given to the result is ordered with
    /// the work that cudarc gives its stream. The result has a workspace of its own, and it keeps
    /// cudarc's stream alive.
    ///
    /// cudarc makes its streams with `CU_STREAM_NON_BLOCKING`, except for its default stream. So
    /// the plain copies of [`Buffer`](super::Buffer)s are not ordered with the work of the result:
    /// [synchronize](Stream::synchronize) the result before such a copy. While cudarc captures its
    /// stream, the result refuses work.
    ///
    /// ```no_run
    /// use cudarc::driver::CudaContext;
    /// use warpfold::{Device, Sum};
    ///
    /// let theirs = CudaContext::new(0)?.new_stream()?;
    /// let values = theirs.clone_htod(&[1.5f32, 2.0])?;
    /// let device = Device::cuda(0)?;
    /// let stream = device.adopt_cudarc_stream(&theirs)?;
    /// let mut output = device.alloc::<f32>(1)?;
    /// let pending = device.reducer::<f32, _>(Sum)?.reduce_into(&values, &mut output, &stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(pending.finish(output.copy_to_host()?[0])?, 3.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotCuda`] on the simulator; [`DeviceError::OtherDevice`] for a stream of a
    /// context that is not the device's primary one; [`DeviceError::PerThread`];
    /// [`DeviceError::Capturing`] if the stream is captured; the errors of [`Device::stream`].
    pub fn adopt_cudarc_stream(&self, stream: &Arc<CudaStream>) -> Result<Stream, DeviceError> {
        const ACTION: &str = "adopt a stream of cudarc";
        let core = &self.shared.core;
        if core.info.kind != DeviceKind::Cuda {
            return Err(DeviceError::NotCuda(ACTION));
        }
        core.refuse_in_capture(ACTION)?;
        if !core.backend.is_context(stream.context().cu_ctx().cast()) {
            return Err(DeviceError::OtherDevice("stream"));
        }
        refuse_per_thread(stream, ACTION)?;
        core.enter(Call::Other, || ACTION.to_owned())?;
        // SAFETY: the queue below keeps the stream alive.
        let adopted = unsafe { Arc::clone(&core.backend).adopt_stream(stream.cu_stream().cast())? };
        let mut queue = Queue::new(core, adopted, Purpose::Work);
        queue.lender = Some(Arc::clone(stream));
        queue.refuse_foreign_capture(ACTION)?;
        Stream::new(Arc::new(queue))
    }
}

/// Lets the work that `later` is given from now on wait for the work that `earlier` was given
/// before. Both streams belong to one context.
fn follow(later: &dyn BackendStream, earlier: &dyn BackendStream) -> Result<(), DeviceError> {
    let mut event = earlier.new_event()?;
    earlier.record(&mut *event)?;
    later.wait(&*event)
}

fn refuse_per_thread(stream: &CudaStream, action: &'static str) -> Result<(), DeviceError> {
    if stream.cu_stream() as usize == PER_THREAD {
        Err(DeviceError::PerThread { action })
    } else {
        Ok(())
    }
}

/// Takes the error that cudarc keeps when a call that returns no result has failed.
fn take_error(context: &CudaContext) -> Result<(), DeviceError> {
    context
        .check_err()
        .or_else(|error| cuda::check(error.0 as u32, "order work with that of cudarc"))
}
