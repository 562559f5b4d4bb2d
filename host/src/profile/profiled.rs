//! A reduction and its counters from the simulator.

use simt::{
    Counters, InstructionCounters, Profile,
    occupancy::{Gpu, Occupancy, occupancy},
};

use super::{polls::on_polls, registers::Registers, waste::Wastes};
use crate::{
    device::{LaunchShape, Observation, Seen},
    launch::Plan,
    tune::{Entry, tuned_note},
};

/// One launch and its counters.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The grid, the block and the shared memory.
    pub shape: LaunchShape,
    /// The counters of the launch.
    pub profile: Profile,
}

/// The GPU that a reduction is meant for, and the resources that the kernel takes there.
#[derive(Clone, Debug)]
pub struct Target {
    /// The GPU.
    pub gpu: Gpu,
    /// The number of registers of a thread.
    pub registers: Registers,
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: u32,
}

/// A reduction whose launches were counted. There is at least one launch.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The plan that was launched.
    pub plan: Plan,
    /// A description of the elements, such as `seed 1`.
    pub input: String,
    /// The GPU that the reduction is meant for.
    pub target: Target,
    /// The entry of the tuning that chose the shape; `None` if tuning did not choose it.
    pub tuned: Option<Entry>,
    /// The launches in order.
    pub launches: Vec<Launch>,
    /// The counters of all launches together.
    pub counters: Counters,
    /// The kernel's instructions, all launches together, in the order of the PTX text.
    pub instructions: Vec<InstructionCounters>,
}

/// A GPU for which launches are planned, such as `h100, 132 multiprocessors`.
pub fn describe_gpu(gpu: &Gpu) -> String {
    format!("{}, {} multiprocessors", gpu.name, gpu.multiprocessors)
}

impl Profiled {
    /// Makes a profile of what [`Instrument::Count`](crate::device::Instrument::Count) saw of a
    /// plan. `None` if it saw no launch. The profile says nothing of tuning.
    pub fn new(
        plan: Plan,
        input: String,
        target: Target,
        observations: Vec<Observation>,
    ) -> Option<Self> {
        let launches: Vec<Launch> = observations
            .into_iter()
            .filter_map(|Observation { shape, seen, .. }| match seen {
                Seen::Counted(profile) => Some(Launch { shape, profile: *profile }),
                Seen::Checked(_) => None,
            })
            .collect();
        let (first, later) = launches.split_first()?;
        let mut counters = first.profile.counters;
        let mut instructions = first.profile.instructions.clone();
        for launch in later {
            counters += launch.profile.counters;
            // All launches are of one kernel, so their instructions are the same.
            for (sum, other) in instructions.iter_mut().zip(&launch.profile.instructions) {
                sum.counters += other.counters;
            }
        }
        Some(Self { plan, input, target, tuned: None, launches, counters, instructions })
    }

    /// How many blocks of the first launch a multiprocessor holds.
    pub fn occupancy(&self) -> Occupancy {
        let Target { gpu, registers, static_shared_bytes } = &self.target;
        let LaunchShape { block, shared_bytes, .. } = self.launches[0].shape;
        occupancy(gpu, block.count() as u32, static_shared_bytes + shared_bytes, registers.count())
    }

    /// Whether the counters hold polls, whose number is the simulator's own.
    pub fn polls(&self) -> bool {
        self.plan.problem.variant.polls()
    }

    /// A sentence on the shape, if tuning chose it.
    pub(super) fn tuned_note(&self) -> Option<String> {
        self.tuned.as_ref().map(|entry| tuned_note(&self.plan, entry.n))
    }

    /// Sentences on the waste, or on why there is no verdict.
    pub fn verdict(&self) -> String {
        if self.polls() { on_polls(self.plan.problem.variant) } else { self.wastes().sentence() }
    }

    /// The waste of the reduction.
    pub fn wastes(&self) -> Wastes {
        Wastes::new(&self.plan, &self.counters, &self.instructions)
    }
}
