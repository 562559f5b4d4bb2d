//! The parts that warpfold's command-line tools share: arguments, the device, one run and its
//! report, progress, Ctrl-C, results in a format, completions and manual pages, and errors with
//! their exit status.

mod args;
mod device;
mod findings;
mod output;
mod picture;
mod report;

pub use warpfold_tools::terminal::{
    DRIVER_VARIABLE, EXIT_STATUS, Failure, GenerateArgs, INTERRUPTED, Progress, catch_interrupts,
    choose_driver, exit, failed, interrupted, note, number, parse, refused, whole, written,
};

pub use args::{CheckArgs, DeviceArgs, MAX_REPS, PtxArgs, RunArgs, SeedArgs, Watch, reps};
pub use device::{interruptible, open_device};
pub use output::{OutputArgs, width};
pub use picture::PictureArgs;
pub use report::{Finished, describe_run};
