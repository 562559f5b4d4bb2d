//! The interpreter's loop: it runs the instructions of one split until the split waits, ends or has
//! had its turn.

use std::sync::atomic::{Ordering, fence};

use super::meet::complete_lanes;
use super::state::Warp;
use crate::exec::env::Env;
use crate::exec::exchange::{Exchange, Part};
use crate::exec::observer::{At, Meeting, MeetingKind, Observer};
use crate::exec::raised::{LaneFault, Raised};
use crate::exec::split::{Split, State};
use crate::exec::{access, address, asynchronous, collective, mapped, print};
use crate::fault::FaultKind;
use crate::ir::{ClusterStep, Guard, Inst, Op, Slot};
use crate::ptx::ast::FenceSem;
use crate::registers::{LANES, Registers};

/// The reason for which [`Warp::run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No split can run, because all lanes wait or have exited.
    Blocked,
    /// The quantum is spent.
    Paused,
    /// Lanes arrived at a barrier or exited, so that a barrier may be complete.
    Changed,
}

/// The reason for which a split stopped.
enum Stop {
    /// The quantum is spent, the split met another one, or it branched while there are other
    /// splits.
    Paused,
    /// The split waits. Its state says for which event.
    Waits,
    /// Lanes arrived at a barrier or exited.
    Changed,
}

impl Warp {
    /// Runs up to `quantum` instructions.
    #[inline]
    pub(crate) fn run<O: Observer>(
        &mut self,
        env: &mut Env<'_>,
        observer: &mut O,
        quantum: u64,
    ) -> Result<Outcome, Box<Raised>> {
        let end = self.clock + quantum;
        loop {
            let Some((index, until)) = self.pick() else {
                return Ok(Outcome::Blocked);
            };
            match self.run_split(index, env, observer, end.min(until))? {
                Stop::Changed => return Ok(Outcome::Changed),
                Stop::Paused | Stop::Waits => {}
            }
            if self.clock >= end {
                return Ok(Outcome::Paused);
            }
        }
    }

    #[inline]
    fn run_split<O: Observer>(
        &mut self,
        index: usize,
        env: &mut Env<'_>,
        observer: &mut O,
        end: u64,
    ) -> Result<Stop, Box<Raised>> {
        let program = env.program;
        let Split { mut pc, mut mask, .. } = self.splits[index];
        let meets = |split: &Split| split.pc > pc && !matches!(split.state, State::Barrier(_));
        let mut limit =
            self.splits.iter().filter(|s| meets(s)).map(|s| s.pc).min().unwrap_or(u32::MAX);
        let mut state = State::Ready;
        let stop = loop {
            if self.clock >= end {
                break Stop::Paused;
            }
            let Inst { guard, op } = &program.code[pc as usize];
            let active = active(*guard, mask, &self.registers);
            let at = At { warp: self.index, pc };
            // An instruction that may wait for others is reported to the observer when its wait is
            // over.
            if active == 0 || !op.waits() {
                observer.instruction(at, active);
            }
            self.clock += 1;
            observer.operands(env, at, mask, active, &self.registers);
            let faulted =
                move |fault: LaneFault| Box::new(Raised { pc, lane: fault.0, kind: fault.1 });
            match op {
                Op::Alu { f, operands } => f(&mut self.registers, active, operands),
                Op::Nop => {}
                _ if active == 0 => {}
                Op::Load(load) => {
                    access::load(load, env, &mut self.registers, at, active, observer)
                        .map_err(faulted)?;
                }
                Op::Store(store) => {
                    access::store(store, env, &self.registers, at, active, observer)
                        .map_err(faulted)?;
                }
                Op::Bra { target, .. } => {
                    observer.branch(at, active, mask);
                    let alone = self.splits.len() == 1;
                    if active == mask {
                        pc = *target;
                        if alone {
                            continue;
                        }
                        break Stop::Paused;
                    }
                    mask &= !active;
                    self.push(*target, active, State::Ready);
                    pc += 1;
                    break Stop::Paused;
                }
                Op::BrxIdx { index, targets } => {
                    let values = self.registers.words[*index as usize];
                    let lane = active.trailing_zeros();
                    let value = values[lane as usize];
                    let Some(&target) = targets.get(value as usize) else {
                        let kind = FaultKind::BranchIndex { index: value, targets: targets.len() };
                        return Err(Box::new(Raised { pc, lane, kind }));
                    };
                    let same = active
                        & (0..LANES).fold(0, |bits, i| bits | u32::from(values[i] == value) << i);
                    observer.branch(at, same, mask);
                    for (to, lanes) in [(pc + 1, mask & !active), (pc, active & !same)] {
                        if lanes != 0 {
                            self.push(to, lanes, State::Ready);
                        }
                    }
                    mask = same;
                    pc = target;
                    break Stop::Paused;
                }
                Op::CallIndirect(call) => {
                    let (same, to) = self.call(call, program, active, pc).map_err(faulted)?;
                    for (to, lanes) in [(pc + 1, mask & !active), (pc, active & !same)] {
                        if lanes != 0 {
                            self.push(to, lanes, State::Ready);
                        }
                    }
                    (mask, pc) = (same, to);
                    break Stop::Paused;
                }
                Op::Return { link } => {
                    let (same, to) = self.leave(*link, active);
                    if active != same {
                        self.push(pc, active & !same, State::Ready);
                    }
                    (mask, pc) = (same, to);
                    break Stop::Paused;
                }
                Op::Exit => {
                    env.live -= active.count_ones();
                    env.cluster.live -= active.count_ones();
                    // Nobody waits for a thread that has exited, so its arrival is not counted any
                    // more.
                    let stood = self.arrived & active & !(self.arrived_phase ^ env.cluster.phase);
                    env.cluster.arrived -= stood.count_ones();
                    env.acted = true;
                    mask &= !active;
                    pc += 1;
                    self.exit(active);
                    observer.exit(env, at, active);
                    break Stop::Changed;
                }
                Op::Trap { kind } => {
                    return Err(Box::new(Raised {
                        pc,
                        lane: active.trailing_zeros(),
                        kind: kind.clone(),
                    }));
                }
                Op::Print(print) => {
                    print::print(print, env, &mut self.registers, at, active, observer)
                        .map_err(faulted)?;
                }
                Op::Assert(assertion) => {
                    let lane = active.trailing_zeros();
                    let (registers, warp) = (&self.registers, self.index);
                    let kind = print::assertion(assertion, env, registers, warp, lane as usize);
                    return Err(Box::new(Raised { pc, lane, kind }));
                }
                Op::CheckDivisor { divisor, bits } => {
                    let zeros = zero_lanes(&self.registers, *divisor, *bits) & active;
                    if zeros != 0 {
                        let lane = zeros.trailing_zeros();
                        return Err(Box::new(Raised { pc, lane, kind: FaultKind::DivisionByZero }));
                    }
                }
                Op::Atomic(atomic) => {
                    let changed =
                        access::atomic(atomic, env, &mut self.registers, at, active, observer);
                    if !changed.map_err(faulted)? && self.splits.len() > 1 {
                        self.yields = true;
                        pc += 1;
                        break Stop::Paused;
                    }
                }
                Op::IsSpace { space, target, address } => {
                    let bits = address::is_space(
                        *space,
                        &self.registers.doubles[*address as usize],
                        env.rank,
                    );
                    self.registers.set_predicate(*target, active, bits);
                }
                Op::Fence { sem, scope } => {
                    fence(match sem {
                        FenceSem::Acquire => Ordering::Acquire,
                        FenceSem::Release => Ordering::Release,
                        FenceSem::AcqRel => Ordering::AcqRel,
                        FenceSem::Sc => Ordering::SeqCst,
                    });
                    observer.fence(env, at, active, *sem, *scope);
                }
                Op::ProxyFence => observer.proxy_fence(env, at, active),
                Op::MapRank { target, address, rank } => {
                    mapped::map_rank(
                        env.rank,
                        &mut self.registers,
                        active,
                        *target,
                        *address,
                        *rank,
                    );
                }
                Op::RankOf { target, address } => {
                    mapped::rank_of(env.rank, &mut self.registers, active, *target, *address);
                }
                Op::Async(op) => {
                    asynchronous::execute(op, env, &mut self.registers, at, active, observer)
                        .map_err(faulted)?;
                }
                Op::ActiveMask { target } => self.registers.put_word(*target, active, active),
                Op::Clock { target, shift } => {
                    let value = self.clock >> shift;
                    match *target {
                        Slot::Word(target) => self.registers.put_word(target, active, value as u32),
                        Slot::Double(target) => {
                            let register = &mut self.registers.doubles[target as usize];
                            (0..LANES)
                                .filter(|i| active >> i & 1 == 1)
                                .for_each(|i| register[i] = value);
                        }
                    }
                }
                Op::Barrier(_)
                | Op::Cluster { .. }
                | Op::TryWait(_)
                | Op::WarpSync { .. }
                | Op::Collective { .. } => {
                    if active != mask {
                        self.push(pc + 1, mask & !active, State::Ready);
                        limit = limit.min(pc + 1);
                        mask = active;
                    }
                    match op {
                        Op::Barrier(barrier) => {
                            if barrier.aligned && mask != self.alive {
                                observer.parted(env, at, mask);
                                state = State::Converge;
                                break Stop::Waits;
                            }
                            let (id, waits) = self.arrive(barrier, mask, env).map_err(faulted)?;
                            observer.instruction(at, mask);
                            observer.arrive(env, at, mask, id, waits);
                            if waits {
                                state = State::Barrier(id);
                            } else {
                                pc += 1;
                            }
                            break Stop::Changed;
                        }
                        Op::Cluster { step, aligned } => {
                            if *aligned && mask != self.alive {
                                state = State::Converge;
                                break Stop::Waits;
                            }
                            match step {
                                ClusterStep::Arrive { releases } => {
                                    self.arrive_at_cluster(mask, env).map_err(faulted)?;
                                    observer.instruction(at, mask);
                                    observer.cluster_arrive(env, at, mask, *releases);
                                    pc += 1;
                                    break Stop::Changed;
                                }
                                ClusterStep::Wait => {
                                    let over = self.leave_cluster(mask, env).map_err(faulted)?;
                                    if over != 0 {
                                        observer.instruction(at, over);
                                        observer.cluster_wait(env, at, over);
                                    }
                                    if over != mask {
                                        if over != 0 {
                                            self.push(pc + 1, over, State::Ready);
                                            mask &= !over;
                                        }
                                        state = State::Event;
                                        break Stop::Waits;
                                    }
                                }
                            }
                        }
                        Op::TryWait(wait) => {
                            let over = asynchronous::phase::wait(
                                wait,
                                env,
                                &mut self.registers,
                                at,
                                mask,
                                observer,
                            );
                            let over = over.map_err(faulted)?;
                            if over != 0 {
                                observer.instruction(at, over);
                            }
                            if over != mask {
                                if over != 0 {
                                    self.push(pc + 1, over, State::Ready);
                                    mask &= !over;
                                }
                                state = State::Event;
                                break Stop::Waits;
                            }
                        }
                        Op::WarpSync { mask: members } => {
                            let released = self
                                .warp_sync(*members, at, mask, index, env, observer)
                                .map_err(faulted)?;
                            if released != mask {
                                if released != 0 {
                                    self.push(pc + 1, released, State::Ready);
                                    mask &= !released;
                                }
                                state = State::Converge;
                                break Stop::Waits;
                            }
                            if self.splits.len() > 1 {
                                pc += 1;
                                break Stop::Paused;
                            }
                        }
                        Op::Collective { mask: members, collective } => {
                            let members = self.registers.words[*members as usize];
                            let complete = complete_lanes(&members, mask, self.alive, mask)
                                .map_err(faulted)?;
                            if complete == 0 {
                                let released = self.meet_apart(at, mask, index, env, observer);
                                if released == mask {
                                    pc += 1;
                                    break Stop::Paused;
                                }
                                if released != 0 {
                                    self.push(pc + 1, released, State::Ready);
                                    mask &= !released;
                                }
                                state = State::Converge;
                                break Stop::Waits;
                            }
                            if complete != mask {
                                // The other lanes may meet lanes at another instruction.
                                self.push(pc, mask & !complete, State::Ready);
                                mask = complete;
                            }
                            let parts = [Part { pc, lanes: mask, collective }];
                            let (warp, members) = (self.index, &members);
                            let exchange = Exchange { warp, parts: &parts, lanes: mask, members };
                            observer.exchange(env, &exchange, &self.registers);
                            let strays =
                                collective::execute(collective, &mut self.registers, mask, members);
                            observer.instruction(at, mask);
                            let kind = MeetingKind::Collective { strays, apart: false };
                            let meeting = Meeting { kind, lanes: mask, members, alive: self.alive };
                            observer.meeting(env, at, &meeting);
                        }
                        _ => unreachable!("the outer match let only these through"),
                    }
                }
            }
            pc += 1;
            if pc >= limit {
                break Stop::Paused;
            }
        };
        if mask == 0 {
            self.splits.swap_remove(index);
        } else {
            let split = &mut self.splits[index];
            *split = Split { pc, mask, state, ran: self.clock, id: split.id };
        }
        Ok(stop)
    }
}

#[inline(always)]
fn active(guard: Guard, mask: u32, registers: &Registers) -> u32 {
    if guard.register == Guard::ALWAYS.register {
        return mask;
    }
    let bits = registers.predicates[guard.register as usize];
    mask & if guard.negated { !bits } else { bits }
}

fn zero_lanes(registers: &Registers, divisor: Slot, bits: u32) -> u32 {
    let fold = |zero: &dyn Fn(usize) -> bool| {
        (0..LANES).fold(0, |zeros, lane| zeros | u32::from(zero(lane)) << lane)
    };
    match divisor {
        Slot::Word(register) => {
            let values = &registers.words[register as usize];
            fold(&|lane| values[lane] << (32 - bits) == 0)
        }
        Slot::Double(register) => {
            let values = &registers.doubles[register as usize];
            fold(&|lane| values[lane] == 0)
        }
    }
}
