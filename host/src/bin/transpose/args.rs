//! The arguments as they are written, and as they are meant.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use warpfold_lab::{
    cli::{EXIT_STATUS, GenerateArgs, whole},
    device::DeviceChoice,
    transpose::{ElementType, Variant},
};

use crate::{compare::CompareArgs, profile::ProfileArgs};

/// Transpose a matrix on a GPU, or on the built-in simulator; check the result against the CPU and time it. Or see why a
/// variant is slow, with one of the commands.
#[derive(Parser)]
#[command(
    name = "transpose",
    version,
    args_conflicts_with_subcommands = true,
    after_help = format!("{EXIT_STATUS}\nThe time is that of the launch; copies are not in it. The bandwidth is that of the bytes \
                  read and written. On the simulator the time is the wall clock of the simulation, and says nothing about a GPU.")
)]
#[expect(clippy::struct_excessive_bools, reason = "flags are")]
pub(crate) struct Args {
    #[command(subcommand)]
    lesson: Option<Lesson>,

    /// A name that --list prints, such as padded
    #[arg(long, allow_hyphen_values = true)]
    variant: Option<String>,

    /// Rows of the matrix, as in 4000 or 2^12; with --input, how many it must have
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    rows: Option<String>,

    /// Columns of the matrix [default: as many as rows]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    cols: Option<String>,

    /// Type of the elements: u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64, c64, u128, i128 or c128 [default:
    /// f32, or what a .npy file holds]
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<String>,

    /// Elements on each side of a tile: 16 or 32 [default: 32; of variant best, by the type]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    tile: Option<String>,

    /// The same as --variant in-place: a square matrix, without a second one
    #[arg(long)]
    in_place: bool,

    /// auto (a GPU if there is one), cuda or sim
    #[arg(long, default_value = "auto")]
    device: String,

    /// Timed runs [default: 20 on a GPU, after 3 to warm up; 1 on the simulator]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    reps: Option<String>,

    /// Seed of the generated elements, a whole number
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    seed: String,

    /// Transpose the matrix of a .npy file
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    /// Watch the kernel for data races, reads of what nobody wrote, and barriers that threads miss; on the simulator, which
    /// is taken then
    #[arg(long)]
    check: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// List the variants and exit
    #[arg(long)]
    list: bool,
}

/// What variants teach.
#[derive(Subcommand)]
pub(crate) enum Lesson {
    /// Time all variants, and count what they do, side by side
    Compare(CompareArgs),
    /// Count what a variant does, on the simulator
    Profile(ProfileArgs),
    /// Write a shell's completion, or a page of the manual
    Generate(GenerateArgs),
}

/// What is to be done.
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
    /// `None` if it was left open.
    pub(crate) element: Option<ElementType>,
    pub(crate) source: Source,
    pub(crate) tile: Option<u64>,
    pub(crate) device: DeviceChoice,
    /// `None` for as many as suit the device.
    pub(crate) reps: Option<u32>,
    pub(crate) ptx_dir: Option<PathBuf>,
    /// Whether to watch the kernel; then the device is the simulator.
    pub(crate) check: bool,
    pub(crate) json: bool,
}

/// Where the elements come from.
pub(crate) enum Source {
    /// A generator.
    Seed { rows: u64, cols: u64, seed: u64 },
    /// A file, which must have so many rows and columns if that is said.
    File { path: PathBuf, rows: Option<u64>, cols: Option<u64> },
}

impl Args {
    /// What the arguments mean, without looking at any file or device.
    pub(crate) fn resolve(self) -> Result<Command> {
        if let Some(lesson) = self.lesson {
            return Ok(Command::Lesson(lesson));
        }
        if self.list {
            return Ok(Command::List);
        }
        let variant = match (self.variant, self.in_place) {
            (Some(text), false) => text.parse()?,
            (None, true) => Variant::InPlace,
            (Some(text), true) if text.parse() == Ok(Variant::InPlace) => Variant::InPlace,
            (Some(text), true) => bail!("--in-place with --variant {text}: it is a variant of its own"),
            (None, false) => bail!("--variant is missing: it is a name that --list prints, such as padded"),
        };
        let rows = extent("--rows", self.rows.as_deref())?;
        let cols = extent("--cols", self.cols.as_deref())?;
        let seed = whole("--seed", &self.seed, "1")?;
        let source = match (self.input, rows) {
            (Some(path), rows) => Source::File { path, rows, cols },
            (None, Some(rows)) => Source::Seed { rows, cols: cols.unwrap_or(rows), seed },
            (None, None) => bail!("--rows is missing: it is the number of rows, such as 4000 or 2^12"),
        };
        let device = match (self.check, self.device.parse()?) {
            (true, DeviceChoice::Cuda) => bail!("--check with --device cuda: only the simulator can watch a kernel"),
            (true, _) => DeviceChoice::Simulator,
            (false, device) => device,
        };
        Ok(Command::Transpose(Job {
            variant,
            element: self.element.map(|text| text.parse()).transpose()?,
            source,
            tile: tile(self.tile.as_deref())?,
            device,
            reps: reps(self.reps.as_deref())?,
            ptx_dir: self.ptx_dir,
            check: self.check,
            json: self.json,
        }))
    }
}

/// `--rows` or `--cols`.
pub(crate) fn extent(flag: &str, text: Option<&str>) -> Result<Option<u64>> {
    text.map(|text| whole(flag, text, "4000 or 2^12")).transpose()
}

/// `--tile`.
pub(crate) fn tile(text: Option<&str>) -> Result<Option<u64>> {
    text.map(|text| whole("--tile", text, "32")).transpose()
}

/// `--reps`.
pub(crate) fn reps(text: Option<&str>) -> Result<Option<u32>> {
    match text.map(|text| whole("--reps", text, "20")).transpose()? {
        Some(0) => bail!("--reps 0: at least one run is needed"),
        Some(reps) => {
            let runs = u32::try_from(reps).ok().filter(|&reps| reps <= MAX_REPS);
            Ok(Some(runs.with_context(|| format!("--reps {reps}: at most {MAX_REPS} runs are made"))?))
        }
        None => Ok(None),
    }
}

const MAX_REPS: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }
}
