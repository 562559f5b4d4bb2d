//! `reduce profile` and `reduce compare`: what rungs do, counted on the simulator.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use simt::occupancy::Gpu;
use warpfold_lab::{
    cli::{Failure, Progress, failed, interruptible, refused, whole, written},
    device::{Device, Instrument},
    element::ElementType,
    input::generate,
    launch::{DeviceLimits, Problem, Request, check, plan},
    op::Op,
    profile::{Comparison, Profiled, Registers, Target, registers},
    ptx::{self, PtxError, PtxLibrary},
    reduce::{ReduceError, Runner, Runs},
    reference::Reference,
    variant::Variant,
};

/// The arguments of `reduce profile`.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// The rung: 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: String,

    #[command(flatten)]
    work: WorkArgs,
}

/// The arguments of `reduce compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The rungs, at least one: 0 to 14, global, atomic, atomic-warp, or names that --list prints
    #[arg(required = true, value_name = "VARIANT")]
    variants: Vec<String>,

    #[command(flatten)]
    work: WorkArgs,
}

/// What the rungs are to do.
#[derive(Args)]
struct WorkArgs {
    /// Number of elements to generate, as in 65536, 65_536 or 2^16
    #[arg(long, value_name = "N", default_value = "65536", allow_hyphen_values = true)]
    n: String,

    /// sum, min, max or prod
    #[arg(long, default_value = "sum")]
    op: String,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "i32")]
    element: String,

    /// Threads of a block, a power of two [default: 256; 1024 for variant global]
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    block: Option<String>,

    /// Blocks of the first launch; from variant 7 on any number, before it what --n asks for [default: chosen]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    grid: Option<String>,

    /// relaunch, host or single, as for a reduction
    #[arg(long, default_value = "relaunch")]
    finish: String,

    /// Seed of the generated elements, a whole number
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    seed: String,

    /// The GPU to plan the launches for, and whose occupancy to tell: v100, t4, a100, a10, rtx3090, l4, l40s, rtx4090,
    /// h100, h200, b200 or rtx5090
    #[arg(long, default_value = "h100")]
    gpu: String,

    /// Registers of a thread, for the occupancy [default: what ptxas says, if it is on the PATH or PTXAS names it]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    registers: Option<String>,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A workload that was asked for, the same for each rung.
struct Work {
    n: u64,
    op: Op,
    element: ElementType,
    request: Request,
    seed: u64,
    gpu: Gpu,
    registers: Option<u32>,
    ptx_dir: Option<PathBuf>,
    json: bool,
}

impl WorkArgs {
    fn resolve(self) -> Result<Work> {
        Ok(Work {
            n: whole("--n", &self.n, "65536 or 2^16")?,
            op: self.op.parse()?,
            element: self.element.parse()?,
            request: Request {
                block: self.block.map(|text| whole("--block", &text, "256")).transpose()?,
                grid: self.grid.map(|text| whole("--grid", &text, "1024")).transpose()?,
                finish: self.finish.parse()?,
            },
            seed: whole("--seed", &self.seed, "1")?,
            gpu: self.gpu.parse()?,
            registers: self.registers.map(|text| registers_of(&text)).transpose()?,
            ptx_dir: self.ptx_dir,
            json: self.json,
        })
    }
}

fn registers_of(text: &str) -> Result<u32> {
    let registers = whole("--registers", text, "32")?;
    let of_thread = u32::try_from(registers).ok().filter(|registers| (1..=255).contains(registers));
    of_thread.with_context(|| format!("--registers {registers}: a thread has 1 to 255"))
}

/// `reduce profile`.
pub(crate) fn profile(args: ProfileArgs) -> Result<(), Failure> {
    let variant: Variant = args.variant.parse().map_err(refused)?;
    let work = args.work.resolve().map_err(refused)?;
    let library = work.library()?;
    let profiled = work.run(variant, &library)?;
    let mut out = io::stdout().lock();
    written(if work.json {
        writeln!(out, "{}", profiled.to_json(true))
    } else {
        profiled.write_text(&library, &mut out)
    })
}

/// `reduce compare`.
pub(crate) fn compare(args: CompareArgs) -> Result<(), Failure> {
    let variants: Vec<Variant> =
        args.variants.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(refused)?;
    let work = args.work.resolve().map_err(refused)?;
    // Nothing runs before all of it is known to be possible.
    for &variant in &variants {
        check(&work.problem(variant), &work.request).map_err(refused)?;
    }
    let library = work.library()?;
    let profiles = variants.iter().map(|&variant| work.run(variant, &library)).collect::<Result<Vec<_>, _>>()?;
    let comparison = Comparison::new(&profiles).context("no variant to compare").map_err(refused)?;
    let mut out = io::stdout().lock();
    written(if work.json { writeln!(out, "{}", comparison.to_json()) } else { comparison.write_text(&mut out) })
}

impl Work {
    fn problem(&self, variant: Variant) -> Problem {
        Problem { variant, op: self.op, element: self.element, n: self.n }
    }

    /// What cannot be had of a folder that was named is an input like others; the embedded kernels are not the user's.
    fn no_ptx(&self, error: PtxError) -> Failure {
        if ptx::folder(self.ptx_dir.as_deref()).is_some() { refused(error) } else { failed(error) }
    }

    fn library(&self) -> Result<PtxLibrary, Failure> {
        PtxLibrary::open(self.ptx_dir.as_deref()).map_err(|error| self.no_ptx(error))
    }

    /// Runs one rung on a simulator that counts.
    fn run(&self, variant: Variant, library: &PtxLibrary) -> Result<Profiled, Failure> {
        let Self { n, op, element, gpu, .. } = *self;
        let problem = self.problem(variant);
        check(&problem, &self.request).map_err(refused)?;
        if n == 0 {
            return Err(refused(anyhow!("n = 0: nothing is launched, so there is nothing to count")));
        }
        let device = interruptible(Device::simulator_with(Instrument::Count))?;
        // A grid that follows the number of multiprocessors is to be that of the GPU in question.
        let unusable = |error| match error {
            ReduceError::Ptx(error) => self.no_ptx(error),
            ReduceError::Plan(error) if !error.blames_device() => refused(error),
            ReduceError::Interrupted => Failure::Interrupted(error.into()),
            error => failed(error),
        };
        let mut runner = Runner::new(&device, library);
        let limits = runner.limits(&problem, &self.request).map_err(unusable)?;
        let limits =
            DeviceLimits { multiprocessors: gpu.multiprocessors, compute_capability: gpu.compute_capability, ..limits };
        let plan = plan(&problem, &self.request, &limits).map_err(|error| unusable(error.into()))?;
        runner.prepare(&plan).map_err(unusable)?;

        let progress = Progress::new();
        progress.say(format!("counting {}", plan.kernel));
        let values = generate(element, op, n, self.seed).map_err(refused)?;
        let outcome = runner.reduce(&plan, &values, Runs::ONCE, |_| ()).map_err(unusable)?;
        let (result, reference) = (outcome.result, Reference::for_plan(&values, &plan));
        if !reference.agrees(result) {
            let (kernel, value) = (&plan.kernel, reference.value());
            return Err(failed(anyhow!("wrong result: {kernel} gave {result}, and the reference is {value}")));
        }

        progress.say("asking ptxas for registers");
        let kernel = library.manifest().kernels.iter().find(|kernel| kernel.name == plan.kernel);
        let target = Target {
            gpu,
            registers: self.registers.map_or_else(|| registers(library, &plan.kernel, &gpu), Registers::Given),
            static_shared_bytes: kernel.map_or(0, |kernel| kernel.static_shared_bytes),
        };
        let input = format!("seed {}", self.seed);
        let profiled = Profiled::new(plan, input, target, device.take_observations());
        profiled.context("the simulator counted no launch").map_err(failed)
    }
}
