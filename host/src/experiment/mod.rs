//! What every experiment of the lab does: a plan is launched again and again on a device, timed,
//! checked and reported.
//!
//! The ladder and transposition are two such experiments. Each plans by itself, and each says how
//! one run goes and what the run leaves ([`Experiment`]). A [`Runner`] keeps the kernels and
//! repeats the runs.

mod counted;
mod report;
mod runner;
mod runs;
mod times;

pub use counted::counters;
pub(crate) use report::JsonSpeed;
pub use report::Report;
#[cfg(test)]
pub(crate) use report::test_device;
pub use runner::{Experiment, Outcome, RunError, Runner};
pub use runs::Runs;
pub use times::{Times, gb_per_s};
