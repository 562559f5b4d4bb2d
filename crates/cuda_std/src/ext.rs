//! Device functions that rust-cuda's `cuda_std` lacks: those of newer hardware, and those that
//! concern the whole grid.
//!
//! A kernel that uses this module no longer compiles with rust-cuda. If the rest of its crate must
//! compile with rust-cuda, keep the kernel behind a feature.

pub mod atomic;
pub mod bulk;
pub mod cluster;
pub mod control;
pub mod copy;
pub mod grid;
pub mod matching;
pub mod math;
pub mod mbarrier;
pub mod packed;
pub mod redux;
pub mod streaming;
pub mod target;
pub mod time;
