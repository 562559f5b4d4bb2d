//! Moments in the work of a stream.

use std::{sync::Arc, time::Duration};

use super::{Core, DeviceError, backend::BackendEvent, faults::Call};

/// The end of what was given to a [`Stream`](super::Stream) before it was [recorded](super::Stream::record). `Send` and
/// `Sync`. One that is dropped is used again by the next recording, so that recording costs little.
///
/// ```
/// use warpfold::Device;
///
/// let device = Device::auto()?;
/// let stream = device.stream()?;
/// let mut buffer = device.alloc::<u8>(1 << 20)?;
/// let start = stream.record()?;
/// stream.fill_bytes(&mut buffer, 1)?;
/// let end = stream.record()?;
/// println!("{:?}", end.elapsed_since(&start)?);
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Event {
    pub(super) event: Box<dyn BackendEvent>,
    pub(super) core: Arc<Core>,
}

impl Event {
    /// Waits until it has come.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; the driver's.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        const ACTION: &str = "wait for an event";
        self.core.refuse_in_capture(ACTION)?;
        self.core.enter(Call::Other, || ACTION.to_owned())?;
        self.event.synchronize()
    }

    /// The time from `earlier` to this one, after waiting for both: on a GPU as it measures it, with a resolution of about
    /// half a microsecond; by the wall clock on the simulator.
    ///
    /// # Errors
    ///
    /// An event of another device; a fault of an earlier launch; the driver's.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration, DeviceError> {
        self.core.check_own(&earlier.core, "event")?;
        self.synchronize()?;
        self.event.elapsed_since(&*earlier.event)
    }
}
