//! Transposition of a matrix, in variants that show how memory is used well.
//!
//! The lecture is Jiří Filipovič, "Optimalizace pro GPU hardware" (Masaryk University),
//! "Transpozice matic", after Greg Ruetsch and Paulius Micikevicius, "Optimizing Matrix Transpose
//! in CUDA" (NVIDIA). A transposition computes nothing. Its only limit is the bandwidth of memory,
//! and a plain copy shows how large that is.
//!
//! # The launch's contract
//!
//! - `input` holds a matrix of `rows` x `cols` elements, row by row. `output` holds a matrix of
//!   `cols` x `rows` elements (for the copies: `rows` x `cols`). Both are aligned to 16 bytes and
//!   do not overlap. Both extents are below 2^31.
//! - A block has `TILE` x 8 threads and works on one tile of `TILE` x `TILE` elements
//!   ([`best`](mod@best) names its own numbers).
//! - The grid has a block for each tile of the input. Columns of tiles lie along x. Rows of tiles
//!   lie along y, and because CUDA allows only 65535 blocks along y, further rows go along z. The
//!   grid of [`naive_load`](mod@naive_load) and [`strided_copy`](mod@strided_copy) covers the tiles
//!   of the output in this way. The grid of [`tiled`](mod@tiled), [`padded`](mod@padded) and
//!   [`swizzled`](mod@swizzled) goes down two columns of tiles at a time: block x takes row x / 2
//!   of tiles, and y and z count pairs of columns. Blocks beyond the last tile do nothing.
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

/// The number of threads in a block along y: the lecture's `BLOCK_ROWS`. Each thread moves
/// `TILE / BLOCK_ROWS` elements.
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

/// The block's column and row of tiles, if the grid goes down two columns at a time.
///
/// Blocks that run at the same time then write whole rows of the output, and read two tiles' width
/// of each row. On an H100, 16384 x 16384 floats, padded: 754 us. Four columns at a time take 753
/// us, but more blocks have nothing to do; one column takes 767 us, and going along the rows 774
/// us.
#[inline(always)]
fn tile_by_columns() -> (u32, u32) {
    let (pair, x) = (tile_row(), thread::block_idx_x());
    (2 * pair + x % 2, x / 2)
}

/// Where an element lies in a matrix whose rows have `cols` elements.
#[inline(always)]
fn at(y: u32, x: u32, cols: u32) -> usize {
    y as usize * cols as usize + x as usize
}
