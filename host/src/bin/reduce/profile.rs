//! `reduce profile` and `reduce compare`: what rungs do, counted on the simulator.

use anyhow::{Context, Result, anyhow};
use clap::Args;
use warpfold_lab::{
    cli::{
        Failure, OutputArgs, Progress, PtxArgs, SeedArgs, failed, interruptible, number, refused,
        whole, width,
    },
    device::{Device, Instrument},
    experiment::{Runner, Runs},
    launch::{Finish, Problem, Request, check, plan},
    profile::{Comparison, Profiled, Registers, Target, registers},
    ptx::PtxLibrary,
    reference::Reference,
    variant::Variant,
};

use crate::{
    options::{ElementArgs, FillArgs, GpuArgs, NoTunedArgs, ShapeArgs, no_plan},
    tuned::Tuned,
};

/// The arguments of `reduce profile`.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// The rung: 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: Variant,

    #[command(flatten)]
    work: WorkArgs,
}

/// The arguments of `reduce compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The rungs, at least one: 0 to 14, global, atomic, atomic-warp, or names that --list prints
    #[arg(required = true, value_name = "VARIANT")]
    variants: Vec<Variant>,

    #[command(flatten)]
    work: WorkArgs,
}

/// The arguments that say what the rungs are to do.
#[derive(Args)]
struct WorkArgs {
    /// Number of elements to generate, such as 65536, 65_536 or 2^16
    #[arg(
        long,
        value_name = "N",
        default_value = "65536",
        allow_hyphen_values = true,
        value_parser = number("--n", "65536 or 2^16")
    )]
    n: u64,

    #[command(flatten)]
    elements: ElementArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    /// How the partial results of the blocks become one result: relaunch (launch the kernel again
    /// until one value is left), host (combine them on the host) or single (launch one more block)
    #[arg(long, default_value = "relaunch")]
    finish: Finish,

    #[command(flatten)]
    fill: FillArgs,

    #[command(flatten)]
    seed: SeedArgs,

    #[command(flatten)]
    gpu: GpuArgs,

    #[command(flatten)]
    no_tuned: NoTunedArgs,

    /// Number of registers of a thread, from which the occupancy is computed
    /// [default: asked from ptxas, if it is on the PATH or the environment variable PTXAS names it]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = registers_of)]
    registers: Option<u32>,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn registers_of(text: &str) -> Result<u32> {
    let registers = whole("--registers", text, "32")?;
    let of_thread = u32::try_from(registers).ok().filter(|registers| (1..=255).contains(registers));
    of_thread.with_context(|| format!("--registers {registers}: a thread has 1 to 255"))
}

/// Runs `reduce profile`.
pub(crate) fn profile(args: &ProfileArgs) -> Result<(), Failure> {
    let &ProfileArgs { variant, ref work } = args;
    let library = work.ptx.open()?;
    let profiled = work.run(variant, &library, &Tuned::load(work.no_tuned))?;
    work.output.write_own(
        profiled.document(),
        |out| profiled.write_text(&library, width(), out),
        || profiled.to_json(true),
    )
}

/// Runs `reduce compare`.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let CompareArgs { variants, work } = args;
    // All problems are checked before the first one runs.
    for &variant in variants {
        check(&work.problem(variant), &work.request()).map_err(refused)?;
    }
    let (library, tuned) = (work.ptx.open()?, Tuned::load(work.no_tuned));
    let profiles = variants
        .iter()
        .map(|&variant| work.run(variant, &library, &tuned))
        .collect::<Result<Vec<_>, _>>()?;
    let comparison =
        Comparison::new(&profiles).context("no variant to compare").map_err(refused)?;
    work.output.write_own(
        comparison.document(),
        |out| comparison.write_text(width(), out),
        || comparison.to_json(),
    )
}

impl WorkArgs {
    fn problem(&self, variant: Variant) -> Problem {
        Problem { variant, op: self.elements.op.op, element: self.elements.element, n: self.n }
    }

    fn request(&self) -> Request {
        Request { block: self.shape.block.block, grid: self.shape.grid, finish: self.finish }
    }

    /// Runs one rung on a simulator that counts.
    fn run(
        &self,
        variant: Variant,
        library: &PtxLibrary,
        tuned: &Tuned,
    ) -> Result<Profiled, Failure> {
        let (problem, request, gpu, seed) =
            (self.problem(variant), self.request(), self.gpu.simulated(), self.seed.seed);
        let Problem { op, element, n, .. } = problem;
        check(&problem, &request).map_err(refused)?;
        if n == 0 {
            return Err(refused(anyhow!(
                "n = 0: nothing is launched, so there is nothing to count"
            )));
        }
        let device = interruptible(Device::simulator_with(Instrument::Count))?;
        let not_run = |error| self.ptx.not_run(error);
        let mut runner = Runner::new(&device, library).planning_for(Some(gpu));
        let tuned = tuned.find(device.info(), &problem, &request, |request| {
            runner.limits(&problem, request).ok()
        });
        let request = tuned.map_or(request, |(_, request)| request);
        let limits = runner.limits(&problem, &request).map_err(not_run)?;
        let plan = plan(&problem, &request, &limits).map_err(no_plan)?;
        runner.prepare(&plan).map_err(not_run)?;

        let progress = Progress::new();
        progress.say(format!("counting {}", plan.kernel));
        let values = self.fill.fill.values(element, op, n, seed).map_err(refused)?;
        let outcome = runner.reduce(&plan, &values, Runs::ONCE, |_| ()).map_err(not_run)?;
        Reference::for_plan(&values, &plan).check(&plan.kernel, outcome.result).map_err(failed)?;

        progress.say("asking ptxas for registers");
        let kernel = library.manifest().kernels.iter().find(|kernel| kernel.name == plan.kernel);
        let target = Target {
            gpu,
            registers: self
                .registers
                .map_or_else(|| registers(library, &plan.kernel, &gpu), Registers::Given),
            static_shared_bytes: kernel.map_or(0, |kernel| kernel.static_shared_bytes),
        };
        let input = self.fill.fill.describe(seed);
        let profiled = Profiled::new(plan, input, target, device.take_observations());
        let profiled = profiled.context("the simulator counted no launch").map_err(failed)?;
        Ok(Profiled { tuned: tuned.map(|(entry, _)| entry.clone()), ..profiled })
    }
}
