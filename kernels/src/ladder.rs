//! The reduction ladder: each rung reduces the same array, and teaches why the one before was slow.
//!
//! Numbering and code follow the lectures that each file names:
//!
//! - *Filipovič*: Jiří Filipovič, "Optimalizace pro GPU hardware" (Masaryk University), after Mark
//!   Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA).
//! - *Liu*: Hui Liu, "GPU Computing: reduction algorithms".
//! - *Udacity*: "Reduction Using Global and Shared Memory", Intro to Parallel Programming.
//! - *CSDN*: "CUDA performance tuning (2): parallel reduction and its optimisation".
//!
//! # The launch's contract
//!
//! All rungs are launched alike, and all need the following:
//!
//! - grid and block are one-dimensional, and the block size is a power of two that the rung allows;
//! - `input` (`data` for `global`) holds `n` elements. `output` holds one for each block (rung 0:
//!   for each pair; or one, if one launch does everything). Both are aligned and do not overlap;
//! - the grid covers `n` elements (from rung 7 on any grid will do);
//! - rungs 1 to 7 get dynamic shared memory for one element a thread, later ones for one a warp.
//!
//! Each block leaves its partial result in `output[block]`, and the host combines them. If a rung
//! needs more, it says so. The lectures call the block's array in shared memory `sv`.

use crate::element::Element;
use crate::op::Op;

#[cfg(feature = "ext")]
pub mod atomic;
pub(crate) mod block;
pub mod global;
mod last_warp;
pub mod naive;
pub mod reduce1;
#[cfg(feature = "ext")]
pub mod reduce10;
#[cfg(feature = "ext")]
pub mod reduce11;
#[cfg(feature = "ext")]
pub mod reduce12;
#[cfg(feature = "ext")]
pub mod reduce13;
#[cfg(feature = "ext")]
pub mod reduce14;
pub mod reduce2;
pub mod reduce3;
pub mod reduce4;
pub mod reduce5;
pub mod reduce6;
pub mod reduce7;
pub mod reduce8;
pub mod reduce9;

/// `input[i]`, or the identity beyond the end, so that every thread has something to add.
///
/// # Safety
/// `input` holds `n` elements.
#[inline(always)]
unsafe fn element_or_identity<T: Element, O: Op<T>>(input: *const T, i: usize, n: usize) -> T {
    if i < n {
        // SAFETY: `i` is below `n`.
        unsafe { *input.add(i) }
    } else {
        O::IDENTITY
    }
}
