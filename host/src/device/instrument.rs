//! What the simulator sees of a launch beside running it.

use super::LaunchShape;

/// What the simulator does with each launch beside running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// Counts what the kernel does.
    Count,
    /// Watches for data races, reads of what nobody wrote, and barriers and warp-level instructions that threads miss.
    Check,
}

/// What an instrument saw of one launch.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Name of the kernel.
    pub kernel: String,
    /// The launch.
    pub shape: LaunchShape,
    /// What was seen.
    pub seen: Seen,
}

/// What was seen, by instrument.
#[derive(Clone, Debug)]
pub enum Seen {
    /// By [`Instrument::Count`].
    Counted(Box<simt::Profile>),
    /// By [`Instrument::Check`].
    Checked(simt::Checked),
}
