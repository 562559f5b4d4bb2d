//! Arithmetic: for each instruction and type the function that computes it in all lanes.
//!
//! The selecting functions return `None` for combinations that PTX does not have or that are not simulated.

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod cvt;
pub(crate) mod float;
pub(crate) mod int;
