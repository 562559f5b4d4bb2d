//! The manners of a command-line tool: errors with their exit statuses, Ctrl-C, a line of progress,
//! completions and manual pages, numbers as arguments, and the driver that the environment names.

mod driver;
mod exit;
mod failure;
mod generate;
mod interrupt;
mod parse;
mod progress;
mod whole;

pub use driver::{DRIVER_VARIABLE, choose_driver};
pub use exit::{EXIT_STATUS, exit};
pub use failure::{Failure, failed, note, refused, written};
pub use generate::GenerateArgs;
pub use interrupt::{INTERRUPTED, catch_interrupts, interrupted};
pub use parse::{misused, parse};
pub use progress::Progress;
pub use whole::{number, whole};
