//! The detector's work at each event of the interpreter.

use super::detector::Check;
use super::known::{Known, Observed, Reach, learn};
use super::order::BlockOrder;
use super::publish::Release;
use super::report::{Found, Party, ReportKind, Severity, name, pcs_here};
use super::shadow::Cell;
use super::threads::lanes;
use crate::exec::access::Request;
use crate::exec::copies::{Copy, SharedCell};
use crate::exec::env::Env;
use crate::exec::exchange::Exchange;
use crate::exec::observer::{At, MbarrierChange, Meeting, MeetingKind, Observer};
use crate::ir::{Op, Space};
use crate::ptx::ast::{FenceSem, Ordering, Scope};
use crate::registers::{LANES, Registers};

impl Observer for Check {
    const NOTES_WRITES: bool = true;

    fn resume(&mut self, env: &Env<'_>) {
        if self.block.as_ref().is_some_and(|block| block.order.ticket == env.id()) {
            return;
        }
        if let Some(block) = self.block.take() {
            self.others.insert(block.order.ticket, block);
        }
        self.enter(env.job.launch);
        (self.tainted, self.parted) = (0, 0);
        if let Some(block) = self.others.remove(&env.id()) {
            self.tainted = block.values.tainted();
            self.parted = block.parted.keys().fold(0, |warps, warp| warps | 1 << warp);
            self.block = Some(block);
            self.tick();
            let order = self.order();
            order.run_start = order.now;
            return;
        }
        // Other blocks may access the shared memory of a block before that block first runs, so all
        // blocks of the cluster begin together.
        for rank in (0..env.cluster.size).filter(|rank| *rank != env.rank) {
            let block = self.begin(env, env.id_of(rank));
            self.others.insert(block.order.ticket, block);
        }
        self.block = Some(self.begin(env, env.id()));
        self.tick();
    }

    fn access(&mut self, env: &Env<'_>, at: At, request: &Request) {
        if request.space == Space::Local {
            self.touch_local(env, at, request);
        } else {
            self.touch(env, at, request, request.mask, 0);
        }
    }

    fn store(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        unchanged: u32,
        same: impl Fn(usize, usize) -> bool,
    ) {
        if request.space == Space::Local {
            self.touch_local(env, at, request);
        } else {
            let overwritten = self.collisions(env, at, request, same);
            self.touch(env, at, request, request.mask & !overwritten, unchanged);
        }
        self.stored(env, at, request);
    }

    #[inline(always)]
    fn operands(&mut self, env: &Env<'_>, at: At, mask: u32, active: u32, registers: &Registers) {
        if (self.tainted | self.parted) >> at.warp & 1 == 0 {
            return;
        }
        if self.tainted >> at.warp & 1 == 1 {
            self.follow(env, at, mask, active, registers);
        }
        if self.parted >> at.warp & 1 == 1 {
            self.run_beside_barrier(env, at, active);
        }
    }

    fn exchange(&mut self, _env: &Env<'_>, exchange: &Exchange<'_>, registers: &Registers) {
        if self.tainted >> exchange.warp & 1 == 1 {
            self.pass_across(exchange, registers);
        }
    }

    fn fence(&mut self, _env: &Env<'_>, at: At, mask: u32, sem: FenceSem, scope: Scope) {
        let reach = Reach::of(scope, self.code.clusters);
        let order = self.order();
        for thread in lanes(mask).map(|lane| at.warp * LANES as u32 + lane) {
            if sem != FenceSem::Release
                && let Some(seen) = order.observed.remove(&thread)
            {
                let known = order.own_known.entry(thread).or_default();
                for Observed { known: new, .. } in seen {
                    learn(known, Known { reach: new.reach.min(reach), ..new });
                }
            }
            if sem != FenceSem::Acquire {
                let row = order.row(thread);
                order.fences.fence(thread, &row, reach);
            }
        }
        self.tick();
    }

    fn arrive(&mut self, env: &Env<'_>, at: At, mask: u32, id: u32, waits: bool) {
        if self.parted >> at.warp & 1 == 1 {
            self.parted &= !(1 << at.warp);
            self.block.iter_mut().for_each(|block| drop(block.parted.remove(&at.warp)));
        }
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
            let alternatives = self.are_alternatives(env.program, first.2, at.pc);
            let [a, b] = [here, first].map(|(warp, lane, _)| warp * LANES as u32 + lane);
            let tell = || {
                let message = format!(
                    "{} waits at barrier {id} while thread {} waits at another of its instructions",
                    name(env, env.id(), a),
                    env.job.config.block.position(u64::from(b))
                );
                let party = |thread, pc| Party::new(env, env.id(), thread, pc, None);
                let help = if alternatives {
                    "PTX lets the two meet, but CUDA C++ leaves it undefined: let all threads of the block reach the same barrier"
                } else {
                    "let all threads of the block reach the same barrier: move it out of the branch"
                };
                (message, party(a, at.pc), Some(party(b, first.2)), help)
            };
            let (kind, pcs) = (ReportKind::DivergentBarrier, pcs_here(env, [at.pc, first.2]));
            let severity = if alternatives { Severity::Warning } else { Severity::Error };
            let rank = (severity, 0);
            self.reports.add(env, &Found { kind, rank, pcs, times: 1, tell: &tell });
        }
        if !waits {
            self.tick();
        }
    }

    fn barrier(&mut self, env: &Env<'_>, id: u32, waiting: impl Iterator<Item = (u32, u32)>) {
        let waiting: Vec<(u32, u32)> = waiting.collect();
        let whole = waiting.iter().map(|(_, mask)| mask.count_ones()).sum::<u32>() == env.live;
        self.block.iter_mut().for_each(|block| block.heard.share(&waiting, whole));
        self.order().barrier(id, &waiting, whole);
        self.tick();
    }

    fn meeting(&mut self, env: &Env<'_>, at: At, meeting: &Meeting<'_>) {
        self.reports.meeting(env, at, meeting);
        match meeting.kind {
            MeetingKind::WarpSync => {
                self.order().warp_sync(at.warp, meeting.lanes, meeting.members);
                let members = lanes(meeting.lanes).map(|lane| meeting.members[lane as usize]);
                let members = members.reduce(|a, b| a & b).unwrap_or(0) & meeting.lanes;
                let block = self.block.iter_mut();
                block.for_each(|block| block.heard.share(&[(at.warp, members)], false));
                self.tick();
            }
            MeetingKind::Collective { strays, .. } => {
                self.note_members(at, meeting);
                if strays != 0 {
                    self.stray(env, at, strays);
                }
            }
        }
    }

    fn cluster_arrive(&mut self, _env: &Env<'_>, at: At, mask: u32, releases: bool) {
        if releases {
            self.order().arrive_at_cluster(at.warp, mask);
        }
        self.tick();
    }

    fn cluster_barrier(&mut self, env: &Env<'_>) {
        let first = env.id_of(0);
        let log =
            self.meetings.get(&first).map_or_else(|| self.history.logs.start(), |(log, _)| *log);
        for rank in 0..env.cluster.size {
            let ticket = env.id_of(rank);
            let order = if rank == env.rank {
                Some(
                    &mut self
                        .block
                        .as_mut()
                        .expect("a block runs whenever something is observed")
                        .order,
                )
            } else {
                self.others.get_mut(&ticket).map(|block| &mut block.order)
            };
            if let Some(row) = order.and_then(BlockOrder::meet_cluster) {
                self.history.logs.append(log, Release::of(ticket, &row));
            }
        }
        self.meetings.insert(first, (log, self.history.logs.len(log)));
    }

    fn cluster_wait(&mut self, env: &Env<'_>, at: At, mask: u32) {
        if let Some(&(log, len)) = self.meetings.get(&env.id_of(0)) {
            let known = Known { log, len, reach: Reach::Device };
            self.order().leave_cluster(at.warp, mask, known, env.live);
        }
    }

    fn mbarrier(
        &mut self,
        env: &Env<'_>,
        at: At,
        lane: u32,
        cell: SharedCell,
        _change: MbarrierChange,
    ) {
        self.touch_mbarrier(env, at, lane, cell);
    }

    fn mbarrier_phase(&mut self, env: &Env<'_>, cell: SharedCell) {
        self.end_phase(env, cell);
    }

    fn mbarrier_wait(
        &mut self,
        env: &Env<'_>,
        at: At,
        lane: u32,
        cell: SharedCell,
        ordering: Ordering,
    ) {
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

    fn printed(&mut self, env: &Env<'_>, at: At, request: &Request) {
        self.print_value(env, at, request);
    }

    fn parted(&mut self, env: &Env<'_>, at: At, mask: u32) {
        self.wait_at_barrier(env, at, mask);
    }

    fn exit(&mut self, env: &Env<'_>, at: At, mask: u32) {
        self.exit_beside_barrier(env, at, mask);
        self.order().exit(at.warp, mask);
    }

    fn end(&mut self, env: &Env<'_>) {
        if self.code.clusters {
            self.early_exit(env);
        }
        if let Some(block) = self.block.take() {
            let mut shared = block.shared;
            shared.written.clear();
            shared.local.clear();
            if self.code.clusters {
                shared.cells.fill(Cell::default());
            }
            self.code.spare.push(shared);
        }
    }
}
