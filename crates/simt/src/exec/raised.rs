//! Faults on their way from an instruction to the launch.

use crate::fault::FaultKind;

/// A fault for which block, thread and source line are not known yet.
#[derive(Debug)]
pub(crate) struct Raised {
    pub(crate) pc: u32,
    pub(crate) lane: u32,
    pub(crate) kind: FaultKind,
}

/// A fault of one lane of the instruction that runs.
pub(crate) type LaneFault = Box<(u32, FaultKind)>;
