//! A warp: 32 lanes that advance as a list of splits, and the interpreter's loop.
//!
//! A split is a set of lanes at one program counter. Lanes that disagree at a branch become two splits; splits whose
//! counters meet become one again. The split with the lowest counter runs first, because compilers place the point
//! where paths join after the paths. But no split is left waiting for longer than a quantum: a lane may wait for
//! another of its warp.

mod meet;

use std::sync::atomic::{Ordering, fence};

use crate::access;
use crate::address;
use crate::block::Env;
use crate::bulk;
use crate::cluster;
use crate::collective;
use crate::fault::FaultKind;
use crate::ir::{ClusterStep, Guard, Inst, Op, Slot};
use crate::mbarrier;
use crate::observe::{At, Observer};
use crate::ptx::ast::FenceSem;
use crate::registers::{LANES, Registers};
use meet::complete_lanes;

/// Warp instructions after which a split that could run gets its turn.
const SPLIT_QUANTUM: u64 = 1024;

/// Why a split does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// At an instruction that needs lanes of the warp that are elsewhere.
    Converge,
    /// Has arrived at this barrier of the block.
    Barrier(u32),
    /// At an instruction that waits for an event of the cluster: it is tried again after each.
    Event,
}

/// Lanes at one program counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) state: State,
    /// When it last ran, in the warp's clock.
    ran: u64,
    id: u32,
}

impl Split {
    /// Whether it has run since its warp's clock stood at `clock`.
    pub(crate) fn ran_since(&self, clock: u64) -> bool {
        self.ran > clock
    }
}

/// A fault, before block, thread and place are known.
#[derive(Debug)]
pub(crate) struct Raised {
    pub(crate) pc: u32,
    pub(crate) lane: u32,
    pub(crate) kind: FaultKind,
}

/// A fault of one lane of the instruction at hand.
pub(crate) type LaneFault = Box<(u32, FaultKind)>;

/// Why [`Warp::run`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No split can run: the lanes wait, or all of them have exited.
    Blocked,
    /// The quantum is spent.
    Paused,
    /// Lanes arrived at a barrier or exited, so that a barrier may be complete.
    Changed,
}

/// Why a split stopped.
enum Stop {
    /// Quantum spent, met another split, or branched beside others.
    Paused,
    /// Waits; its state says for what.
    Waits,
    /// Arrived at a barrier or exited.
    Changed,
}

/// A warp's state.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Its number in the block.
    pub(crate) index: u32,
    /// Lanes that have a thread.
    pub(crate) existing: u32,
    /// Lanes that have not exited.
    pub(crate) alive: u32,
    pub(crate) splits: Vec<Split>,
    pub(crate) registers: Registers,
    /// Lanes that have arrived at the cluster's barrier and not waited there since, and the parity of their phase.
    arrived: u32,
    arrived_phase: u32,
    /// Instructions executed.
    pub(crate) clock: u64,
    /// A split that runs though another has a lower counter, and until when.
    burst: Option<(u32, u64)>,
    /// The split that ran last got nothing from an atomic: it may spin for a lock that another split holds.
    yields: bool,
    next_id: u32,
}

impl Warp {
    pub(crate) fn new(index: u32, existing: u32, registers: Registers) -> Warp {
        Warp {
            index,
            existing,
            alive: 0,
            splits: Vec::new(),
            registers,
            arrived: 0,
            arrived_phase: 0,
            clock: 0,
            burst: None,
            yields: false,
            next_id: 0,
        }
    }

    /// Puts all lanes at the kernel's start.
    pub(crate) fn start(&mut self) {
        self.alive = self.existing;
        self.arrived = 0;
        self.clock = 0;
        self.burst = None;
        self.yields = false;
        self.next_id = 0;
        self.splits.clear();
        self.push(0, self.existing, State::Ready);
    }

    fn push(&mut self, pc: u32, mask: u32, state: State) {
        self.splits.push(Split { pc, mask, state, ran: self.clock, id: self.next_id });
        self.next_id += 1;
    }

    /// Runs up to `quantum` instructions.
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

    /// Joins splits that have met, and chooses the one to run and until when.
    fn pick(&mut self) -> Option<(usize, u64)> {
        let yields = std::mem::take(&mut self.yields);
        if let [only] = &self.splits[..] {
            return (only.state == State::Ready).then_some((0, u64::MAX));
        }
        self.merge();
        let mut ready = self.splits.iter().enumerate().filter(|(_, split)| split.state == State::Ready);
        let (mut lowest, mut oldest) = ready.next().map(|first| (first, first))?;
        let mut others = false;
        for candidate in ready {
            others = true;
            lowest = if candidate.1.pc < lowest.1.pc { candidate } else { lowest };
            oldest = if candidate.1.ran < oldest.1.ran { candidate } else { oldest };
        }
        if !others {
            return Some((lowest.0, u64::MAX));
        }
        if let Some((id, until)) = self.burst.filter(|(_, until)| self.clock < *until && !yields)
            && let Some(index) = self.splits.iter().position(|s| s.id == id && s.state == State::Ready)
        {
            return Some((index, until));
        }
        self.burst = None;
        if yields || self.clock - oldest.1.ran >= SPLIT_QUANTUM {
            let until = self.clock + SPLIT_QUANTUM;
            self.burst = Some((oldest.1.id, until));
            return Some((oldest.0, until));
        }
        Some((lowest.0, oldest.1.ran + SPLIT_QUANTUM))
    }

    fn merge(&mut self) {
        let mut i = 0;
        while i < self.splits.len() {
            let mut j = i + 1;
            while j < self.splits.len() {
                let (a, b) = (self.splits[i], self.splits[j]);
                let waits = |s: Split| matches!(s.state, State::Barrier(_));
                if a.pc == b.pc && !waits(a) && !waits(b) {
                    let burst = self.burst.is_some_and(|(id, _)| id == b.id);
                    let id = if burst { b.id } else { a.id };
                    let (mask, ran) = (a.mask | b.mask, a.ran.max(b.ran));
                    self.splits[i] = Split { pc: a.pc, mask, state: State::Ready, ran, id };
                    self.splits.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Removes the lanes of `mask`, which have exited. Who waited for them looks again.
    fn exit(&mut self, mask: u32) {
        self.alive &= !mask;
        for split in &mut self.splits {
            if split.state == State::Converge {
                split.state = State::Ready;
            }
        }
    }

    /// Lets the lanes that wait for an event look again.
    pub(crate) fn wake(&mut self) {
        for split in self.splits.iter_mut().filter(|split| split.state == State::Event) {
            split.state = State::Ready;
        }
    }

    /// Lets the lanes that wait at barrier `id` go on; `release` is called with each split before it moves.
    pub(crate) fn release(&mut self, id: u32, mut release: impl FnMut(&mut Registers, &Split)) {
        for split in &mut self.splits {
            if split.state == State::Barrier(id) {
                release(&mut self.registers, split);
                *split = Split { pc: split.pc + 1, state: State::Ready, ran: self.clock, ..*split };
            }
        }
    }

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
        let mut limit = self.splits.iter().filter(|s| meets(s)).map(|s| s.pc).min().unwrap_or(u32::MAX);
        let mut state = State::Ready;
        let stop = loop {
            if self.clock >= end {
                break Stop::Paused;
            }
            let Inst { guard, op } = &program.code[pc as usize];
            let active = active(*guard, mask, &self.registers);
            let at = At { warp: self.index, pc };
            // What waits for lanes that are elsewhere has run once it no longer waits.
            if active == 0 || !op.waits() {
                observer.instruction(at, active);
            }
            self.clock += 1;
            let faulted = move |fault: LaneFault| Box::new(Raised { pc, lane: fault.0, kind: fault.1 });
            match op {
                Op::Alu { f, operands } => f(&mut self.registers, active, operands),
                Op::Nop => {}
                _ if active == 0 => {}
                Op::Load(load) => {
                    access::load(load, env, &mut self.registers, at, active, observer).map_err(faulted)?;
                }
                Op::Store(store) => {
                    access::store(store, env, &self.registers, at, active, observer).map_err(faulted)?;
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
                    let same = active & (0..LANES).fold(0, |bits, i| bits | u32::from(values[i] == value) << i);
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
                Op::Exit => {
                    env.live -= active.count_ones();
                    env.cluster.live -= active.count_ones();
                    // Who has exited is not waited for: an arrival of theirs counts no more.
                    let stood = self.arrived & active & !(self.arrived_phase ^ env.cluster.phase);
                    env.cluster.arrived -= stood.count_ones();
                    env.acted = true;
                    mask &= !active;
                    pc += 1;
                    self.exit(active);
                    observer.exit(env, self.index, active);
                    break Stop::Changed;
                }
                Op::Trap { kind } => {
                    return Err(Box::new(Raised { pc, lane: active.trailing_zeros(), kind: kind.clone() }));
                }
                Op::CheckDivisor { divisor, bits } => {
                    let zeros = zero_lanes(&self.registers, *divisor, *bits) & active;
                    if zeros != 0 {
                        let lane = zeros.trailing_zeros();
                        return Err(Box::new(Raised { pc, lane, kind: FaultKind::DivisionByZero }));
                    }
                }
                Op::Atomic(atomic) => {
                    let changed = access::atomic(atomic, env, &mut self.registers, at, active, observer);
                    if !changed.map_err(faulted)? && self.splits.len() > 1 {
                        self.yields = true;
                        pc += 1;
                        break Stop::Paused;
                    }
                }
                Op::IsSpace { space, target, address } => {
                    let bits = address::is_space(*space, &self.registers.doubles[*address as usize], env.rank);
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
                    cluster::map_rank(env.rank, &mut self.registers, active, *target, *address, *rank);
                }
                Op::RankOf { target, address } => {
                    cluster::rank_of(env.rank, &mut self.registers, active, *target, *address);
                }
                Op::Async(op) => {
                    bulk::execute(op, env, &mut self.registers, at, active, observer).map_err(faulted)?;
                }
                Op::ActiveMask { target } => put_word(&mut self.registers, *target, active, active),
                Op::Clock { target, shift } => {
                    let value = self.clock >> shift;
                    match *target {
                        Slot::Word(target) => put_word(&mut self.registers, target, active, value as u32),
                        Slot::Double(target) => {
                            let register = &mut self.registers.doubles[target as usize];
                            (0..LANES).filter(|i| active >> i & 1 == 1).for_each(|i| register[i] = value);
                        }
                    }
                }
                Op::Barrier(_) | Op::Cluster { .. } | Op::TryWait(_) | Op::WarpSync { .. } | Op::Collective { .. } => {
                    if active != mask {
                        self.push(pc + 1, mask & !active, State::Ready);
                        limit = limit.min(pc + 1);
                        mask = active;
                    }
                    match op {
                        Op::Barrier(barrier) => {
                            if barrier.aligned && mask != self.alive {
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
                            let over = mbarrier::wait(wait, env, &mut self.registers, at, mask, observer);
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
                            let released = self.warp_sync(*members, mask, index, env, observer).map_err(faulted)?;
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
                            let complete = complete_lanes(&members, mask, self.alive, mask).map_err(faulted)?;
                            if complete == 0 {
                                state = State::Converge;
                                break Stop::Waits;
                            }
                            if complete != mask {
                                self.push(pc, mask & !complete, State::Converge);
                                mask = complete;
                            }
                            let strays = collective::execute(collective, &mut self.registers, mask, &members);
                            observer.instruction(at, mask);
                            observer.collective(env, at, mask, &members, self.alive, strays);
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
    let fold = |zero: &dyn Fn(usize) -> bool| (0..LANES).fold(0, |zeros, lane| zeros | u32::from(zero(lane)) << lane);
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

/// Writes one value to the lanes of `mask`.
pub(crate) fn put_word(registers: &mut Registers, register: u32, mask: u32, value: u32) {
    let register = &mut registers.words[register as usize];
    (0..LANES).filter(|lane| mask >> lane & 1 == 1).for_each(|lane| register[lane] = value);
}
