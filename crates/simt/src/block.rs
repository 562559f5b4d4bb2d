//! A block: its warps, what they share, and the turns they take.

use crate::bulk;
use crate::cluster::ClusterState;
use crate::fault::{Fault, FaultKind, Waiting};
use crate::grid::Grid;
use crate::ir::{BarrierKind, Init, Op, Program};
use crate::launch::{Dim3, MAX_SHARED_BYTES};
use crate::livelock::Watch;
use crate::mbarrier;
use crate::observe::Observer;
use crate::ptx::ast::{Axis, BarrierRedOp, SpecialReg};
use crate::registers::{LANES, Registers};
use crate::warp::{Outcome, Raised, Split, State, Warp, put_word};

/// Warp instructions of one turn.
const WARP_QUANTUM: u64 = 1024;
/// Warp instructions without an effect on others, after which a block may be waiting for another one.
const WAITING_QUANTUM: u64 = 4096;
/// The same in cooperative launches, whose blocks are made to wait for each other.
const TOGETHER_QUANTUM: u64 = 512;

/// A barrier of a block while threads arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BarrierState {
    /// Whether anyone has arrived.
    pub(crate) pending: bool,
    /// The thread count given; `None` means all threads that have not exited.
    pub(crate) expected: Option<u32>,
    /// Threads that have arrived.
    pub(crate) arrived: u32,
    /// Threads whose predicate was reduced, and how many of them held.
    pub(crate) counted: u32,
    pub(crate) holds: u32,
}

/// What the warps of a block share.
#[derive(Debug)]
pub(crate) struct Env<'a> {
    pub(crate) grid: &'a Grid<'a>,
    pub(crate) program: &'a Program,
    /// The block's linear index.
    pub(crate) ticket: u64,
    /// Its rank in its cluster.
    pub(crate) rank: u32,
    /// What it shares with its cluster, in its turn.
    pub(crate) cluster: ClusterState,
    pub(crate) shared: Vec<u8>,
    /// Local memory, thread after thread.
    pub(crate) local: Vec<u8>,
    pub(crate) barriers: [BarrierState; 16],
    /// Threads that have not exited.
    pub(crate) live: u32,
    /// Where the last global access found its allocation.
    pub(crate) hint: usize,
    /// Whether a thread has done what another could see: changed memory, passed a barrier or exited.
    pub(crate) acted: bool,
}

/// How far a block came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    Unfinished,
    /// Unfinished, and for a while nothing has happened in it that others could see.
    Waiting,
    /// All its threads wait: it can go on only by what another block of its cluster does.
    Blocked,
}

/// A block on a worker. It is reused for block after block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    env: Env<'a>,
    warps: Vec<Warp>,
    threads: u32,
    /// Registers that hold parts of the block's position.
    position: Vec<(u32, SpecialReg)>,
    random: Option<Random>,
    /// What its warps know of the cluster's events.
    events: u32,
    progress: Progress,
    /// Whether it has done what another could see, or ended, since that was last asked.
    acted: bool,
    /// Warp instructions since then, as far as they may say that it waits.
    calm: u64,
    watch: Watch,
}

impl<'a> Block<'a> {
    /// A block that has rank `rank` in its cluster.
    pub(crate) fn new(grid: &'a Grid<'a>, rank: u32) -> Block<'a> {
        let program = grid.kernel.program();
        let threads = grid.config.block.count() as u32;
        let warps = threads.div_ceil(LANES as u32);
        let env = Env {
            grid,
            program,
            ticket: 0,
            rank,
            cluster: ClusterState::default(),
            shared: Vec::new(),
            local: vec![0; program.local_stride() * warps as usize * LANES],
            barriers: [BarrierState::default(); 16],
            live: 0,
            hint: 0,
            acted: false,
        };
        let warp = |index: u32| {
            let lanes = (threads - index * LANES as u32).min(LANES as u32);
            Warp::new(index, u32::MAX >> (LANES as u32 - lanes), registers(grid, program, index))
        };
        let position = program.word_values.iter().filter_map(|(register, init)| match init {
            Init::Special(special) if positional(*special, Dim3::from(0), 1).is_some() => Some((*register, *special)),
            _ => None,
        });
        Block {
            env,
            warps: (0..warps).map(warp).collect(),
            threads,
            position: position.collect(),
            random: None,
            events: 0,
            progress: Progress::Unfinished,
            acted: false,
            calm: 0,
            watch: Watch::default(),
        }
    }

    /// Takes over what the cluster shares, or gives it back: at the beginning and at the end of a turn.
    pub(crate) fn swap(&mut self, state: &mut ClusterState) {
        std::mem::swap(&mut self.env.cluster, state);
        let ClusterState { shared, .. } = if state.shared.is_empty() { &mut self.env.cluster } else { state };
        std::mem::swap(&mut self.env.shared, &mut shared[self.env.rank as usize]);
    }

    /// Becomes the block with linear index `ticket`.
    pub(crate) fn start(&mut self, ticket: u64) {
        self.env.ticket = ticket;
        self.events = 0;
        self.progress = Progress::Unfinished;
        self.calm = 0;
        self.watch = Watch::default();
        self.random = self.env.grid.config.seed.map(|seed| Random::new(seed, ticket));
        self.env.live = self.threads;
        self.env.barriers = [BarrierState::default(); 16];
        self.env.shared.fill(0);
        self.env.local.fill(0);
        let position = self.env.grid.config.grid.position(ticket);
        for warp in &mut self.warps {
            for (register, special) in &self.position {
                let value = positional(*special, position, self.env.grid.cluster).unwrap_or_default();
                warp.registers.words[*register as usize] = [value; LANES];
            }
            zero(&mut warp.registers, self.env.program);
            warp.start();
        }
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.env.ticket
    }

    /// The launch's seed.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.env.grid.config.seed
    }

    /// Its threads.
    pub(crate) fn threads(&self) -> u32 {
        self.threads
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.progress == Progress::Finished
    }

    pub(crate) fn seems_to_wait(&self) -> bool {
        self.progress == Progress::Waiting
    }

    /// Whether it has done what another could see, or ended, since this was last asked.
    pub(crate) fn take_acted(&mut self) -> bool {
        std::mem::take(&mut self.acted)
    }

    /// Whether it is known never to end unless memory changes; to be asked after each turn, with the number of changes so far.
    pub(crate) fn is_stuck(&mut self, epoch: u64) -> bool {
        let stride = self.env.program.local_stride();
        self.is_finished() || self.watch.look(epoch, &self.warps, &self.env.local, stride)
    }

    /// Runs about `quantum` warp instructions, or fewer if the block seems to wait, and says how many.
    pub(crate) fn run<O: Observer>(&mut self, observer: &mut O, quantum: u64) -> (Result<Progress, Box<Fault>>, u64) {
        let mut spent = 0;
        observer.resume(&self.env);
        let progress = self.run_counted(observer, quantum, &mut spent);
        if let Ok(progress) = progress {
            self.progress = progress;
        }
        self.acted |= self.env.acted || self.is_finished();
        if self.is_finished() {
            if let Some(copy) = self.env.cluster.copies.of_ended(self.env.rank) {
                let kind = FaultKind::CopyInFlight { bytes: copy.bytes };
                return (Err(self.fault_of(copy.rank, copy.thread, copy.pc, kind)), spent);
            }
            bulk::finish_block(&mut self.env, observer);
            self.env.cluster.ended |= 1 << self.env.rank;
            observer.end(&self.env);
        }
        (progress, spent)
    }

    fn run_counted<O: Observer>(
        &mut self,
        observer: &mut O,
        quantum: u64,
        spent: &mut u64,
    ) -> Result<Progress, Box<Fault>> {
        let patience = if self.env.grid.config.cooperative { TOGETHER_QUANTUM } else { WAITING_QUANTUM };
        if self.random.is_none() {
            self.calm = 0;
        }
        loop {
            let mut progressed = false;
            let began = *spent;
            let first = self.random.as_mut().map_or(0, |random| random.below(self.warps.len() as u64) as usize);
            for turn in 0..self.warps.len() {
                let index = (first + turn) % self.warps.len();
                let left = quantum.saturating_sub(*spent).max(1);
                let turn = match &mut self.random {
                    Some(random) => (1 + random.below(WARP_QUANTUM / 4)).min(left),
                    None => WARP_QUANTUM,
                };
                if self.events != self.env.cluster.events {
                    self.events = self.env.cluster.events;
                    self.warps.iter_mut().for_each(Warp::wake);
                }
                let warp = &mut self.warps[index];
                let before = warp.clock;
                let outcome = warp.run(&mut self.env, observer, turn);
                *spent += warp.clock - before;
                progressed |= warp.clock != before;
                match outcome {
                    Ok(Outcome::Changed) => self.release_barriers(observer),
                    Ok(Outcome::Blocked | Outcome::Paused) => {}
                    Err(raised) => return Err(self.fault(index, *raised)),
                }
            }
            if self.env.live == 0 {
                return Ok(Progress::Finished);
            }
            if !progressed {
                return Ok(Progress::Blocked);
            }
            self.calm += *spent - began;
            if std::mem::take(&mut self.env.acted) {
                self.acted = true;
                self.calm = 0;
            }
            if self.calm >= patience {
                return Ok(Progress::Waiting);
            }
            if *spent >= quantum {
                return Ok(Progress::Unfinished);
            }
        }
    }

    /// Lets go the threads at barriers that are complete.
    fn release_barriers<O: Observer>(&mut self, observer: &mut O) {
        if self.env.cluster.complete() {
            self.env.acted = true;
            observer.cluster_barrier(&self.env);
        }
        for id in 0..self.env.barriers.len() {
            let state = self.env.barriers[id];
            if !state.pending || state.arrived < state.expected.unwrap_or(self.env.live) {
                continue;
            }
            self.env.barriers[id].pending = false;
            self.env.acted = true;
            observer.barrier(&self.env, id as u32, waiting_at(&self.warps, id as u32));
            let code = &self.env.program.code;
            for warp in &mut self.warps {
                warp.release(id as u32, |registers, split| {
                    let Op::Barrier(barrier) = &code[split.pc as usize].op else {
                        return;
                    };
                    let BarrierKind::Reduce { op, target, .. } = barrier.kind else {
                        return;
                    };
                    let all = |holds: bool| if holds { u32::MAX } else { 0 };
                    match op {
                        BarrierRedOp::Popc => put_word(registers, target, split.mask, state.holds),
                        BarrierRedOp::And => {
                            registers.set_predicate(target, split.mask, all(state.holds == state.counted));
                        }
                        BarrierRedOp::Or => registers.set_predicate(target, split.mask, all(state.holds > 0)),
                    }
                });
            }
        }
    }

    fn fault(&self, warp: usize, Raised { pc, lane, kind }: Raised) -> Box<Fault> {
        self.fault_of(self.env.rank, (warp * LANES) as u32 + lane, pc, kind)
    }

    /// A fault of a thread of the block of rank `rank`.
    fn fault_of(&self, rank: u32, thread: u32, pc: u32, kind: FaultKind) -> Box<Fault> {
        let kernel = self.env.grid.kernel;
        let place = self.env.program.places[pc as usize];
        Box::new(Fault {
            kernel: kernel.name().to_owned(),
            module: kernel.module_name().to_owned(),
            block: self.env.grid.config.grid.position(self.env.ticket_of(rank)),
            thread: self.env.grid.config.block.position(thread.into()),
            line: place.line,
            instruction: kernel.text(place),
            frames: kernel.frames(place),
            kind,
        })
    }

    /// All splits, warp by warp.
    fn splits(&self) -> Vec<(&Warp, &Split)> {
        let mut splits: Vec<_> =
            self.warps.iter().flat_map(|warp| warp.splits.iter().map(move |split| (warp, split))).collect();
        splits.sort_by_key(|(warp, split)| (warp.index, split.mask.trailing_zeros()));
        splits
    }

    fn standing(&self, splits: &[(&Warp, &Split)]) -> Vec<Waiting> {
        let kernel = self.env.grid.kernel;
        let standing = splits.iter().map(|(warp, split)| {
            let place = self.env.program.places[split.pc as usize];
            Waiting { warp: warp.index, lanes: split.mask, line: place.line, instruction: kernel.text(place) }
        });
        standing.collect()
    }

    /// The fault of a block that is stopped from outside: `kind` is told where each warp stands.
    pub(crate) fn stopped(&self, kind: impl FnOnce(Vec<Waiting>) -> FaultKind) -> Box<Fault> {
        let splits = self.splits();
        let kind = kind(self.standing(&splits));
        let (warp, split) = splits[0];
        self.fault(warp.index as usize, Raised { pc: split.pc, lane: split.mask.trailing_zeros(), kind })
    }

    /// Says who waits where, now that nobody can run.
    pub(crate) fn deadlock(&self) -> Box<Fault> {
        let splits = self.splits();
        let waiting = self.standing(&splits);
        let exited = self.threads - self.env.live;
        // The first thread at a barrier of the block stands for the fault, or else the first that waits.
        let barrier =
            splits.iter().find_map(|(warp, split)| match (&self.env.program.code[split.pc as usize].op, split.state) {
                (_, State::Barrier(id)) => Some((warp, split, id)),
                (Op::Barrier(barrier), _) => {
                    let lane = split.mask.trailing_zeros() as usize;
                    Some((warp, split, warp.registers.words[barrier.id as usize][lane]))
                }
                _ => None,
            });
        let mbarrier = splits.iter().find_map(|(warp, split)| {
            let Op::TryWait(wait) = &self.env.program.code[split.pc as usize].op else { return None };
            let stuck = mbarrier::stuck(wait, &self.env, &warp.registers, split.mask.trailing_zeros())?;
            (split.state == State::Event).then_some((warp, split, stuck))
        });
        let (warp, split, kind) = match (barrier, mbarrier) {
            (_, Some((warp, split, (arrivals, bytes, in_flight)))) => {
                (warp, split, FaultKind::Mbarrier { arrivals, bytes, in_flight, waiting, exited })
            }
            (Some((warp, split, id)), _) => (warp, split, FaultKind::Barrier { id, waiting, exited }),
            (None, None) => (&splits[0].0, &splits[0].1, FaultKind::Deadlock { waiting, exited }),
        };
        self.fault(warp.index as usize, Raised { pc: split.pc, lane: split.mask.trailing_zeros(), kind })
    }
}

/// The lanes of each warp that wait at barrier `id`.
fn waiting_at(warps: &[Warp], id: u32) -> impl Iterator<Item = (u32, u32)> {
    warps.iter().filter_map(move |warp| {
        let waits = warp.splits.iter().filter(|split| split.state == State::Barrier(id));
        let lanes = waits.fold(0, |lanes, split| lanes | split.mask);
        (lanes != 0).then_some((warp.index, lanes))
    })
}

/// The registers of a warp, with those that nothing writes filled in.
fn registers(grid: &Grid<'_>, program: &Program, warp: u32) -> Registers {
    let mut registers = Registers {
        words: vec![[0; LANES]; program.words],
        doubles: vec![[0; LANES]; program.doubles],
        predicates: vec![0; program.predicates],
    };
    let value = |init: Init, lane: usize| match init {
        Init::Const(value) => value,
        Init::Special(special) => u64::from(special_value(special, grid, warp, lane as u32)),
        Init::Variable(index, addend) => grid.variables[index as usize].wrapping_add_signed(addend),
    };
    for (register, init) in &program.word_values {
        registers.words[*register as usize] = std::array::from_fn(|lane| value(*init, lane) as u32);
    }
    for (register, init) in &program.double_values {
        registers.doubles[*register as usize] = std::array::from_fn(|lane| value(*init, lane));
    }
    registers
}

/// Zeroes the registers that a lane may read before it writes them.
fn zero(registers: &mut Registers, program: &Program) {
    for &register in &program.zeroed_words {
        registers.words[register as usize] = [0; LANES];
    }
    for &register in &program.zeroed_doubles {
        registers.doubles[register as usize] = [0; LANES];
    }
    for &register in &program.zeroed_predicates {
        registers.predicates[register as usize] = 0;
    }
}

/// A special register that holds a part of a block's position, in clusters of `cluster` blocks.
fn positional(special: SpecialReg, position: Dim3, cluster: u32) -> Option<u32> {
    let Dim3 { x, y, z } = position;
    let axis = |dim: Dim3, axis: Axis| match axis {
        Axis::X => dim.x,
        Axis::Y => dim.y,
        Axis::Z => dim.z,
    };
    match special {
        SpecialReg::Ctaid(a) => Some(axis(position, a)),
        SpecialReg::ClusterId(a) => Some(axis(Dim3 { x: x / cluster, y, z }, a)),
        SpecialReg::ClusterCtaid(a) => Some(axis(Dim3::from((x % cluster, 0, 0)), a)),
        SpecialReg::ClusterCtaRank => Some(x % cluster),
        _ => None,
    }
}

/// A special register that does not change while a block runs. (The block's position is filled in later.)
fn special_value(special: SpecialReg, grid: &Grid<'_>, warp: u32, lane: u32) -> u32 {
    let block = grid.config.block;
    let axis = |dim: Dim3, axis: Axis| match axis {
        Axis::X => dim.x,
        Axis::Y => dim.y,
        Axis::Z => dim.z,
    };
    match special {
        SpecialReg::Tid(a) => axis(block.position(u64::from(warp) * LANES as u64 + u64::from(lane)), a),
        SpecialReg::Ntid(a) => axis(block, a),
        SpecialReg::Nctaid(a) => axis(grid.config.grid, a),
        SpecialReg::NClusterId(a) => axis(Dim3 { x: grid.config.grid.x / grid.cluster, ..grid.config.grid }, a),
        SpecialReg::ClusterNctaid(a) => axis(Dim3::from((grid.cluster, 1, 1)), a),
        SpecialReg::ClusterNctaRank => grid.cluster,
        SpecialReg::IsExplicitCluster => u32::from(grid.has_clusters),
        SpecialReg::EnvReg(1) => (grid.workspace >> 32) as u32,
        SpecialReg::EnvReg(2) => grid.workspace as u32,
        SpecialReg::LaneId => lane,
        SpecialReg::WarpId => warp,
        SpecialReg::NWarpId => block.count().div_ceil(LANES as u128) as u32,
        SpecialReg::NSmId => 1,
        SpecialReg::LaneMaskEq => 1 << lane,
        SpecialReg::LaneMaskLt => (1 << lane) - 1,
        SpecialReg::LaneMaskLe => u32::MAX >> (31 - lane),
        SpecialReg::LaneMaskGe => u32::MAX << lane,
        SpecialReg::LaneMaskGt => !(u32::MAX >> (31 - lane)),
        SpecialReg::TotalSmemSize => grid.kernel.static_shared_bytes() + grid.config.dynamic_shared_bytes,
        SpecialReg::DynamicSmemSize => grid.config.dynamic_shared_bytes,
        // None is reserved: it would begin behind all that a block can have.
        SpecialReg::ReservedSmemOffset => MAX_SHARED_BYTES,
        // One multiprocessor, one grid; clocks are instructions of their own.
        SpecialReg::Ctaid(_)
        | SpecialReg::ClusterId(_)
        | SpecialReg::ClusterCtaid(_)
        | SpecialReg::ClusterCtaRank
        | SpecialReg::ReservedSmemCap
        | SpecialReg::EnvReg(_)
        | SpecialReg::SmId
        | SpecialReg::GridId
        | SpecialReg::Clock
        | SpecialReg::ClockHi
        | SpecialReg::Clock64
        | SpecialReg::GlobalTimer
        | SpecialReg::GlobalTimerLo
        | SpecialReg::GlobalTimerHi => 0,
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, ticket: u64) -> Random {
        Random(seed ^ ticket.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `bound`, close enough to uniform for a schedule.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
