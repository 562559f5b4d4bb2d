//! Naive transposition the other way round: reads down the columns, writes along the rows.
//!
//! After Filipovič, "Transpozice matic": `mtran` with the roles of `idata` and `odata` exchanged.
//!
//! What it teaches: it is not the same. A read that brings 32 bytes for one leaves the others in the cache, where the next
//! rows find them; a write of a part of a sector has nobody to wait for. The grid covers the output: its columns of tiles
//! are rows of the input.

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Transposes the matrix; loads are strided.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)), with the grid of the output.
#[inline(always)]
pub unsafe fn naive_load<T: Copy, const TILE: u32>(input: *const T, output: *mut T, rows: u32, cols: u32) {
    let x = tile_column() * TILE + thread::thread_idx_x();
    let y = tile_row() * TILE + thread::thread_idx_y();

    let mut i = 0;
    while i < TILE {
        if x < rows && y + i < cols {
            // SAFETY: within both matrices.
            unsafe { *output.add(at(y + i, x, rows)) = *input.add(at(x, y + i, cols)) };
        }
        i += BLOCK_ROWS;
    }
}
