//! `transpose profile`: what a variant does, counted on the simulator.

use anyhow::{Context, anyhow};
use clap::Args;
use warpfold_lab::{
    cli::{
        Failure, OutputArgs, Progress, PtxArgs, SeedArgs, failed, interruptible, number, refused,
    },
    device::{Device, Instrument},
    experiment::{Runner, Runs, counters},
    output::{Column, Document, Table},
    transpose::{Matrix, Problem, Variant, plan},
};

use crate::options::{MatrixArgs, TileArgs};

/// The arguments of `transpose profile`.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// The variant: a name that `transpose --list` prints, such as padded
    #[arg(long, allow_hyphen_values = true)]
    variant: Variant,

    /// Number of rows of the matrix, such as 512 or 2^9
    #[arg(
        long,
        value_name = "N",
        default_value = "512",
        allow_hyphen_values = true,
        value_parser = number("--rows", "4000 or 2^12")
    )]
    rows: u64,

    #[command(flatten)]
    matrix: MatrixArgs,

    #[command(flatten)]
    tile: TileArgs,

    #[command(flatten)]
    seed: SeedArgs,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn profile(args: &ProfileArgs) -> Result<(), Failure> {
    let &ProfileArgs {
        variant,
        rows,
        matrix: MatrixArgs { cols, element },
        tile: TileArgs { tile },
        seed: SeedArgs { seed },
        ..
    } = args;
    let cols = cols.unwrap_or(rows);

    let library = args.ptx.open()?;
    let device = interruptible(Device::simulator_with(Instrument::Count))?;
    let problem = Problem { variant, element, rows, cols };
    let plan = plan(&problem, tile, device.free_memory().map_err(failed)?).map_err(refused)?;
    if plan.shape.is_none() {
        return Err(refused(anyhow!(
            "{rows} x {cols}: nothing is launched, so there is nothing to count"
        )));
    }
    let progress = Progress::new();
    progress.say(format!("counting {}", plan.kernel));
    let matrix = Matrix::generate(element, rows, cols, seed).map_err(refused)?;
    let outcome = Runner::new(&device, &library)
        .transpose(&plan, &matrix, Runs::ONCE, |_| ())
        .map_err(|error| args.ptx.not_run(error))?;
    drop(progress);
    if let Some(difference) = matrix.difference(variant.facts().moves, &outcome.result) {
        return Err(failed(anyhow!("wrong result of {}: {difference}", plan.kernel)));
    }
    let counters = counters(&device).context("the simulator counted no launch").map_err(failed)?;

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
    args.output.write(Document {
        title: format!("What variant {variant} does"),
        environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        tables: vec![table],
        ..Document::default()
    })
}
