//! What the next rung of the ladder takes away from a rung, as counted.

use std::collections::BTreeMap;

use simt::InstructionCounters;

use super::{
    measures::{ideal_sectors, opcode, sectors},
    profiled::Profiled,
};
use crate::{
    output::grouped,
    variant::{Coverage, Variant},
};

/// The folder of the kernels' sources, and the folder in it whose lines stand for whole kernels.
const KERNELS: &str = "kernels/src/";
const TABLES: &str = "kernels/src/exports/";
/// The file with the test whether an element is there. Every rung up to 6 has this test.
const BOUNDS: &str = "kernels/src/ladder.rs";
/// How many source lines a sentence names.
const NAMED_LINES: usize = 3;

/// What a rung spends and the next rung does not spend, or spends less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burden {
    /// A launch for each level of the tree.
    LaunchPerLevel,
    /// Values between the steps that go to global memory and come back.
    GlobalSteps,
    /// Warps that go both ways, and the remainders that decide the way.
    Divergence,
    /// Words of one bank.
    BankConflicts,
    /// Threads that load one element and then add nothing.
    IdleThreads,
    /// Instructions that compare, branch and wait at barriers, while a single warp has work.
    LoopAndBarriers,
    /// Instructions that compare and branch, because the block size is not known.
    Loop,
    /// Threads that are started for two elements each.
    FewElementsPerThread,
    /// Requests to shared memory for values that are in registers already.
    SharedTree,
    /// Loads of one word for each lane.
    NarrowLoads,
    /// Launches that combine the results of blocks.
    LaterLaunches,
    /// Shuffles, five for each warp.
    Shuffles,
    /// Atomic operations and fences with which all blocks wait for all others.
    GridBarrier,
    /// Requests of threads to global memory.
    LoadsOfThreads,
    /// Barriers at which the warps of a block combine their values.
    BlockBarriers,
}

impl Burden {
    /// The burden that the next rung takes away; `None` for the last rung.
    pub const fn of(variant: Variant) -> Option<Self> {
        Some(match variant {
            Variant::Naive => Self::LaunchPerLevel,
            Variant::Global => Self::GlobalSteps,
            Variant::InterleavedModulo => Self::Divergence,
            Variant::InterleavedContiguous => Self::BankConflicts,
            Variant::Sequential => Self::IdleThreads,
            Variant::FirstAdd => Self::LoopAndBarriers,
            Variant::WarpUnrolled => Self::Loop,
            Variant::CompletelyUnrolled => Self::FewElementsPerThread,
            Variant::MultipleElements => Self::SharedTree,
            Variant::Shuffle => Self::NarrowLoads,
            Variant::Vectorized | Variant::Redux | Variant::Bulk => Self::LaterLaunches,
            Variant::SinglePass => Self::Shuffles,
            Variant::Cooperative => Self::GridBarrier,
            Variant::Cluster => Self::LoadsOfThreads,
            Variant::AtomicBlock => Self::BlockBarriers,
            Variant::AtomicWarp => return None,
        })
    }

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LaunchPerLevel => "launch_per_level",
            Self::GlobalSteps => "global_steps",
            Self::Divergence => "divergence",
            Self::BankConflicts => "bank_conflicts",
            Self::IdleThreads => "idle_threads",
            Self::LoopAndBarriers => "loop_and_barriers",
            Self::Loop => "loop",
            Self::FewElementsPerThread => "few_elements_per_thread",
            Self::SharedTree => "shared_tree",
            Self::NarrowLoads => "narrow_loads",
            Self::LaterLaunches => "later_launches",
            Self::Shuffles => "shuffles",
            Self::GridBarrier => "grid_barrier",
            Self::LoadsOfThreads => "loads_of_threads",
            Self::BlockBarriers => "block_barriers",
        }
    }

    /// How much of this a reduction spends, in the unit of what the sentence names first.
    pub fn amount(self, profiled: &Profiled) -> u64 {
        let counters = &profiled.counters;
        match self {
            Self::LaunchPerLevel | Self::LaterLaunches => profiled.launches.len() as u64 - 1,
            Self::GlobalSteps => sectors(counters).saturating_sub(ideal_sectors(&profiled.plan)),
            Self::Divergence => counters.divergent_branches,
            Self::BankConflicts => counters.bank_conflicts(),
            Self::IdleThreads => profiled.wastes().idle_turns(),
            Self::LoopAndBarriers => instructions(profiled, is_control),
            Self::Loop => instructions(profiled, is_of_loop),
            Self::FewElementsPerThread => threads(profiled),
            Self::SharedTree => counters.shared.load.requests + counters.shared.store.requests,
            Self::NarrowLoads | Self::LoadsOfThreads => counters.global.load.requests,
            Self::Shuffles => counters.shuffles,
            Self::GridBarrier => counters.global.atomic.requests + counters.fences,
            Self::BlockBarriers => counters.barriers,
        }
    }

    /// What is taken away, with its figures, as the end of a sentence that begins "Rung 5 takes
    /// away".
    fn describe(self, profiled: &Profiled) -> String {
        let counters = &profiled.counters;
        let amount = grouped(self.amount(profiled));
        match self {
            Self::LaunchPerLevel => format!(
                "the launches for single levels of the tree: {amount} launches follow the first, and each reads and writes global memory"
            ),
            Self::GlobalSteps => format!(
                "the steps in global memory: {amount} sectors beyond the input and one result hold values between the steps"
            ),
            Self::Divergence => format!(
                "the divergence and the remainders: {amount} branches split their warp, and a remainder decides the way {} times",
                grouped(profiled.wastes().divisions)
            ),
            Self::BankConflicts => {
                format!(
                    "the bank conflicts: {amount} wavefronts of shared memory would not be needed if lanes accessed neighbouring words"
                )
            }
            Self::IdleThreads => format!(
                "idle threads: half of the threads load one element and add nothing, and at least {amount} times a warp came to a \
                 barrier although it had stored nothing since its previous barrier"
            ),
            Self::LoopAndBarriers => format!(
                "instructions of the loop and its barriers: {} compare, branch or wait{}",
                share(profiled, is_control),
                named_lines(profiled, is_control)
            ),
            Self::Loop => format!(
                "the loop itself: {} compare, branch or count{}",
                share(profiled, is_of_loop),
                named_lines(profiled, is_of_loop)
            ),
            Self::FewElementsPerThread => {
                let per_thread = match profiled.plan.problem.variant.facts().coverage {
                    Coverage::PerThread(elements) => elements,
                    Coverage::Pairs | Coverage::GridStride(_) => 2,
                };
                format!(
                    "threads with too little work: {amount} threads are started, each for {per_thread} elements, and a warp runs {:.0} \
                     instructions for them",
                    32.0 * counters.warp_instructions as f64 / threads(profiled).max(1) as f64
                )
            }
            Self::SharedTree => format!(
                "the tree in shared memory: it takes {amount} requests and {} arrivals of warps at barriers, although the values are \
                 in registers already",
                grouped(counters.barriers)
            ),
            Self::NarrowLoads => {
                let bytes = counters.global.load.bytes as f64
                    / counters.global.load.requests.max(1) as f64
                    / 32.0;
                format!(
                    "narrow loads: {amount} requests ask for {bytes:.0} bytes for each lane, and a lane can ask for 16"
                )
            }
            Self::LaterLaunches => format!(
                "the launches that only combine the results of blocks: {amount} {} the first",
                if self.amount(profiled) == 1 {
                    "such launch follows"
                } else {
                    "such launches follow"
                }
            ),
            Self::Shuffles => format!(
                "the shuffles: {amount} of them move values between lanes, and each is followed by an addition of its own"
            ),
            Self::GridBarrier => format!(
                "the barrier for the whole grid: there every block waits for every other block, which takes {amount} atomic operations and \
                 fences"
            ),
            Self::LoadsOfThreads => format!(
                "the loads of threads: the threads make {amount} requests to global memory, and for each of them they compute addresses and \
                 hold registers"
            ),
            Self::BlockBarriers => format!(
                "the block's own tree: it takes {amount} arrivals of warps at barriers and {} requests to shared memory",
                grouped(counters.shared.load.requests + counters.shared.store.requests)
            ),
        }
    }
}

impl Profiled {
    /// A sentence on what the next rung of the ladder takes away from this one.
    ///
    /// ```
    /// use warpfold_lab::{profile::Burden, variant::Variant};
    /// assert_eq!(Burden::of(Variant::InterleavedContiguous), Some(Burden::BankConflicts));
    /// ```
    pub fn next_sentence(&self) -> String {
        let variant = self.plan.problem.variant;
        let next = Variant::all().skip_while(|&other| other != variant).nth(1);
        match (Burden::of(variant), next) {
            (Some(burden), Some(next)) if burden.amount(self) > 0 => {
                format!("Rung {next} takes away {}.", burden.describe(self))
            }
            (Some(_), Some(next)) => format!(
                "What rung {next} takes away does not occur with n = {}, but with more elements.",
                grouped(self.plan.problem.n)
            ),
            _ => format!(
                "No rung follows: the {} atomic operations on one cell of global memory are left.",
                grouped(
                    self.counters.global.reduction.requests + self.counters.global.atomic.requests
                )
            ),
        }
    }
}

/// The number of threads that all launches start.
fn threads(profiled: &Profiled) -> u64 {
    let of_launch =
        |shape: &crate::device::LaunchShape| shape.grid.count() as u64 * shape.block.count() as u64;
    profiled.launches.iter().map(|launch| of_launch(&launch.shape)).sum()
}

/// Whether an instruction compares, branches or waits at a barrier.
fn is_control(instruction: &InstructionCounters) -> bool {
    let opcode = opcode(&instruction.text);
    ["setp.", "bra", "bar.", "barrier."].iter().any(|prefix| opcode.starts_with(prefix))
}

/// Whether an instruction compares, branches or halves a counter.
fn is_of_loop(instruction: &InstructionCounters) -> bool {
    let opcode = opcode(&instruction.text);
    ["setp.", "bra", "shr."].iter().any(|prefix| opcode.starts_with(prefix))
}

/// The warp instructions of one kind, without the test whether an element is there.
fn instructions(profiled: &Profiled, is_one: fn(&InstructionCounters) -> bool) -> u64 {
    let chosen = profiled.instructions.iter().filter(|instruction| {
        is_one(instruction) && place(instruction).is_none_or(|(file, _)| file != BOUNDS)
    });
    chosen.map(|instruction| instruction.counters.warp_instructions).sum()
}

/// The innermost line of the kernels' sources that an instruction was compiled from.
fn place(instruction: &InstructionCounters) -> Option<(&str, u32)> {
    let mut frames = instruction.frames.iter();
    let frame =
        frames.find(|frame| frame.file.starts_with(KERNELS) && !frame.file.starts_with(TABLES))?;
    Some((&frame.file, frame.line))
}

/// Such as `1 200 of 4 000 warp instructions (30 %)`.
fn share(profiled: &Profiled, is_one: fn(&InstructionCounters) -> bool) -> String {
    let (some, all) = (instructions(profiled, is_one), profiled.counters.warp_instructions);
    format!(
        "{} of {} warp instructions ({:.0} %)",
        grouped(some),
        grouped(all),
        100.0 * some as f64 / all.max(1) as f64
    )
}

/// The source lines with most of these instructions, each with its share of all instructions, as
/// the end of a sentence. Empty if the PTX names no lines.
fn named_lines(profiled: &Profiled, is_one: fn(&InstructionCounters) -> bool) -> String {
    let mut lines: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for instruction in profiled.instructions.iter().filter(|instruction| is_one(instruction)) {
        if let Some(place) = place(instruction).filter(|(file, _)| *file != BOUNDS) {
            *lines.entry(place).or_default() += instruction.counters.warp_instructions;
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all = profiled.counters.warp_instructions.max(1) as f64;
    let named: Vec<String> = lines
        .iter()
        .take(NAMED_LINES)
        .map(|((file, line), count)| {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("{name}:{line} ({:.0} %)", 100.0 * *count as f64 / all)
        })
        .collect();
    match named.split_last() {
        None => String::new(),
        Some((last, [])) => format!(", most of them in line {last}"),
        Some((last, others)) => {
            format!(", most of them in the lines {} and {last}", others.join(", "))
        }
    }
}
