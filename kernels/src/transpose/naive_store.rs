//! Naive transposition: it reads along the rows and writes down the columns.
//!
//! Filipovič, "Transpozice matic": `mtran`, `odata[x*n + y] = idata[y*n + x]`.
//!
//! What it teaches: the writes of a warp are a row of `output` apart, so each is in a sector of its
//! own. They take 32 sectors, but 4 sectors could hold the bytes.

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Transposes the matrix; stores are strided.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)).
#[inline(always)]
pub unsafe fn naive_store<T: Copy, const TILE: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
) {
    let x = tile_column() * TILE + thread::thread_idx_x();
    let y = tile_row() * TILE + thread::thread_idx_y();

    let mut i = 0;
    while i < TILE {
        if x < cols && y + i < rows {
            // SAFETY: within both matrices.
            unsafe { *output.add(at(x, y + i, rows)) = *input.add(at(y + i, x, cols)) };
        }
        i += BLOCK_ROWS;
    }
}
