//! The exported kernels. There is one file for each family; a line of a macro stamps out many
//! kernels.

pub mod access;
#[cfg(feature = "ext")]
pub mod finish;
pub mod ladder;
#[cfg(feature = "ext")]
pub mod reduce;
pub mod rows;
pub mod transpose;
