//! What a reduction on a device has found, or why it has found nothing.

use std::time::Duration;

use warpfold::{Device, Error, device::DeviceError};
use warpfold_tools::terminal::{Failure, failed, refused};

use crate::answer::Answer;

/// What a reduction has found, before it is compared.
pub(crate) struct Done {
    pub(crate) answer: Answer,
    pub(crate) n: u64,
    /// The number of roundings between an element and the result.
    pub(crate) depth: u64,
    pub(crate) times: Vec<Duration>,
    pub(crate) pieces: u64,
}

/// Where the work is done, for the line of progress.
pub(crate) fn on(device: &Device) -> String {
    match device.info().ordinal {
        Some(_) => format!("on {}", device.info().name),
        None => "on the simulator, which is thousands of times slower than a GPU".into(),
    }
}

/// The failure for an error of the library. What the input does not allow is refused.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Empty { .. }
        | Error::Lengths { .. }
        | Error::TooLong { .. }
        | Error::Axis { .. }
        | Error::AxisTwice { .. }
        | Error::Rank { .. }
        | Error::Rows { .. }
        | Error::NoOffsets
        | Error::Bin { .. }
        | Error::TooManyBins { .. }
        | Error::EmptyBin { .. }
        | Error::Segment { .. }
        | Error::EmptySegment { .. } => refused(error),
        Error::Device(DeviceError::Interrupted { .. }) => Failure::Interrupted(error.into()),
        error => failed(error),
    }
}
