//! The part of the detector that follows mbarriers and asynchronous copies, and that looks at the
//! accesses of other blocks when a block of a cluster ends.
//!
//! A copy counts as an access of its thread when it begins, and its bytes count as written when it
//! ends. A thread that touches these bytes in between is reported. Afterwards the bytes are known
//! to the threads that know of the end of the copy: by the phase of an mbarrier, or because the
//! copy's own thread waited for its group. A barrier of the block alone does not make them known.

use std::collections::HashMap;

use super::detector::Check;
use super::findings::{Unwritten, WAIT, access_of};
use super::flights::Flight;
use super::known::{Known, Reach, learn};
use super::publish::Release;
use super::report::{Found, MemoryAccess, Party, Rank, ReportKind, Severity, name, pcs_here};
use super::sites::UNWATCHED;
use super::watch::Home;
use crate::exec::access::Request;
use crate::exec::copies::{Copy, End, SharedCell};
use crate::exec::env::Env;
use crate::exec::memory::Written;
use crate::exec::observer::At;
use crate::fault::{Access, Space as FaultSpace};
use crate::ir::Space;
use crate::ir::layout::MBARRIER_BYTES;
use crate::registers::LANES;

/// The access of one lane to one end of a copy, or to an mbarrier.
fn request(env: &Env<'_>, access: Access, end: End, lane: u32, total: u64) -> Request {
    let (space, address, peer) = match end {
        End::Global(address) => (Space::Global, address, None),
        End::Shared(SharedCell { rank, offset }) => {
            (Space::Shared, u64::from(offset), Some(rank).filter(|rank| *rank != env.rank))
        }
    };
    Request { access, space, addresses: [address; LANES], mask: 1 << lane, total, peer }
}

fn advanced(end: End, bytes: u32) -> End {
    match end {
        End::Global(address) => End::Global(address + u64::from(bytes)),
        End::Shared(cell) => End::Shared(SharedCell { offset: cell.offset + bytes, ..cell }),
    }
}

impl Check {
    /// A thread's access to an mbarrier.
    pub(super) fn touch_mbarrier(&mut self, env: &Env<'_>, at: At, lane: u32, cell: SharedCell) {
        let site = self.code.site_of[at.pc as usize];
        if site != UNWATCHED {
            let access = self.history.sites[site as usize].access;
            let request = request(env, access, End::Shared(cell), lane, u64::from(MBARRIER_BYTES));
            self.touch(env, at, &request, 1 << lane, 0);
        }
    }

    /// The log of an mbarrier, and how many of its releases belong to complete phases.
    fn mbarrier_log(&mut self, env: &Env<'_>, cell: SharedCell) -> Option<(u32, &mut u32)> {
        let order = match Home::of_rank(env, cell.rank) {
            Home::Peer(ticket) => &mut self.others.get_mut(&ticket)?.order,
            _ => &mut self.block.as_mut()?.order,
        };
        let log = *order.heads.get(&u64::from(cell.offset))?;
        Some((log, order.phases.entry(u64::from(cell.offset)).or_default()))
    }

    /// Records that a phase is complete: all releases so far belong to complete phases.
    pub(super) fn end_phase(&mut self, env: &Env<'_>, cell: SharedCell) {
        let Some((log, _)) = self.mbarrier_log(env, cell) else { return };
        let len = self.history.logs.len(log);
        if let Some((_, complete)) = self.mbarrier_log(env, cell) {
            *complete = len;
        }
    }

    /// Records that a thread has seen that a phase is complete.
    pub(super) fn learn_phase(&mut self, env: &Env<'_>, at: At, lane: u32, cell: SharedCell) {
        let reach = if self.code.clusters { Reach::Device } else { Reach::Block };
        if let Some((log, &mut len)) = self.mbarrier_log(env, cell) {
            let thread = at.warp * LANES as u32 + lane;
            learn(self.order().own_known.entry(thread).or_default(), Known { log, len, reach });
        }
    }

    pub(super) fn begin_copy(&mut self, env: &Env<'_>, at: At, copy: &Copy) {
        let site = self.code.site_of[at.pc as usize];
        if site == UNWATCHED || self.exhausted() {
            return;
        }
        // Undefined bytes in shared memory are no error until a thread uses them.
        let leaves = matches!(copy.to, End::Global(_));
        let rank = if leaves { (Severity::Error, 1) } else { (Severity::Warning, 0) };
        self.touch_end(env, at, (copy, site + 1, rank), copy.from, copy.read);
        self.touch_end(env, at, (copy, site, rank), copy.to, copy.bytes);
        let row = self.order().row(copy.thread);
        for (end, bytes, writes) in [(copy.to, copy.bytes, true), (copy.from, copy.read, false)] {
            if let End::Shared(cell) = end
                && bytes > 0
            {
                let (ticket, thread, row) = (env.id(), copy.thread, row.clone());
                let flight = Flight {
                    start: cell.offset,
                    end: cell.offset + bytes,
                    writes,
                    pc: at.pc,
                    ticket,
                    thread,
                    row,
                };
                self.flights.0.insert((env.id_of(cell.rank), cell.offset), flight);
            }
        }
        self.tick();
    }

    /// Watches the reads or the writes of a copy, as accesses of its thread.
    fn touch_end(
        &mut self,
        env: &Env<'_>,
        at: At,
        (copy, site, rank): (&Copy, u16, Rank),
        end: End,
        bytes: u32,
    ) {
        let lane = copy.thread % LANES as u32;
        let access = self.history.sites[site as usize].access;
        let unit = self.history.sites[site as usize].bytes.min(bytes.max(1));
        let mut done = 0;
        while done < bytes {
            let unit = if (bytes - done) < unit { 1 } else { unit };
            let request = request(env, access, advanced(end, done), lane, u64::from(unit));
            if let End::Shared(cell) = end {
                let home = Home::of_rank(env, cell.rank);
                if !self.flights.is_empty() {
                    self.in_flight(env, at, &request, home);
                }
            }
            self.touch_site(env, at, &request, (site, rank));
            done += unit;
        }
    }

    /// Watches one unit of the bytes that a copy reads or writes.
    fn touch_site(&mut self, env: &Env<'_>, at: At, request: &Request, (site, rank): (u16, Rank)) {
        let lane = request.mask.trailing_zeros();
        let (thread, address) = (at.warp * LANES as u32 + lane, request.addresses[lane as usize]);
        let home = match request.space {
            Space::Global => Home::Global,
            _ => Home::of_rank(env, env.rank_of(request.peer)),
        };
        let present = self.present(site, home);
        let (words, byte) = ((request.total as usize / 4).max(1), address as u32 % 4);
        let mut conflict = None;
        let mut missing = 0;
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        if home == Home::Global {
            let view = &env.job.memory;
            self.code.find_shadows(view, &mut self.shadows);
            let Some(found) = view.find(address, request.total, &mut self.code.hint) else {
                return;
            };
            let (first, all) =
                ((address - found.base) as usize / 4, found.bytes.div_ceil(4) as usize);
            if let Some(written) = found.written.as_ref().filter(|_| request.access == Access::Read)
            {
                missing = written.missing((address - found.base) as usize, request.total as usize);
            }
            for word in first..first + words {
                let pages = &mut self.shadows.all[self.code.shadows[self.code.hint]];
                let cell = (pages.cell(word, all), word);
                conflict =
                    conflict.or(self.history.touch(&block.order, &present, cell, thread, byte));
            }
        } else {
            let shared = match home {
                Home::Peer(ticket) => {
                    &mut self.others.get_mut(&ticket).expect("a cluster begins as a whole").shared
                }
                _ => &mut block.shared,
            };
            if request.access == Access::Read {
                missing = shared.written.missing(address as usize, request.total as usize);
            }
            for word in address as usize / 4..address as usize / 4 + words {
                let cell = (&mut shared.cells[word], word);
                conflict =
                    conflict.or(self.history.touch(&block.order, &present, cell, thread, byte));
            }
        }
        if missing > 0 {
            let unwritten = Unwritten { lanes: request.mask, missing, ..Unwritten::default() };
            self.uninitialized(env, at, request, rank, unwritten);
        }
        if let Some(conflict) = conflict {
            self.race(env, at, request, present.info, 0, &conflict);
        }
    }

    /// Records that the bytes of a copy have arrived. The threads that know of the end of the copy
    /// may read them.
    pub(super) fn end_copy(&mut self, env: &Env<'_>, copy: &Copy) {
        let site = self.code.site_of[copy.pc as usize];
        if site == UNWATCHED || self.exhausted() {
            return;
        }
        let mut row = None;
        for end in [copy.to, copy.from] {
            if let End::Shared(cell) = end {
                let flight = self.flights.0.remove(&(env.id_of(cell.rank), cell.offset));
                row = row.or(flight.map(|flight| flight.row));
            }
        }
        self.tick();
        let stamp = self.order().now;
        // If a thread of another block began the copy, the write keeps the stamp that it got when
        // the copy began.
        let own = copy.rank == env.rank;
        self.write_end(env, copy, site, own.then_some(stamp));
        if let (Some(cell), Some(row)) = (copy.mbarrier, row) {
            let row = if own { row.with_copy(stamp) } else { row };
            let ticket = env.id_of(copy.rank);
            let Check { block, others, history, .. } = self;
            let order = match Home::of_rank(env, cell.rank) {
                Home::Peer(ticket) => others.get_mut(&ticket).map(|block| &mut block.order),
                _ => block.as_mut().map(|block| &mut block.order),
            };
            if let Some(order) = order {
                let log = *order
                    .heads
                    .entry(u64::from(cell.offset))
                    .or_insert_with(|| history.logs.start());
                history.logs.append(log, Release::of(ticket, &row));
            }
        }
        self.tick();
    }

    /// Records the bytes that a copy wrote, as a write by its thread at `stamp`.
    fn write_end(&mut self, env: &Env<'_>, copy: &Copy, site: u16, stamp: Option<u32>) {
        let bytes = copy.bytes as usize;
        let undefined = self.undefined_bytes(env, copy);
        match copy.to {
            End::Global(address) => {
                let view = &env.job.memory;
                let Some(found) = view.find(address, bytes as u64, &mut self.code.hint) else {
                    return;
                };
                let start = (address - found.base) as usize;
                if let Some(written) = &found.written {
                    written.set(start, bytes);
                    for byte in &undefined {
                        written.unset(start + byte, 1);
                    }
                }
                let Some(stamp) = stamp else { return };
                for word in start / 4..(start + bytes).div_ceil(4) {
                    let pages = &mut self.shadows.all[self.code.shadows[self.code.hint]];
                    let cell = pages.cell(word, found.bytes.div_ceil(4) as usize);
                    cell.copied(stamp, copy.thread, u32::from(site));
                }
            }
            End::Shared(cell) => {
                let shared = match Home::of_rank(env, cell.rank) {
                    Home::Peer(ticket) => {
                        self.others.get_mut(&ticket).map(|block| &mut block.shared)
                    }
                    _ => self.block.as_mut().map(|block| &mut block.shared),
                };
                let Some(shared) = shared else { return };
                let start = cell.offset as usize;
                shared.written.set(start, bytes);
                for byte in &undefined {
                    shared.written.unset(start + byte, 1);
                }
                let Some(stamp) = stamp else { return };
                for word in &mut shared.cells[start / 4..(start + bytes).div_ceil(4)] {
                    word.copied(stamp, copy.thread, u32::from(site));
                }
            }
        }
    }

    /// The bytes that a copy has read although nothing has written them, counted from its start.
    fn undefined_bytes(&mut self, env: &Env<'_>, copy: &Copy) -> Vec<usize> {
        let bytes = copy.read as usize;
        let missing = |written: &Written, start: usize| {
            if bytes == 0 || written.missing(start, bytes) == 0 {
                return Vec::new();
            }
            (0..bytes).filter(|byte| written.missing(start + byte, 1) > 0).collect()
        };
        match copy.from {
            End::Global(address) => {
                let found = env.job.memory.find(address, bytes as u64, &mut self.code.hint);
                found.map_or_else(Vec::new, |found| {
                    let start = (address - found.base) as usize;
                    found.written.as_ref().map_or_else(Vec::new, |written| missing(written, start))
                })
            }
            End::Shared(cell) => {
                let shared = match Home::of_rank(env, cell.rank) {
                    Home::Peer(ticket) => self.others.get(&ticket).map(|block| &block.shared),
                    _ => self.block.as_ref().map(|block| &block.shared),
                };
                shared
                    .map_or_else(Vec::new, |shared| missing(&shared.written, cell.offset as usize))
            }
        }
    }

    /// Reports lanes that access bytes which a copy will still write, or write bytes which a copy
    /// will still read.
    pub(super) fn in_flight(&mut self, env: &Env<'_>, at: At, request: &Request, home: Home) {
        let block = if let Home::Peer(ticket) = home { ticket } else { env.id() };
        let found = request.lanes().find_map(|lane| {
            let start = request.addresses[lane] as u32;
            let flight = self.flights.at(block, start, start + request.total as u32)?;
            (flight.writes || request.access != Access::Read).then(|| (lane as u32, flight.clone()))
        });
        let Some((lane, flight)) = found else { return };
        let what = if flight.writes { Access::Write } else { Access::Read };
        let bytes = u64::from(flight.end - flight.start);
        let thread = at.warp * LANES as u32 + lane;
        let access = access_of(env, request, lane as usize);
        let tell = || {
            let verb = if flight.writes { "writes" } else { "reads" };
            let whose = name(env, flight.ticket, flight.thread);
            let message = format!(
                "{} {access}, which an asynchronous copy that {whose} began still {verb}",
                name(env, env.id(), thread)
            );
            let here = Party::new(env, env.id(), thread, at.pc, Some(access));
            let owner =
                (block != flight.ticket).then(|| env.job.config.grid.position(block.ticket));
            let copied = MemoryAccess {
                access: what,
                space: FaultSpace::Shared,
                address: flight.start.into(),
                bytes,
                owner,
            };
            let other = Party::new(env, flight.ticket, flight.thread, flight.pc, Some(copied));
            (message, here, Some(other), WAIT)
        };
        self.reports.add(
            env,
            &Found {
                kind: ReportKind::InFlight,
                rank: (Severity::Error, 0),
                pcs: pcs_here(env, [at.pc, flight.pc]),
                times: 1,
                tell: &tell,
            },
        );
    }

    /// Reports the accesses of other blocks to the shared memory of a block that ends, if nothing
    /// made the block wait for these accesses.
    pub(super) fn early_exit(&mut self, env: &Env<'_>) {
        let Check { block, history, reports, .. } = self;
        let Some(block) = block.as_deref() else { return };
        let order = &block.order;
        let lists: Vec<_> = std::iter::once(&order.known).chain(order.own_known.values()).collect();
        let mut asked = HashMap::new();
        for (word, cell) in block.shared.cells.iter().enumerate() {
            for (stamp, thread, site) in history.accesses(cell) {
                let ticket = history.owner(order, stamp);
                if ticket == env.id() {
                    continue;
                }
                let ordered = *asked.entry((stamp, thread)).or_insert_with(|| {
                    history.logs.knows(env.id(), &lists, (ticket, thread, stamp))
                });
                if ordered {
                    continue;
                }
                let info = history.sites[site as usize];
                let grid = env.job.config.grid;
                let access = MemoryAccess {
                    access: info.access,
                    space: FaultSpace::Shared,
                    address: word as u64 * 4,
                    bytes: u64::from(info.bytes),
                    owner: Some(grid.position(env.ticket)),
                };
                let tell = || {
                    let message = format!(
                        "{} {access}, and nothing keeps that block from exiting before",
                        name(env, ticket, thread)
                    );
                    let help = "put a barrier of the cluster before the exit: barrier.cluster.arrive and barrier.cluster.wait (`cluster.sync()`)";
                    (message, Party::new(env, ticket, thread, info.pc, Some(access)), None, help)
                };
                let (kind, pcs) = (ReportKind::EarlyExit, pcs_here(env, [info.pc; 2]));
                let rank = (Severity::Error, 0);
                reports.add(env, &Found { kind, rank, pcs, times: 1, tell: &tell });
            }
        }
    }
}
