//! Checking: what a launch does that its author cannot have meant.
//!
//! # Data races
//! The detector follows happens-before (Flanagan and Freund, "FastTrack", PLDI 2009), adapted to blocks of threads and to
//! the memory model of PTX (PTX ISA, "Memory Consistency Model"). Two accesses to the same bytes conflict if at least one
//! writes, unless both are strong (`.volatile`, `.relaxed` and stronger, atomics) with scopes that include each other.
//! They are ordered by program order; barriers of the block, named, counted or split ones included; `bar.warp.sync`,
//! for its members alone; and by fences and acquiring or releasing accesses of sufficient scope around strong accesses to
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
//! - Clusters count as single blocks. Local memory is not watched, and no more than 4096 memory instructions of a kernel.
//! - After 2^32 events that order something, nothing more is watched.
//!
//! A lane that spins on a volatile flag in shared memory until another lane of its own warp sets it is reported as
//! [`ReportKind::WarpSynchronous`] though it would work: use `ld.relaxed` or an atomic.

mod order;
mod publish;
mod report;
mod shadow;
mod sites;

use std::collections::HashMap;

pub(crate) use report::Place;
pub use report::{MemoryAccess, Party, Report, ReportKind};

use crate::access::Request;
use crate::block::Env;
use crate::fault::{Access, Fault, Lanes};
use crate::ir::{Op, Space};
use crate::launch::{Arg, LaunchConfig, LaunchError, run};
use crate::memory::{Memory, Written};
use crate::module::Kernel;
use crate::observe::{At, Observer};
use crate::ptx::ast::{FenceSem, Scope};
use crate::registers::LANES;
use order::{BlockOrder, lanes};
use publish::{Known, Logs, Observed, Release, is_wide, learn, observe};
use report::{Found, Reports, conflict_message, name};
use shadow::{Cell, Conflict, History, Pages, Pairs, Present, Relation, Runs};
use sites::{Site, Sites, UNWATCHED};

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
    let (checks, fault) = run(kernel, &config, args, memory, || Check::new(kernel))?;
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
    fn new(kernel: &Kernel) -> Check {
        let Sites { of, all } = Sites::new(kernel.program());
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
            reports: Reports::default(),
        }
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

    /// Looks at the lanes of `mask`.
    fn touch(&mut self, env: &Env<'_>, at: At, request: &Request, mask: u32) {
        let site = self.site_of[at.pc as usize];
        if site == UNWATCHED || self.exhausted() {
            return;
        }
        let info = self.history.sites[site as usize];
        let shared = match request.space {
            Space::Global | Space::Generic => false,
            Space::Shared => true,
            Space::Local | Space::Param => return,
        };
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        let first_thread = at.warp * LANES as u32;
        let (settled_from, own_from) =
            if shared { (0, block.first) } else { (block.order.run_start, block.order.run_start) };
        let present = Present { site: u32::from(site), info, settled_from, own_from, shared };
        let row = row(request, mask);
        let mut conflicts = Vec::new();
        let mut unwritten = Unwritten::default();
        if shared {
            let Shared { cells, written } = &mut block.shared;
            note_written(written, request, info, 0, &mut unwritten);
            let done = row.is_some_and(|Row { start, words, shift }| {
                let first = start as usize / 4;
                self.history.touch_row(&block.order, &present, &mut cells[first..first + words], first_thread, shift)
            });
            if !done {
                for_words(request, mask, 0, |lane, word, byte| {
                    let cell = (&mut cells[word], word);
                    conflicts.extend(self.history.touch(&block.order, &present, cell, first_thread + lane, byte));
                });
            }
        } else {
            let view = &env.grid.memory;
            if self.global.is_empty() {
                self.global.resize_with(view.allocations(), Pages::default);
            }
            let (low, high, _) = request.span();
            let whole = (high - low).checked_add(request.total);
            let found = whole.and_then(|bytes| view.find(low, bytes, &mut self.hint));
            if let Some(found) = found {
                if let Some(written) = &found.written {
                    note_written(written, request, info, found.base, &mut unwritten);
                }
                let (pages, words) = (&mut self.global[self.hint], found.bytes.div_ceil(4) as usize);
                let done = row.is_some_and(|row| {
                    let cells = pages.row((row.start - found.base) as usize / 4, row.words, words);
                    cells.is_some_and(|cells| {
                        self.history.touch_row(&block.order, &present, cells, first_thread, row.shift)
                    })
                });
                if !done {
                    for_words(request, mask, found.base, |lane, word, byte| {
                        let cell = (pages.cell(word, words), word);
                        conflicts.extend(self.history.touch(&block.order, &present, cell, first_thread + lane, byte));
                    });
                }
            } else {
                // The lanes lie in several allocations: one after another.
                for lane in lanes(mask) {
                    let address = request.addresses[lane as usize];
                    let one = Request { addresses: [address; LANES], mask: 1 << lane, ..*request };
                    self.touch(env, at, &one, 1 << lane);
                }
                return;
            }
        }
        if unwritten.lanes != 0 {
            self.uninitialized(env, at, request, unwritten);
        }
        for conflict in conflicts {
            self.race(env, at, request, info, &conflict);
        }
        if info.is_strong() {
            for lane in lanes(request.mask) {
                self.publish(first_thread + lane, info, request.addresses[lane as usize], shared);
            }
            if info.ordering.releases() {
                self.tick();
            }
        }
    }

    /// Follows a strong access in the logs.
    fn publish(&mut self, thread: u32, info: Site, address: u64, shared: bool) {
        let Check { block, history, heads, .. } = self;
        let order = &mut block.as_mut().expect("a block runs whenever something is observed").order;
        let releases = info.ordering.releases();
        if history.logs.is_empty() && order.fences.is_empty() && !releases {
            return;
        }
        let head = if shared { order.heads.get(&address) } else { heads.get(&address) }.copied();
        if let Some(log) = head.filter(|_| info.access != Access::Write) {
            let known = Known { log, len: history.logs.len(log), wide: info.is_wide() };
            if info.ordering.acquires() {
                learn(order.own_known.entry(thread).or_default(), known);
            } else {
                let by_atomic = info.access == Access::Atomic;
                observe(order.observed.entry(thread).or_default(), Observed { known, by_atomic });
            }
        }
        if !info.writes() {
            return;
        }
        let [near, far] = if releases {
            let row = order.row(thread);
            [Some(row.clone()), Some(row)]
        } else {
            order.fences.of(thread)
        };
        let far = far.filter(|_| info.is_wide());
        let published = order.published.clone().filter(|_| info.is_wide());
        let heads = if shared { &mut order.heads } else { heads };
        if near.is_none() && far.is_none() && published.is_none() {
            if info.access == Access::Write {
                heads.remove(&address);
            }
            return;
        }
        let log = match head {
            Some(log) if info.access == Access::Atomic => log,
            _ => history.logs.start(),
        };
        heads.insert(address, log);
        history.logs.append(log, Release { ticket: order.ticket, near, far, published });
    }

    fn race(&mut self, env: &Env<'_>, at: At, request: &Request, info: Site, conflict: &Conflict) {
        let Conflict { thread, word, earlier, ticket, relation, .. } = *conflict;
        let there = self.history.sites[earlier.site as usize];
        let lane = thread as usize % LANES;
        let here_access = access_of(request, lane);
        let bytes = u64::from(there.bytes);
        // The word's address, and from it that of the earlier access, which is aligned. No access has more than 32 bytes.
        let word = (here_access.address & !31) + word as u64 * 4 % 32;
        let address = if bytes < 4 { word + u64::from(earlier.byte) } else { word & !(bytes - 1) };
        let other_access = MemoryAccess { access: there.access, address, bytes, ..here_access };
        let atomic = info.access == Access::Atomic || there.access == Access::Atomic;
        let kind = match relation {
            Relation::SameWarp if !atomic => ReportKind::WarpSynchronous,
            _ => ReportKind::Race,
        };
        let why = match relation {
            Relation::OtherBlock if info.is_strong() && there.is_strong() => {
                ", but the scope of one does not hold the other's block"
            }
            Relation::OtherBlock => ", and nothing orders the two blocks",
            Relation::SameBlock => " without a barrier between",
            Relation::SameWarp => ", and nothing orders the two lanes of this warp",
        };
        let help = match relation {
            Relation::OtherBlock if info.is_strong() && there.is_strong() => {
                "give both accesses a scope that holds both blocks: .gpu"
            }
            Relation::OtherBlock if atomic => {
                "make both accesses atomic, or let a fence, an atomic flag and another fence order the two"
            }
            Relation::OtherBlock => {
                "blocks run in any order: let each write to words of its own, use atomics, or publish with a fence (`device_fence`, `__threadfence`) and an atomic"
            }
            Relation::SameBlock if atomic => {
                "make both accesses atomic, or put a barrier between the two: bar.sync (`sync_threads`, `__syncthreads`)"
            }
            Relation::SameBlock => {
                "put a barrier of the block between the two: bar.sync (`sync_threads`, `__syncthreads`)"
            }
            Relation::SameWarp if atomic => {
                "make both accesses atomic, or put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two"
            }
            Relation::SameWarp => {
                "lanes of a warp do not run in lock step: put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two"
            }
        };
        let tell = || {
            let message = conflict_message(env, (thread, &here_access), (ticket, earlier.thread, &other_access), why);
            let here = Party::new(env, env.ticket, thread, at.pc, Some(here_access));
            let other = Party::new(env, ticket, earlier.thread, there.pc, Some(other_access));
            (message, here, Some(other), help)
        };
        self.reports.add(env, &Found { kind, pcs: (at.pc, there.pc), times: 1, tell: &tell });
    }

    fn uninitialized(&mut self, env: &Env<'_>, at: At, request: &Request, unwritten: Unwritten) {
        let lane = unwritten.lanes.trailing_zeros();
        let thread = at.warp * LANES as u32 + lane;
        let access = access_of(request, lane as usize);
        let tell = || {
            let missing = match unwritten.missing {
                n if u64::from(n) == access.bytes => "that nothing has written".to_owned(),
                1 => "of which nothing has written 1".to_owned(),
                n => format!("of which nothing has written {n}"),
            };
            let message = format!("{} {access} {missing}", name(env, env.ticket, thread));
            let help = match request.space {
                Space::Shared => {
                    "shared memory begins undefined in each block: write it before, with a barrier between"
                }
                _ => "fill the buffer first, or keep the index inside what was filled",
            };
            (message, Party::new(env, env.ticket, thread, at.pc, Some(access)), None, help)
        };
        let (kind, times) = (ReportKind::UninitializedRead, u64::from(unwritten.lanes.count_ones()));
        self.reports.add(env, &Found { kind, pcs: (at.pc, at.pc), times, tell: &tell });
    }

    /// Lanes of one store that write different values to one address. Returns the lanes whose values do not stay.
    fn collisions(&mut self, env: &Env<'_>, at: At, request: &Request, same: impl Fn(usize, usize) -> bool) -> u32 {
        if request.mask == u32::MAX && request.addresses.is_sorted_by(|a, b| a < b) {
            return 0;
        }
        let mut by_address = [(0, 0); LANES];
        let mut count = 0;
        for lane in request.lanes() {
            by_address[count] = (request.addresses[lane], lane);
            count += 1;
        }
        let by_address = &mut by_address[..count];
        by_address.sort_unstable();
        let mut overwritten = 0;
        for pair in by_address.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let (first, second) = (pair[0].1, pair[1].1);
            overwritten |= 1 << first;
            let site = self.site_of[at.pc as usize];
            let watched = matches!(request.space, Space::Global | Space::Generic | Space::Shared) && site != UNWATCHED;
            if !watched || self.history.sites[site as usize].is_strong() || same(first, second) {
                continue;
            }
            let [a, b] = [first, second].map(|lane| at.warp * LANES as u32 + lane as u32);
            let access = access_of(request, first);
            let tell = || {
                let position = env.grid.config.block.position(u64::from(b));
                let message = format!(
                    "{} {access}, and thread {position} writes another value there in the same instruction",
                    name(env, env.ticket, a)
                );
                let party = |thread| Party::new(env, env.ticket, thread, at.pc, Some(access));
                (
                    message,
                    party(a),
                    Some(party(b)),
                    "which value stays is undefined: let one lane write, or use an atomic",
                )
            };
            self.reports.add(env, &Found { kind: ReportKind::Race, pcs: (at.pc, at.pc), times: 1, tell: &tell });
        }
        overwritten
    }

    /// Members of a warp-level instruction that never come.
    fn absent(&mut self, env: &Env<'_>, at: At, mask: u32, members: &[u32; LANES], alive: u32) {
        let Some(lane) = lanes(mask).find(|lane| members[*lane as usize] & !alive != 0) else {
            return;
        };
        let members = members[lane as usize];
        let thread = at.warp * LANES as u32 + lane;
        let threads = env.grid.config.block.count() as u32;
        let first = at.warp * LANES as u32;
        let exist = u32::MAX >> (LANES as u32 - (threads - first).min(LANES as u32));
        let tell = || {
            let absent = members & !alive;
            let why = if absent & exist == 0 { "never had a thread" } else { "will not come" };
            let message = format!(
                "{} waits for the members of mask {members:#010x}, of which {} of warp {} {why}",
                name(env, env.ticket, thread),
                Lanes(absent),
                at.warp
            );
            let here = Party::new(env, env.ticket, thread, at.pc, None);
            (message, here, None, "let the mask name the lanes that take part: `ballot` before lanes part tells them")
        };
        self.reports.add(env, &Found { kind: ReportKind::AbsentLanes, pcs: (at.pc, at.pc), times: 1, tell: &tell });
    }
}

/// The access of one lane of a request.
fn access_of(request: &Request, lane: usize) -> MemoryAccess {
    let (access, space) = (request.access, request.space.into());
    MemoryAccess { access, space, address: request.addresses[lane], bytes: request.total }
}

/// Lanes that read what nothing wrote, and how many bytes of the first one's.
#[derive(Debug, Clone, Copy, Default)]
struct Unwritten {
    lanes: u32,
    missing: u32,
}

/// Looks up what a request reads, and takes note of what it writes.
#[inline]
fn note_written(written: &Written, request: &Request, info: Site, base: u64, unwritten: &mut Unwritten) {
    let bytes = request.total as usize;
    let offset = |lane: u32| (request.addresses[lane as usize] - base) as usize;
    if info.access != Access::Write {
        let (low, high, _) = request.span();
        let start = (low - base) as usize;
        if written.missing(start, (high - low) as usize + bytes) > 0 {
            for lane in lanes(request.mask) {
                let missing = written.missing(offset(lane), bytes);
                if missing > 0 {
                    unwritten.missing = if unwritten.lanes == 0 { missing } else { unwritten.missing };
                    unwritten.lanes |= 1 << lane;
                }
            }
        }
    }
    if info.writes() {
        if row(request, request.mask).is_some() {
            written.set(offset(0), bytes * LANES);
        } else {
            lanes(request.mask).for_each(|lane| written.set(offset(lane), bytes));
        }
    }
}

/// Neighbouring words that a whole warp accesses, `1 << shift` by each lane.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The first address.
    start: u64,
    words: usize,
    shift: u32,
}

/// The row that a request is, if it is one.
#[inline]
fn row(request: &Request, mask: u32) -> Option<Row> {
    let Request { addresses, total, .. } = request;
    if mask != u32::MAX || *total < 4 {
        return None;
    }
    let start = addresses[0];
    let strays = (0..LANES).fold(0, |strays, lane| strays | (addresses[lane] ^ (start + lane as u64 * total)));
    let words = *total as usize / 4;
    (strays == 0).then(|| Row { start, words: words * LANES, shift: words.ilog2() })
}

/// Calls `each` with lane, word and byte in the word for all that the lanes of `mask` access.
#[inline(always)]
fn for_words(request: &Request, mask: u32, base: u64, mut each: impl FnMut(u32, usize, u32)) {
    let words = (request.total as usize / 4).max(1);
    for lane in lanes(mask) {
        let offset = (request.addresses[lane as usize] - base) as usize;
        for word in offset / 4..offset / 4 + words {
            each(lane, word, offset as u32 % 4);
        }
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
        let shared = self.spare.pop().unwrap_or_else(|| {
            let bytes = env.shared.len();
            let cells = vec![Cell::default(); bytes.div_ceil(4)].into_boxed_slice();
            Shared { cells, written: Written::none_of_block(bytes) }
        });
        let first = self.stamp.saturating_add(1);
        let order = BlockOrder::new(env.ticket, env.grid.config.block.count() as u32, first);
        self.block = Some(Box::new(Block { order, first, shared }));
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
        let wide = is_wide(scope);
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

    fn exit(&mut self, _env: &Env<'_>, warp: u32, mask: u32) {
        self.order().exit(warp, mask);
    }

    fn end(&mut self, _env: &Env<'_>) {
        if let Some(block) = self.block.take() {
            let mut shared = block.shared;
            shared.written.clear();
            self.spare.push(shared);
        }
    }
}
