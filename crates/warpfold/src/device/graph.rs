//! Graphs: recorded work that one call launches.

use std::{mem, sync::Arc};

use super::{
    Core, DeviceError, Stream,
    backend::{BackendGraph, Purpose},
    faults::Call,
    stream::{Needs, Queue},
};

/// Work that [`Device::capture`](super::Device::capture) has recorded. One call launches all of it,
/// any number of times. A graph is `Send` and `Sync`.
///
/// A graph keeps alive its device, its kernels, and the memory of the buffers that safe calls were
/// given. A buffer may be dropped before the graph; its memory is then freed when the graph is
/// dropped. A launch by [`Stream::launch`] has raw addresses, and the graph does not know to which
/// memory they belong. The caller of that function promises that this memory lives as long as the
/// graph is launched.
///
/// The graph has a workspace of its own. Launches of one graph run one after another, even on
/// different streams. Dropping the graph waits for them.
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
    /// The queue that captured the graph; its workspace is the graph's.
    queue: Arc<Queue>,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // A launch may still run on any stream and needs the workspace and the kernels, so this
        // waits for all streams. An error is ignored for the reason given in `Queue`'s drop.
        let _ = Arc::clone(&self.queue.core.backend).synchronize();
    }
}

impl Graph {
    pub(super) fn capture<R, E: From<DeviceError>>(
        core: &Arc<Core>,
        work: impl FnOnce(&Stream) -> Result<R, E>,
    ) -> Result<(Self, R), E> {
        /// Ends the capture when it is dropped, even after an error or a panic, because a capture
        /// that nobody ends blocks its stream for ever.
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
        // This waits until the workspace is zeroed, because the graph may be launched on any
        // stream.
        queue.stream.synchronize()?;
        let _this_thread = core.capturing()?;
        core.enter(Call::Other, || "capture a graph".to_owned())?;
        queue.stream.begin_capture()?;
        let end = End(queue);
        let returned = work(&stream)?;
        let recorded = end.end()?;
        Ok((Self { recorded, _needs: queue.take_needs(), queue: stream.queue }, returned))
    }

    /// Adds the recorded work to `stream` as one launch. The host does not wait.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`] if the stream belongs to another device;
    /// [`DeviceError::Capturing`] if the stream captures; a fault of a kernel; or an error of the
    /// driver.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.queue.core.check_own(&self.queue.core, "graph")?;
        stream.queue.launch_graph(&*self.recorded, &self.queue)
    }
}
