//! Splits: sets of lanes of a warp that stand at one instruction.

/// Whether a split can run. If it cannot, the event for which it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// The split stands at an instruction that needs lanes of the warp that have not arrived.
    Converge,
    /// The split has arrived at the barrier of the block with this number.
    Barrier(u32),
    /// The split stands at an instruction that waits for an event of the cluster. The instruction
    /// is tried again after each event.
    Event,
}

/// Lanes at one program counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) state: State,
    /// The value of the warp's clock when the split last ran.
    pub(super) ran: u64,
    pub(super) id: u32,
}

impl Split {
    /// Whether the split has run since its warp's clock had the value `clock`.
    pub(crate) fn ran_since(&self, clock: u64) -> bool {
        self.ran > clock
    }
}
