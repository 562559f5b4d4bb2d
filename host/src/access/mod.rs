//! The lecture's slides on memory access and on instructions, live: a table for each, over the parameter that the slide
//! turns.
//!
//! A [`Lab`] runs the kernels of a [`Pattern`]. Requests, sectors, wavefronts and conflicts are counted on the simulator;
//! times are measured on a GPU, if there is one, and are left out where there is none. Each result is checked on the CPU.
//!
//! ```
//! use warpfold_lab::access::{Lab, Pattern, Request, Sweep};
//! use warpfold_lab::{device::*, ptx::PtxLibrary};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let library = PtxLibrary::embedded()?;
//! let counter = Device::simulator_with(Instrument::Count);
//! let request = Request { sweep: Some(Sweep { first: 1, last: 2 }), ..Request::default() };
//! let section = Lab::new(&library, &counter, None, request).run(Pattern::Stride)?;
//! // Words 4 bytes apart: 32 lanes ask for 4 sectors of 32 bytes. 8 bytes apart: 8 sectors, half of each for nothing.
//! let sectors = section.tables[0].rows.iter().map(|row| row[1].clone());
//! assert_eq!(sectors.collect::<Vec<_>>(), [Cell::number(4.0, 2), Cell::number(8.0, 2)]);
//! # use warpfold_lab::output::Cell;
//! # Ok(())
//! # }
//! ```

mod arithmetic;
mod draw;
mod global;
mod lab;
mod math;
mod on_chip;
mod pattern;
mod transfer;
mod words;

use crate::{
    device::DeviceError,
    output::{Chart, Table},
    ptx::PtxError,
};

pub use lab::{Lab, Request};
pub use math::{EXP_ULPS, SIN_ULPS, ulps};
pub use pattern::{Pattern, Sweep, UnknownPattern};

/// What a pattern shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Figures.
    pub tables: Vec<Table>,
    /// The same, drawn.
    pub charts: Vec<Chart>,
}

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
    #[error("wrong result: {kernel} with {parameter} left {found} in {place}, and it must be {expected}")]
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
    fn is_interruption(&self) -> bool {
        matches!(self, Self::Device(DeviceError::Interrupted { .. }))
    }

    /// Whether the request is at fault, and not the run.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Size { .. } | Self::Range { .. } | Self::NoRange { .. })
    }
}
