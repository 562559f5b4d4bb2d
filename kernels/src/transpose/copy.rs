//! Copying: the goal.
//!
//! Filipovič, "Transpozice matic", "Výkon": `odata[y*n + x] = idata[y*n + x]`.
//!
//! What it teaches: how fast a transposition could be, as it moves the same bytes.

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Copies the matrix.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)).
#[inline(always)]
pub unsafe fn copy<T: Copy, const TILE: u32>(input: *const T, output: *mut T, rows: u32, cols: u32) {
    let x = tile_column() * TILE + thread::thread_idx_x();
    let y = tile_row() * TILE + thread::thread_idx_y();

    let mut i = 0;
    while i < TILE {
        if x < cols && y + i < rows {
            // SAFETY: within the matrix.
            unsafe { *output.add(at(y + i, x, cols)) = *input.add(at(y + i, x, cols)) };
        }
        i += BLOCK_ROWS;
    }
}
