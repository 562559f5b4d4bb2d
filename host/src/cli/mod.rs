//! What warpfold's command-line tools share: numbers as arguments, the device, progress, Ctrl-C, results in a format,
//! completions and manual pages, errors with their exit status.

mod device;
mod exit;
mod failure;
mod findings;
mod generate;
mod interrupt;
mod output;
mod progress;
mod whole;

pub use device::{interruptible, open_device};
pub use exit::{EXIT_STATUS, exit};
pub use failure::{Failure, failed, note, refused, written};
pub use findings::Findings;
pub use generate::GenerateArgs;
pub use interrupt::{INTERRUPTED, catch_interrupts, interrupted};
pub use output::{Output, OutputArgs};
pub use progress::Progress;
pub use whole::whole;
