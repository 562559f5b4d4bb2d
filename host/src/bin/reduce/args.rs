//! The arguments as they are written, and as they are meant.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use warpfold_lab::{
    cli::{EXIT_STATUS, GenerateArgs, whole},
    device::DeviceChoice,
    element::ElementType,
    launch::Request,
    op::Op,
    variant::Variant,
};

use crate::{
    explain::ExplainArgs,
    ladder::{LadderArgs, QuizArgs},
    measure::reps,
    profile::{CompareArgs, ProfileArgs},
    sweep::SweepArgs,
    tune::TuneArgs,
};

/// Reduce an array on a GPU, or on the built-in simulator, with one rung of the reduction ladder; check the result
/// against the CPU and time it. Or see all rungs at a glance, and why one is slow, with one of the commands.
#[derive(Parser)]
#[command(
    name = "reduce",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 the result is right, 1 the run failed, the result is wrong or --check found something, 2 the arguments or the \
                  input cannot be used, 130 Ctrl-C ended it, and what was measured until then is written.\nThe time is that of all launches; copies, and what the host combines, are not \
                  in it. On the simulator it is the wall clock of the simulation, and says nothing about a GPU."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    #[command(subcommand)]
    subcommand: Option<Subcommands>,

    /// The rung: 0 to 14, global, atomic, atomic-warp, or a name that --list prints
    #[arg(long, allow_hyphen_values = true)]
    variant: Option<String>,

    /// Number of elements to generate, as in 4194304, 4_194_304 or 2^22; with --input, how many it must hold
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    n: Option<String>,

    /// sum, min, max or prod
    #[arg(long, default_value = "sum")]
    op: String,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64 [default: i32, or what a .npy file holds]
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<String>,

    /// Threads of a block, a power of two [default: 256; 1024 for variant global]
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    block: Option<String>,

    /// Blocks of the first launch; from variant 7 on any number, before it what --n asks for [default: chosen]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    grid: Option<String>,

    /// How partial results become one: relaunch the kernel until one is left, combine them on the host, or launch a
    /// single block more
    #[arg(long, default_value = "relaunch")]
    finish: String,

    /// auto (a GPU if there is one), cuda or sim
    #[arg(long, default_value = "auto")]
    device: String,

    /// Timed runs [default: 20 on a GPU, after 3 to warm up; 1 on the simulator]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    reps: Option<String>,

    /// Seed of the generated elements, a whole number
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    seed: String,

    /// Reduce the elements of a file: .npy, or raw little-endian
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    /// Ignore what `reduce tune` found (or WARPFOLD_NO_TUNE)
    #[arg(long)]
    no_tuned: bool,

    /// Watch the kernel for data races, reads of what nobody wrote, and barriers that threads miss; on the simulator, which
    /// is taken then
    #[arg(long)]
    check: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// List the rungs and exit
    #[arg(long)]
    list: bool,
}

/// What there is beside a single reduction.
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

/// What is to be done.
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
    /// `None` if it was left open.
    pub(crate) element: Option<ElementType>,
    pub(crate) source: Source,
    pub(crate) request: Request,
    pub(crate) device: DeviceChoice,
    /// `None` for as many as suit the device.
    pub(crate) reps: Option<u32>,
    pub(crate) no_tuned: bool,
    pub(crate) ptx_dir: Option<PathBuf>,
    /// Whether to watch the kernel; then the device is the simulator.
    pub(crate) check: bool,
    pub(crate) json: bool,
}

/// Where the elements come from.
pub(crate) enum Source {
    /// A generator.
    Seed { n: u64, seed: u64 },
    /// A file, which must hold `n` elements if that is said.
    File { path: PathBuf, n: Option<u64> },
}

impl Args {
    /// What the arguments mean, without looking at any file or device.
    pub(crate) fn resolve(self) -> Result<Command> {
        if let Some(subcommand) = self.subcommand {
            return Ok(Command::Subcommand(Box::new(subcommand)));
        }
        if self.list {
            return Ok(Command::List);
        }
        let Some(variant) = self.variant else {
            bail!("--variant is missing: it is 0 to 14, global, atomic, atomic-warp, or a name that --list prints")
        };
        let n = self.n.map(|text| whole("--n", &text, "4194304 or 2^22")).transpose()?;
        let seed = whole("--seed", &self.seed, "1")?;
        let source = match (self.input, n) {
            (Some(path), n) => Source::File { path, n },
            (None, Some(n)) => Source::Seed { n, seed },
            (None, None) => bail!("--n is missing: it is the number of elements, such as 4194304 or 2^22"),
        };
        let device = match (self.check, self.device.parse()?) {
            (true, DeviceChoice::Cuda) => bail!("--check with --device cuda: only the simulator can watch a kernel"),
            (true, _) => DeviceChoice::Simulator,
            (false, device) => device,
        };
        Ok(Command::Reduce(Job {
            variant: variant.parse()?,
            op: self.op.parse()?,
            element: self.element.map(|text| text.parse()).transpose()?,
            source,
            request: Request {
                block: self.block.map(|text| whole("--block", &text, "256")).transpose()?,
                grid: self.grid.map(|text| whole("--grid", &text, "1024")).transpose()?,
                finish: self.finish.parse()?,
            },
            device,
            reps: reps(self.reps.as_deref())?,
            no_tuned: self.no_tuned,
            ptx_dir: self.ptx_dir,
            check: self.check,
            json: self.json,
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
