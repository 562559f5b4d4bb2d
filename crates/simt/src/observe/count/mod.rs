//! Counts of the actions of a launch, as a whole and for each instruction.

mod counters;

use std::collections::BTreeMap;

pub use counters::{
    Banks, Cluster, Copies, Counters, Global, Local, Mbarriers, Requests, Shared, Traffic,
};

use crate::exec::access::Request;
use crate::exec::config::LaunchConfig;
use crate::exec::copies::Copy;
use crate::exec::env::Env;
use crate::exec::launch::{Arg, LaunchError, run};
use crate::exec::memory::Memory;
use crate::exec::observer::{At, Meeting, Observer};
use crate::ir::{Async, Collective, Op, Place, Program, Space};
use crate::module::Kernel;
use crate::observe::check::{Report, Reports, Warnings};
use crate::observe::hardware::Service;
use crate::ptx::ast::{self, Frame};

/// The counts of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The kernel's name.
    pub kernel: String,
    /// The counters of the whole launch.
    pub counters: Counters,
    /// The kernel's instructions, in the order of the PTX text. An instruction that was inlined at
    /// several places is listed once.
    pub instructions: Vec<InstructionCounters>,
    /// What is found without checks, as by [`launch_and_warn`](crate::launch_and_warn()).
    pub warnings: Vec<Report>,
}

/// The counts of one PTX instruction in a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionCounters {
    /// The line of the instruction in the PTX text, from 1.
    pub line: u32,
    /// The instruction as written.
    pub text: String,
    /// The source lines from which the instruction was compiled, innermost first; empty if the PTX
    /// does not contain them.
    pub frames: Vec<Frame>,
    /// The instruction's share of the launch's counters.
    pub counters: Counters,
}

/// Runs a kernel to its end and counts its actions. The counters do not depend on the number of
/// workers, as long as the kernel does the same in every order of its blocks. A cooperative launch
/// is counted on one worker. In another launch, the number of times that a block polls for a later
/// or slower block does depend on the number of workers: ask for one worker there.
///
/// # Errors
/// The errors of [`launch`](crate::launch()).
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, count};
///
/// // Each lane reads every second word: twice the sectors that 128 bytes need.
/// let module = Module::from_ptx(
///     "stride.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry stride(.param .u64 data) {
///          .reg .b32 %r<3>;
///          .reg .b64 %rd<4>;
///          ld.param.u64 %rd1, [data];
///          mov.u32 %r1, %tid.x;
///          mul.wide.u32 %rd2, %r1, 8;
///          add.s64 %rd3, %rd1, %rd2;
///          ld.global.u32 %r2, [%rd3];
///          ret;
///      }",
/// )?;
/// let memory = Memory::new(1 << 20);
/// let data = memory.alloc(256)?;
/// let kernel = module.kernel("stride").ok_or("no such kernel")?;
/// let profile = count(kernel, &LaunchConfig::new(1, 32), &[Arg::Pointer(data)], &memory)?;
/// assert_eq!(profile.counters.warp_instructions, 6);
/// assert_eq!(profile.counters.global.load.requests, 1);
/// assert_eq!(profile.counters.global.load.sectors, 8);
/// assert_eq!(profile.instructions[4].text, "ld.global.u32 %r2, [%rd3];");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn count(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
) -> Result<Profile, LaunchError> {
    let program = kernel.program();
    // The number of rounds of a loop that waits for another block depends on the number of workers.
    let workers = if config.cooperative {
        config.workers.map(|workers| workers.min(1)).or(Some(1))
    } else {
        config.workers
    };
    let config = &LaunchConfig { workers, ..*config };
    let (observers, fault) = run(kernel, config, args, memory, || Count::new(program))?;
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    let mut tallies = vec![Tally::default(); program.code.len()];
    let mut warnings = Vec::new();
    for count in observers {
        for (tally, other) in tallies.iter_mut().zip(&count.tallies) {
            tally.add(other);
        }
        warnings.push(count.warnings.0);
    }
    Ok(profile(kernel, &tallies, Reports::joined(warnings)))
}

/// The counts of one lowered instruction of any kind.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    executions: u64,
    lanes: u64,
    divergent: u64,
    global: Traffic,
    shared: Banks,
    /// Accesses to local memory and parameters.
    other: Requests,
    /// Accesses to the shared memory of other blocks.
    peer: Requests,
    copies: Copies,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.executions += other.executions;
        self.lanes += other.lanes;
        self.divergent += other.divergent;
        self.global += other.global;
        self.shared += other.shared;
        self.other += other.other;
        self.peer += other.peer;
        self.copies += other.copies;
    }
}

/// The observer that counts for one worker.
#[derive(Debug)]
struct Count {
    /// The counts of each instruction, by program counter.
    tallies: Vec<Tally>,
    warnings: Warnings,
}

impl Count {
    fn new(program: &Program) -> Count {
        let tallies = vec![Tally::default(); program.code.len()];
        Count { tallies, warnings: Warnings::default() }
    }
}

impl Observer for Count {
    #[inline(always)]
    fn instruction(&mut self, at: At, active: u32) {
        let tally = &mut self.tallies[at.pc as usize];
        tally.executions += 1;
        tally.lanes += u64::from(active.count_ones());
    }

    #[inline(always)]
    fn branch(&mut self, at: At, taken: u32, mask: u32) {
        self.tallies[at.pc as usize].divergent += u64::from(taken != 0 && taken != mask);
    }

    #[inline]
    fn access(&mut self, _env: &Env<'_>, at: At, request: &Request) {
        let tally = &mut self.tallies[at.pc as usize];
        let bytes = request.total * u64::from(request.mask.count_ones());
        match request.space {
            Space::Global | Space::Generic => {
                tally.global += Traffic { requests: 1, sectors: request.sectors(), bytes };
            }
            Space::Shared | Space::Cluster if request.peer.is_some() => {
                tally.peer += Requests { requests: 1, bytes }
            }
            Space::Shared | Space::Cluster => {
                let Service { wavefronts, conflicts } = request.service();
                tally.shared += Banks { requests: 1, wavefronts, bank_conflicts: conflicts, bytes };
            }
            Space::Local | Space::Param => tally.other += Requests { requests: 1, bytes },
        }
    }

    #[inline]
    fn meeting(&mut self, env: &Env<'_>, at: At, meeting: &Meeting<'_>) {
        self.warnings.meeting(env, at, meeting);
    }

    #[inline]
    fn copy_begin(&mut self, _env: &Env<'_>, at: At, copy: &Copy) {
        self.tallies[at.pc as usize].copies += Copies { copies: 1, bytes: u64::from(copy.bytes) };
    }
}

/// Sums the counts of the lowered instructions for each PTX instruction from which they came.
fn profile(kernel: &Kernel, tallies: &[Tally], warnings: Vec<Report>) -> Profile {
    let program = kernel.program();
    let mut instructions: BTreeMap<u32, (Place, Counters)> = BTreeMap::new();
    for ((inst, place), tally) in program.code.iter().zip(&program.places).zip(tallies) {
        let (_, counters) =
            instructions.entry(place.start).or_insert((*place, Counters::default()));
        if place.first {
            counters.warp_instructions += tally.executions;
            counters.thread_instructions += tally.lanes;
        }
        *counters += counters_of(&inst.op, tally);
    }
    let mut sum = Counters::default();
    let instructions = instructions
        .into_values()
        .map(|(place, counters)| {
            sum += counters;
            let (text, frames) = (kernel.text(place), kernel.frames(place));
            InstructionCounters { line: place.line, text, frames, counters }
        })
        .collect();
    Profile { kernel: kernel.name().to_owned(), counters: sum, instructions, warnings }
}

/// The counters to which a tally leads, given the kind of the instruction.
fn counters_of(op: &Op, tally: &Tally) -> Counters {
    let mut counters = Counters::default();
    let Tally { executions, divergent, global, shared, other, peer, copies, .. } = *tally;
    match op {
        // A branch that was a call or a return in the PTX text does not count as a branch.
        Op::Bra { written: false, .. } => {}
        Op::Bra { .. } | Op::BrxIdx { .. } => {
            counters.branches = executions;
            counters.divergent_branches = divergent;
        }
        Op::Load(load) if load.written == ast::Space::Const => {
            counters.constant = Requests { requests: global.requests, bytes: global.bytes };
        }
        Op::Load(load) => {
            counters.global.load = global;
            counters.shared.load = shared;
            counters.cluster.load = peer;
            if load.written != ast::Space::Param {
                counters.local.load = other;
            }
        }
        Op::Store(store) => {
            counters.global.store = global;
            counters.shared.store = shared;
            counters.cluster.store = peer;
            if store.written != ast::Space::Param {
                counters.local.store = other;
            }
        }
        Op::Atomic(atomic) => {
            let kind = if atomic.target.is_some() {
                &mut counters.global.atomic
            } else {
                &mut counters.global.reduction
            };
            *kind = global;
            counters.shared.atomic = shared;
            counters.cluster.atomic = peer;
        }
        Op::Barrier(_) => counters.barriers = executions,
        Op::Cluster { .. } => counters.cluster.barriers = executions,
        Op::TryWait(_) => counters.mbarrier.operations = executions,
        Op::Async(op) => match **op {
            Async::Bulk(_) => counters.bulk = copies,
            Async::Copy { .. } => counters.async_copy = copies,
            Async::Commit { .. } | Async::Wait { .. } => {}
            _ => counters.mbarrier.operations = executions,
        },
        Op::WarpSync { .. } => counters.warp_syncs = executions,
        Op::Collective { collective, .. } => match **collective {
            Collective::Shuffle { .. } => counters.shuffles = executions,
            _ => counters.votes = executions,
        },
        Op::Fence { .. } | Op::ProxyFence => counters.fences = executions,
        _ => {}
    }
    counters
}
