//! What stands for NCCL in a build without CUDA.

use std::{convert::Infallible, time::Duration};

use super::{Device, DeviceError, Event, Stream, peers::FailedAt};

const REASON: &str = "this build has no CUDA";

/// Why there is no communicator for some devices, as a sentence for people.
#[allow(clippy::unnecessary_wraps, reason = "in a build with CUDA there may be one")]
pub(crate) fn unavailable(_devices: &[Device]) -> Option<String> {
    Some(REASON.to_owned())
}

/// Communicators, of which there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedCommunicators(Option<Infallible>);

impl SharedCommunicators {
    pub(crate) fn make(&self, _devices: &[Device]) -> Result<(), DeviceError> {
        match self.0 {
            None => Err(DeviceError::NoCuda { reason: REASON.to_owned() }),
            Some(never) => match never {},
        }
    }

    /// # Safety
    ///
    /// Nothing is to be kept, because there are no communicators.
    pub(crate) unsafe fn all_gather(
        &self,
        _from: &[u64],
        _to: &[u64],
        _bytes: usize,
        _streams: &[&Stream],
    ) -> Result<(), FailedAt> {
        self.make(&[]).map_err(FailedAt::number(0))
    }
}

/// What ranks would need to find each other.
pub(crate) fn unique_id() -> Result<Vec<u8>, DeviceError> {
    Err(DeviceError::NoCuda { reason: REASON.to_owned() })
}

/// A communicator of ranks, of which there is none.
#[derive(Debug)]
pub(crate) enum RankCommunicator {}

impl RankCommunicator {
    pub(crate) fn new(
        _device: &Device,
        _id: &[u8],
        _rank: u32,
        _ranks: u32,
        _timeout: Duration,
    ) -> Result<Self, DeviceError> {
        Err(DeviceError::NoCuda { reason: REASON.to_owned() })
    }

    /// # Safety
    ///
    /// Nothing is to be kept, because there are no communicators.
    pub(crate) unsafe fn all_gather(
        &mut self,
        _from: u64,
        _to: u64,
        _bytes: usize,
        _stream: &Stream,
        _timeout: Duration,
    ) -> Result<(), DeviceError> {
        match *self {}
    }

    pub(crate) fn wait(&mut self, _event: &Event, _timeout: Duration) -> Result<bool, DeviceError> {
        match *self {}
    }

    pub(crate) fn is_aborted(&self) -> bool {
        match *self {}
    }
}
