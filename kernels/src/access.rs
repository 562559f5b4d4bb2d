//! Patterns of memory access. Each file holds one pattern, from a slide of Filipovič's lecture.
//!
//! "Optimalizace pro GPU hardware" (Jiří Filipovič, Masaryk University) shows what coalescing,
//! alignment, strides, banks, constants and loops cost. Each kernel does one of these many times
//! and does little else, so that it can be counted and timed.
//!
//! # The launch's contract
//!
//! - grid and block are one-dimensional, and the block is a multiple of 32 threads;
//! - `input` and `output` hold as many elements as the kernel's documentation says. Both are
//!   aligned to the element and do not overlap.
//!
//! # Why no read is optimised away
//!
//! Each thread adds the words that it reads to a sum, which wraps, and stores the sum. A thread
//! reads many words and stores one, so the store takes hardly any time; and the host can compute
//! which value it must have.

use cuda_std::thread;

pub mod constant;
pub mod divide;
pub mod fill;
#[cfg(feature = "ext")]
pub mod math;
pub mod offset;
pub mod permuted;
#[cfg(feature = "ext")]
pub mod precise;
pub mod shared;
pub mod stride;
#[cfg(feature = "ext")]
pub mod transfer;
#[cfg(feature = "ext")]
pub mod unroll;
pub mod width;

/// The thread's index in the grid.
#[inline(always)]
fn thread_index() -> usize {
    thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize
}

/// The number of threads in the grid, which is the step of a loop that all of them share.
#[inline(always)]
fn threads() -> usize {
    thread::grid_dim_x() as usize * thread::block_dim_x() as usize
}

/// The word at index `i` of a test array, which the host can compute too. The multiplier is 2^32
/// divided by the golden ratio, so that neighbours differ in all their bits.
#[inline(always)]
const fn word(i: u32, seed: u32) -> u32 {
    i.wrapping_mul(0x9E37_79B9).wrapping_add(seed)
}
