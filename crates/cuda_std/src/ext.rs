//! What rust-cuda's `cuda_std` lacks: device functions of newer hardware, and of the whole grid.
//!
//! A kernel that uses this module is no rust-cuda program any more; keep it behind a feature if the crate is to be one.

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
