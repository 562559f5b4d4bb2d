//! Checking: what a launch does that its author cannot have meant.
//!
//! # Data races
//! The detector follows happens-before (Flanagan and Freund, "FastTrack", PLDI 2009), adapted to blocks of threads and to
//! the memory model of PTX (PTX ISA, "Memory Consistency Model"). Two accesses to the same bytes conflict if at least one
//! writes, unless both are strong (`.volatile`, `.relaxed` and stronger, atomics) with scopes that include each other, and
//! cover the same bytes; each element of a vector is an access of its own.
//! They are ordered by program order; barriers of the block, named, counted or split ones included; `bar.warp.sync`,
//! for its members alone; the barrier of the cluster; mbarriers, whose complete phases hand on what those who arrived
//! knew; and by fences and acquiring or releasing accesses of sufficient scope around strong accesses to
//! a third location. Shuffles and votes order nothing. The end of a launch orders everything.
//!
//! Time is not simulated: what is reported does not hang on how the warps happened to take turns, as long as the
//! accesses happen at all. One host thread runs all blocks.
//!
//! What goes beyond the letter of PTX, so that what everybody relies on is not reported:
//! - An atomic that saw a release needs no fence of its own if a barrier of the block follows ("the last block finishes").
//! - What threads have fenced before a barrier of the block, any of them may publish after it (grid-wide barriers).
//! - Threads that have exited count as arrived at later barriers.
//! - Lanes that store the same value to the same address in one instruction do not race.
//!
//! What may be missed, since memory is limited and no report may be wrong:
//! - Of each word, the last write and at most two reads since are remembered; of reads by several blocks, the first.
//!   Accesses to parts of a word replace what was known of its other parts.
//! - Where a part of a warp arrives at a counted barrier, all of the warp counts as having arrived.
//! - A weak write does not end the log of releases of its location.
//! - Scopes of clusters reach as far as those of the device, and mbarriers of clusters order by any scope.
//! - A thread that began a copy, and does not wait for it, is found only until another thread has waited.
//! - Fences between proxies are not asked for. Global memory is not watched while a copy writes to it.
//! - Local memory is not watched, and no more than 4096 memory instructions of a kernel.
//! - After 2^32 events that order something, nothing more is watched.
//!
//! A lane that spins on a volatile flag in shared memory until another lane of its own warp sets it is reported as
//! [`ReportKind::WarpSynchronous`] though it would work: use `ld.relaxed` or an atomic.

mod copies;
mod findings;
mod order;
mod publish;
mod report;
mod shadow;
mod sites;
mod watch;

use std::collections::HashMap;

pub(crate) use report::Place;
pub use report::{MemoryAccess, Party, Report, ReportKind};

use crate::access::Request;
use crate::block::Env;
use crate::bulk::{Copy, SharedCell};
use crate::fault::Fault;
use crate::ir::Op;
use crate::launch::{Arg, LaunchConfig, LaunchError, run};
use crate::memory::{Memory, Written};
use crate::module::Kernel;
use crate::observe::{At, MbarrierChange, Observer};
use crate::ptx::ast::{FenceSem, Ordering, Scope};
use crate::registers::LANES;
use copies::Flights;
use order::{BlockOrder, lanes};
use publish::{Known, Logs, Observed, Release, is_wide, learn};
use report::{Found, Reports, name};
use shadow::{Cell, History, Pages, Pairs, Runs};
use sites::Sites;

/// What was found in a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// One for each class and pair of places, in the order in which they were found; the first 100.
    pub reports: Vec<Report>,
    /// What stopped the launch, if anything did.
    pub fault: Option<Box<Fault>>,
}

/// Runs a kernel to its end and watches what it does, on one host thread.
///
/// Reads of global memory that nothing wrote are found in memory made by [`Memory::checked`].
///
/// # Errors
/// Those of [`launch`](crate::launch()), but for faults, which are part of the result.
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, ReportKind, check};
///
/// // Each thread adds 1 to the same word, without an atomic.
/// let module = Module::from_ptx(
///     "count.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry count(.param .u64 total) {
///          .reg .b32 %r<2>;
///          .reg .b64 %rd<2>;
///          ld.param.u64 %rd1, [total];
///          ld.global.u32 %r1, [%rd1];
///          add.u32 %r1, %r1, 1;
///          st.global.u32 [%rd1], %r1;
///          ret;
///      }",
/// )?;
/// let memory = Memory::new(1 << 20);
/// let total = memory.alloc(4)?;
/// let kernel = module.kernel("count").ok_or("no such kernel")?;
/// let checked = check(kernel, &LaunchConfig::new(2, 1), &[Arg::Pointer(total)], &memory)?;
/// assert_eq!(checked.reports[0].kind, ReportKind::Race);
/// let text = checked.reports[0].to_string();
/// assert!(text.starts_with("error[race]: thread (0,0,0) of block (1,0,0) reads 4 bytes of global memory"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(kernel: &Kernel, config: &LaunchConfig, args: &[Arg], memory: &Memory) -> Result<Checked, LaunchError> {
    let workers = config.workers.map(|workers| workers.min(1)).or(Some(1));
    let config = LaunchConfig { workers, ..*config };
    let clusters = config.cluster > 1 || kernel.wants_cluster();
    let (checks, fault) = run(kernel, &config, args, memory, || Check::new(kernel, clusters))?;
    let reports = checks.into_iter().flat_map(|check| check.reports.all).collect();
    Ok(Checked { reports, fault })
}

/// Watches all blocks of a launch.
#[derive(Debug)]
struct Check {
    /// By program counter.
    site_of: Vec<u16>,
    history: History,
    /// The last stamp given.
    stamp: u32,
    /// The block that runs, and those that have not ended.
    block: Option<Box<Block>>,
    others: HashMap<u64, Box<Block>>,
    /// Shadows of blocks that have ended.
    spare: Vec<Shared>,
    /// By the number of the allocation.
    global: Vec<Pages>,
    /// Where the last global access found its allocation.
    hint: usize,
    /// The releases that strong reads of global memory see, by address.
    heads: HashMap<u64, u32>,
    /// Whether blocks are launched in clusters.
    clusters: bool,
    /// The releases of each cluster's barrier, by its first block, and how many there were at its last complete phase.
    meetings: HashMap<u64, (u32, u32)>,
    flights: Flights,
    reports: Reports,
}

#[derive(Debug)]
struct Block {
    order: BlockOrder,
    /// Its first stamp.
    first: u32,
    shared: Shared,
}

/// The shadow of a block's shared memory.
#[derive(Debug)]
struct Shared {
    cells: Box<[Cell]>,
    written: Written,
}

impl Check {
    fn new(kernel: &Kernel, clusters: bool) -> Check {
        let Sites { of, all } = Sites::new(kernel.program(), clusters);
        let pairs = Pairs::new(all.len());
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
        }
    }

    /// A block that has done nothing yet.
    fn begin(&mut self, env: &Env<'_>, ticket: u64) -> Box<Block> {
        let shared = self.spare.pop().unwrap_or_else(|| {
            let bytes = env.shared.len();
            let cells = vec![Cell::default(); bytes.div_ceil(4)].into_boxed_slice();
            Shared { cells, written: Written::none_of_block(bytes) }
        });
        let first = self.stamp.saturating_add(1);
        let order = BlockOrder::new(ticket, env.grid.config.block.count() as u32, first);
        Box::new(Block { order, first, shared })
    }

    fn order(&mut self) -> &mut BlockOrder {
        &mut self.block.as_mut().expect("a block runs whenever something is observed").order
    }

    /// Lets time pass: what follows is not known to whom what came before is.
    fn tick(&mut self) {
        self.stamp = self.stamp.saturating_add(1);
        let stamp = self.stamp;
        let order = self.order();
        order.now = stamp;
        let ticket = order.ticket;
        self.history.runs.push(stamp, ticket);
    }

    fn exhausted(&self) -> bool {
        self.stamp == u32::MAX
    }
}

impl Observer for Check {
    const NOTES_WRITES: bool = true;

    fn resume(&mut self, env: &Env<'_>) {
        if self.block.as_ref().is_some_and(|block| block.order.ticket == env.ticket) {
            return;
        }
        if let Some(block) = self.block.take() {
            self.others.insert(block.order.ticket, block);
        }
        if let Some(block) = self.others.remove(&env.ticket) {
            self.block = Some(block);
            self.tick();
            let order = self.order();
            order.run_start = order.now;
            return;
        }
        // The others of its cluster may be reached before they first run.
        for rank in (0..env.cluster.size).filter(|rank| *rank != env.rank) {
            let block = self.begin(env, env.ticket_of(rank));
            self.others.insert(block.order.ticket, block);
        }
        self.block = Some(self.begin(env, env.ticket));
        self.tick();
    }

    fn access(&mut self, env: &Env<'_>, at: At, request: &Request) {
        self.touch(env, at, request, request.mask);
    }

    fn store(&mut self, env: &Env<'_>, at: At, request: &Request, same: impl Fn(usize, usize) -> bool) {
        let overwritten = self.collisions(env, at, request, same);
        self.touch(env, at, request, request.mask & !overwritten);
    }

    fn fence(&mut self, _env: &Env<'_>, at: At, mask: u32, sem: FenceSem, scope: Scope) {
        let wide = is_wide(scope, self.clusters);
        let order = self.order();
        for thread in lanes(mask).map(|lane| at.warp * LANES as u32 + lane) {
            if sem != FenceSem::Release
                && let Some(seen) = order.observed.remove(&thread)
            {
                let known = order.own_known.entry(thread).or_default();
                for Observed { known: new, .. } in seen {
                    learn(known, Known { wide: new.wide && wide, ..new });
                }
            }
            if sem != FenceSem::Acquire {
                let row = order.row(thread);
                order.fences.fence(thread, row, wide);
            }
        }
        self.tick();
    }

    fn arrive(&mut self, env: &Env<'_>, at: At, mask: u32, id: u32, waits: bool) {
        let order = self.order();
        order.arrive(id, at.warp, mask);
        let here = (at.warp, mask.trailing_zeros(), at.pc);
        let whole = matches!(&env.program.code[at.pc as usize].op, Op::Barrier(barrier) if barrier.threads.is_none());
        let mut divergent = None;
        if waits && whole {
            let first = *order.arrivals[id as usize].first.get_or_insert(here);
            let start = |pc: u32| env.program.places[pc as usize].start;
            divergent = (start(first.2) != start(at.pc)).then_some(first);
        }
        if let Some(first) = divergent {
            let [a, b] = [here, first].map(|(warp, lane, _)| warp * LANES as u32 + lane);
            let tell = || {
                let message = format!(
                    "{} waits at barrier {id} while thread {} waits at another of its instructions",
                    name(env, env.ticket, a),
                    env.grid.config.block.position(u64::from(b))
                );
                let party = |thread, pc| Party::new(env, env.ticket, thread, pc, None);
                let help = "let all threads of the block reach the same barrier: move it out of the branch";
                (message, party(a, at.pc), Some(party(b, first.2)), help)
            };
            let (kind, pcs) = (ReportKind::DivergentBarrier, (at.pc, first.2));
            self.reports.add(env, &Found { kind, pcs, times: 1, tell: &tell });
        }
        if !waits {
            self.tick();
        }
    }

    fn barrier(&mut self, env: &Env<'_>, id: u32, waiting: impl Iterator<Item = (u32, u32)>) {
        let waiting: Vec<(u32, u32)> = waiting.collect();
        let whole = waiting.iter().map(|(_, mask)| mask.count_ones()).sum::<u32>() == env.live;
        self.order().barrier(id, &waiting, whole);
        self.tick();
    }

    fn warp_sync(&mut self, env: &Env<'_>, at: At, mask: u32, members: &[u32; LANES], alive: u32) {
        self.absent(env, at, mask, members, alive);
        self.order().warp_sync(at.warp, mask, members);
        self.tick();
    }

    fn collective(&mut self, env: &Env<'_>, at: At, mask: u32, members: &[u32; LANES], alive: u32, strays: u32) {
        self.absent(env, at, mask, members, alive);
        if strays != 0 {
            let thread = at.warp * LANES as u32 + strays.trailing_zeros();
            let tell = || {
                let message =
                    format!("{} reads by a shuffle from a lane that does not take part", name(env, env.ticket, thread));
                let here = Party::new(env, env.ticket, thread, at.pc, None);
                (message, here, None, "what it gets is undefined: bring the source lane to the shuffle too")
            };
            let times = u64::from(strays.count_ones());
            self.reports.add(env, &Found { kind: ReportKind::StrayShuffle, pcs: (at.pc, at.pc), times, tell: &tell });
        }
    }

    fn cluster_arrive(&mut self, _env: &Env<'_>, at: At, mask: u32, releases: bool) {
        if releases {
            self.order().arrive_at_cluster(at.warp, mask);
        }
        self.tick();
    }

    fn cluster_barrier(&mut self, env: &Env<'_>) {
        let first = env.ticket_of(0);
        let log = self.meetings.get(&first).map_or_else(|| self.history.logs.start(), |(log, _)| *log);
        for rank in 0..env.cluster.size {
            let ticket = env.ticket_of(rank);
            let order = if rank == env.rank {
                Some(&mut self.block.as_mut().expect("a block runs whenever something is observed").order)
            } else {
                self.others.get_mut(&ticket).map(|block| &mut block.order)
            };
            if let Some(row) = order.and_then(BlockOrder::meet_cluster) {
                self.history
                    .logs
                    .append(log, Release { ticket, near: Some(row.clone()), far: Some(row), published: None });
            }
        }
        self.meetings.insert(first, (log, self.history.logs.len(log)));
    }

    fn cluster_wait(&mut self, env: &Env<'_>, at: At, mask: u32) {
        if let Some(&(log, len)) = self.meetings.get(&env.ticket_of(0)) {
            self.order().leave_cluster(at.warp, mask, Known { log, len, wide: true }, env.live);
        }
    }

    fn mbarrier(&mut self, env: &Env<'_>, at: At, lane: u32, cell: SharedCell, _change: MbarrierChange) {
        self.touch_mbarrier(env, at, lane, cell);
    }

    fn mbarrier_phase(&mut self, env: &Env<'_>, cell: SharedCell) {
        self.end_phase(env, cell);
    }

    fn mbarrier_wait(&mut self, env: &Env<'_>, at: At, lane: u32, cell: SharedCell, ordering: Ordering) {
        self.touch_mbarrier(env, at, lane, cell);
        if ordering.acquires() {
            self.learn_phase(env, at, lane, cell);
        }
    }

    fn copy_begin(&mut self, env: &Env<'_>, at: At, copy: &Copy) {
        self.begin_copy(env, at, copy);
    }

    fn copy_read(&mut self, env: &Env<'_>, copy: &Copy) {
        self.flights.has_read(env, copy);
    }

    fn copy_end(&mut self, env: &Env<'_>, copy: &Copy) {
        self.end_copy(env, copy);
    }

    fn exit(&mut self, _env: &Env<'_>, warp: u32, mask: u32) {
        self.order().exit(warp, mask);
    }

    fn end(&mut self, env: &Env<'_>) {
        if self.clusters {
            self.early_exit(env);
        }
        if let Some(block) = self.block.take() {
            let mut shared = block.shared;
            shared.written.clear();
            if self.clusters {
                shared.cells.fill(Cell::default());
            }
            self.spare.push(shared);
        }
    }
}
