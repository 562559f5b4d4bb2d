//! Recorded work that is launched as one.

use std::{mem, sync::Arc};

use super::{
    Core, DeviceError, Stream,
    backend::{BackendGraph, Purpose},
    faults::Call,
    stream::{Needs, Queue},
};

/// What a closure gave to a stream, recorded by [`Device::capture`](super::Device::capture) to be launched again and
/// again as one. `Send` and `Sync`.
///
/// A graph keeps alive what it uses: its device, its kernels, and the memory of the buffers that safe
/// calls were given. A buffer may be dropped before the graph; its memory is freed with the graph. For
/// launches of kernels with raw addresses, the caller of [`Stream::launch`] promises the same.
///
/// The graph has a workspace of its own. Launches of one graph come one after another, on whichever
/// streams they are. Dropping the graph waits for them.
///
/// ```
/// use warpfold::{Device, Reducer, Sum};
///
/// let device = Device::auto()?;
/// let (mut input, mut output) = (device.upload(&[1i32; 512])?, device.alloc::<i64>(1)?);
/// let sum = device.reducer::<i32, _>(Sum)?;
/// let (graph, pending) = device.capture(|stream| sum.reduce_into(&input, &mut output, stream))?;
///
/// let stream = device.stream()?;
/// for value in [1, 2, 3] {
///     input.copy_from_host(&[value; 512])?;
///     graph.launch(&stream)?;
///     assert_eq!(pending.finish(output.copy_to_host()?[0])?, 512 * i64::from(value));
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug)]
pub struct Graph {
    recorded: Box<dyn BackendGraph>,
    /// The kernels and the memory that the recorded work uses.
    _needs: Needs,
    /// The queue that captured it, for its workspace.
    queue: Arc<Queue>,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // On whichever stream it still runs, the workspace and the kernels are needed. Errors as in `Queue`.
        let _ = Arc::clone(&self.queue.core.backend).synchronize();
    }
}

impl Graph {
    pub(super) fn capture<R, E: From<DeviceError>>(
        core: &Arc<Core>,
        work: impl FnOnce(&Stream) -> Result<R, E>,
    ) -> Result<(Self, R), E> {
        /// Ends the capture, whatever happens: one that nobody ended would keep its stream busy for ever.
        struct End<'a>(&'a Queue);

        impl End<'_> {
            fn end(self) -> Result<Box<dyn BackendGraph>, DeviceError> {
                mem::ManuallyDrop::new(self).0.stream.end_capture()
            }
        }

        impl Drop for End<'_> {
            fn drop(&mut self) {
                let _ = self.0.stream.end_capture();
            }
        }

        let stream = Stream::new(Arc::new(Queue::open(core, Purpose::Capture)?))?;
        let queue = &stream.queue;
        // The workspace is zeroed before any launch, on whichever stream that is.
        queue.stream.synchronize()?;
        let _this_thread = core.capturing()?;
        core.enter(Call::Other, || "capture a graph".to_owned())?;
        queue.stream.begin_capture()?;
        let end = End(queue);
        let returned = work(&stream)?;
        let recorded = end.end()?;
        Ok((Self { recorded, _needs: queue.take_needs(), queue: stream.queue }, returned))
    }

    /// Gives a stream all that was recorded. The host does not wait.
    ///
    /// # Errors
    ///
    /// A stream of another device; a stream that captures; a fault of a kernel; the driver's.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.queue.core.check_own(&self.queue.core, "graph")?;
        stream.queue.launch_graph(&*self.recorded, &self.queue)
    }
}
