//! The arguments as they are written, and what they mean.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Parser, Subcommand};
use warpfold_lab::{
    cli::{CheckArgs, EXIT_STATUS, Failure, GenerateArgs, PtxArgs, RunArgs, number, refused},
    element::ElementType,
    input::Fill,
    launch::{Finish, Request},
    op::Op,
    variant::Variant,
};

use crate::{
    explain::ExplainArgs,
    ladder::{LadderArgs, QuizArgs},
    options::{BlockArgs, FillArgs, GpuArgs, NoTunedArgs, OpArgs, ShapeArgs},
    profile::{CompareArgs, ProfileArgs},
    rows::RowsArgs,
    sweep::SweepArgs,
    tune::TuneArgs,
};

/// Reduce an array with one rung of the reduction ladder, that is, with one of a series of ever
/// faster kernels. The kernel runs on a GPU or on the built-in simulator; its result is checked
/// against the CPU, and its time is printed. The commands compare all rungs, or show why a rung is
/// slow.
#[derive(Parser)]
#[command(
    name = "reduce",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 if the result is right; 1 if the run failed, the result is wrong or --check found something as severe as --fail-on names; 2 if the \
                  arguments or the input cannot be used; 130 if Ctrl-C ended the run (the measurements until then are written).\n\
                  The time is that of all launches. It does not include copies, nor the work of the host that combines partial \
                  results. On the simulator it is the wall-clock time of the simulation and says nothing about a GPU."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    subcommand: Option<Subcommands>,

    /// The rung: 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: Option<Variant>,

    /// Number of elements to generate, such as 4194304, 4_194_304 or 2^22; with --input, the number
    /// of elements that the file must have
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--n", "4194304 or 2^22")
    )]
    n: Option<u64>,

    #[command(flatten)]
    op: OpArgs,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64
    /// [default: i32, or the type in the .npy file]
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<ElementType>,

    #[command(flatten)]
    shape: ShapeArgs,

    /// How the partial results of the blocks become one result: relaunch (launch the kernel again
    /// until one value is left), host (combine them on the host) or single (launch one more block)
    #[arg(long, default_value = "relaunch")]
    finish: Finish,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    fill: FillArgs,

    /// Reduce the elements of this file: .npy, an array of .npz (FILE.npz:ARRAY), or raw
    /// little-endian elements of the type that --type names; - is the standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    input: Option<PathBuf>,

    #[command(flatten)]
    gpu: GpuArgs,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    no_tuned: NoTunedArgs,

    #[command(flatten)]
    check: CheckArgs,

    /// List the rungs and exit
    #[arg(long)]
    list: bool,
}

/// What `reduce` writes without any argument.
pub(crate) const USAGE: &str = "\
reduce: run one rung of the reduction ladder, or show all of them. For example:

  reduce ladder                   compares all rungs in one table
  reduce --variant 6 --n 2^22     reduces 2^22 integers with rung 6 and checks the result
  reduce explain --variant 3      draws step by step what rung 3 does

`reduce --help` lists all commands and arguments.
";

/// The commands that do something else than a single reduction.
#[derive(Subcommand)]
pub(crate) enum Subcommands {
    /// Measure all rungs and compare them in one table
    #[command(after_help = EXIT_STATUS)]
    Ladder(LadderArgs),
    /// Measure rungs with inputs of many sizes
    #[command(after_help = EXIT_STATUS)]
    Sweep(SweepArgs),
    /// Find the fastest launch shapes (grid and block) on this GPU, and save them for later runs
    #[command(after_help = EXIT_STATUS)]
    Tune(TuneArgs),
    /// Answer a quiz of a lecture: how many times as much memory traffic does a reduction in global
    /// memory cause as one in shared memory?
    #[command(after_help = EXIT_STATUS)]
    Quiz(QuizArgs),
    /// Count the instructions and memory accesses of a rung, show which source lines cause them,
    /// and name the greatest waste
    #[command(after_help = EXIT_STATUS)]
    Profile(ProfileArgs),
    /// Count the instructions and memory accesses of several rungs, side by side
    #[command(after_help = EXIT_STATUS)]
    Compare(CompareArgs),
    /// Draw step by step how a rung reduces a few values
    #[command(after_help = EXIT_STATUS)]
    Explain(ExplainArgs),
    /// Reduce the rows or the columns of a matrix, and count what a thread, a warp or a block for
    /// each of them costs
    #[command(after_help = EXIT_STATUS)]
    Rows(RowsArgs),
    /// Write shell completions or a manual page
    Generate(GenerateArgs),
}

/// The action that the arguments ask for.
pub(crate) enum Command {
    /// One of the subcommands.
    Subcommand(Box<Subcommands>),
    /// List the rungs.
    List,
    /// Reduce something.
    Reduce(Box<Job>),
}

/// A reduction that was asked for.
pub(crate) struct Job {
    pub(crate) variant: Variant,
    pub(crate) op: Op,
    /// `None` if the type was left open.
    pub(crate) element: Option<ElementType>,
    pub(crate) source: Source,
    pub(crate) request: Request,
    pub(crate) run: RunArgs,
    pub(crate) gpu: GpuArgs,
    pub(crate) no_tuned: NoTunedArgs,
    pub(crate) ptx: PtxArgs,
    pub(crate) check: CheckArgs,
}

/// Where the elements come from.
pub(crate) enum Source {
    /// The elements are generated.
    Fill { n: u64, fill: Fill, seed: u64 },
    /// The elements are in a file, which must hold `n` of them if that is given.
    File { path: PathBuf, n: Option<u64> },
}

impl Args {
    /// Finds out what the arguments mean, without looking at any file or device.
    pub(crate) fn resolve(self) -> Result<Command, Failure> {
        if let Some(subcommand) = self.subcommand {
            return Ok(Command::Subcommand(Box::new(subcommand)));
        }
        if self.list {
            return Ok(Command::List);
        }
        let missing = |what: &'static str| refused(anyhow!(what));
        let variant = self.variant.ok_or_else(|| {
            missing("--variant is missing: it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints")
        })?;
        let source = match (self.input, self.n) {
            (Some(_), _) if self.fill.fill != Fill::Random => {
                return Err(refused(anyhow!(
                    "--fill {} with --input: the elements are those of the file",
                    self.fill.fill
                )));
            }
            (Some(path), n) => Source::File { path, n },
            (None, Some(n)) => Source::Fill { n, fill: self.fill.fill, seed: self.run.seed() },
            (None, None) => {
                return Err(missing(
                    "--n is missing: it is the number of elements, such as 4194304 or 2^22",
                ));
            }
        };
        self.check.refuse_gpu(self.run.device())?;
        let ShapeArgs { block: BlockArgs { block }, grid } = self.shape;
        Ok(Command::Reduce(Box::new(Job {
            variant,
            op: self.op.op,
            element: self.element,
            source,
            request: Request { block, grid, finish: self.finish },
            run: self.run,
            gpu: self.gpu,
            no_tuned: self.no_tuned,
            ptx: self.ptx,
            check: self.check,
        })))
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
