//! What crates.io's `cudarc` holds: its memory, borrowed for the work of one call, and its streams, adopted.
//!
//! cudarc frees a slice on the slice's own stream, and lets other streams wait by the slice's events. So work of ours
//! on borrowed memory is put between two points of that stream: our stream waits for the first, and the second waits
//! for ours. This holds whether cudarc tracks events or not.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DevicePtr, SyncOnDrop};

use super::{
    Device, DeviceError, DeviceKind, Stream,
    backend::{BackendStream, Purpose},
    cuda,
    faults::Call,
    stream::Queue,
};

/// `CU_STREAM_PER_THREAD`: a handle that means another stream in each thread.
const PER_THREAD: usize = 2;

/// Memory of cudarc's, which the work of one of our streams uses. That work is given after this was made, and before
/// this is given back.
pub(crate) struct Borrowed<'a> {
    queue: &'a Queue,
    /// The slice's own stream, unless it is the queue's.
    owner: Option<Box<dyn BackendStream>>,
    context: &'a CudaContext,
    /// Records that the slice was read, when it is dropped. `None` once the memory was given back.
    read: Option<SyncOnDrop<'a>>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // Only after another error, which is the one that is told.
        let _ = self.end();
    }
}

impl Borrowed<'_> {
    /// What cudarc does with the memory from now on comes after what our stream was given.
    pub(crate) fn give_back(mut self) -> Result<(), DeviceError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), DeviceError> {
        let Some(read) = self.read.take() else { return Ok(()) };
        let mut ordered = match &self.owner {
            None => Ok(()),
            Some(owner) => follow(&**owner, &*self.queue.stream),
        };
        drop(read);
        ordered = ordered.and(take_error(self.context));
        if ordered.is_err() {
            // The memory must not be freed while it is read. An error of this is that of the call before.
            let _ = self.queue.stream.synchronize();
        }
        ordered
    }
}

impl Stream {
    /// Borrows memory of cudarc's for work on this stream, which comes after all that the memory's own stream was given
    /// before, and after writes of other streams that cudarc tracks.
    pub(crate) fn borrow_cudarc<'a, T>(
        &'a self,
        memory: &'a dyn DevicePtr<T>,
    ) -> Result<Borrowed<'a>, DeviceError> {
        const ACTION: &str = "reduce memory of cudarc";
        let queue = &*self.queue;
        self.refuse_in_capture(ACTION)?;
        let theirs = memory.stream();
        let context = theirs.context();
        let backend = &queue.core.backend;
        if !backend.is_context(context.cu_ctx().cast()) {
            return Err(DeviceError::OtherDevice("memory"));
        }
        refuse_per_thread(theirs, ACTION)?;
        queue.core.enter(Call::Other, || ACTION.to_owned())?;
        let raw = theirs.cu_stream().cast();
        // SAFETY: `memory` keeps its stream alive, for longer than the result.
        let owner = unsafe { Arc::clone(backend).adopt_stream(raw)? };
        if owner.is_capturing()? {
            return Err(DeviceError::Capturing { action: ACTION });
        }
        // The owner's stream waits for the last write of another stream.
        let (_, read) = memory.device_ptr(theirs);
        // From here on dropping it gives the memory back.
        let mut borrowed = Borrowed { queue, owner: None, context, read: Some(read) };
        take_error(context)?;
        if queue.stream.raw() != Some(raw) {
            follow(&*queue.stream, &*owner)?;
            borrowed.owner = Some(owner);
        }
        Ok(borrowed)
    }
}

impl Queue {
    /// Refuses work for a stream of cudarc's while other code captures the stream: a graph of cudarc's would keep neither the
    /// memory nor the kernels of that work.
    pub(super) fn refuse_foreign_capture(&self, action: &'static str) -> Result<(), DeviceError> {
        if self.lender.is_some() && self.stream.is_capturing()? {
            return Err(DeviceError::Capturing { action });
        }
        Ok(())
    }
}

impl Device {
    /// Makes a stream of one of cudarc's: what is given to it is ordered with what cudarc gives that stream. The result has a
    /// workspace of its own, and keeps the stream of cudarc's alive.
    ///
    /// cudarc makes its streams with `CU_STREAM_NON_BLOCKING`, except for its default stream. So the plain copies of
    /// [`Buffer`](super::Buffer)s are not ordered with the work of the result:
    /// [synchronize](Stream::synchronize) it before such a copy. While cudarc captures the stream, the result takes no work.
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
    /// [`DeviceError::NotCuda`] on the simulator; [`DeviceError::OtherDevice`] for a stream of another context than
    /// the device's primary one; [`DeviceError::PerThread`]; a stream that captures; as [`Device::stream`].
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

/// What `later` is given from now on waits for what `earlier` was given. Both are of one context.
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

/// The error of a call that cudarc made without a result, if there is one.
fn take_error(context: &CudaContext) -> Result<(), DeviceError> {
    context
        .check_err()
        .or_else(|error| cuda::check(error.0 as u32, "order work with that of cudarc"))
}
