//! The arguments as they are written, and what they mean.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Parser, Subcommand};
use warpfold_lab::{
    cli::{CheckArgs, EXIT_STATUS, Failure, GenerateArgs, PtxArgs, RunArgs, number, refused},
    element::ElementType,
    launch::{Finish, Request},
    op::Op,
    variant::Variant,
};

use crate::{
    explain::ExplainArgs,
    ladder::{LadderArgs, QuizArgs},
    options::{NoTunedArgs, OpArgs, ShapeArgs},
    profile::{CompareArgs, ProfileArgs},
    sweep::SweepArgs,
    tune::TuneArgs,
};

/// Reduce an array on a GPU, or on the built-in simulator, with one rung of the reduction ladder;
/// check the result against the CPU and time it. Or see all rungs at a glance, and why one is slow,
/// with one of the commands.
#[derive(Parser)]
#[command(
    name = "reduce",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 the result is right, 1 the run failed, the result is wrong or --check found something, 2 the arguments or the \
                  input cannot be used, 130 Ctrl-C ended it, and what was measured until then is written.\nThe time is that of all launches; copies, and what the host combines, are not \
                  in it. On the simulator it is the wall clock of the simulation, and says nothing about a GPU."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    subcommand: Option<Subcommands>,

    /// The rung: 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: Option<Variant>,

    /// Number of elements to generate, as in 4194304, 4_194_304 or 2^22; with --input, how many it
    /// must hold
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
    /// [default: i32, or what a .npy file holds]
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<ElementType>,

    #[command(flatten)]
    shape: ShapeArgs,

    /// How partial results become one: relaunch the kernel until one is left, combine them on the
    /// host, or launch a single block more
    #[arg(long, default_value = "relaunch")]
    finish: Finish,

    #[command(flatten)]
    run: RunArgs,

    /// Reduce the elements of a file: .npy, or raw little-endian
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

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

/// The commands beside a single reduction.
#[derive(Subcommand)]
pub(crate) enum Subcommands {
    /// Measure all rungs, in one table
    #[command(after_help = EXIT_STATUS)]
    Ladder(LadderArgs),
    /// Measure rungs over size
    #[command(after_help = EXIT_STATUS)]
    Sweep(SweepArgs),
    /// Find the launch shapes that suit this GPU, and keep them
    #[command(after_help = EXIT_STATUS)]
    Tune(TuneArgs),
    /// How many times as much bandwidth does global memory take as shared memory?
    #[command(after_help = EXIT_STATUS)]
    Quiz(QuizArgs),
    /// Count what a rung does, show where in its source, and say what it wastes
    #[command(after_help = EXIT_STATUS)]
    Profile(ProfileArgs),
    /// Count what several rungs do, side by side
    #[command(after_help = EXIT_STATUS)]
    Compare(CompareArgs),
    /// Draw what a rung does with a few values, step by step
    #[command(after_help = EXIT_STATUS)]
    Explain(ExplainArgs),
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
    Reduce(Job),
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
    pub(crate) no_tuned: NoTunedArgs,
    pub(crate) ptx: PtxArgs,
    pub(crate) check: CheckArgs,
}

/// Where the elements come from.
pub(crate) enum Source {
    /// The elements are generated.
    Seed { n: u64, seed: u64 },
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
            (Some(path), n) => Source::File { path, n },
            (None, Some(n)) => Source::Seed { n, seed: self.run.seed() },
            (None, None) => {
                return Err(missing(
                    "--n is missing: it is the number of elements, such as 4194304 or 2^22",
                ));
            }
        };
        self.check.refuse_gpu(self.run.device())?;
        let ShapeArgs { block, grid } = self.shape;
        Ok(Command::Reduce(Job {
            variant,
            op: self.op.op,
            element: self.element,
            source,
            request: Request { block, grid, finish: self.finish },
            run: self.run,
            no_tuned: self.no_tuned,
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
