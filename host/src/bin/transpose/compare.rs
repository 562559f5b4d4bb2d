//! `transpose compare`: all variants side by side.

use anyhow::anyhow;
use clap::Args;
use warpfold_lab::{
    cli::{
        DeviceArgs, Failure, OutputArgs, Progress, PtxArgs, failed, number, open_device, refused,
        reps,
    },
    experiment::Runs,
    output::Format,
    transpose::{CompareError, Comparison},
};

use crate::{
    explain,
    options::{MatrixArgs, TileArgs},
};

/// The arguments of `transpose compare`.
#[derive(Args)]
#[command(
    mut_arg(
        "device",
        |device| device
            .help("The device: auto (a GPU if there is one), cuda or sim (the simulator, which has counters but no times)")
    ),
    mut_arg(
        "tile",
        |tile| tile
            .help("Number of elements on each side of a tile: 16 or 32; variant best has its own size [default: 32]")
    )
)]
pub(crate) struct CompareArgs {
    /// Number of rows of the matrix, such as 4000 or 2^12
    #[arg(
        long,
        value_name = "N",
        default_value = "4000",
        allow_hyphen_values = true,
        value_parser = number("--rows", "4000 or 2^12")
    )]
    rows: u64,

    #[command(flatten)]
    matrix: MatrixArgs,

    #[command(flatten)]
    tile: TileArgs,

    #[command(flatten)]
    device: DeviceArgs,

    /// Number of timed runs of each variant on a GPU, after 3 runs to warm up [default: 20]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = reps)]
    reps: Option<u32>,

    /// Also show the figures that the lecture measured on a GeForce GTX 280
    #[arg(long)]
    history: bool,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn compare(args: CompareArgs) -> Result<(), Failure> {
    let CompareArgs {
        rows,
        matrix: MatrixArgs { cols, element },
        tile: TileArgs { tile },
        ptx,
        ..
    } = args;
    let cols = cols.unwrap_or(rows);
    if rows == 0 || cols == 0 {
        return Err(refused(CompareError::Nothing { rows, cols }));
    }

    let library = ptx.open()?;
    let device = open_device(args.device.device)?;
    let progress = Progress::new();
    let runs = Runs::suiting(device.info(), args.reps);
    let compared =
        Comparison::measure(&device, &library, (element, rows, cols), tile, runs, &mut |what| {
            progress.say(what);
        });
    drop(progress);
    let comparison = compared.map_err(|error| match error {
        CompareError::Plan(_) | CompareError::Nothing { .. } | CompareError::Matrix(_) => {
            refused(error)
        }
        CompareError::Run(error) => ptx.not_run(error),
        error @ CompareError::Wrong { .. } => failed(error),
    })?;
    let mut document = comparison.document(args.history);
    if args.output.format() == Format::Html {
        let variants =
            comparison.competitors().iter().map(|competitor| competitor.plan.problem.variant);
        document.pictures = explain::of_variants(&library, variants, element);
    }
    args.output.write(document)?;
    if comparison.is_cut_short() {
        return Err(Failure::Interrupted(anyhow!("not all runs were made")));
    }
    Ok(())
}
