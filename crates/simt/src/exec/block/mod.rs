//! A block: its warps, and the turns that they take.

mod stop;

use crate::dim::Dim3;
use crate::exec::asynchronous::transfer;
use crate::exec::cluster_state::ClusterState;
use crate::exec::env::{BarrierState, Env};
use crate::exec::fill::{positional, registers, zero};
use crate::exec::job::Job;
use crate::exec::livelock::Watch;
use crate::exec::observer::Observer;
use crate::exec::random::Random;
use crate::exec::split::State;
use crate::exec::warp::{Outcome, Warp};
use crate::fault::{Fault, FaultKind};
use crate::ir::{BarrierKind, Init, Op};
use crate::ptx::ast::{BarrierRedOp, SpecialReg};
use crate::registers::LANES;

/// How many instructions a warp runs in one turn.
const WARP_QUANTUM: u64 = 1024;
/// A block that has run this many warp instructions without an effect on others is taken to wait
/// for another block.
const WAITING_QUANTUM: u64 = 4096;
/// The number that takes the place of [`WAITING_QUANTUM`] in cooperative launches. It is smaller
/// because their blocks often wait for each other.
const TOGETHER_QUANTUM: u64 = 512;

/// The state of a block at the end of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    Unfinished,
    /// The block is unfinished, and for a while it has done nothing that other blocks could see.
    Waiting,
    /// All its threads wait. Only another block of the cluster can make it continue.
    Blocked,
}

/// A block on a worker. The worker reuses the object for one block after another.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    env: Env<'a>,
    warps: Vec<Warp>,
    threads: u32,
    /// The registers that hold parts of the block's position in the grid.
    position: Vec<(u32, SpecialReg)>,
    random: Option<Random>,
    /// How many events of the cluster had happened when the warps were last woken.
    events: u32,
    progress: Progress,
    /// Whether the block has done something that others can see, or has ended, since
    /// [`Block::take_acted`] was last called.
    acted: bool,
    /// How many warp instructions have run since the block last did something that others can see.
    calm: u64,
    watch: Watch,
}

impl<'a> Block<'a> {
    /// A block of rank `rank` in its cluster.
    pub(crate) fn new(job: &'a Job<'a>, rank: u32) -> Block<'a> {
        let program = job.kernel.program();
        let threads = job.config.block.count() as u32;
        let warps = threads.div_ceil(LANES as u32);
        let env = Env {
            job,
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
            Warp::new(index, u32::MAX >> (LANES as u32 - lanes), registers(job, program, index))
        };
        let position = program.word_values.iter().filter_map(|(register, init)| match init {
            Init::Special(special) if positional(*special, Dim3::from(0), 1).is_some() => {
                Some((*register, *special))
            }
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

    /// Takes the cluster's shared state at the beginning of a turn, and gives it back at the end.
    pub(crate) fn swap(&mut self, state: &mut ClusterState) {
        std::mem::swap(&mut self.env.cluster, state);
        let ClusterState { shared, .. } =
            if state.shared.is_empty() { &mut self.env.cluster } else { state };
        std::mem::swap(&mut self.env.shared, &mut shared[self.env.rank as usize]);
    }

    /// Makes this the block with linear index `ticket`, before its first instruction.
    pub(crate) fn start(&mut self, ticket: u64) {
        self.env.ticket = ticket;
        self.events = 0;
        self.progress = Progress::Unfinished;
        self.calm = 0;
        self.watch = Watch::default();
        self.random = self.env.job.seed.map(|seed| Random::new(seed, ticket));
        self.env.live = self.threads;
        self.env.barriers = [BarrierState::default(); 16];
        self.env.shared.fill(0);
        self.env.local.fill(0);
        let position = self.env.job.config.grid.position(ticket);
        for warp in &mut self.warps {
            for (register, special) in &self.position {
                let value =
                    positional(*special, position, self.env.job.cluster).unwrap_or_default();
                warp.registers.words[*register as usize] = [value; LANES];
            }
            zero(&mut warp.registers, self.env.program);
            warp.start(self.env.program.entry);
        }
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.env.ticket
    }

    /// The number of the block's launch among those that run together.
    pub(crate) fn launch(&self) -> usize {
        self.env.job.launch
    }

    /// The seed of the launch.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.env.job.seed
    }

    /// How many threads the block has.
    pub(crate) fn threads(&self) -> u32 {
        self.threads
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.progress == Progress::Finished
    }

    pub(crate) fn seems_to_wait(&self) -> bool {
        self.progress == Progress::Waiting
    }

    /// Returns whether the block has done something that others can see, or has ended, since the
    /// last call.
    pub(crate) fn take_acted(&mut self) -> bool {
        std::mem::take(&mut self.acted)
    }

    /// Returns whether the block is known never to end unless memory changes. The caller asks after
    /// each turn, and `epoch` is the number of changes to memory so far.
    pub(crate) fn is_stuck(&mut self, epoch: u64) -> bool {
        let stride = self.env.program.local_stride();
        self.is_finished() || self.watch.look(epoch, &self.warps, &self.env.local, stride)
    }

    /// Runs about `quantum` warp instructions, or fewer if the block seems to wait, and returns how
    /// many ran.
    #[inline]
    pub(crate) fn run<O: Observer>(
        &mut self,
        observer: &mut O,
        quantum: u64,
    ) -> (Result<Progress, Box<Fault>>, u64) {
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
            transfer::finish_block(&mut self.env, observer);
            self.env.cluster.ended |= 1 << self.env.rank;
            observer.end(&self.env);
        }
        (progress, spent)
    }

    #[inline]
    fn run_counted<O: Observer>(
        &mut self,
        observer: &mut O,
        quantum: u64,
        spent: &mut u64,
    ) -> Result<Progress, Box<Fault>> {
        let patience =
            if self.env.job.config.cooperative { TOGETHER_QUANTUM } else { WAITING_QUANTUM };
        if self.random.is_none() {
            self.calm = 0;
        }
        loop {
            let mut progressed = false;
            let began = *spent;
            let first = self
                .random
                .as_mut()
                .map_or(0, |random| random.below(self.warps.len() as u64) as usize);
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

    /// Releases the threads that wait at barriers that are complete.
    #[inline]
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
                        BarrierRedOp::Popc => registers.put_word(target, split.mask, state.holds),
                        BarrierRedOp::And => {
                            registers.set_predicate(
                                target,
                                split.mask,
                                all(state.holds == state.counted),
                            );
                        }
                        BarrierRedOp::Or => {
                            registers.set_predicate(target, split.mask, all(state.holds > 0));
                        }
                    }
                });
            }
        }
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
