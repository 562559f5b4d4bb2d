//! The environment of a block: the state that its warps share with each other, and with the blocks
//! of its cluster.

use crate::exec::cluster_state::ClusterState;
use crate::exec::job::Job;
use crate::fault::FaultKind;
use crate::ir::Program;

/// The state of a barrier of the block while threads arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Whether any thread has arrived.
    pub(crate) pending: bool,
    /// The thread count that the instruction gives; `None` means all threads that have not exited.
    pub(crate) expected: Option<u32>,
    /// How many threads have arrived.
    pub(crate) arrived: u32,
    /// How many threads brought a predicate to reduce, and for how many it was true.
    pub(crate) counted: u32,
    pub(crate) holds: u32,
}

/// The state that the warps of a block share with each other.
#[derive(Debug)]
pub(crate) struct Env<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) program: &'a Program,
    /// The block's linear index.
    pub(crate) ticket: u64,
    /// The block's rank in its cluster.
    pub(crate) rank: u32,
    /// The state that the block shares with its cluster. It is here only during the block's turn.
    pub(crate) cluster: ClusterState,
    pub(crate) shared: Vec<u8>,
    /// The local memory of all threads, one thread after another.
    pub(crate) local: Vec<u8>,
    pub(crate) barriers: [BarrierState; 16],
    /// How many threads have not exited.
    pub(crate) live: u32,
    /// The index of the allocation that the last global access found. The next search begins there.
    pub(crate) hint: usize,
    /// Whether a thread has done something that others can see: changed memory, passed a barrier,
    /// or exited.
    pub(crate) acted: bool,
}

impl Env<'_> {
    /// The rank that `peer` names, or the rank of this block for `None`.
    pub(crate) fn rank_of(&self, peer: Option<u32>) -> u32 {
        peer.unwrap_or(self.rank)
    }

    /// The shared memory of this block, or of another block of the cluster.
    #[inline(always)]
    pub(crate) fn shared_of(&self, peer: Option<u32>) -> &[u8] {
        match peer {
            None => &self.shared,
            Some(rank) if rank == self.rank => &self.shared,
            Some(rank) => &self.cluster.shared[rank as usize],
        }
    }

    /// The shared memory of [`Self::shared_of`], for writing.
    #[inline(always)]
    pub(crate) fn shared_of_mut(&mut self, peer: Option<u32>) -> &mut [u8] {
        match peer {
            None => &mut self.shared,
            Some(rank) if rank == self.rank => &mut self.shared,
            Some(rank) => &mut self.cluster.shared[rank as usize],
        }
    }

    /// The linear index of the cluster's block of this rank.
    pub(crate) fn ticket_of(&self, rank: u32) -> u64 {
        self.ticket - u64::from(self.rank) + u64::from(rank)
    }

    /// The fault of an access to the shared memory of the block of rank `rank`; `None` if the
    /// access is allowed.
    pub(crate) fn refuses_peer(&self, rank: u32) -> Option<FaultKind> {
        let size = self.cluster.size;
        if rank >= size {
            return Some(FaultKind::ClusterRank { rank, size });
        }
        (self.cluster.ended >> rank & 1 == 1).then_some(FaultKind::ExitedBlock { rank })
    }
}
