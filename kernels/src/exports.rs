//! The exported kernels: one line for each, and one file for each family.

pub mod ladder;
pub mod transpose;
