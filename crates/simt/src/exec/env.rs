//! A block's surroundings: all that its warps share, and what it shares with its cluster.

use crate::exec::cluster_state::ClusterState;
use crate::exec::job::Job;
use crate::fault::FaultKind;
use crate::ir::Program;

/// A barrier of a block while threads arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Whether anyone has arrived.
    pub(crate) pending: bool,
    /// The thread count given; `None` means all threads that have not exited.
    pub(crate) expected: Option<u32>,
    /// Threads that have arrived.
    pub(crate) arrived: u32,
    /// Threads whose predicate was reduced, and how many of them held.
    pub(crate) counted: u32,
    pub(crate) holds: u32,
}

/// What the warps of a block share.
#[derive(Debug)]
pub(crate) struct Env<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) program: &'a Program,
    /// The block's linear index.
    pub(crate) ticket: u64,
    /// Its rank in its cluster.
    pub(crate) rank: u32,
    /// What it shares with its cluster, in its turn.
    pub(crate) cluster: ClusterState,
    pub(crate) shared: Vec<u8>,
    /// Local memory, thread after thread.
    pub(crate) local: Vec<u8>,
    pub(crate) barriers: [BarrierState; 16],
    /// Threads that have not exited.
    pub(crate) live: u32,
    /// Where the last global access found its allocation.
    pub(crate) hint: usize,
    /// Whether a thread has done what another could see: changed memory, passed a barrier or exited.
    pub(crate) acted: bool,
}

impl Env<'_> {
    /// The rank of a block, or the own one.
    pub(crate) fn rank_of(&self, peer: Option<u32>) -> u32 {
        peer.unwrap_or(self.rank)
    }

    /// The shared memory of the block, or of another one of its cluster.
    #[inline(always)]
    pub(crate) fn shared_of(&self, peer: Option<u32>) -> &[u8] {
        match peer {
            None => &self.shared,
            Some(rank) if rank == self.rank => &self.shared,
            Some(rank) => &self.cluster.shared[rank as usize],
        }
    }

    /// [`Self::shared_of`] to write to.
    #[inline(always)]
    pub(crate) fn shared_of_mut(&mut self, peer: Option<u32>) -> &mut [u8] {
        match peer {
            None => &mut self.shared,
            Some(rank) if rank == self.rank => &mut self.shared,
            Some(rank) => &mut self.cluster.shared[rank as usize],
        }
    }

    /// The linear index of the block of a rank.
    pub(crate) fn ticket_of(&self, rank: u32) -> u64 {
        self.ticket - u64::from(self.rank) + u64::from(rank)
    }

    /// What is wrong with an access to shared memory of the block of rank `rank`, if anything is.
    pub(crate) fn refuses_peer(&self, rank: u32) -> Option<FaultKind> {
        let size = self.cluster.size;
        if rank >= size {
            return Some(FaultKind::ClusterRank { rank, size });
        }
        (self.cluster.ended >> rank & 1 == 1).then_some(FaultKind::ExitedBlock { rank })
    }
}
