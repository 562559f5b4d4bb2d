//! `transpose profile`: what a variant does, counted on the simulator.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, OutputArgs, Progress, failed, interruptible, refused, whole},
    device::{Device, Instrument, Seen},
    output::{Column, Document, Table},
    reduce::Runs,
    transpose::{Matrix, Problem, Transposer, UnknownType, UnknownVariant, plan},
};

use crate::{
    args::{extent, tile},
    not_run, open_library,
};

/// The arguments of `transpose profile`.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// A name that --list prints, such as padded
    #[arg(long, allow_hyphen_values = true)]
    variant: String,

    /// Rows of the matrix, as in 512 or 2^9
    #[arg(long, value_name = "N", default_value = "512", allow_hyphen_values = true)]
    rows: String,

    /// Columns of the matrix [default: as many as rows]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    cols: Option<String>,

    /// Type of the elements, as for a transposition
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    element: String,

    /// Elements on each side of a tile: 16 or 32 [default: 32; of variant best, by the type]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    tile: Option<String>,

    /// Seed of the generated elements, a whole number
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    seed: String,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn profile(args: ProfileArgs) -> Result<(), Failure> {
    let variant = args.variant.parse().map_err(|error: UnknownVariant| refused(error))?;
    let element = args.element.parse().map_err(|error: UnknownType| refused(error))?;
    let rows = extent("--rows", Some(&args.rows)).map_err(refused)?.unwrap_or_default();
    let cols = extent("--cols", args.cols.as_deref()).map_err(refused)?.unwrap_or(rows);
    let tile = tile(args.tile.as_deref()).map_err(refused)?;
    let seed = whole("--seed", &args.seed, "1").map_err(refused)?;
    let output = args.output.resolve().map_err(refused)?;

    let library = open_library(args.ptx_dir.as_deref())?;
    let device = interruptible(Device::simulator_with(Instrument::Count))?;
    let problem = Problem { variant, element, rows, cols };
    let plan = plan(&problem, tile, device.free_memory().map_err(failed)?).map_err(refused)?;
    if plan.shape.is_none() {
        return Err(refused(anyhow!("{rows} x {cols}: nothing is launched, so there is nothing to count")));
    }
    let progress = Progress::new();
    progress.say(format!("counting {}", plan.kernel));
    let matrix = Matrix::generate(element, rows, cols, seed).map_err(refused)?;
    let outcome = Transposer::new(&device, &library)
        .transpose(&plan, &matrix, Runs::ONCE, |_| ())
        .map_err(|error| not_run(error, args.ptx_dir.as_deref()))?;
    drop(progress);
    if let Some(difference) = matrix.difference(variant.facts().moves, &outcome.output) {
        return Err(failed(anyhow!("wrong result of {}: {difference}", plan.kernel)));
    }
    let seen = device.take_observations().pop().map(|observation| observation.seen);
    let counters = match seen {
        Some(Seen::Counted(profile)) => Some(profile.counters),
        _ => None,
    };
    let counters = counters.context("the simulator counted no launch").map_err(failed)?;

    let columns = vec![Column::new("counter", "counter"), Column::new("value", "value")];
    let mut table = Table::new("counters", "Counters", columns);
    for (name, value) in counters.entries() {
        table.push([name.into(), value.into()]);
    }
    table.push(["bytes_moved".into(), counters.bytes_moved().into()]);
    let environment = [
        ("kernel", plan.kernel.clone()),
        ("input", format!("{rows} x {cols} {element} elements, seed {seed}")),
        ("device", device.info().name.clone()),
    ];
    output.write(Document {
        title: format!("What variant {variant} does"),
        environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        tables: vec![table],
        ..Document::default()
    })
}
