//! Reductions on the CPU.

mod bins;
mod element;
mod fold;
mod pairs;
mod reduce;
mod runs;
mod top;
mod value;
mod walk;

pub(crate) use bins::{Counted, count, sums};
pub(crate) use pairs::dot;
pub(crate) use reduce::{Overflow, fits, reduce};
pub(crate) use runs::{WrongSegment, run_ends, segments, take_runs};
pub(crate) use value::{Output, Value};
