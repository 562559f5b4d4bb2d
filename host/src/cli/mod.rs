//! The parts that warpfold's command-line tools share: arguments, the device, one run and its
//! report, progress, Ctrl-C, results in a format, completions and manual pages, and errors with
//! their exit status.

mod args;
mod device;
mod driver;
mod exit;
mod failure;
mod findings;
mod generate;
mod interrupt;
mod output;
mod progress;
mod report;
mod whole;

pub use args::{CheckArgs, DeviceArgs, MAX_REPS, PtxArgs, RunArgs, SeedArgs, parse, reps};
pub use device::{interruptible, open_device};
pub use driver::{DRIVER_VARIABLE, choose_driver};
pub use exit::{EXIT_STATUS, exit};
pub use failure::{Failure, failed, note, refused, written};
pub use generate::GenerateArgs;
pub use interrupt::{INTERRUPTED, catch_interrupts, interrupted};
pub use output::{OutputArgs, width};
pub use progress::Progress;
pub use report::{Finished, describe_run};
pub use whole::{number, whole};
