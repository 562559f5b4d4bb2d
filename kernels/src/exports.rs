//! The exported kernels: one file for each family, and a few lines for each product.

pub mod access;
pub mod ladder;
#[cfg(feature = "ext")]
pub mod reduce;
pub mod transpose;
