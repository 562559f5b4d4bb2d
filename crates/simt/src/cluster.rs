//! Clusters: blocks that live together, reach each other's shared memory and meet at a barrier of their own. A launch
//! without clusters has clusters of one block.
//!
//! The blocks of a cluster take turns on one worker. What they share moves into the [`Env`] of the block whose turn it
//! is, so that a block's own shared memory is at hand as if it were alone.

use crate::block::{Block, Env, Progress, Random};
use crate::bulk::Copies;
use crate::fault::{Fault, FaultKind, Waiting};
use crate::grid::Grid;
use crate::ir::Slot;
use crate::observe::Observer;
use crate::registers::{LANES, Registers};
use crate::warp::put_word;

/// A `.shared::cluster` address is an offset into the block's own shared memory, or this bit, the rank of a block in
/// the bits below and an offset into that block's shared memory in the lowest 24.
const MAPPED: u32 = 1 << 31;
const RANK_SHIFT: u32 = 24;
const RANKS: u32 = 0x7f;
const OFFSET: u32 = (1 << RANK_SHIFT) - 1;

/// The rank of the block that an address names, and the offset there; `None` for the block at hand.
pub(crate) const fn resolve(address: u32, own: u32) -> (Option<u32>, u32) {
    if address & MAPPED == 0 {
        return (None, address);
    }
    let rank = address >> RANK_SHIFT & RANKS;
    (if rank == own { None } else { Some(rank) }, address & OFFSET)
}

/// The address that the block of rank `rank` has for what `address` is in any block (`mapa`).
const fn map(address: u32, rank: u32, own: u32) -> u32 {
    let offset = if address & MAPPED == 0 { address } else { address & OFFSET };
    let known = if rank < RANKS { rank } else { RANKS };
    if rank == own { offset } else { MAPPED | known << RANK_SHIFT | offset & OFFSET }
}

/// `mapa` in the lanes of `mask`. The bits that tell generic addresses apart stay.
#[inline(never)]
pub(crate) fn map_rank(own: u32, registers: &mut Registers, mask: u32, target: Slot, address: Slot, rank: u32) {
    let ranks = registers.words[rank as usize];
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let address = match address {
            Slot::Word(address) => u64::from(registers.words[address as usize][lane]),
            Slot::Double(address) => registers.doubles[address as usize][lane],
        };
        let mapped = map(address as u32, ranks[lane], own);
        match target {
            Slot::Word(target) => registers.words[target as usize][lane] = mapped,
            Slot::Double(target) => {
                registers.doubles[target as usize][lane] = address & !0xffff_ffff | u64::from(mapped);
            }
        }
    }
}

/// `getctarank` in the lanes of `mask`.
#[inline(never)]
pub(crate) fn rank_of(own: u32, registers: &mut Registers, mask: u32, target: u32, address: Slot) {
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let address = match address {
            Slot::Word(address) => registers.words[address as usize][lane],
            Slot::Double(address) => registers.doubles[address as usize][lane] as u32,
        };
        put_word(registers, target, 1 << lane, resolve(address, own).0.unwrap_or(own));
    }
}

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
    fn start(&mut self, threads: u32) {
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

/// A cluster on a worker. It is reused for cluster after cluster.
#[derive(Debug)]
pub(crate) struct Cluster<'a> {
    blocks: Vec<Block<'a>>,
    state: ClusterState,
    /// Varies which block runs first.
    random: Option<Random>,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(grid: &'a Grid<'a>) -> Cluster<'a> {
        let blocks = (0..grid.cluster).map(|rank| Block::new(grid, rank)).collect();
        let bytes = grid.kernel.program().dynamic_base + grid.config.dynamic_shared_bytes;
        let shared = vec![vec![0; bytes as usize]; grid.cluster as usize];
        Cluster { blocks, state: ClusterState { size: grid.cluster, shared, ..ClusterState::default() }, random: None }
    }

    /// Becomes the cluster with linear index `index`.
    pub(crate) fn start(&mut self, index: u64) {
        let size = self.blocks.len() as u64;
        self.state.start(self.blocks[0].threads());
        self.random = self.blocks[0].seed().filter(|_| size > 1).map(|seed| Random::new(seed, index));
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            block.swap(&mut self.state);
            block.start(index * size + rank as u64);
            block.swap(&mut self.state);
        }
    }

    /// The linear index of its first block.
    pub(crate) fn ticket(&self) -> u64 {
        self.blocks[0].ticket()
    }

    /// Runs about `quantum` warp instructions, or fewer if all blocks seem to wait, and says how many; a fault comes with
    /// its block.
    pub(crate) fn run<O: Observer>(
        &mut self,
        observer: &mut O,
        quantum: u64,
    ) -> (Result<Progress, (u64, Box<Fault>)>, u64) {
        let mut spent = 0;
        loop {
            let before = spent;
            let (mut finished, mut idle) = (true, true);
            let size = self.blocks.len();
            let first = self.random.as_mut().map_or(0, |random| random.below(size as u64) as usize);
            for turn in 0..size {
                let block = &mut self.blocks[(first + turn) % size];
                if block.is_finished() {
                    continue;
                }
                block.swap(&mut self.state);
                let (progress, instructions) = block.run(observer, quantum);
                block.swap(&mut self.state);
                spent += instructions;
                match progress {
                    Ok(progress) => {
                        finished &= progress == Progress::Finished;
                        idle &= matches!(progress, Progress::Waiting | Progress::Blocked);
                    }
                    Err(fault) => return (Err((block.ticket(), fault)), spent),
                }
            }
            let progress = if finished {
                Progress::Finished
            } else if spent == before {
                let stuck = self.blocks.iter_mut().find(|block| !block.is_finished()).expect("a block has not ended");
                stuck.swap(&mut self.state);
                let fault = stuck.deadlock();
                stuck.swap(&mut self.state);
                return (Err((stuck.ticket(), fault)), spent);
            } else if idle && self.blocks.iter().any(Block::seems_to_wait) {
                Progress::Waiting
            } else if spent >= quantum {
                Progress::Unfinished
            } else {
                continue;
            };
            return (Ok(progress), spent);
        }
    }

    /// Whether one of its blocks has done what another could see, or ended, since this was last asked.
    pub(crate) fn take_acted(&mut self) -> bool {
        self.blocks.iter_mut().fold(false, |acted, block| acted | block.take_acted())
    }

    /// Whether none of its blocks is known to end unless memory changes; to be asked after each turn, with the number of
    /// changes so far.
    pub(crate) fn is_stuck(&mut self, epoch: u64) -> bool {
        self.blocks.iter_mut().fold(true, |stuck, block| stuck & block.is_stuck(epoch))
    }

    /// The fault of a cluster that is stopped from outside: `kind` is told where each warp of a block stands.
    pub(crate) fn stopped(&self, kind: impl FnOnce(Vec<Waiting>) -> FaultKind) -> Box<Fault> {
        let running = self.blocks.iter().find(|block| !block.is_finished());
        running.unwrap_or(&self.blocks[0]).stopped(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_block_and_an_offset() {
        assert_eq!(resolve(0x1234, 3), (None, 0x1234));
        for rank in 0..8 {
            let expected = if rank == 3 { None } else { Some(rank) };
            assert_eq!(resolve(map(0x1234, rank, 3), 3), (expected, 0x1234));
            // From any block's address to any other's, and an offset added afterwards.
            let again = map(map(0x1234, rank, 3), 5, 3);
            assert_eq!(resolve(again + 8, 3), (Some(5), 0x123c));
        }
        assert_eq!(map(0x1234, 3, 3), 0x1234);
        assert_eq!(resolve(map(16, u32::MAX, 0), 0), (Some(RANKS), 16));
    }
}
