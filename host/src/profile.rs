//! What a reduction does, counted on the simulator: figures beside their ideals, shares of the source's lines, and what
//! is wasted.
//!
//! All launches of a reduction are summed: those that combine the partial results of earlier ones count as well.
//!
//! ```
//! use warpfold_lab::{device::*, element::*, launch::*, op::Op, profile::*, ptx::PtxLibrary, reduce::*, variant::Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (library, device) = (PtxLibrary::embedded()?, Device::simulator_with(Instrument::Count));
//! let problem = Problem { variant: Variant::InterleavedContiguous, op: Op::Sum, element: ElementType::I32, n: 256 };
//! let limits = DeviceLimits::new(device.info(), device.free_memory()?);
//! let plan = plan(&problem, &Request::default(), &limits)?;
//! Runner::new(&device, &library).reduce(&plan, &Values::I32(vec![1; 256]), Runs::ONCE, |_| ())?;
//!
//! let target = Target { gpu: "h100".parse()?, registers: Registers::Given(16), static_shared_bytes: 0 };
//! let profiled = Profiled::new(plan, "ones".into(), target, device.take_observations()).ok_or("no launch")?;
//! assert_eq!(profiled.counters.global.load.sectors, 256 * 4 / 32);
//! assert_eq!(profiled.wastes().wastes[0].kind, WasteKind::BankConflicts);
//! assert_eq!(profiled.occupancy().percent, 100.0);
//! # Ok(())
//! # }
//! ```

mod compare;
mod figures;
mod json;
mod lines;
mod listing;
mod registers;
mod waste;

use std::io::{self, Write};

use simt::{
    Counters, InstructionCounters, Profile,
    occupancy::{Gpu, Occupancy, occupancy},
};

use crate::{
    device::{LaunchShape, Observation, Seen},
    launch::Plan,
    ptx::PtxLibrary,
    report::describe_launches,
};

pub use compare::Comparison;
pub use figures::{Figure, Level, figures, ideal_sectors};
pub(crate) use figures::{instructions_per_32_elements, sectors};
pub use lines::{Line, lines};
pub use registers::{Registers, registers};
pub use waste::{CURRENCY, Waste, WasteKind, Wastes, ideal_cost};

/// One launch and what it did.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Grid, block, shared memory.
    pub shape: LaunchShape,
    /// What it did.
    pub profile: Profile,
}

/// The GPU that a reduction is meant for, and what its compiler makes of the kernel.
#[derive(Clone, Debug)]
pub struct Target {
    /// The GPU.
    pub gpu: Gpu,
    /// Registers of a thread.
    pub registers: Registers,
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: u32,
}

/// A reduction whose launches were counted; at least one was.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// What was launched.
    pub plan: Plan,
    /// What the elements are, such as `seed 1`.
    pub input: String,
    /// What it is meant for.
    pub target: Target,
    /// The launches in order.
    pub launches: Vec<Launch>,
    /// All launches together.
    pub counters: Counters,
    /// The kernel's instructions, all launches together, in the order of the PTX text.
    pub instructions: Vec<InstructionCounters>,
}

impl Profiled {
    /// Puts together what [`Instrument::Count`](crate::device::Instrument::Count) saw of a plan; `None` if that is
    /// nothing.
    pub fn new(plan: Plan, input: String, target: Target, observations: Vec<Observation>) -> Option<Self> {
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
        Some(Self { plan, input, target, launches, counters, instructions })
    }

    /// How many blocks of the first launch a multiprocessor holds.
    pub fn occupancy(&self) -> Occupancy {
        let Target { gpu, registers, static_shared_bytes } = &self.target;
        let LaunchShape { block, shared_bytes, .. } = self.launches[0].shape;
        occupancy(gpu, block.count() as u32, static_shared_bytes + shared_bytes, registers.count())
    }

    /// What is wasted.
    pub fn wastes(&self) -> Wastes {
        Wastes::new(&self.plan, &self.counters, &self.instructions)
    }

    /// Writes it for people: the figures, the source (or the PTX, where `library` has no source for it) with what each
    /// line does, and what is wasted.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn write_text(&self, library: &PtxLibrary, out: &mut impl Write) -> io::Result<()> {
        let problem = &self.plan.problem;
        let facts = problem.variant.facts();
        writeln!(out, "kernel     {} (variant {}, {})", self.plan.kernel, facts.label, facts.name)?;
        writeln!(out, "input      {} {} elements, {}", problem.n, problem.element, self.input)?;
        let summed = if self.launches.len() > 1 { "; all are summed up here" } else { "" };
        writeln!(out, "launches   {}{summed}", describe_launches(&self.plan))?;
        writeln!(out, "occupancy  {}", self.describe_occupancy())?;
        writeln!(out, "registers  {}", self.target.registers)?;
        writeln!(out, "\n{}\n", figures::table(&figures(self)))?;
        listing::write(self, library, out)?;
        let wastes = self.wastes();
        writeln!(out, "\n{}\n({})", wastes.sentence(), waste::CURRENCY)
    }

    /// `h100: 8 blocks and 64 warps on each of 132 SMs, 100 %, limited by warps`
    fn describe_occupancy(&self) -> String {
        let Occupancy { blocks_per_sm, warps_per_sm, percent, limited_by } = self.occupancy();
        let Gpu { name, multiprocessors, .. } = self.target.gpu;
        format!(
            "{name}: {blocks_per_sm} blocks and {warps_per_sm} warps on each of {multiprocessors} SMs, {percent:.0} %, \
             limited by {limited_by}"
        )
    }
}
