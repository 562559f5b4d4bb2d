//! Events: moments in a stream's work.

use std::{mem::ManuallyDrop, ptr, time::Duration};

use crate::{
    error::{CudaError, CudaResult, DropResult},
    stream::Stream,
    sys::CUevent,
};

bitflags::bitflags! {
    /// What an event is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// Nothing special.
        const DEFAULT = 0x0;
        /// A thread that waits for it sleeps.
        const BLOCKING_SYNC = 0x1;
        /// It has no time, and costs less.
        const DISABLE_TIMING = 0x2;
        /// Other processes may use it; goes only with [`DISABLE_TIMING`](Self::DISABLE_TIMING).
        const INTERPROCESS = 0x4;
    }
}

/// Whether an event has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// It has.
    Ready,
    /// It has not.
    NotReady,
}

/// A moment in a stream's work, once it was recorded.
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

// SAFETY: any thread may use an event, and several may at once.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A new one, not recorded yet.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuEventCreate(&raw mut event, flags.bits())) }?;
        Ok(Event(event))
    }

    /// Lets the event be the moment when the stream has done all that it was given before.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both live.
        unsafe { call!(cuEventRecord(self.0, stream.as_inner())) }
    }

    /// Whether it has happened, or was never recorded.
    ///
    /// # Errors
    ///
    /// The driver's, also that of the work before it.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: it lives.
        match unsafe { call!(cuEventQuery(self.0)) } {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits until it has happened.
    ///
    /// # Errors
    ///
    /// The driver's, also that of the work before it.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: it lives.
        unsafe { call!(cuEventSynchronize(self.0)) }
    }

    /// Milliseconds from `start` to this event.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotReady`] if one of them has not happened, [`CudaError::InvalidHandle`] if one
    /// was not recorded or has no time.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: both live, and the pointer is to a live variable.
        unsafe { call!(cuEventElapsedTime(&raw mut milliseconds, start.0, self.0)) }?;
        Ok(milliseconds)
    }

    /// The time from `start` to this event; 0 if this one came first.
    ///
    /// # Errors
    ///
    /// As [`elapsed_time_f32`](Self::elapsed_time_f32).
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = self.elapsed_time_f32(start)?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }

    pub(crate) fn as_inner(&self) -> CUevent {
        self.0
    }

    /// Destroys the event, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the event.
    pub fn drop(event: Event) -> DropResult<Event> {
        let event = ManuallyDrop::new(event);
        // SAFETY: made by this object. What was recorded with it may still be to come; the driver
        // sees to that.
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
