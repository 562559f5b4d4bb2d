//! Observation of launches: counts, checks and traces.
//!
//! Each module implements the trait [`Observer`](crate::exec::observer::Observer), which the
//! interpreter calls: [`count`] counts, [`check`] looks for races and other mistakes, [`trace`]
//! records accesses and the contents of memory.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod trace;

mod hardware;
