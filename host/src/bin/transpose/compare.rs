//! `transpose compare`: all variants side by side.

use std::path::PathBuf;

use clap::Args;
use warpfold_lab::{
    cli::{Failure, OutputArgs, Progress, failed, open_device, refused},
    reduce::Runs,
    transpose::{CompareError, Comparison, TransposeError},
};

use crate::{
    args::{extent, reps, tile},
    no_ptx, open_library,
};

/// The arguments of `transpose compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Rows of the matrix, as in 4000 or 2^12
    #[arg(long, value_name = "N", default_value = "4000", allow_hyphen_values = true)]
    rows: String,

    /// Columns of the matrix [default: as many as rows]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    cols: Option<String>,

    /// Type of the elements, as for a transposition
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    element: String,

    /// Elements on each side of a tile: 16 or 32; variant best has its own [default: 32]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    tile: Option<String>,

    /// auto (a GPU if there is one), cuda or sim, which has counters and no times
    #[arg(long, default_value = "auto")]
    device: String,

    /// Timed runs of each variant on a GPU, after 3 to warm up [default: 20]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    reps: Option<String>,

    /// Put the lecture's own figures beside, of a GeForce GTX 280
    #[arg(long)]
    history: bool,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn compare(args: CompareArgs) -> Result<(), Failure> {
    let rows = extent("--rows", Some(&args.rows)).map_err(refused)?.unwrap_or_default();
    let cols = extent("--cols", args.cols.as_deref()).map_err(refused)?.unwrap_or(rows);
    let element = args.element.parse().map_err(|error: warpfold_lab::transpose::UnknownType| refused(error))?;
    let tile = tile(args.tile.as_deref()).map_err(refused)?;
    let reps = reps(args.reps.as_deref()).map_err(refused)?;
    let choice = args.device.parse().map_err(|error: warpfold_lab::device::UnknownDevice| refused(error))?;
    let output = args.output.resolve().map_err(refused)?;
    if rows == 0 || cols == 0 {
        return Err(refused(CompareError::Nothing { rows, cols }));
    }

    let ptx_dir = args.ptx_dir.as_deref();
    let library = open_library(ptx_dir)?;
    let device = open_device(choice)?;
    let progress = Progress::new();
    let runs = Runs::suiting(device.info(), reps);
    let compared =
        Comparison::measure(&device, &library, (element, rows, cols), tile, runs, &mut |what| progress.say(what));
    drop(progress);
    let comparison = compared.map_err(|error| match error {
        CompareError::Plan(_) | CompareError::Nothing { .. } | CompareError::Matrix(_) => refused(error),
        CompareError::Run(TransposeError::Ptx(error)) => no_ptx(error, ptx_dir),
        error => failed(error),
    })?;
    output.write(comparison.document(args.history))
}
