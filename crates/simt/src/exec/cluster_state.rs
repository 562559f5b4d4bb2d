//! What the blocks of a cluster share.

use crate::exec::copies::Copies;

/// What the blocks of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    /// Blocks of the cluster.
    pub(crate) size: u32,
    /// Shared memory by rank; that of the block whose turn it is is in its [`Env`].
    pub(crate) shared: Vec<Vec<u8>>,
    /// Blocks that have ended, bit r for rank r.
    pub(crate) ended: u32,
    /// Threads that have not exited.
    pub(crate) live: u32,
    /// Of these, threads that have arrived in the barrier's present phase.
    pub(crate) arrived: u32,
    /// The parity of that phase, in all bits.
    pub(crate) phase: u32,
    /// Grows whenever something happens that a thread may wait for: a phase of a barrier is complete, or could be.
    pub(crate) events: u32,
    /// Asynchronous copies.
    pub(crate) copies: Copies,
}

impl ClusterState {
    pub(super) fn start(&mut self, threads: u32) {
        let ClusterState { size, shared, .. } = std::mem::take(self);
        *self = ClusterState { size, shared, live: threads * size, ..ClusterState::default() };
    }

    /// Ends the phase of the cluster's barrier if all threads have arrived, and says whether it did.
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
