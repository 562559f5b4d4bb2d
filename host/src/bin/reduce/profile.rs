//! `reduce profile` and `reduce compare`: what rungs do, counted on the simulator.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, Result};
use clap::Args;
use warpfold::{
    device::{Device, Instrument},
    element::ElementType,
    input::generate,
    launch::{DeviceLimits, Problem, Request, check, plan},
    op::Op,
    profile::Profiled,
    ptx::{self, PtxLibrary},
    reduce::{ReduceError, Reducer, Runs},
    variant::Variant,
};

use crate::{Failure, args::whole, failed, progress::Progress, refused, written};

/// The arguments of `reduce profile`.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// The rung: 0 to 7, global, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: String,

    #[command(flatten)]
    work: WorkArgs,
}

/// The arguments of `reduce compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The rungs, at least one: 0 to 7, global, or names that --list prints
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

    /// Blocks of the first launch; variant 7 takes any number, the others what --n asks for [default: chosen]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    grid: Option<String>,

    /// relaunch, host or single, as for a reduction
    #[arg(long, default_value = "relaunch")]
    finish: String,

    /// Seed of the generated elements, a whole number
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    seed: String,

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
            ptx_dir: self.ptx_dir,
            json: self.json,
        })
    }
}

/// `reduce profile`.
pub(crate) fn profile(args: ProfileArgs) -> Result<(), Failure> {
    let variant = args.variant.parse::<Variant>().map_err(refused)?;
    let work = args.work.resolve().map_err(refused)?;
    let profiled = run(variant, &work)?;
    let mut out = io::stdout().lock();
    written(if work.json { writeln!(out, "{}", profiled.to_json()) } else { profiled.write_text(&mut out) })
}

/// `reduce compare`.
pub(crate) fn compare(args: CompareArgs) -> Result<(), Failure> {
    let variants: Vec<Variant> =
        args.variants.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(refused)?;
    let work = args.work.resolve().map_err(refused)?;
    let profiled = variants.iter().map(|&variant| run(variant, &work)).collect::<Result<Vec<_>, _>>()?;
    let mut out = io::stdout().lock();
    written(if work.json {
        let list: Vec<_> = profiled.iter().map(Profiled::to_json).collect();
        writeln!(out, "{}", serde_json::Value::from(list))
    } else {
        profiled.iter().try_for_each(|profiled| profiled.write_text(&mut out))
    })
}

/// Runs one rung on a simulator that counts.
fn run(variant: Variant, work: &Work) -> Result<Profiled, Failure> {
    let problem = Problem { variant, op: work.op, element: work.element, n: work.n };
    check(&problem, &work.request).map_err(refused)?;
    let ptx_dir = ptx::folder(work.ptx_dir.as_deref());
    // A folder that was named is an input like others; the embedded kernels are not the user's.
    let no_ptx = |error| if ptx_dir.is_some() { refused(error) } else { failed(error) };
    let library = PtxLibrary::open(ptx_dir.as_deref()).map_err(no_ptx)?;
    let device = Device::simulator_with(Instrument::Count);
    let limits = DeviceLimits::new(device.info(), device.free_memory().map_err(failed)?);
    let plan = plan(&problem, &work.request, &limits).map_err(refused)?;

    let progress = Progress::new();
    progress.say(format!("counting {}", plan.kernel));
    let values = generate(work.element, work.op, work.n, work.seed).map_err(refused)?;
    Reducer::new(&device, &library).reduce(&plan, &values, Runs::ONCE, |_| ()).map_err(|error| match error {
        ReduceError::Ptx(error) => no_ptx(error),
        error => failed(error),
    })?;
    let profiled = Profiled::new(plan, device.take_observations()).context("nothing was launched").map_err(refused)?;
    drop(progress);
    Ok(profiled)
}
