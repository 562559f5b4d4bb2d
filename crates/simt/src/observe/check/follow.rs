//! Undefined bits on their way from register to register.

use super::detector::Check;
use super::operands::{targets, uses};
use super::propagate;
use super::threads::lanes;
use super::undefined::{From, Origin, Register, Undefined, WarpValues, register};
use super::uses::Use;
use crate::exec::collective;
use crate::exec::env::Env;
use crate::exec::exchange::Exchange;
use crate::exec::observer::At;
use crate::ir::{Collective, Guard, Inst, Op};
use crate::ptx::ast::{ShflMode, VoteMode};
use crate::registers::{ALL, File, LANES, Registers};

impl Check {
    pub(super) fn values(&mut self, warp: u32) -> &mut WarpValues {
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        &mut block.values.0[warp as usize]
    }

    /// Updates whether a warp has undefined bits.
    pub(super) fn retaint(&mut self, warp: u32) {
        let block = self.block.as_ref().expect("a block runs whenever something is observed");
        let tainted = u32::from(block.values.is_tainted(warp));
        self.tainted = self.tainted & !(1 << warp) | tainted << warp;
    }

    /// Follows undefined bits through an instruction of a warp that has such bits, before it runs.
    #[cold]
    pub(super) fn follow(
        &mut self,
        env: &Env<'_>,
        at: At,
        mask: u32,
        active: u32,
        registers: &Registers,
    ) {
        let Inst { guard, op } = &env.program.code[at.pc as usize];
        let unsure = if guard.register == Guard::ALWAYS.register {
            None
        } else {
            self.values(at.warp).within((File::Predicates, guard.register), mask).cloned()
        };
        if let Op::Alu { f, operands } = op {
            let Some(shape) = env.program.shapes[at.pc as usize] else { return };
            let values = self.values(at.warp);
            let out = propagate::result(values, (*f, shape, operands), active, registers);
            let target = (shape.writes, operands.d);
            match out {
                Some(out) => values.put(target, active, &out),
                None => values.define(target, active),
            }
            if let Some(unsure) = unsure {
                // Whether the result is written is not known.
                let all = u64::MAX >> (64 - u32::from(shape.bits));
                let mut either = Undefined::default();
                let lanes = unsure.lanes() & mask;
                for lane in self::lanes(lanes) {
                    either.mark(lane as usize, all, unsure.from[lane as usize], true);
                }
                values.put(target, lanes, &either);
            }
            self.retaint(at.warp);
            return;
        }
        if let Some(unsure) = unsure {
            let what = if matches!(op, Op::Bra { .. }) { Use::Branch } else { Use::Guard };
            self.used(env, at, &unsure, unsure.lanes() & mask, what);
        }
        if active == 0 {
            return;
        }
        for (register, what) in uses(op) {
            if let Some(undefined) = self.values(at.warp).within(register, active).cloned() {
                self.used(env, at, &undefined, undefined.lanes() & active, what);
            }
        }
        let sources = match op {
            Op::IsSpace { address, .. } => vec![(File::Doubles, *address)],
            Op::MapRank { address, rank, .. } => vec![register(*address), (File::Words, *rank)],
            Op::RankOf { address, .. } => vec![register(*address)],
            _ => Vec::new(),
        };
        let values = self.values(at.warp);
        let mut whole = Undefined::default();
        for source in sources {
            let Some(undefined) = values.within(source, active) else { continue };
            for lane in lanes(undefined.lanes() & active) {
                whole.mark(lane as usize, u64::MAX, undefined.from[lane as usize], true);
            }
        }
        for target in targets(op) {
            let mut out = whole.clone();
            if target.0 == File::Predicates {
                out.bits.iter_mut().for_each(|bits| *bits &= 1);
            }
            values.put(target, active, &out);
        }
        self.retaint(at.warp);
    }

    /// Follows undefined bits through a collective, before it runs.
    #[cold]
    pub(super) fn pass_across(&mut self, exchange: &Exchange<'_>, registers: &Registers) {
        let Exchange { warp, parts, lanes: mask, members } = *exchange;
        let (collective, registers) = exchange.gather(registers);
        let mut values = WarpValues::default();
        for part in parts {
            for (own, to) in part.sources() {
                if let Some(undefined) = self.values(warp).within(own, part.lanes) {
                    values.put(to, part.lanes, undefined);
                }
            }
        }
        // The lanes of which some value reaches a lane, and the first of them.
        let voters = |undefined: &Undefined, lane: u32| {
            let voters = undefined.lanes() & mask & members[lane as usize];
            (voters != 0).then(|| (voters, undefined.from[voters.trailing_zeros() as usize]))
        };
        let whole = |source: Register, all: u64| {
            let mut out = Undefined::default();
            let undefined = values.within(source, mask);
            for lane in lanes(mask) {
                if let Some((_, from)) = undefined.and_then(|undefined| voters(undefined, lane)) {
                    out.mark(lane as usize, all, from, true);
                }
            }
            out
        };
        let word = |number: u32| (File::Words, number);
        let predicate = |number: u32| (File::Predicates, number);
        let every = u64::from(u32::MAX);
        // The undefined bits of the result, and those of the predicate beside it.
        let [result, beside] = match collective {
            Collective::Shuffle { mode, a, lane, clamp, .. } => {
                let chosen = source_lanes(mode, lane, clamp, &registers);
                let mut out = Undefined::default();
                for own in lanes(mask).map(|lane| lane as usize) {
                    let controls = [lane, clamp].map(|control| values.get(word(control)));
                    let unsure = controls.into_iter().flatten().find(|of| of.bits[own] != 0);
                    let source = chosen[own] as usize;
                    if let Some(unsure) = unsure {
                        out.mark(own, every, unsure.from[own], true);
                    } else if let Some(undefined) = values.get(word(a))
                        && undefined.bits[source] != 0
                        && mask >> source & 1 == 1
                    {
                        let computed = undefined.computed >> source & 1 == 1;
                        out.mark(own, undefined.bits[source], undefined.from[source], computed);
                    }
                }
                [out, Undefined::default()]
            }
            Collective::Vote { mode: VoteMode::Ballot, source, .. } => {
                let mut out = Undefined::default();
                let undefined = values.within(predicate(source), mask);
                for lane in lanes(mask) {
                    if let Some((voters, from)) =
                        undefined.and_then(|undefined| voters(undefined, lane))
                    {
                        out.mark(lane as usize, voters.into(), from, true);
                    }
                }
                [out, Undefined::default()]
            }
            Collective::Vote { source, .. } => [whole(predicate(source), 1), Undefined::default()],
            Collective::Match { a, .. } => [whole(register(a), every), whole(register(a), 1)],
            Collective::Redux { a, .. } => [whole(word(a), every), Undefined::default()],
            Collective::Elect { .. } => [Undefined::default(), Undefined::default()],
        };
        for part in parts {
            for (target, undefined) in part.collective.targets().into_iter().zip([&result, &beside])
            {
                if let Some(target) = target {
                    self.values(warp).put(target, part.lanes, undefined);
                }
            }
        }
        self.retaint(warp);
    }

    /// Records that a shuffle has given the lanes of `strays` an undefined value.
    pub(super) fn stray(&mut self, env: &Env<'_>, at: At, strays: u32) {
        let Op::Collective { collective, .. } = &env.program.code[at.pc as usize].op else {
            return;
        };
        let Collective::Shuffle { target, .. } = **collective else { return };
        let origin = Origin { pc: at.pc, ticket: env.id(), warp: at.warp, read: None };
        let origin = self.origins.add(origin);
        let mut out = Undefined::default();
        for lane in lanes(strays) {
            let from = From { origin, lane: lane as u8 };
            out.mark(lane as usize, u64::from(u32::MAX), from, true);
        }
        self.values(at.warp).put((File::Words, target), strays, &out);
        self.retaint(at.warp);
    }
}

/// The lane from which each lane of a shuffle takes its value.
fn source_lanes(mode: ShflMode, lane: u32, clamp: u32, registers: &Registers) -> [u32; LANES] {
    let own = std::array::from_fn(|lane| lane as u32);
    let words = [lane, clamp].map(|register| registers.words[register as usize]);
    let words = vec![[0; LANES], own, words[0], words[1]];
    let mut scratch = Registers { words, ..Registers::default() };
    let shuffle = Collective::Shuffle { mode, target: 0, predicate: None, a: 1, lane: 2, clamp: 3 };
    collective::execute(&shuffle, &mut scratch, ALL, &[ALL; LANES]);
    scratch.words[0]
}
