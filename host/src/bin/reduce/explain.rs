//! `reduce explain`: the lectures' picture of a rung, from a run on the simulator.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, anyhow};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, failed, refused, whole, written},
    element::ElementType,
    explain::{self, ExplainError, LECTURE_VALUES, MAX_VALUES, explain as follow, parse_values},
    op::Op,
    ptx::{self, PtxLibrary},
    variant::Variant,
};

/// The arguments of `reduce explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The rung: 0 to 7, global, or one of their names that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: String,

    /// The values to reduce, at most 64, with spaces or commas between them [default: the lecture's sixteen]
    #[arg(long, value_name = "VALUES", default_value = LECTURE_VALUES, hide_default_value = true, allow_hyphen_values = true)]
    values: String,

    /// Threads of a block, a power of two [default: the fewest that let one block take all values]
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    block: Option<String>,

    /// sum, min, max or prod
    #[arg(long, default_value = "sum")]
    op: String,

    /// Type of the values: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "i32")]
    element: String,

    /// Show the banks of shared memory, and mark conflicts
    #[arg(long)]
    banks: bool,

    /// Draw the picture into a file as well, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

/// `reduce explain`.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let variant = args.variant.parse::<Variant>().map_err(refused)?;
    let op = args.op.parse::<Op>().map_err(refused)?;
    let element = args.element.parse::<ElementType>().map_err(refused)?;
    let block = args.block.as_deref().map(|text| whole("--block", text, "16")).transpose().map_err(refused)?;
    let values = parse_values(&args.values, element).map_err(refused)?;
    if values.len() > MAX_VALUES {
        return Err(refused(anyhow!("{} values: a picture has room for at most {MAX_VALUES}", values.len())));
    }

    let ptx_dir = ptx::folder(args.ptx_dir.as_deref());
    // A folder that was named is an input like others; the embedded kernels are not the user's.
    let blame = |error: ExplainError| match error {
        ExplainError::Plan(_) | ExplainError::Nothing | ExplainError::Value { .. } | ExplainError::InRegisters(_) => {
            refused(error)
        }
        _ if ptx_dir.is_some() => refused(error),
        _ => failed(error),
    };
    let library = PtxLibrary::open(ptx_dir.as_deref()).map_err(|error| blame(error.into()))?;
    let picture = follow(&library, &explain::Request { variant, op, block }, &values).map_err(blame)?;

    if let Some(path) = &args.svg {
        let written = fs::write(path, picture.to_svg(args.banks));
        written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::Failed)?;
    }
    let mut out = io::stdout().lock();
    written(if args.json { writeln!(out, "{}", picture.to_json()) } else { picture.write_text(&mut out, args.banks) })?;
    match picture.result {
        Err(fault) => Err(failed(fault)),
        Ok(_) if picture.agrees => Ok(()),
        Ok(result) => {
            let (kernel, reference) = (&picture.plan.kernel, picture.reference);
            Err(failed(anyhow!("wrong result: {kernel} gave {result}, and the reference is {reference}")))
        }
    }
}
