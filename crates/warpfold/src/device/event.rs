//! Events: points in the work of a stream.

use std::{sync::Arc, time::Duration};

use super::{Core, DeviceError, backend::BackendEvent, faults::Call};

/// A point in the work of a [`Stream`](super::Stream): the end of all work that was added before
/// the event was [recorded](super::Stream::record). An event is `Send` and `Sync`. The device
/// reuses dropped events, because making one may take as long as a short kernel.
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
    /// Waits until the work before the event has ended.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; [`DeviceError::Capturing`] while this thread captures a graph;
    /// or an error of the driver.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        const ACTION: &str = "wait for an event";
        self.core.refuse_in_capture(ACTION)?;
        self.core.enter(Call::Other, || ACTION.to_owned())?;
        self.event.synchronize()
    }

    /// Whether the work before the event has ended.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_over(&self) -> Result<bool, DeviceError> {
        self.event.is_over()
    }

    /// Waits for both events and returns the time from `earlier` to this event. The time is 0 if
    /// `earlier` was in fact later. A GPU measures the time itself, with a resolution of about half
    /// a microsecond; the simulator uses the wall clock.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`] if `earlier` belongs to another device; a fault of an earlier
    /// launch; or an error of the driver.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration, DeviceError> {
        self.core.check_own(&earlier.core, "event")?;
        self.synchronize()?;
        self.event.elapsed_since(&*earlier.event)
    }
}
