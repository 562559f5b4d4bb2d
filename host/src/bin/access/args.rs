//! The arguments as they are written, and what they mean.

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use warpfold_lab::{
    access::{Drawn, Pattern, Request, Sweep},
    cli::{
        DeviceArgs, EXIT_STATUS, GenerateArgs, MAX_REPS, OutputArgs, PictureArgs, PtxArgs, number,
        whole,
    },
    experiment::Runs,
};

/// Measure how the pattern of memory accesses decides their cost. Each command repeats one
/// experiment of Jiří Filipovič's lecture: it changes one parameter, such as the stride, and prints
/// a table with a row for each value. Requests, sectors and bank conflicts are counted on the
/// simulator; times are measured if there is a GPU. All results are checked on the CPU. The command
/// explain draws a request of a warp.
#[derive(Parser)]
#[command(
    name = "access",
    version,
    args_conflicts_with_subcommands = true,
    after_help = EXIT_STATUS
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Written>,

    /// List the access patterns with the slides of the lecture that they repeat, and exit
    #[arg(long)]
    list: bool,
}

#[derive(Subcommand)]
enum Written {
    /// Read and copy words of global memory that begin 0 to 32 words after an aligned address
    Offset(PatternArgs),
    /// Read and copy words of global memory that lie 1 to 64 words apart
    Stride(PatternArgs),
    /// Read and copy words of global memory in several orders of the lanes of a warp
    Permuted(PatternArgs),
    /// Read and copy 4, 8 and 16 bytes of global memory with each access of a thread
    Width(PatternArgs),
    /// Read words of shared memory that lie 1 to 33 words apart
    SharedStride(PatternArgs),
    /// Read adjacent words of shared memory, beginning at word 0 to 32
    SharedOffset(PatternArgs),
    /// Read each word of shared memory with 1 to 256 threads
    Broadcast(PatternArgs),
    /// Copy between host and GPU, with pageable and page-locked memory, and during computation;
    /// needs a GPU
    Transfer(PatternArgs),
    /// Read constant memory at 1 to 32 different addresses in each warp
    Constant(PatternArgs),
    /// Divide by a power of two, and do the same with shifts and masks
    Divide(PatternArgs),
    /// Compute sine and exponential with fast and with precise functions
    Math(PatternArgs),
    /// Sum a vector in loops that are unrolled by 1, 2, 4 and 8
    Unroll(PatternArgs),
    /// Run all patterns and write one document
    All(PatternArgs),
    /// Draw which sectors or banks a warp meets with one value of a pattern's parameter
    Explain(ExplainArgs),
    /// Write shell completions or a manual page
    Generate(GenerateArgs),
}

#[derive(clap::Args)]
struct PatternArgs {
    /// Number of accesses, such as 4194304 or 2^22; for a pattern whose threads make many accesses
    /// each, the number of threads [default: depends on the pattern and the device]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--n", "4194304 or 2^22")
    )]
    n: Option<u64>,

    /// The first and the last value of the pattern's parameter, such as 0..32; only for offset,
    /// stride, shared-stride, shared-offset and constant [default: the range of the slide]
    #[arg(long, value_name = "A..B", allow_hyphen_values = true, value_parser = range)]
    range: Option<Sweep>,

    #[command(flatten)]
    device: DeviceArgs,

    /// Number of timed runs on a GPU, after 3 runs to warm up; the simulator counts a single run
    /// [default: 20]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = reps)]
    reps: Option<u32>,

    /// Seed of the values in the arrays and of the random order, a whole number below 2^32
    #[arg(long, default_value = "1", allow_hyphen_values = true, value_parser = seed)]
    seed: u32,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(clap::Args)]
struct ExplainArgs {
    /// The pattern: offset, stride, permuted, width, shared-stride, shared-offset or broadcast
    #[arg(allow_hyphen_values = true)]
    pattern: Pattern,

    /// The value of the pattern's parameter, as in the first column of the pattern's table
    /// [default: one that shows what the pattern teaches]
    #[arg(allow_hyphen_values = true)]
    value: Option<String>,

    /// Seed of the values in the arrays and of the random order, a whole number below 2^32
    #[arg(long, default_value = "1", allow_hyphen_values = true, value_parser = seed)]
    seed: u32,

    #[command(flatten)]
    ptx: PtxArgs,

    #[command(flatten)]
    picture: PictureArgs,
}

/// The action that the arguments ask for.
pub(crate) enum Command {
    List,
    Explain(Drawn, PtxArgs, PictureArgs),
    Show(Job),
    Generate(GenerateArgs),
}

/// The patterns that were asked for.
pub(crate) struct Job {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) request: Request,
    pub(crate) device: DeviceArgs,
    pub(crate) ptx: PtxArgs,
    pub(crate) output: OutputArgs,
}

impl Args {
    /// Finds out what the arguments mean, without looking at any file or device.
    pub(crate) fn resolve(self) -> Result<Command> {
        use Written as W;
        let (pattern, args) = match self.command {
            None if self.list => return Ok(Command::List),
            None => bail!("the pattern is missing: it is all, or a name that --list prints"),
            Some(W::Generate(args)) => return Ok(Command::Generate(args)),
            Some(W::Explain(ExplainArgs { pattern, value, seed, ptx, picture })) => {
                let drawn = Drawn::parse(pattern, value.as_deref(), seed)?;
                return Ok(Command::Explain(drawn, ptx, picture));
            }
            Some(W::All(args)) => (None, args),
            Some(W::Offset(args)) => (Some(Pattern::Offset), args),
            Some(W::Stride(args)) => (Some(Pattern::Stride), args),
            Some(W::Permuted(args)) => (Some(Pattern::Permuted), args),
            Some(W::Width(args)) => (Some(Pattern::Width), args),
            Some(W::SharedStride(args)) => (Some(Pattern::SharedStride), args),
            Some(W::SharedOffset(args)) => (Some(Pattern::SharedOffset), args),
            Some(W::Broadcast(args)) => (Some(Pattern::Broadcast), args),
            Some(W::Transfer(args)) => (Some(Pattern::Transfer), args),
            Some(W::Constant(args)) => (Some(Pattern::Constant), args),
            Some(W::Divide(args)) => (Some(Pattern::Divide), args),
            Some(W::Math(args)) => (Some(Pattern::Math), args),
            Some(W::Unroll(args)) => (Some(Pattern::Unroll), args),
        };
        Ok(Command::Show(args.resolve(pattern)?))
    }
}

impl PatternArgs {
    /// The job for one pattern, or for all if `pattern` is `None`.
    fn resolve(self, pattern: Option<Pattern>) -> Result<Job> {
        if pattern.is_none() && self.range.is_some() {
            bail!("--range with all: each pattern has a range of its own");
        }
        let runs = Request::default().runs;
        let request = Request {
            n: self.n,
            runs: Runs { timed: self.reps.unwrap_or(runs.timed), ..runs },
            seed: self.seed,
            sweep: self.range,
        };
        Ok(Job {
            patterns: pattern.map_or_else(|| Pattern::ALL.to_vec(), |pattern| vec![pattern]),
            request,
            device: self.device,
            ptx: self.ptx,
            output: self.output,
        })
    }
}

/// Parses `--reps`.
fn reps(text: &str) -> Result<u32> {
    match whole("--reps", text, "20")? {
        reps @ 1..=MAX_REPS => Ok(reps as u32),
        reps => bail!("--reps {reps}: 1 to {MAX_REPS} runs are made"),
    }
}

/// Parses `--seed`.
fn seed(text: &str) -> Result<u32> {
    let seed = whole("--seed", text, "1")?;
    u32::try_from(seed).ok().with_context(|| format!("--seed {seed}: it must be below 2^32"))
}

/// Parses `--range`, such as `0..32`. Both ends belong to the range.
fn range(text: &str) -> Result<Sweep> {
    let number = |text: &str| {
        let number = whole("--range", text, "0..32")?;
        u32::try_from(number)
            .ok()
            .with_context(|| format!("--range '{text}': it must be below 2^32"))
    };
    match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                bail!("--range '{text}': it is empty, because {first} is more than {last}");
            }
            Ok(Sweep { first, last })
        }
        None => number(text).map(|one| Sweep { first: one, last: one }),
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

    #[test]
    fn the_help_says_what_the_list_says() {
        let command = Args::command();
        for pattern in Pattern::ALL {
            let help =
                command.find_subcommand(pattern.name()).unwrap().get_about().unwrap().to_string();
            assert_eq!(help.to_lowercase(), pattern.about().to_lowercase(), "{pattern}");
        }
    }
}
