//! What stands for NCCL in a build without CUDA.

use std::convert::Infallible;

use super::{Device, DeviceError, Stream, peers::FailedAt};

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
