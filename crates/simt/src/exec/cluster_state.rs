//! The state that the blocks of a cluster share.

use crate::exec::copies::Copies;

/// The state that the blocks of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    /// How many blocks the cluster has.
    pub(crate) size: u32,
    /// The shared memory of each block, by rank. The entry of the block that runs is empty, because
    /// its shared memory is in its [`Env`](crate::exec::env::Env).
    pub(crate) shared: Vec<Vec<u8>>,
    /// The blocks that have ended: bit r is set for rank r.
    pub(crate) ended: u32,
    /// How many threads of all blocks have not exited.
    pub(crate) live: u32,
    /// How many of the live threads have arrived in the current phase of the cluster's barrier.
    pub(crate) arrived: u32,
    /// The parity of the current phase, repeated in all bits.
    pub(crate) phase: u32,
    /// A counter that grows whenever a waiting thread may be able to continue: the phase of the
    /// cluster's barrier has ended, an mbarrier has changed, or a copy that signals an mbarrier has
    /// begun.
    pub(crate) events: u32,
    /// The asynchronous copies in flight.
    pub(crate) copies: Copies,
}

impl ClusterState {
    pub(super) fn start(&mut self, threads: u32) {
        let ClusterState { size, shared, .. } = std::mem::take(self);
        *self = ClusterState { size, shared, live: threads * size, ..ClusterState::default() };
    }

    /// Ends the phase of the cluster's barrier if all live threads have arrived, and returns
    /// whether it did.
    pub(crate) fn complete(&mut self) -> bool {
        let complete = self.arrived > 0 && self.arrived >= self.live;
        if complete {
            self.arrived = 0;
            self.phase = !self.phase;
            self.events += 1;
        }
        complete
    }
}
