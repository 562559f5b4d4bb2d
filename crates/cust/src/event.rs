//! Events: points in the work of a stream.

use std::{mem::ManuallyDrop, ptr, time::Duration};

use crate::{
    error::{CudaError, CudaResult, DropResult},
    stream::Stream,
    sys::CUevent,
};

bitflags::bitflags! {
    /// The properties of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// An event without special properties.
        const DEFAULT = 0x0;
        /// A thread that waits for the event sleeps.
        const BLOCKING_SYNC = 0x1;
        /// The event measures no time, and therefore costs less.
        const DISABLE_TIMING = 0x2;
        /// Other processes may use the event. This flag is valid only together with
        /// [`DISABLE_TIMING`](Self::DISABLE_TIMING).
        const INTERPROCESS = 0x4;
    }
}

/// Whether the work before an event has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// The work has ended, or the event was never recorded.
    Ready,
    /// The work has not ended yet.
    NotReady,
}

/// A point in the work of a stream. [`record`](Self::record) sets it.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
/// start.record(&stream)?;
/// // Work on the stream.
/// end.record(&stream)?;
/// end.synchronize()?;
/// println!("{:?}", end.elapsed(&start)?);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Event(CUevent);

// SAFETY: any thread may use an event, and several may do so at once.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event that is not recorded yet.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuEventCreate(&raw mut event, flags.bits())) }?;
        Ok(Event(event))
    }

    /// Records the event: it becomes the point at which all work that was added to the stream so
    /// far has ended.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both objects live.
        unsafe { call!(cuEventRecord(self.0, stream.as_inner())) }
    }

    /// Asks, without waiting, whether the work before the event has ended.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from work before the event that has failed.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the event lives.
        match unsafe { call!(cuEventQuery(self.0)) } {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits until the work before the event has ended.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from work before the event that has failed.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the event lives.
        unsafe { call!(cuEventSynchronize(self.0)) }
    }

    /// The time from `start` to this event, in milliseconds.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotReady`] if the work before one of the events has not ended;
    /// [`CudaError::InvalidHandle`] if one of the events was not recorded or measures no time.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: both events live, and the pointer is to a live variable.
        unsafe { call!(cuEventElapsedTime(&raw mut milliseconds, start.0, self.0)) }?;
        Ok(milliseconds)
    }

    /// The time from `start` to this event; 0 if this event came first.
    ///
    /// # Errors
    ///
    /// The errors of [`elapsed_time_f32`](Self::elapsed_time_f32).
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = self.elapsed_time_f32(start)?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }

    pub(crate) fn as_inner(&self) -> CUevent {
        self.0
    }

    /// Destroys the event and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the event, which still lives.
    pub fn drop(event: Event) -> DropResult<Event> {
        let event = ManuallyDrop::new(event);
        // SAFETY: this object has made the event. The work before the event may not have ended yet,
        // which the driver allows.
        unsafe { call!(cuEventDestroy_v2(event.0)) }
            .map_err(|error| (error, ManuallyDrop::into_inner(event)))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: as in `Event::drop`.
        let _ = unsafe { call!(cuEventDestroy_v2(self.0)) };
    }
}
