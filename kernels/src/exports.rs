//! The exported kernels: one line for each, and one file for each family.

pub mod access;
pub mod ladder;
#[cfg(feature = "ext")]
pub mod reduce;
pub mod transpose;
