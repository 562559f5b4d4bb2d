//! Transposition: the same matrix again and again, and each variant is a lesson on what memory wants.
//!
//! The lecture is Jiří Filipovič, "Optimalizace pro GPU hardware" (Masaryk University), "Transpozice matic", after Greg
//! Ruetsch and Paulius Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA). A transposition computes nothing: its
//! only limit is the bandwidth of memory, which a plain copy shows.
//!
//! # The launch's contract
//!
//! - `input` holds a matrix of `rows` x `cols` elements, row by row; `output` as many, of `cols` x `rows` (the copies: of
//!   `rows` x `cols`). Both are aligned to 16 bytes and do not overlap. Both extents are below 2^31.
//! - A block has `TILE` x 8 threads ([`best`](mod@best): see there) and works on one tile of `TILE` x `TILE` elements.
//! - The grid has a block for each tile of the input, column of tiles by column along x ([`naive_load`](mod@naive_load): of
//!   the output). The rows of tiles lie along y, of which CUDA allows 65535, and as often as needed along z. Blocks
//!   beyond the last row of tiles do nothing.
//!
//! [`in_place`](mod@in_place) has a contract of its own.

use cuda_std::thread;

pub mod best;
pub mod copy;
pub mod diagonal;
pub mod in_place;
pub mod naive_load;
pub mod naive_store;
pub mod padded;
pub mod shared_copy;
pub mod strided_copy;
pub mod swizzled;
pub mod tiled;

/// Threads of a block along y: the lecture's `BLOCK_ROWS`. Each thread moves `TILE / BLOCK_ROWS` elements.
pub const BLOCK_ROWS: u32 = 8;

/// The block's column of tiles.
#[inline(always)]
fn tile_column() -> u32 {
    thread::block_idx_x()
}

/// The block's row of tiles.
#[inline(always)]
fn tile_row() -> u32 {
    thread::block_idx_z() * thread::grid_dim_y() + thread::block_idx_y()
}

/// Where an element lies in a matrix whose rows have `cols` elements.
#[inline(always)]
fn at(y: u32, x: u32, cols: u32) -> usize {
    y as usize * cols as usize + x as usize
}
