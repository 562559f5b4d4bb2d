//! Copying with a stride: both reads and writes go down the columns.
//!
//! Filipovič, "Transpozice matic", "Výkon": what happens to the speed of the copy "if we accessed
//! `idata` interleaved as well".
//!
//! What it teaches: 32 lanes that touch 32 rows move 32 sectors, but 4 sectors could hold the
//! bytes. The grid covers the matrix in the same way as that of [`naive_load`](super::naive_load).

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Copies the matrix. The lanes of a warp take elements of one column.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)), with the grid of
/// [`naive_load`](super::naive_load).
#[inline(always)]
pub unsafe fn strided_copy<T: Copy, const TILE: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
) {
    let y = tile_column() * TILE + thread::thread_idx_x();
    let x = tile_row() * TILE + thread::thread_idx_y();

    let mut i = 0;
    while i < TILE {
        if y < rows && x + i < cols {
            // SAFETY: within the matrix.
            unsafe { *output.add(at(y, x + i, cols)) = *input.add(at(y, x + i, cols)) };
        }
        i += BLOCK_ROWS;
    }
}
