//! The exported kernels: one line for each, and one file for each family.

pub mod access;
pub mod ladder;
pub mod reduce;
pub mod transpose;
