//! Clusters: blocks that are resident together, access each other's shared memory, and meet at a
//! barrier of their own. A launch without clusters has clusters of one block.
//!
//! The blocks of a cluster take turns on one worker. Their shared state moves into the
//! [`Env`](crate::exec::env::Env) of the block whose turn it is, so that the block accesses its own
//! shared memory as if it were alone.

use crate::exec::block::{Block, Progress};
use crate::exec::cluster_state::ClusterState;
use crate::exec::job::Job;
use crate::exec::observer::Observer;
use crate::exec::random::Random;
use crate::fault::{Fault, FaultKind, Waiting};

/// A cluster on a worker. The worker reuses the object for one cluster after another.
#[derive(Debug)]
pub(crate) struct Cluster<'a> {
    blocks: Vec<Block<'a>>,
    state: ClusterState,
    /// The generator that chooses which block runs first, if the launch has a seed.
    random: Option<Random>,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> Cluster<'a> {
        let blocks = (0..job.cluster).map(|rank| Block::new(job, rank)).collect();
        let bytes = job.kernel.program().dynamic_base + job.config.dynamic_shared_bytes;
        let shared = vec![vec![0; bytes as usize]; job.cluster as usize];
        Cluster {
            blocks,
            state: ClusterState { size: job.cluster, shared, ..ClusterState::default() },
            random: None,
        }
    }

    /// Makes this the cluster with linear index `index`, before its first instruction.
    pub(crate) fn start(&mut self, index: u64) {
        let size = self.blocks.len() as u64;
        self.state.start(self.blocks[0].threads());
        self.random =
            self.blocks[0].seed().filter(|_| size > 1).map(|seed| Random::new(seed, index));
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            block.swap(&mut self.state);
            block.start(index * size + rank as u64);
            block.swap(&mut self.state);
        }
    }

    /// The number of the cluster's launch among those that run together.
    pub(crate) fn launch(&self) -> usize {
        self.blocks[0].launch()
    }

    /// The linear index of the cluster's first block.
    pub(crate) fn ticket(&self) -> u64 {
        self.blocks[0].ticket()
    }

    /// Runs about `quantum` warp instructions, or fewer if all blocks seem to wait, and returns how
    /// many ran. A fault comes with the index of its block.
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
                let stuck = self
                    .blocks
                    .iter_mut()
                    .find(|block| !block.is_finished())
                    .expect("a block has not ended");
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

    /// Returns whether a block has done something that others can see, or has ended, since the last
    /// call.
    pub(crate) fn take_acted(&mut self) -> bool {
        self.blocks.iter_mut().fold(false, |acted, block| acted | block.take_acted())
    }

    /// Returns whether all blocks are known never to end unless memory changes. The caller asks
    /// after each turn, and `epoch` is the number of changes to memory so far.
    pub(crate) fn is_stuck(&mut self, epoch: u64) -> bool {
        self.blocks.iter_mut().fold(true, |stuck, block| stuck & block.is_stuck(epoch))
    }

    /// The fault of a cluster that is stopped from outside. `kind` receives the places where the
    /// warps of one block stand.
    pub(crate) fn stopped(&self, kind: impl FnOnce(Vec<Waiting>) -> FaultKind) -> Box<Fault> {
        let running = self.blocks.iter().find(|block| !block.is_finished());
        running.unwrap_or(&self.blocks[0]).stopped(kind)
    }
}
