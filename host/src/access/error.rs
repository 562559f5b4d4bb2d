//! The reasons why a pattern was not shown.

use super::pattern::{Pattern, Sweep};
use crate::{device::DeviceError, ptx::PtxError};

/// The reasons why a pattern was not shown.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// There is no PTX for a kernel.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The result of a kernel differs from the one that the CPU computes.
    #[error(
        "wrong result: {kernel} with {parameter} left {found} in {place}, and it must be {expected}"
    )]
    Wrong {
        /// The kernel's name.
        kernel: String,
        /// A description of the parameter that the kernel was launched with.
        parameter: String,
        /// The element of the output that is wrong.
        place: String,
        /// The value that was found.
        found: String,
        /// The value that was expected.
        expected: String,
    },
    /// A pattern that the simulator cannot show.
    #[error("{pattern} needs a GPU: {why}")]
    NeedsGpu {
        /// The pattern.
        pattern: Pattern,
        /// The reason.
        why: &'static str,
    },
    /// A number of accesses that is 0, or too large for indices of 32 bits.
    #[error("--n {n}: it must be from 1 to 2^30")]
    Size {
        /// The requested value.
        n: u64,
    },
    /// A range beyond the limits of the pattern, or one that ends before it begins.
    #[error(
        "--range {}..{} of {pattern}: the values must be from {least} to {most}",
        .asked.first,
        .asked.last
    )]
    Range {
        /// The pattern.
        pattern: Pattern,
        /// The requested value.
        asked: Sweep,
        /// The least value that is possible.
        least: u32,
        /// The greatest value that is possible.
        most: u32,
    },
    /// A pattern of which there is no picture.
    #[error(
        "explain {pattern}: there are pictures of offset, stride, permuted, width, shared-stride, shared-offset and broadcast"
    )]
    NotDrawn {
        /// The pattern.
        pattern: Pattern,
    },
    /// A value that the parameter of a pattern cannot have in a picture.
    #[error("{pattern} '{text}': the value must be {allowed}")]
    Value {
        /// The pattern.
        pattern: Pattern,
        /// The requested value.
        text: String,
        /// The values that are possible, in words.
        allowed: String,
    },
    /// A range for a pattern that has no parameter with a range.
    #[error("--range: {pattern} has no range, because it always measures all of its rows")]
    NoRange {
        /// The pattern.
        pattern: Pattern,
    },
}

impl AccessError {
    /// Whether the device was told to stop.
    pub(super) fn is_interruption(&self) -> bool {
        matches!(self, Self::Device(DeviceError::Interrupted { .. }))
    }

    /// Whether the request is at fault, and not the run.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Size { .. }
                | Self::Range { .. }
                | Self::NoRange { .. }
                | Self::NotDrawn { .. }
                | Self::Value { .. }
        )
    }
}
