//! The detector's state while it watches a launch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::flights::Flights;
use super::handover::{Handover, Heard};
use super::order::BlockOrder;
use super::publish::Logs;
use super::report::Reports;
use super::shadow::{Cell, History, Pages, Pairs, Runs};
use super::sites::Sites;
use super::skipped::Parted;
use super::undefined::{Origins, Stored, Values};
use crate::exec::env::Env;
use crate::exec::memory::Written;
use crate::module::Kernel;

/// The observer that watches all blocks of a launch.
#[derive(Debug)]
pub(super) struct Check {
    /// By program counter: the number of the instruction's site, or
    /// [`UNWATCHED`](super::sites::UNWATCHED).
    pub(super) site_of: Vec<u16>,
    pub(super) history: History,
    /// The last stamp that was given.
    pub(super) stamp: u32,
    /// The block that runs, and the other blocks that have begun and not ended.
    pub(super) block: Option<Box<Block>>,
    pub(super) others: HashMap<u64, Box<Block>>,
    /// The shadows of blocks that have ended, to be used again.
    pub(super) spare: Vec<Shared>,
    /// The shadow of each allocation, by the allocation's index.
    pub(super) global: Vec<Pages>,
    /// The index of the allocation that the last global access found.
    pub(super) hint: usize,
    /// The log of the releases that strong reads of global memory see, by address.
    pub(super) heads: HashMap<u64, u32>,
    /// Whether blocks are launched in clusters.
    pub(super) clusters: bool,
    /// By the first block of each cluster: the log of the cluster's barrier, and how many releases
    /// the log had at the last complete phase.
    pub(super) meetings: HashMap<u64, (u32, u32)>,
    pub(super) flights: Flights,
    pub(super) reports: Reports,
    /// The warps of the block that runs of which some register holds undefined bits.
    pub(super) tainted: u32,
    /// The reads and shuffles that gave undefined bits.
    pub(super) origins: Origins,
    /// The undefined bits that stores have put into global memory.
    pub(super) stored: Stored,
    /// For pairs of a load and a compare-and-swap: whether the value of the load is the one that is
    /// expected.
    pub(super) expected: HashMap<(u32, u32), bool>,
    /// For pairs of a load and a store: the shuffles and votes that take the loaded value before
    /// the store.
    pub(super) gathers: HashMap<(u32, u32), Vec<u32>>,
    /// The shuffles and votes that some lanes of a warp have left out.
    pub(super) partial: HashSet<u32>,
    /// For pairs of barriers: whether each thread passes at most one of the two.
    pub(super) alternatives: HashMap<(u32, u32), bool>,
    /// Is there if values may be handed over without a fence.
    pub(super) handover: Option<Box<Handover>>,
    /// The warps of the block that runs of which some lanes wait at a barrier for the others.
    pub(super) parted: u32,
    /// By barrier: the instructions behind it.
    pub(super) behind: HashMap<u32, Arc<HashSet<u32>>>,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) order: BlockOrder,
    /// The first stamp of the block.
    pub(super) first: u32,
    pub(super) shared: Shared,
    /// The undefined bits in the registers of the block.
    pub(super) values: Values,
    /// The undefined bits that stores have put into shared and local memory.
    pub(super) stored: Stored,
    /// By warp: the lanes that wait at a barrier for the rest of their warp.
    pub(super) parted: HashMap<u32, Parted>,
    /// The flags that the threads have read.
    pub(super) heard: Heard,
}

/// The shadow of a block's shared and local memory.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) cells: Box<[Cell]>,
    pub(super) written: Written,
    /// The bytes of local memory that the threads have written.
    pub(super) local: Written,
}

impl Check {
    pub(super) fn new(kernel: &Kernel, clusters: bool) -> Check {
        let Sites { of, all } = Sites::new(kernel.program(), clusters);
        let pairs = Pairs::new(all.len());
        let handover = Handover::new(kernel.program(), &all);
        Check {
            site_of: of,
            history: History { sites: all, pairs, runs: Runs::default(), logs: Logs::default() },
            stamp: 0,
            block: None,
            others: HashMap::new(),
            spare: Vec::new(),
            global: Vec::new(),
            hint: 0,
            heads: HashMap::new(),
            clusters,
            meetings: HashMap::new(),
            flights: Flights::default(),
            reports: Reports::default(),
            tainted: 0,
            origins: Origins::default(),
            stored: Stored::default(),
            expected: HashMap::new(),
            gathers: HashMap::new(),
            partial: HashSet::new(),
            alternatives: HashMap::new(),
            handover,
            parted: 0,
            behind: HashMap::new(),
        }
    }

    /// A block before its first instruction.
    pub(super) fn begin(&mut self, env: &Env<'_>, ticket: u64) -> Box<Block> {
        let shared = self.spare.pop().unwrap_or_else(|| {
            let bytes = env.shared.len();
            let cells = vec![Cell::default(); bytes.div_ceil(4)].into_boxed_slice();
            let local = Written::none_of_block(env.local.len());
            Shared { cells, written: Written::none_of_block(bytes), local }
        });
        let first = self.stamp.saturating_add(1);
        let order = BlockOrder::new(ticket, env.job.config.block.count() as u32, first);
        let values = Values::new(env.job.config.block.count() as usize);
        let (stored, parted, heard) = (Stored::default(), HashMap::new(), Heard::default());
        Box::new(Block { order, first, shared, values, stored, parted, heard })
    }

    pub(super) fn order(&mut self) -> &mut BlockOrder {
        &mut self.block.as_mut().expect("a block runs whenever something is observed").order
    }

    /// Begins a new stamp, so that a thread which knows the accesses before it does not yet know
    /// those after it.
    pub(super) fn tick(&mut self) {
        self.stamp = self.stamp.saturating_add(1);
        let stamp = self.stamp;
        let order = self.order();
        order.now = stamp;
        let ticket = order.ticket;
        self.history.runs.push(stamp, ticket);
    }

    pub(super) fn exhausted(&self) -> bool {
        self.stamp == u32::MAX
    }
}
