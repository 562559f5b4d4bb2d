//! The knowledge that the threads of a block have of each other's accesses, by barriers and warp
//! syncs.
//!
//! Time is counted in stamps. A stamp is a number that grows, for all launches, at each event
//! that may order something. A stamp therefore belongs to one block, and an access is identified by
//! its thread and its stamp. Thread t knows the accesses of thread u of its block up to a certain
//! stamp, with which [`BlockOrder::knows`] compares.

use std::collections::HashMap;
use std::sync::Arc;

use super::known::{Arrived, Known, Observed, learn, merge};
use super::publish::{Fences, Published};
use super::row::Row;
use super::threads::{WARPS, lane_of, lanes, warp_of};
use crate::exec::block_id::BlockId;
use crate::registers::LANES;

/// A table for 32 warps or 32 lanes. The entry in a row and a column is the stamp up to which the
/// warp or lane of the row knows the accesses of the warp or lane of the column.
type Matrix = Box<[[u32; 32]; 32]>;

fn matrix() -> Matrix {
    Box::new([[0; 32]; 32])
}

#[derive(Debug, Default)]
struct WarpOrder {
    /// All lanes of the warp know each other's accesses up to this stamp.
    floor: u32,
    /// The knowledge that single lanes have of each other, once only some of the lanes were members
    /// of a sync.
    pairs: Option<Matrix>,
    /// The lanes that have not exited.
    alive: u32,
}

/// The arrivals at a barrier of the block.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// For each warp, the stamp up to which the threads that have arrived know its accesses. Their
    /// own warps are included.
    row: [u32; WARPS],
    known: Arrived,
    /// The first arrival that waits: its warp, lane and program counter.
    pub(super) first: Option<(u32, u32, u32)>,
}

/// One block's arrivals in a phase of the cluster's barrier.
#[derive(Debug)]
struct Meeting {
    /// For each warp, the stamp up to which the releasing arrivals know its accesses, their own
    /// warps included; and the stamp up to which they know the accesses of the whole block.
    row: [u32; WARPS],
    floor: u32,
    known: Arrived,
}

/// The knowledge that the threads of a block have of each other.
#[derive(Debug)]
pub(super) struct BlockOrder {
    pub(super) ticket: BlockId,
    /// The current stamp.
    pub(super) now: u32,
    /// All stamps from this one to `now` belong to this block.
    pub(super) run_start: u32,
    /// All threads know each other's accesses up to this stamp. It is below the block's first stamp
    /// until the first barrier.
    pub(super) floor: u32,
    warps: Vec<WarpOrder>,
    /// The knowledge that warps have of each other by barriers in which only a part of the block
    /// took part.
    pairs: Option<Matrix>,
    pub(super) arrivals: Box<[Arrivals; 16]>,
    pub(super) fences: Fences,
    /// The releases that all threads know, and the releases that single threads know.
    pub(super) known: Arc<Vec<Known>>,
    pub(super) own_known: HashMap<u32, Arc<Vec<Known>>>,
    /// The releases that threads have seen and not yet acquired.
    pub(super) observed: HashMap<u32, Vec<Observed>>,
    /// The accesses that the threads had fenced before the last barrier.
    pub(super) published: Option<Arc<Published>>,
    /// The log of the releases that strong reads of shared memory see, by address.
    pub(super) heads: HashMap<u64, u32>,
    /// How many of these releases belong to complete phases of the mbarrier, by address.
    pub(super) phases: HashMap<u64, u32>,
    /// The arrivals in the current phase of the cluster's barrier; the stamps that the arrivals of
    /// the last complete phase knew; and how many threads have left that phase.
    meeting: Option<Meeting>,
    met: [u32; WARPS],
    left: u32,
}

impl BlockOrder {
    /// A block of `threads` threads that begins at stamp `now`.
    pub(super) fn new(ticket: BlockId, threads: u32, now: u32) -> BlockOrder {
        let warps = (0..threads.div_ceil(LANES as u32)).map(|warp| {
            let lanes = (threads - warp * LANES as u32).min(LANES as u32);
            WarpOrder { alive: u32::MAX >> (LANES as u32 - lanes), ..WarpOrder::default() }
        });
        BlockOrder {
            ticket,
            now,
            run_start: now,
            floor: now - 1,
            warps: warps.collect(),
            pairs: None,
            arrivals: Box::default(),
            fences: Fences::default(),
            known: Arc::default(),
            own_known: HashMap::new(),
            observed: HashMap::new(),
            published: None,
            heads: HashMap::new(),
            phases: HashMap::new(),
            meeting: None,
            met: [0; WARPS],
            left: 0,
        }
    }

    /// Whether thread `t` knows, by barriers and warp syncs, the accesses of thread `u` of this
    /// block at `stamp`.
    pub(super) fn knows(&self, t: u32, u: u32, stamp: u32) -> bool {
        if t == u || stamp <= self.floor {
            return true;
        }
        let (a, b) = (warp_of(t), warp_of(u));
        if a == b {
            let warp = &self.warps[a];
            return stamp <= warp.floor
                || warp.pairs.as_ref().is_some_and(|pairs| stamp <= pairs[lane_of(t)][lane_of(u)]);
        }
        self.pairs.as_ref().is_some_and(|pairs| stamp <= pairs[a][b])
    }

    /// The releases that thread `t` knows.
    pub(super) fn lists(&self, t: u32) -> impl Iterator<Item = &Arc<Vec<Known>>> {
        let own = if self.own_known.is_empty() { None } else { self.own_known.get(&t) };
        std::iter::once(&self.known).chain(own)
    }

    /// The knowledge that thread `t` has now.
    pub(super) fn row(&self, t: u32) -> Row {
        let (warp, lane) = (warp_of(t), lane_of(t));
        let lanes = &self.warps[warp].pairs;
        let finer = (self.pairs.is_some() || lanes.is_some()).then(|| {
            let warps = self.pairs.as_ref().map_or([0; WARPS], |pairs| pairs[warp]);
            Arc::new((warps, lanes.as_ref().map_or([0; LANES], |pairs| pairs[lane])))
        });
        let own = self.own_known.get(&t).cloned().unwrap_or_default();
        let (stamp, floor, warp_floor) = (self.now, self.floor, self.warps[warp].floor);
        Row {
            thread: t,
            stamp,
            floor,
            warp_floor,
            finer,
            copied: None,
            known: [Arc::clone(&self.known), own],
        }
    }

    pub(super) fn exit(&mut self, warp: u32, lanes: u32) {
        self.warps[warp as usize].alive &= !lanes;
    }

    /// Records that lanes have arrived at a barrier.
    pub(super) fn arrive(&mut self, id: u32, warp: u32, mask: u32) {
        let arrivals = &mut self.arrivals[id as usize];
        if let Some(pairs) = &self.pairs {
            for (to, from) in arrivals.row.iter_mut().zip(pairs[warp as usize]) {
                *to = (*to).max(from);
            }
        }
        arrivals.row[warp as usize] = self.now;
        for thread in lanes(mask).map(|lane| warp * LANES as u32 + lane) {
            arrivals.known.arrive(thread, &self.own_known, &self.observed);
        }
    }

    /// Records that barrier `id` is complete and releases the lanes of `waiting`. If `whole` is
    /// true, these are all threads. The caller begins a new stamp afterwards.
    pub(super) fn barrier(&mut self, id: u32, waiting: &[(u32, u32)], whole: bool) {
        let arrivals = std::mem::take(&mut self.arrivals[id as usize]);
        if whole {
            self.floor = self.now;
            merge(&mut self.known, &arrivals.known.0);
            self.own_known.clear();
            self.published = self.fences.published(&self.known).or(self.published.take());
            return;
        }
        let pairs = self.pairs.get_or_insert_with(matrix);
        for &(warp, _) in waiting {
            for (to, from) in pairs[warp as usize].iter_mut().zip(arrivals.row) {
                *to = (*to).max(from);
            }
        }
        for &(warp, mask) in waiting {
            self.sync_lanes(warp, mask, &[mask; LANES]);
            if !arrivals.known.0.is_empty() {
                for thread in lanes(mask).map(|lane| warp * LANES as u32 + lane) {
                    merge(self.own_known.entry(thread).or_default(), &arrivals.known.0);
                }
            }
        }
    }

    /// Records that lanes arrive at the cluster's barrier and release their knowledge. The caller
    /// begins a new stamp afterwards.
    pub(super) fn arrive_at_cluster(&mut self, warp: u32, mask: u32) {
        let floor = self.floor;
        let meeting = self.meeting.get_or_insert_with(|| Meeting {
            row: [0; WARPS],
            floor,
            known: Arrived::default(),
        });
        if let Some(pairs) = &self.pairs {
            for (to, from) in meeting.row.iter_mut().zip(pairs[warp as usize]) {
                *to = (*to).max(from);
            }
        }
        meeting.row[warp as usize] = self.now;
        merge(&mut meeting.known.0, &self.known);
        for thread in lanes(mask).map(|lane| warp * LANES as u32 + lane) {
            meeting.known.arrive(thread, &self.own_known, &self.observed);
        }
    }

    /// Records that the phase of the cluster's barrier is complete. Returns the knowledge of the
    /// threads of this block that have arrived.
    pub(super) fn meet_cluster(&mut self) -> Option<Row> {
        self.left = 0;
        self.met = [0; WARPS];
        let Meeting { row, floor, known } = self.meeting.take()?;
        self.met = row;
        Some(Row {
            // The row belongs to no single thread. The stamp distinguishes the rows of different
            // phases.
            thread: u32::MAX,
            stamp: self.now,
            floor,
            warp_floor: 0,
            finer: Some(Arc::new((row, [0; LANES]))),
            copied: None,
            known: [known.0, Arc::default()],
        })
    }

    /// Records that lanes leave the cluster's barrier and learn `known`. When all `live` threads
    /// have left, each of them knows the accesses of all of them before the barrier.
    pub(super) fn leave_cluster(&mut self, warp: u32, mask: u32, known: Known, live: u32) {
        for thread in lanes(mask).map(|lane| warp * LANES as u32 + lane) {
            learn(self.own_known.entry(thread).or_default(), known);
        }
        self.left += mask.count_ones();
        if self.left < live {
            return;
        }
        learn(&mut self.known, known);
        self.own_known.retain(|_, list| {
            list.iter().any(|own| (own.log, own.reach) != (known.log, known.reach))
        });
        let alive = self
            .warps
            .iter()
            .zip(self.met)
            .filter(|(warp, _)| warp.alive != 0)
            .map(|(_, stamp)| stamp);
        self.floor = self.floor.max(alive.min().unwrap_or(0));
    }

    /// Records a warp sync of the lanes of `mask`, each of which waits for its members. The caller
    /// begins a new stamp afterwards.
    pub(super) fn warp_sync(&mut self, warp: u32, mask: u32, members: &[u32; LANES]) {
        if !self.own_known.is_empty() {
            let first = warp * LANES as u32;
            for lane in lanes(mask) {
                let mut all = Arc::default();
                for other in lanes(members[lane as usize]) {
                    if let Some(known) = self.own_known.get(&(first + other)) {
                        merge(&mut all, known);
                    }
                }
                if !all.is_empty() {
                    merge(self.own_known.entry(first + lane).or_default(), &all);
                }
            }
        }
        self.sync_lanes(warp, mask, members);
    }

    fn sync_lanes(&mut self, warp: u32, mask: u32, members: &[u32; LANES]) {
        let WarpOrder { floor, pairs, alive } = &mut self.warps[warp as usize];
        if lanes(mask).all(|lane| *alive & !members[lane as usize] == 0) {
            *floor = self.now;
            return;
        }
        let pairs = pairs.get_or_insert_with(matrix);
        let before = pairs.clone();
        for lane in lanes(mask) {
            let row = &mut pairs[lane as usize];
            for other in lanes(members[lane as usize] & *alive) {
                for (to, from) in row.iter_mut().zip(before[other as usize]) {
                    *to = (*to).max(from);
                }
                row[other as usize] = self.now;
            }
        }
    }
}
