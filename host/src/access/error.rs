//! Why a pattern was not shown.

use super::pattern::{Pattern, Sweep};
use crate::{device::DeviceError, ptx::PtxError};

/// Why a pattern was not shown.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// There is no PTX for a kernel.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A kernel left something else than the CPU computes.
    #[error(
        "wrong result: {kernel} with {parameter} left {found} in {place}, and it must be {expected}"
    )]
    Wrong {
        /// The kernel's name.
        kernel: String,
        /// What it was launched with.
        parameter: String,
        /// Which element of its output.
        place: String,
        /// What is there.
        found: String,
        /// What must be there.
        expected: String,
    },
    /// What the simulator cannot show.
    #[error("{pattern} needs a GPU: {why}")]
    NeedsGpu {
        /// The pattern.
        pattern: Pattern,
        /// Why.
        why: &'static str,
    },
    /// No accesses, or more than indices of 32 bits tell apart.
    #[error("--n {n}: 1 to 2^30 can be taken")]
    Size {
        /// What was asked for.
        n: u64,
    },
    /// A range that the pattern does not have.
    #[error("--range {}..{} of {pattern}: {least} to {most} are possible", .asked.first, .asked.last)]
    Range {
        /// The pattern.
        pattern: Pattern,
        /// What was asked for.
        asked: Sweep,
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A range of a pattern that has none.
    #[error("--range: {pattern} has no range, it is always shown whole")]
    NoRange {
        /// The pattern.
        pattern: Pattern,
    },
}

impl AccessError {
    /// Whether it was told to stop.
    pub(super) fn is_interruption(&self) -> bool {
        matches!(self, Self::Device(DeviceError::Interrupted { .. }))
    }

    /// Whether the request is at fault, and not the run.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Size { .. } | Self::Range { .. } | Self::NoRange { .. })
    }
}
