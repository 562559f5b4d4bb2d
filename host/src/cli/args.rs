//! Arguments that several tools take.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clap::Args;
use simt::{FailOn, suppress::Suppressions};

use warpfold_tools::terminal::{Failure, failed, number, refused};

use super::device::{interruptible, open_device};
use crate::{
    device::{Device, DeviceChoice, DeviceInfo, Instrument},
    experiment::{RunError, Runs},
    ptx::{self, PtxLibrary},
};

/// The most timed runs that can be asked for.
pub const MAX_REPS: u64 = 1_000_000;

/// Parses a number of timed runs.
///
/// # Errors
///
/// The text is no number, or the number is 0 or more than [`MAX_REPS`].
pub fn reps(text: &str) -> anyhow::Result<u32> {
    match number("--reps", "20")(text)? {
        0 => bail!("--reps 0: at least one run is needed"),
        reps if reps > MAX_REPS => bail!("--reps {reps}: at most {MAX_REPS} runs are made"),
        reps => Ok(reps as u32),
    }
}

/// The argument that says where to run.
#[derive(Args, Clone, Copy, Debug)]
pub struct DeviceArgs {
    /// The device: auto (a GPU if there is one), cuda or sim (the built-in simulator)
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
}

/// The argument that says what the elements are.
#[derive(Args, Clone, Copy, Debug)]
pub struct SeedArgs {
    /// Seed of the generated elements, a whole number
    #[arg(
        long,
        default_value = "1",
        allow_hyphen_values = true,
        value_parser = number("--seed", "1")
    )]
    pub seed: u64,
}

/// The arguments that say where one plan runs, how often, and over which elements.
#[derive(Args, Clone, Copy, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    device: DeviceArgs,

    /// Number of timed runs [default: 20 on a GPU, after 3 runs to warm up; 1 on the simulator]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = reps)]
    reps: Option<u32>,

    #[command(flatten)]
    seed: SeedArgs,
}

impl RunArgs {
    /// The device.
    pub fn device(self) -> DeviceChoice {
        self.device.device
    }

    /// The seed of the generated elements.
    pub fn seed(self) -> u64 {
        self.seed.seed
    }

    /// The number of runs that were asked for, or else that suit the device.
    pub fn runs(self, device: &DeviceInfo) -> Runs {
        Runs::suiting(device, self.reps)
    }
}

/// The argument that says which kernels to run.
#[derive(Args, Clone, Debug)]
pub struct PtxArgs {
    /// Use the PTX in this folder instead of the embedded PTX (the environment variable
    /// WARPFOLD_PTX_DIR does the same)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

impl PtxArgs {
    /// Opens the kernels.
    ///
    /// # Errors
    ///
    /// The failure of [`no_ptx`](Self::no_ptx).
    pub fn open(&self) -> Result<PtxLibrary, Failure> {
        PtxLibrary::open(self.ptx_dir.as_deref()).map_err(|error| self.no_ptx(error))
    }

    /// The failure if there are no kernels. A folder that the user named is an input like others,
    /// so its error is [`Failure::Refused`]. The embedded kernels are not the user's, so their
    /// error is [`Failure::Failed`].
    pub fn no_ptx(&self, error: impl Into<anyhow::Error>) -> Failure {
        if ptx::folder(self.ptx_dir.as_deref()).is_some() { refused(error) } else { failed(error) }
    }

    /// The failure if a run of these kernels ended with an error.
    pub fn not_run(&self, error: RunError) -> Failure {
        match error {
            RunError::Ptx(error) => self.no_ptx(error),
            RunError::Interrupted => Failure::Interrupted(error.into()),
            error => failed(error),
        }
    }
}

/// The arguments that say how one run is watched and shown.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Check the kernel for data races, reads of memory that nothing wrote, and barriers that some
    /// threads miss; it then runs on the simulator
    #[arg(long)]
    check: bool,

    /// The least severity of a finding of --check that makes the exit status 1: error, warning,
    /// note or never; a fault always does
    #[arg(long, value_name = "SEVERITY", default_value = "warning", requires = "check")]
    pub(super) fail_on: FailOn,

    /// A TOML file with findings of --check that are accepted; `simt run --help` explains its form
    #[arg(
        long,
        value_name = "FILE",
        value_hint = clap::ValueHint::FilePath,
        requires = "check"
    )]
    pub(super) suppress: Option<PathBuf>,

    /// Write the findings of --check to a file in the format SARIF 2.1.0
    #[arg(
        long,
        value_name = "FILE",
        value_hint = clap::ValueHint::FilePath,
        requires = "check"
    )]
    pub(super) sarif: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl CheckArgs {
    /// Refuses to watch a run on a GPU.
    ///
    /// # Errors
    ///
    /// [`Failure::Refused`].
    pub fn refuse_gpu(&self, device: DeviceChoice) -> Result<(), Failure> {
        if self.check && device == DeviceChoice::Cuda {
            return Err(refused(anyhow!(
                "--check with --device cuda: only the simulator can check a kernel"
            )));
        }
        Ok(())
    }

    /// The device that was chosen, or the simulator that watches, and how it is watched.
    ///
    /// # Errors
    ///
    /// [`Failure::Refused`] if the suppressions cannot be used, and [`Failure::Failed`] if there is
    /// no such device.
    pub fn open(self, device: DeviceChoice) -> Result<(Device, Watch), Failure> {
        let suppressions = self.suppress.as_deref().map(Suppressions::read).transpose();
        let suppressions = suppressions.map_err(refused)?.unwrap_or_default();
        let device = if self.check {
            interruptible(Device::simulator_with(Instrument::Check))?
        } else {
            open_device(device)?
        };
        Ok((device, Watch { args: self, suppressions }))
    }
}

/// How a run is watched and shown.
#[derive(Debug)]
pub struct Watch {
    pub(super) args: CheckArgs,
    pub(super) suppressions: Suppressions,
}

impl Watch {
    /// Whether the run is checked.
    pub(super) fn checks(&self) -> bool {
        self.args.check
    }
}
