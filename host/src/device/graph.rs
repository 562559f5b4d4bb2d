//! Recorded work that is launched as one.

use std::{mem, sync::Arc};

use super::{
    Core, DeviceError, Stream,
    faults::Call,
    home::{HomeGraph, LoadedKernel, Purpose},
    stream::Lane,
};

/// What a closure gave to a stream, recorded by [`Device::capture`](super::Device::capture) to be launched again and again as
/// one. `Send` and `Sync`; it keeps its device and its kernels alive.
///
/// It has the addresses that its launches were given: the buffers must be there, and larger ones will not be seen, each time
/// that it is launched. Its workspace is its own. Launches of one graph come one after another, on whichever streams they
/// are. Dropping it waits for them.
///
/// ```
/// use warpfold::device::{Arg, Device, DeviceChoice, DeviceError, LaunchShape};
/// use warpfold::ptx::PtxLibrary;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open(DeviceChoice::Auto)?;
/// let (mut input, output) = (device.upload(&[1i32; 512])?, device.alloc::<i32>(1)?);
/// let ptx = PtxLibrary::embedded()?.find("reduce6_sum_i32_b256", device.info().compute_capability)?;
/// let kernel = device.load(&ptx.file, &ptx.text)?.kernel("reduce6_sum_i32_b256")?;
/// let args = [Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(512)];
/// let graph = device.capture(|stream| stream.launch(&kernel, LaunchShape::linear(1, 256, 1024), &args))?;
///
/// let stream = device.stream()?;
/// for value in [1, 2, 3] {
///     input.copy_from_host(&[value; 512])?;
///     graph.launch(&stream)?;
///     assert_eq!(output.copy_to_host()?, [512 * value]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Graph {
    recorded: Box<dyn HomeGraph>,
    /// What its launches need.
    _kernels: Vec<Arc<dyn LoadedKernel>>,
    /// The lane that captured it, for its workspace.
    lane: Arc<Lane>,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // On whichever stream it still runs, the workspace and the kernels are needed. Errors as in `Lane`.
        let _ = Arc::clone(&self.lane.core.home).synchronize();
    }
}

impl Graph {
    pub(super) fn capture<E: From<DeviceError>>(
        core: &Arc<Core>,
        work: impl FnOnce(&Stream) -> Result<(), E>,
    ) -> Result<Self, E> {
        /// Ends the capture, whatever happens: one that nobody ended would keep its stream busy for ever.
        struct End<'a>(&'a Lane);

        impl End<'_> {
            fn end(self) -> Result<Box<dyn HomeGraph>, DeviceError> {
                mem::ManuallyDrop::new(self).0.stream.end_capture()
            }
        }

        impl Drop for End<'_> {
            fn drop(&mut self) {
                let _ = self.0.stream.end_capture();
            }
        }

        let stream = Stream::new(Arc::new(Lane::open(core, Purpose::Capture)?))?;
        let lane = &stream.lane;
        // The workspace is zeroed before any launch, on whichever stream that is.
        lane.stream.synchronize()?;
        let _this_thread = core.capturing()?;
        core.enter(Call::Other, || "capture a graph".to_owned())?;
        lane.stream.begin_capture()?;
        let end = End(lane);
        work(&stream)?;
        let recorded = end.end()?;
        Ok(Self { recorded, _kernels: lane.take_captured(), lane: stream.lane })
    }

    /// Gives a stream all that was recorded. The host does not wait.
    ///
    /// # Errors
    ///
    /// A stream of another device; a stream that captures; a fault of a kernel; the driver's.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.lane.core.check_own(&self.lane.core, "graph")?;
        stream.lane.launch_graph(&*self.recorded, &self.lane)
    }
}
