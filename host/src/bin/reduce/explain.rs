//! `reduce explain`: the lectures' picture of a rung, from a run on the simulator.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, anyhow};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, PtxArgs, failed, number, refused, written},
    element::ElementType,
    explain::{self, ExplainError, default_values, explain as follow, max_values, parse_values},
    variant::Variant,
};

use crate::options::OpArgs;

/// The arguments of `reduce explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The rung: 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: Variant,

    /// The values to reduce, at most 256, with spaces or commas between them
    /// [default: the lecture's sixteen, or several times these where the rung needs more]
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    values: Option<String>,

    /// Number of threads in a block, a power of two
    /// [default: the fewest with which one block can take all values]
    #[arg(
        long,
        value_name = "B",
        allow_hyphen_values = true,
        value_parser = number("--block", "16")
    )]
    block: Option<u64>,

    #[command(flatten)]
    op: OpArgs,

    /// Type of the values: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "i32")]
    element: ElementType,

    /// Arrange shared memory by banks, and mark bank conflicts
    #[arg(long)]
    banks: bool,

    /// Also write the picture to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ptx: PtxArgs,
}

/// Runs `reduce explain`.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let &ExplainArgs { variant, element, block, op: OpArgs { op }, .. } = args;
    let text = args.values.clone().unwrap_or_else(|| default_values(variant, element, args.banks));
    let values = parse_values(&text, element).map_err(refused)?;
    let most = max_values(variant);
    if values.len() > most {
        return Err(refused(anyhow!(
            "{} values: a picture of variant {variant} can show at most {most}",
            values.len()
        )));
    }

    let blame = |error: ExplainError| match error {
        ExplainError::Plan(_) | ExplainError::Nothing | ExplainError::Value { .. } => {
            refused(error)
        }
        error => args.ptx.no_ptx(error),
    };
    let library = args.ptx.open()?;
    let picture =
        follow(&library, &explain::Request { variant, op, block }, &values).map_err(blame)?;

    if let Some(path) = &args.svg {
        let written = fs::write(path, picture.to_svg(args.banks));
        written
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(Failure::Failed)?;
    }
    let mut out = io::stdout().lock();
    written(if args.json {
        writeln!(out, "{}", picture.to_json())
    } else {
        picture.write_text(&mut out, args.banks)
    })?;
    match picture.result {
        Err(fault) => Err(failed(fault)),
        Ok(_) if picture.agrees => Ok(()),
        Ok(result) => {
            let (kernel, reference) = (&picture.plan.kernel, picture.reference);
            Err(failed(anyhow!(
                "wrong result: {kernel} gave {result}, and the reference is {reference}"
            )))
        }
    }
}
