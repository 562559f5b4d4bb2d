//! A grid: the workers that run its blocks, and the state that they share.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::exec::block::Progress;
use crate::exec::cluster::Cluster;
use crate::exec::job::Job;
use crate::exec::observer::Observer;
use crate::exec::random::Random;
use crate::exec::stillness::Stillness;
use crate::fault::{Fault, FaultKind, Waiting};

/// A worker keeps at most this many blocks in flight when blocks wait for others and do not end. In
/// a cooperative launch, a worker keeps all of its blocks instead.
const MAX_RESIDENT_BLOCKS: u64 = 256;
/// A block runs this many warp instructions before the worker turns to its other blocks.
const BLOCK_QUANTUM: u64 = 1 << 16;
/// Once a block has faulted, a worker spends at most this many warp instructions on earlier blocks.
/// An earlier block that ends within the limit reports its own fault, which has priority; an
/// earlier block that waits for the faulted block would never end, and is stopped.
const GRACE: u64 = 1 << 22;
/// How long a worker rests if all its blocks poll, before it looks again whether anything has
/// changed.
const REST: Duration = Duration::from_micros(50);
/// With a seed, a worker begins with at most this many blocks, and a turn has at most this many
/// warp instructions (as a power of two). Both are small, so that a block can end before one that
/// started earlier.
const MIXED_BLOCKS: u64 = 8;
const MIXED_QUANTUM: u64 = 11;

/// A launch in progress, in the form that its workers share.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    job: &'a Job<'a>,
    clusters: u64,
    workers: u64,
    tickets: AtomicU64,
    /// How many warp instructions have run in turns that have ended.
    spent: AtomicU64,
    /// The lowest index of a block that has faulted so far.
    first_fault: AtomicU64,
    stillness: Stillness,
    fault: Mutex<Option<(u64, Box<Fault>)>>,
}

impl<'a> Grid<'a> {
    /// A launch on `workers` workers.
    pub(crate) fn new(job: &'a Job<'a>, workers: u64) -> Grid<'a> {
        Grid {
            job,
            clusters: job.config.grid.count() as u64 / u64::from(job.cluster),
            workers,
            tickets: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            first_fault: AtomicU64::new(u64::MAX),
            stillness: Stillness::new(workers),
            fault: Mutex::new(None),
        }
    }

    /// The fault of the block with the lowest index among those that faulted.
    pub(crate) fn into_fault(self) -> Option<Box<Fault>> {
        self.fault.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, fault)| fault)
    }
}

impl Grid<'_> {
    /// Runs clusters until none is left. In each round, a worker starts one more cluster beside
    /// those that did not end within their quantum. If all of its clusters seem to wait, it doubles
    /// their number, because they may wait for a block that has not started. In a cooperative
    /// launch, a worker begins with its share of all blocks. With a seed, it keeps several
    /// clusters, whose turns differ in length.
    pub(crate) fn work(&self, observer: &mut impl Observer) {
        let mut resident: Vec<Cluster<'_>> = Vec::new();
        let mut spare: Vec<Cluster<'_>> = Vec::new();
        let mut turn = 0;
        let mut all_wait = false;
        let mut grace = 0;
        let mut random = self.job.config.seed.map(|seed| Random::new(seed, u64::MAX));
        let mixed = random.as_mut().map_or(1, |random| 1 + random.below(MIXED_BLOCKS));
        let (mut first, most) = if self.job.config.cooperative {
            (self.clusters.div_ceil(self.workers), u64::MAX)
        } else {
            (1, (MAX_RESIDENT_BLOCKS / u64::from(self.job.cluster)).max(1))
        };
        // `stuck` is the epoch in which all blocks were found to be stuck in this round; `None` if
        // a block was not. `told` is the last such epoch that was reported.
        let (mut stuck, mut told) = (None, None);
        loop {
            if turn == 0 {
                let here = resident.len() as u64;
                let more =
                    if all_wait { here.max(1) } else { first.max(mixed.saturating_sub(here)) };
                first = 1;
                for _ in 0..more.min(most - here) {
                    let Some(ticket) = self.next_ticket() else { break };
                    let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(self.job));
                    cluster.start(ticket);
                    // Blocks that end within one turn can be stopped only here, and a launch of
                    // such blocks must be stoppable too.
                    if let Some(kind) = self.stop() {
                        self.report(cluster.ticket(), cluster.stopped(kind));
                        spare.push(cluster);
                        break;
                    }
                    resident.push(cluster);
                }
                if resident.len() as u64 == here
                    && let Some(epoch) = stuck
                {
                    if told != stuck {
                        self.stillness.stuck(epoch);
                        told = stuck;
                    }
                    self.rest(epoch);
                }
                all_wait = true;
                stuck = Some(self.stillness.epoch());
            }
            if resident.is_empty() {
                self.stillness.leave();
                return;
            }
            let cluster = &mut resident[turn];
            let ticket = cluster.ticket();
            let (progress, spent) = cluster.run(observer, self.quantum(random.as_mut()));
            if cluster.take_acted() {
                self.stillness.end();
            }
            let waits = matches!(progress, Ok(Progress::Waiting));
            all_wait &= waits;
            stuck = stuck.filter(|epoch| waits && *epoch == self.stillness.epoch());
            // Every cluster is asked, even if another cluster is known not to be stuck, so that all
            // are watched from the same turn on.
            let is_stuck = waits && cluster.is_stuck(self.stillness.epoch());
            stuck = stuck.filter(|_| is_stuck);
            self.spent.fetch_add(spent, Relaxed);
            let done = match progress {
                Ok(Progress::Finished) => true,
                Ok(_) => {
                    if let Some(kind) = self.stop() {
                        self.report(ticket, cluster.stopped(kind));
                        true
                    } else {
                        self.is_cancelled(ticket, spent, &mut grace)
                    }
                }
                Err((ticket, fault)) => {
                    self.report(ticket, fault);
                    true
                }
            };
            if done {
                spare.push(resident.swap_remove(turn));
            } else {
                turn += 1;
            }
            if turn >= resident.len() {
                turn = 0;
            }
        }
    }

    /// How many warp instructions the next turn has.
    fn quantum(&self, random: Option<&mut Random>) -> u64 {
        let left = |budget: u64| budget.saturating_sub(self.spent.load(Relaxed)).max(1);
        let quantum = random.map_or(BLOCK_QUANTUM, |random| {
            let most = 1 << random.below(MIXED_QUANTUM + 1);
            1 + random.below(most)
        });
        self.job.config.budget.map_or(quantum, |budget| quantum.min(left(budget)))
    }

    /// Waits until something has changed after `epoch`, or the launch must stop.
    fn rest(&self, epoch: u64) {
        while self.stillness.epoch() == epoch
            && !self.stillness.is_still()
            && self.first_fault.load(Relaxed) == u64::MAX
            && self.stop().is_none()
        {
            std::thread::sleep(REST);
        }
    }

    /// The fault that stops the launch, if it must stop. The returned function receives the places
    /// where warps stand.
    fn stop(&self) -> Option<impl FnOnce(Vec<Waiting>) -> FaultKind> {
        let over = self.job.config.budget.filter(|budget| self.spent.load(Relaxed) >= *budget);
        let interrupted =
            self.job.config.interrupt.is_some_and(|interrupt| interrupt.load(Relaxed));
        let livelock = self.stillness.is_livelock();
        (over.is_some() || interrupted || livelock).then_some(move |standing| match over {
            Some(budget) => FaultKind::Budget { budget, standing },
            None if interrupted => FaultKind::Interrupted { standing },
            None => FaultKind::Livelock { standing },
        })
    }

    fn next_ticket(&self) -> Option<u64> {
        if self.first_fault.load(Ordering::Acquire) != u64::MAX
            || self.tickets.load(Relaxed) >= self.clusters
        {
            return None;
        }
        let ticket = self.tickets.fetch_add(1, Relaxed);
        (ticket < self.clusters).then_some(ticket)
    }

    /// Returns whether the fault of another block ends the cluster whose first block is `ticket`:
    /// at once if the faulted block has a lower index, and otherwise when the worker has spent its
    /// grace or no block makes progress.
    fn is_cancelled(&self, ticket: u64, spent: u64, grace: &mut u64) -> bool {
        let first = self.first_fault.load(Ordering::Acquire);
        if first != u64::MAX {
            *grace += spent;
        }
        first < ticket || *grace > GRACE || (first != u64::MAX && self.stillness.is_still())
    }

    fn report(&self, ticket: u64, fault: Box<Fault>) {
        if !matches!(fault.kind, FaultKind::Livelock { .. }) {
            self.stillness.fault();
        }
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| ticket < *other) {
            *first = Some((ticket, fault));
            self.first_fault.store(ticket, Ordering::Release);
        }
    }
}
