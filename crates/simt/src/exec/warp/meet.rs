//! Arrivals of a warp's lanes at barriers and collectives, and the lanes that may continue.

use super::state::Warp;
use crate::exec::env::{BarrierState, Env};
use crate::exec::exchange::{Exchange, Part};
use crate::exec::observer::{At, Meeting, MeetingKind, Observer};
use crate::exec::raised::LaneFault;
use crate::exec::split::{Split, State};
use crate::fault::FaultKind;
use crate::ir::{Barrier, BarrierKind, Op};
use crate::ptx::ast::BarrierOp;
use crate::registers::{LANES, lanes_of};

impl Warp {
    /// `barrier.cluster.arrive` in the lanes of `mask`.
    #[inline(never)]
    pub(super) fn arrive_at_cluster(
        &mut self,
        mask: u32,
        env: &mut Env<'_>,
    ) -> Result<(), LaneFault> {
        let again = self.arrived & mask;
        if again != 0 {
            return Err(Box::new((
                again.trailing_zeros(),
                FaultKind::ClusterBarrier { arrives: true },
            )));
        }
        self.arrived |= mask;
        self.arrived_phase = self.arrived_phase & !mask | env.cluster.phase & mask;
        env.cluster.arrived += mask.count_ones();
        Ok(())
    }

    /// `barrier.cluster.wait` in the lanes of `mask`. Returns the lanes that continue.
    #[inline(never)]
    pub(super) fn leave_cluster(&mut self, mask: u32, env: &Env<'_>) -> Result<u32, LaneFault> {
        let stray = mask & !self.arrived;
        if stray != 0 {
            return Err(Box::new((
                stray.trailing_zeros(),
                FaultKind::ClusterBarrier { arrives: false },
            )));
        }
        let over = mask & (self.arrived_phase ^ env.cluster.phase);
        self.arrived &= !over;
        Ok(over)
    }

    /// Counts the lanes of `mask` at a barrier. Returns the number of the barrier, and whether the
    /// lanes wait there.
    pub(super) fn arrive(
        &self,
        barrier: &Barrier,
        mask: u32,
        env: &mut Env<'_>,
    ) -> Result<(u32, bool), LaneFault> {
        let lane = mask.trailing_zeros();
        let word = |register: u32| self.registers.words[register as usize][lane as usize];
        let refuse = |what, value, allowed| {
            Box::new((lane, FaultKind::BarrierOperand { what, value, allowed }))
        };
        let id = word(barrier.id);
        if id > 15 {
            return Err(refuse("barrier number", id, "it must be 0 to 15"));
        }
        let threads = barrier.threads.map(word);
        if let Some(value) = threads.filter(|n| *n == 0 || n % 32 != 0) {
            return Err(refuse(
                "barrier thread count",
                value,
                "it must be a positive multiple of 32",
            ));
        }
        let state = &mut env.barriers[id as usize];
        if state.pending && state.expected != threads {
            let value = threads.unwrap_or(0);
            return Err(refuse(
                "barrier thread count",
                value,
                "all threads at one barrier must give the same",
            ));
        }
        if !state.pending {
            *state = BarrierState { pending: true, expected: threads, ..Default::default() };
        }
        state.arrived += mask.count_ones();
        // A thread count always counts whole warps. When the last live lanes of a warp arrive, the
        // lanes that have exited or never existed are therefore counted too.
        let waits = |split: &&Split| split.state == State::Barrier(id);
        let there = self.splits.iter().filter(waits).fold(mask, |there, split| there | split.mask);
        if threads.is_some() && there == self.alive {
            state.arrived += (!self.alive).count_ones();
        }
        match &barrier.kind {
            BarrierKind::Plain(BarrierOp::Arrive) => return Ok((id, false)),
            BarrierKind::Plain(BarrierOp::Sync) => {}
            BarrierKind::Reduce { source, negated, .. } => {
                let bits = self.registers.predicates[*source as usize]
                    ^ if *negated { u32::MAX } else { 0 };
                state.holds += (bits & mask).count_ones();
                state.counted += mask.count_ones();
            }
        }
        Ok((id, true))
    }

    /// `bar.warp.sync` at `at`: the lanes of `mask` (in split `index`) arrive. Returns the lanes of
    /// `mask` that may continue, and releases the lanes of other splits whose wait is over.
    pub(super) fn warp_sync<O: Observer>(
        &mut self,
        members: u32,
        at: At,
        mask: u32,
        index: usize,
        env: &Env<'_>,
        observer: &mut O,
    ) -> Result<u32, LaneFault> {
        let waits = |split: &Split| match env.program.code[split.pc as usize].op {
            Op::WarpSync { mask } if split.state == State::Converge => Some(mask),
            _ => None,
        };
        let others: Vec<(usize, u32)> = (0..self.splits.len())
            .filter(|i| *i != index)
            .filter_map(|i| Some((i, waits(&self.splits[i])?)))
            .collect();
        let arrived = others.iter().fold(mask, |arrived, (i, _)| arrived | self.splits[*i].mask);
        let own =
            complete_lanes(&self.registers.words[members as usize], mask, self.alive, arrived)?;
        let warp = self.index;
        let mut tell = |pc, lanes: u32, members: &[u32; LANES], alive| {
            if lanes != 0 {
                observer.instruction(At { warp, pc }, lanes);
                let kind = MeetingKind::WarpSync;
                let meeting = Meeting { kind, lanes, members, alive };
                observer.meeting(env, At { warp, pc }, &meeting);
            }
        };
        tell(at.pc, own, &self.registers.words[members as usize], self.alive);
        for (i, members) in others {
            let split = self.splits[i];
            let members = &self.registers.words[members as usize];
            let over = complete_lanes(members, split.mask, self.alive, arrived)?;
            tell(split.pc, over, members, self.alive);
            self.go_on(i, over);
        }
        Ok(own)
    }

    /// A collective at `at`, at which the lanes of `mask` (in split `index`) miss members: executes
    /// it together with lanes that wait at other instructions, as far as that completes it. Returns
    /// the lanes of `mask` that continue. The lanes of other splits that took part continue too.
    #[cold]
    #[inline(never)]
    pub(super) fn meet_apart<O: Observer>(
        &mut self,
        at: At,
        mask: u32,
        index: usize,
        env: &Env<'_>,
        observer: &mut O,
    ) -> u32 {
        let program = env.program;
        let collective_at = |pc: u32| match &program.code[pc as usize].op {
            Op::Collective { mask, collective } => Some((*mask, &**collective)),
            _ => None,
        };
        let Some((own_members, own)) = collective_at(at.pc) else { return 0 };
        // The index of each split, its register with the members, and what it executes.
        let mut standing =
            vec![(index, own_members, Part { pc: at.pc, lanes: mask, collective: own })];
        for (i, split) in self.splits.iter().enumerate() {
            if i != index
                && split.state == State::Converge
                && let Some((members, collective)) = collective_at(split.pc)
                && own.meets(collective)
            {
                let part = Part { pc: split.pc, lanes: split.mask, collective };
                standing.push((i, members, part));
            }
        }
        if standing.len() == 1 {
            return 0;
        }
        let arrived = standing.iter().fold(0, |arrived, (.., part)| arrived | part.lanes);
        let mut members = [0; LANES];
        for (_, register, part) in &standing {
            let given = self.registers.words[*register as usize];
            lanes_of(part.lanes).for_each(|lane| members[lane] = given[lane]);
        }
        let complete = |lane: &usize| {
            let with = lanes_of(arrived).filter(|other| members[*other] == members[*lane]);
            let with = with.fold(0, |with, other| with | 1 << other);
            members[*lane] & self.alive & !with == 0
        };
        let over = lanes_of(arrived).filter(complete).fold(0, |over, lane| over | 1 << lane);
        if over & mask == 0 {
            return 0;
        }
        for (.., part) in &mut standing {
            part.lanes &= over;
        }
        standing.retain(|(.., part)| part.lanes != 0);
        let parts: Vec<Part<'_>> = standing.iter().map(|(.., part)| *part).collect();
        let (warp, alive, members) = (self.index, self.alive, &members);
        let exchange = Exchange { warp, parts: &parts, lanes: over, members };
        observer.exchange(env, &exchange, &self.registers);
        let strays = exchange.execute(&mut self.registers);
        for Part { pc, lanes, .. } in parts {
            let at = At { warp, pc };
            observer.instruction(at, lanes);
            let kind = MeetingKind::Collective { strays: strays & lanes, apart: true };
            observer.meeting(env, at, &Meeting { kind, lanes, members, alive });
        }
        for (i, _, part) in standing.into_iter().filter(|(i, ..)| *i != index) {
            self.go_on(i, part.lanes);
        }
        over & mask
    }

    /// The wait of the lanes of `over` in split `index` is over.
    fn go_on(&mut self, index: usize, over: u32) {
        let split = self.splits[index];
        if over == split.mask {
            self.splits[index] =
                Split { pc: split.pc + 1, state: State::Ready, ran: self.clock, ..split };
        } else if over != 0 {
            self.splits[index].mask &= !over;
            self.push(split.pc + 1, over, State::Ready);
        }
    }
}

/// The lanes of `mask` whose members have all arrived. A member that has exited or never had a
/// thread counts as arrived.
pub(super) fn complete_lanes(
    members: &[u32; LANES],
    mask: u32,
    alive: u32,
    arrived: u32,
) -> Result<u32, LaneFault> {
    let first = mask.trailing_zeros();
    let uniform = members[first as usize];
    if (0..LANES).all(|lane| mask >> lane & 1 == 0 || members[lane] == uniform)
        && uniform & mask == mask
    {
        return Ok(if uniform & alive & !arrived == 0 { mask } else { 0 });
    }
    let mut complete = 0;
    for lane in (0..LANES as u32).filter(|lane| mask >> lane & 1 == 1) {
        let members = members[lane as usize];
        if members >> lane & 1 == 0 {
            return Err(Box::new((lane, FaultKind::NotInMask { mask: members, lane })));
        }
        complete |= u32::from(members & alive & !arrived == 0) << lane;
    }
    Ok(complete)
}
