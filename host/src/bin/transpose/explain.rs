//! `transpose explain`: the lecture's pictures of a variant, from a run on the simulator.

use anyhow::anyhow;
use clap::Args;
use warpfold_lab::{
    cli::{Failure, PictureArgs, PtxArgs, failed, number, refused},
    output,
    ptx::PtxLibrary,
    requests::player,
    transpose::{CompareError, ElementType, MOST_DRAWN, Problem, Variant, explain as follow},
};

use crate::options::{MatrixArgs, TileArgs};

/// The number of rows and columns of a matrix that a page draws. It is a few whole tiles of every
/// variant.
const ON_PAGE: u64 = 128;

/// The arguments of `transpose explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The variant: a name that `transpose --list` prints, such as padded
    #[arg(long, allow_hyphen_values = true)]
    variant: Variant,

    /// Number of rows of the matrix, at most 256
    #[arg(
        long,
        value_name = "N",
        default_value = "64",
        allow_hyphen_values = true,
        value_parser = number("--rows", "64 or 2^6")
    )]
    rows: u64,

    #[command(flatten)]
    matrix: MatrixArgs,

    #[command(flatten)]
    tile: TileArgs,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    picture: PictureArgs,
}

/// Runs `transpose explain`.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let &ExplainArgs {
        variant,
        rows,
        matrix: MatrixArgs { cols, element },
        tile: TileArgs { tile },
        ..
    } = args;
    let cols = cols.unwrap_or(rows);
    for (flag, extent) in [("--rows", rows), ("--cols", cols)] {
        if !(1..=MOST_DRAWN).contains(&extent) {
            return Err(refused(anyhow!(
                "{flag} {extent}: a picture is drawn from 1 to {MOST_DRAWN} rows and columns"
            )));
        }
    }
    let library = args.ptx.open()?;
    let problem = Problem { variant, element, rows, cols };
    let picture = follow(&library, &problem, tile).map_err(|error| match error {
        CompareError::Plan(_) | CompareError::Nothing { .. } => refused(error),
        CompareError::Run(error) => args.ptx.not_run(error),
        error @ (CompareError::Matrix(_) | CompareError::Wrong { .. }) => failed(error),
    })?;
    args.picture.write(&picture)
}

/// The pictures of variants as parts of a page. A variant that cannot be drawn has no picture.
pub(crate) fn of_variants(
    library: &PtxLibrary,
    variants: impl Iterator<Item = Variant>,
    element: ElementType,
) -> Vec<output::Picture> {
    let picture = |variant| {
        let problem = Problem { variant, element, rows: ON_PAGE, cols: ON_PAGE };
        let picture = follow(library, &problem, None).ok()?;
        Some(player(&format!("variant-{variant}"), picture.headline(), &[picture]))
    };
    variants.filter_map(picture).collect()
}
