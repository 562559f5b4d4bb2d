//! A grid: the workers that run its blocks, and what they share.

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

/// Blocks that one worker keeps in flight, at most, when blocks wait for others and do not end. A cooperative launch
/// keeps all of its blocks.
const MAX_RESIDENT_BLOCKS: u64 = 256;
/// Warp instructions a block may run before the worker looks at its other blocks.
const BLOCK_QUANTUM: u64 = 1 << 16;
/// Warp instructions that a worker may still spend on earlier blocks once a later one has faulted. Blocks that end
/// within it report their own fault, which comes first; blocks that wait for what the faulted block would have done
/// must end.
const GRACE: u64 = 1 << 22;
/// How long a worker whose blocks all poll rests before it looks whether anything has changed.
const REST: Duration = Duration::from_micros(50);
/// Blocks that a worker begins with, at most, and warp instructions of a turn, at most, as a power of two, where a seed
/// varies the order: few enough that a block can end before one that started earlier.
const MIXED_BLOCKS: u64 = 8;
const MIXED_QUANTUM: u64 = 11;

/// A launch in progress: what its workers share.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    job: &'a Job<'a>,
    clusters: u64,
    workers: u64,
    tickets: AtomicU64,
    /// Warp instructions run so far, as far as turns have ended.
    spent: AtomicU64,
    /// The lowest block that has faulted so far.
    first_fault: AtomicU64,
    stillness: Stillness,
    fault: Mutex<Option<(u64, Box<Fault>)>>,
}

impl<'a> Grid<'a> {
    /// A launch by `workers` workers.
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

    /// The fault of the first block that had one.
    pub(crate) fn into_fault(self) -> Option<Box<Fault>> {
        self.fault.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, fault)| fault)
    }
}

impl Grid<'_> {
    /// Runs clusters until none is left. Each time round, a worker starts another cluster beside those that did not end
    /// within their quantum, or as many again if all of them seem to wait: it may be for a block that has not started.
    /// In a cooperative launch it begins with its share of all blocks, and keeps what it has started. With a seed it keeps
    /// several, and their turns differ in length.
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
        // The epoch in which all blocks were found to be stuck in this round, and the last one in which that was told.
        let (mut stuck, mut told) = (None, None);
        loop {
            if turn == 0 {
                let here = resident.len() as u64;
                let more = if all_wait { here.max(1) } else { first.max(mixed.saturating_sub(here)) };
                first = 1;
                for _ in 0..more.min(most - here) {
                    let Some(ticket) = self.next_ticket() else { break };
                    let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(self.job));
                    cluster.start(ticket);
                    // Blocks that end within a turn are stopped here: the launch as a whole may not end.
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
            // Each is asked, so that all are watched from the same turn on.
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

    /// Warp instructions of the next turn.
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

    /// Why the launch must stop, if it must.
    fn stop(&self) -> Option<impl FnOnce(Vec<Waiting>) -> FaultKind> {
        let over = self.job.config.budget.filter(|budget| self.spent.load(Relaxed) >= *budget);
        let interrupted = self.job.config.interrupt.is_some_and(|interrupt| interrupt.load(Relaxed));
        let livelock = self.stillness.is_livelock();
        (over.is_some() || interrupted || livelock).then_some(move |standing| match over {
            Some(budget) => FaultKind::Budget { budget, standing },
            None if interrupted => FaultKind::Interrupted { standing },
            None => FaultKind::Livelock { standing },
        })
    }

    fn next_ticket(&self) -> Option<u64> {
        if self.first_fault.load(Ordering::Acquire) != u64::MAX || self.tickets.load(Relaxed) >= self.clusters {
            return None;
        }
        let ticket = self.tickets.fetch_add(1, Relaxed);
        (ticket < self.clusters).then_some(ticket)
    }

    /// Whether another block's fault ends the cluster that begins at this one: at once if that block comes before it, and
    /// else once the worker has spent its grace, or once no block gets on.
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
