//! The arguments as they are written, and what they mean.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Parser, Subcommand};
use warpfold_lab::{
    cli::{CheckArgs, EXIT_STATUS, Failure, GenerateArgs, PtxArgs, RunArgs, number, refused},
    transpose::{ElementType, Variant},
};

use crate::{compare::CompareArgs, explain::ExplainArgs, options::TileArgs, profile::ProfileArgs};

/// Transpose a matrix on a GPU or on the built-in simulator; the result is checked against the CPU,
/// and the time is printed. The commands compare all variants, count what one variant does, or draw
/// the requests of its warps.
#[derive(Parser)]
#[command(
    name = "transpose",
    version,
    args_conflicts_with_subcommands = true,
    after_help = format!("{EXIT_STATUS}\nThe time is that of the launch, without copies. The bandwidth counts the bytes that are read \
                  and the bytes that are written. On the simulator the time is the wall-clock time of the simulation and says nothing \
                  about a GPU.")
)]
pub(crate) struct Args {
    #[command(subcommand)]
    lesson: Option<Lesson>,

    /// The variant: a name that --list prints, such as padded
    #[arg(long, allow_hyphen_values = true)]
    variant: Option<Variant>,

    /// Number of rows of the matrix, such as 4000 or 2^12; with --input, the number of rows that
    /// the file must have
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--rows", "4000 or 2^12")
    )]
    rows: Option<u64>,

    /// Number of columns of the matrix; with --input, the number of columns that the file must have
    /// [default: as many as rows]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--cols", "4000 or 2^12")
    )]
    cols: Option<u64>,

    /// Type of the elements: u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64, c64, u128,
    /// i128 or c128 [default: f32, or the type in the .npy file]
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<ElementType>,

    #[command(flatten)]
    tile: TileArgs,

    /// The same as --variant in-place: transpose a square matrix within its own memory
    #[arg(long)]
    in_place: bool,

    #[command(flatten)]
    run: RunArgs,

    /// Transpose the matrix in this .npy file
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    check: CheckArgs,

    /// List the variants and exit
    #[arg(long)]
    list: bool,
}

/// The commands that show what variants teach.
#[derive(Subcommand)]
pub(crate) enum Lesson {
    /// Compare the times of all variants, and their counted memory accesses, side by side
    Compare(CompareArgs),
    /// Count the instructions and memory accesses of a variant on the simulator
    Profile(ProfileArgs),
    /// Draw which sectors and banks a warp meets, from a run on the simulator
    Explain(ExplainArgs),
    /// Write shell completions or a manual page
    Generate(GenerateArgs),
}

/// The action that the arguments ask for.
pub(crate) enum Command {
    /// Show a lesson.
    Lesson(Lesson),
    /// List the variants.
    List,
    /// Transpose something.
    Transpose(Job),
}

/// A transposition that was asked for.
pub(crate) struct Job {
    pub(crate) variant: Variant,
    /// `None` if the type was left open.
    pub(crate) element: Option<ElementType>,
    pub(crate) source: Source,
    pub(crate) tile: Option<u64>,
    pub(crate) run: RunArgs,
    pub(crate) ptx: PtxArgs,
    pub(crate) check: CheckArgs,
}

/// Where the elements come from.
pub(crate) enum Source {
    /// The elements are generated.
    Seed { rows: u64, cols: u64, seed: u64 },
    /// The elements are in a file, which must have so many rows and columns if they are given.
    File { path: PathBuf, rows: Option<u64>, cols: Option<u64> },
}

impl Args {
    /// Finds out what the arguments mean, without looking at any file or device.
    pub(crate) fn resolve(self) -> Result<Command, Failure> {
        if let Some(lesson) = self.lesson {
            return Ok(Command::Lesson(lesson));
        }
        if self.list {
            return Ok(Command::List);
        }
        let missing = |what: &'static str| refused(anyhow!(what));
        let variant = match (self.variant, self.in_place) {
            (Some(variant), false) => variant,
            (None | Some(Variant::InPlace), true) => Variant::InPlace,
            (Some(variant), true) => {
                return Err(refused(anyhow!(
                    "--in-place with --variant {variant}: --in-place itself chooses the variant in-place"
                )));
            }
            (None, false) => {
                return Err(missing(
                    "--variant is missing: it is a name that --list prints, such as padded",
                ));
            }
        };
        let (rows, cols, seed) = (self.rows, self.cols, self.run.seed());
        let source = match (self.input, rows) {
            (Some(path), rows) => Source::File { path, rows, cols },
            (None, Some(rows)) => Source::Seed { rows, cols: cols.unwrap_or(rows), seed },
            (None, None) => {
                return Err(missing(
                    "--rows is missing: it is the number of rows, such as 4000 or 2^12",
                ));
            }
        };
        self.check.refuse_gpu(self.run.device())?;
        Ok(Command::Transpose(Job {
            variant,
            element: self.element,
            source,
            tile: self.tile.tile,
            run: self.run,
            ptx: self.ptx,
            check: self.check,
        }))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }
}
