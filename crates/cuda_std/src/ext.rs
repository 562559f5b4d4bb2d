//! What rust-cuda's `cuda_std` lacks: device functions of newer hardware, and of the whole grid.
//!
//! A kernel that uses this module no longer compiles with rust-cuda. Keep it behind a feature if
//! the rest of its crate has to.

pub mod atomic;
pub mod bulk;
pub mod cluster;
pub mod control;
pub mod grid;
pub mod math;
pub mod mbarrier;
pub mod packed;
pub mod redux;
pub mod streaming;
pub mod target;
