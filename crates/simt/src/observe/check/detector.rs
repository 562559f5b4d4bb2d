//! The detector's state while it watches one launch or several.

use std::collections::HashMap;
use std::sync::Arc;

use super::code::Code;
use super::flights::Flights;
use super::handover::{Handover, Heard};
use super::order::BlockOrder;
use super::publish::Logs;
use super::report::Reports;
use super::shadow::{Cell, History, Pairs, Runs};
use super::shadows::Shadows;
use super::sites::Sites;
use super::skipped::Parted;
use super::undefined::{Origins, Stored, Values};
use crate::exec::block_id::BlockId;
use crate::exec::env::Env;
use crate::exec::launch::Together;
use crate::exec::memory::Written;

/// The observer that watches all blocks of all launches.
#[derive(Debug)]
pub(super) struct Check {
    /// The launch whose block runs, and what is known of it.
    launch: usize,
    pub(super) code: Code,
    /// What is known of each of the other launches.
    codes: Vec<Code>,
    pub(super) history: History,
    /// The last stamp that was given.
    pub(super) stamp: u32,
    /// The block that runs, and the other blocks that have begun and not ended.
    pub(super) block: Option<Box<Block>>,
    pub(super) others: HashMap<BlockId, Box<Block>>,
    pub(super) shadows: Shadows,
    /// The log of the releases that strong reads of global memory see, by the name of the word.
    pub(super) heads: HashMap<u64, u32>,
    /// By the first block of each cluster: the log of the cluster's barrier, and how many releases
    /// the log had at the last complete phase.
    pub(super) meetings: HashMap<BlockId, (u32, u32)>,
    pub(super) flights: Flights,
    pub(super) reports: Reports,
    /// The warps of the block that runs of which some register holds undefined bits.
    pub(super) tainted: u32,
    /// The reads and shuffles that gave undefined bits.
    pub(super) origins: Origins,
    /// The undefined bits that stores have put into global memory.
    pub(super) stored: Stored,
    /// Is there if values may be handed over without a fence.
    pub(super) handover: Option<Box<Handover>>,
    /// The warps of the block that runs of which some lanes wait at a barrier for the others.
    pub(super) parted: u32,
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
    pub(super) fn new(launches: &[Together<'_>]) -> Check {
        let mut codes: Vec<Code> = Vec::new();
        let mut sites = Vec::new();
        for (launch, of) in launches.iter().enumerate() {
            let clusters = of.config.cluster > 1 || of.kernel.wants_cluster();
            // Launches of one kernel share its sites, because records can number only few.
            let same = (0..launch).find(|other| {
                std::ptr::eq(launches[*other].kernel, of.kernel)
                    && codes[*other].clusters == clusters
            });
            let site_of = if let Some(other) = same {
                Arc::clone(&codes[other].site_of)
            } else {
                let found = Sites::new(of.kernel.program(), launch as u32, clusters, sites);
                sites = found.all;
                Arc::new(found.of)
            };
            codes.push(Code { site_of, clusters, ..Code::default() });
        }
        let pairs = Pairs::new(sites.len());
        let handover = Handover::new(launches, &sites);
        Check {
            launch: 0,
            code: codes.first_mut().map(std::mem::take).unwrap_or_default(),
            codes,
            history: History { sites, pairs, runs: Runs::default(), logs: Logs::default() },
            stamp: 0,
            block: None,
            others: HashMap::new(),
            shadows: Shadows::default(),
            heads: HashMap::new(),
            meetings: HashMap::new(),
            flights: Flights::default(),
            reports: Reports::default(),
            tainted: 0,
            origins: Origins::default(),
            stored: Stored::default(),
            handover,
            parted: 0,
        }
    }

    /// Makes `launch` the launch whose block runs.
    pub(super) fn enter(&mut self, launch: usize) {
        if launch != self.launch {
            std::mem::swap(&mut self.code, &mut self.codes[self.launch]);
            std::mem::swap(&mut self.code, &mut self.codes[launch]);
            self.launch = launch;
        }
    }

    /// A block before its first instruction.
    pub(super) fn begin(&mut self, env: &Env<'_>, ticket: BlockId) -> Box<Block> {
        let shared = self.code.spare.pop().unwrap_or_else(|| {
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
