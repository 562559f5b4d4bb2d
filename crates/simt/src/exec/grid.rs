//! The grids of launches that run together: the workers that run their blocks, and the state that
//! the workers share.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::exec::block::Progress;
use crate::exec::cluster::Cluster;
use crate::exec::job::Job;
use crate::exec::observer::Observer;
use crate::exec::random::Random;
use crate::exec::stillness::Stillness;
use crate::exec::tickets::Tickets;
use crate::fault::{Fault, FaultKind, Waiting};

/// A worker keeps at most this many blocks of a launch in flight when blocks wait for others and do
/// not end. Of a cooperative launch, a worker keeps all of its blocks instead.
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
/// A large odd number, by which the seeds of several launches are made into one.
const SEED_FACTOR: u64 = 0xd134_2543_de82_ef95;

/// A block among those of all launches: the number of its launch, and its linear index. If several
/// blocks fault, the lowest one counts.
type Rank = (usize, u64);

/// Launches in progress, in the form that their workers share.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    jobs: &'a [Job<'a>],
    workers: u64,
    /// From this seed follow the launch that starts a block, and the lengths of the turns.
    seed: Option<u64>,
    tickets: Tickets,
    /// By launch: how many warp instructions have run in turns that have ended.
    spent: Vec<AtomicU64>,
    stillness: Stillness,
    has_faulted: AtomicBool,
    /// The lowest block that has faulted so far.
    fault: Mutex<Option<(Rank, Box<Fault>)>>,
}

impl<'a> Grid<'a> {
    /// Launches that run together on `workers` workers.
    pub(crate) fn new(jobs: &'a [Job<'a>], workers: u64) -> Grid<'a> {
        let mixed = |seed: u64, other| seed.wrapping_mul(SEED_FACTOR).wrapping_add(other);
        Grid {
            jobs,
            workers,
            seed: jobs.iter().filter_map(|job| job.seed).reduce(mixed),
            tickets: Tickets::new(jobs.iter().map(Job::clusters)),
            spent: jobs.iter().map(|_| AtomicU64::new(0)).collect(),
            stillness: Stillness::new(workers),
            has_faulted: AtomicBool::new(false),
            fault: Mutex::new(None),
        }
    }

    /// The fault of the lowest block among those that faulted, and the number of its launch.
    pub(crate) fn into_fault(self) -> Option<(usize, Box<Fault>)> {
        let fault = self.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        fault.map(|((launch, _), fault)| (launch, fault))
    }
}

impl Grid<'_> {
    /// Runs clusters until none is left. In each round, a worker starts one more cluster beside
    /// those that did not end within their quantum. If all of its clusters seem to wait, it doubles
    /// their number, because they may wait for a block that has not started. If a launch is
    /// cooperative, a worker begins with as many clusters as its share of that launch. With a seed,
    /// it keeps several clusters, whose turns differ in length.
    pub(crate) fn work(&self, observer: &mut impl Observer) {
        let mut resident: Vec<Cluster<'_>> = Vec::new();
        let mut spare: Vec<Vec<Cluster<'_>>> = self.jobs.iter().map(|_| Vec::new()).collect();
        // By launch: how many clusters are resident, and how many may be.
        let mut of_launch: Vec<(u64, u64)> = self.jobs.iter().map(|job| (0, most(job))).collect();
        let mut turn = 0;
        let mut all_wait = false;
        let mut grace = 0;
        let mut random = self.seed.map(|seed| Random::new(seed, u64::MAX));
        let mixed = random.as_mut().map_or(1, |random| 1 + random.below(MIXED_BLOCKS));
        let together = self.jobs.iter().filter(|job| job.config.cooperative);
        let mut first =
            together.map(|job| job.clusters().div_ceil(self.workers)).sum::<u64>().max(1);
        // `stuck` is the epoch in which all blocks were found to be stuck in this round; `None` if
        // a block was not. `told` is the last such epoch that was reported.
        let (mut stuck, mut told) = (None, None);
        loop {
            if turn == 0 {
                let here = resident.len() as u64;
                let more =
                    if all_wait { here.max(1) } else { first.max(mixed.saturating_sub(here)) };
                first = 1;
                for _ in 0..more {
                    let next = self.next(random.as_mut(), &of_launch, grace);
                    let Some((launch, ticket)) = next else { break };
                    let mut cluster =
                        spare[launch].pop().unwrap_or_else(|| Cluster::new(&self.jobs[launch]));
                    cluster.start(ticket);
                    // Blocks that end within one turn can be stopped only here, and a launch of
                    // such blocks must be stoppable too.
                    if let Some(kind) = self.stop(launch) {
                        self.report((launch, cluster.ticket()), cluster.stopped(kind));
                        spare[launch].push(cluster);
                        break;
                    }
                    of_launch[launch].0 += 1;
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
            let (launch, ticket) = (cluster.launch(), cluster.ticket());
            let (progress, spent) = cluster.run(observer, self.quantum(launch, random.as_mut()));
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
            self.spent[launch].fetch_add(spent, Relaxed);
            if self.has_faulted.load(Acquire) {
                grace += spent;
            }
            let done = match progress {
                Ok(Progress::Finished) => true,
                Ok(_) => {
                    if let Some(kind) = self.stop(launch) {
                        self.report((launch, ticket), cluster.stopped(kind));
                        true
                    } else {
                        self.is_cancelled((launch, ticket), grace)
                    }
                }
                Err((ticket, fault)) => {
                    self.report((launch, ticket), fault);
                    true
                }
            };
            if done {
                of_launch[launch].0 -= 1;
                spare[launch].push(resident.swap_remove(turn));
            } else {
                turn += 1;
            }
            if turn >= resident.len() {
                turn = 0;
            }
        }
    }

    /// Takes a cluster to start: the number of its launch, and its own number. `of_launch` says how
    /// many clusters of each launch are resident, and how many may be. Once a block has faulted,
    /// only launches before its own start blocks, because their faults have priority, and only
    /// until the worker has spent its grace or no block makes progress.
    fn next(
        &self,
        random: Option<&mut Random>,
        of_launch: &[(u64, u64)],
        grace: u64,
    ) -> Option<(usize, u64)> {
        let end = match self.first_fault() {
            None => usize::MAX,
            Some(_) if grace > GRACE || self.stillness.is_still() => 0,
            Some((launch, _)) => launch,
        };
        let may_start = |launch: usize| launch < end && of_launch[launch].0 < of_launch[launch].1;
        if end == 0 { None } else { self.tickets.next(random, may_start) }
    }

    /// How many warp instructions the next turn has, which is a turn of `launch`.
    fn quantum(&self, launch: usize, random: Option<&mut Random>) -> u64 {
        let left = |budget: u64| budget.saturating_sub(self.spent[launch].load(Relaxed)).max(1);
        let quantum = random.map_or(BLOCK_QUANTUM, |random| {
            let most = 1 << random.below(MIXED_QUANTUM + 1);
            1 + random.below(most)
        });
        self.jobs[launch].config.budget.map_or(quantum, |budget| quantum.min(left(budget)))
    }

    /// Waits until something has changed after `epoch`, or a launch must stop.
    fn rest(&self, epoch: u64) {
        while self.stillness.epoch() == epoch
            && !self.stillness.is_still()
            && !self.has_faulted.load(Relaxed)
            && (0..self.jobs.len()).all(|launch| self.stop(launch).is_none())
        {
            std::thread::sleep(REST);
        }
    }

    /// The fault that stops `launch`, if it must stop. The returned function receives the places
    /// where warps stand.
    fn stop(&self, launch: usize) -> Option<impl FnOnce(Vec<Waiting>) -> FaultKind> {
        let config = self.jobs[launch].config;
        let over = config.budget.filter(|budget| self.spent[launch].load(Relaxed) >= *budget);
        let interrupted = config.interrupt.is_some_and(|interrupt| interrupt.load(Relaxed));
        let livelock = self.stillness.is_livelock();
        (over.is_some() || interrupted || livelock).then_some(move |standing| match over {
            Some(budget) => FaultKind::Budget { budget, standing },
            None if interrupted => FaultKind::Interrupted { standing },
            None => FaultKind::Livelock { standing },
        })
    }

    /// Returns whether the fault of another block ends the cluster whose first block is `rank`: at
    /// once if the faulted block is lower, and otherwise when the worker has spent its grace or no
    /// block makes progress.
    fn is_cancelled(&self, rank: Rank, grace: u64) -> bool {
        let first = self.first_fault();
        first.is_some_and(|first| first < rank || grace > GRACE || self.stillness.is_still())
    }

    /// The lowest block that has faulted so far.
    fn first_fault(&self) -> Option<Rank> {
        if !self.has_faulted.load(Acquire) {
            return None;
        }
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map(|(rank, _)| *rank)
    }

    fn report(&self, rank: Rank, fault: Box<Fault>) {
        if !matches!(fault.kind, FaultKind::Livelock { .. }) {
            self.stillness.fault();
        }
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| rank < *other) {
            *first = Some((rank, fault));
            self.has_faulted.store(true, Release);
        }
    }
}

/// How many clusters of a launch a worker keeps in flight.
fn most(job: &Job<'_>) -> u64 {
    if job.config.cooperative {
        u64::MAX
    } else {
        (MAX_RESIDENT_BLOCKS / u64::from(job.cluster)).max(1)
    }
}
