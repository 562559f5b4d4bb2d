//! A split: lanes of a warp that stand at one instruction.

/// Why a split does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// At an instruction that needs lanes of the warp that are elsewhere.
    Converge,
    /// Has arrived at this barrier of the block.
    Barrier(u32),
    /// At an instruction that waits for an event of the cluster: it is tried again after each.
    Event,
}

/// Lanes at one program counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) state: State,
    /// When it last ran, in the warp's clock.
    pub(super) ran: u64,
    pub(super) id: u32,
}

impl Split {
    /// Whether it has run since its warp's clock stood at `clock`.
    pub(crate) fn ran_since(&self, clock: u64) -> bool {
        self.ran > clock
    }
}
