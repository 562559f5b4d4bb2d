//! The steps that every experiment of the lab shares: a plan is launched again and again on a
//! device, timed, checked and reported.
//!
//! The ladder and transposition are two such experiments. Each has its own planning, and each
//! defines one run and its output ([`Experiment`]). A [`Runner`] keeps the loaded kernels and
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
