//! Arithmetic: for each instruction and type, the function that computes it in all lanes.
//!
//! The functions that choose return `None` for combinations that PTX does not have or that are not
//! simulated.

#![allow(clippy::float_cmp, reason = "PTX compares exactly")]
#![allow(clippy::manual_clamp, reason = "`clamp` keeps NaN, and `.sat` turns it into 0")]
#![allow(clippy::precedence, reason = "products and shifts in the order of the PTX ISA's formulas")]

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod cvt;
mod exact;
pub(crate) mod float;
mod gross;
pub(crate) mod half;
pub(crate) mod int;
mod relation;
pub(crate) mod video;
