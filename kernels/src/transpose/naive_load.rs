//! Naive transposition the other way round: it reads down the columns and writes along the rows.
//!
//! After Filipovič, "Transpozice matic": `mtran`, but with the roles of `idata` and `odata`
//! exchanged.
//!
//! What it teaches: the other way round is not equally slow. A strided load brings 32 bytes, and
//! the cache keeps those that the next loads ask for. A strided store writes only a part of a
//! sector, which has to be merged into the sector. On an H100, 16384 x 16384 floats, this variant
//! has 4.5 times the bandwidth of [`naive_store`](super::naive_store). The grid covers the output:
//! its rows of tiles are the input's columns of tiles.

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Transposes the matrix; loads are strided.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)), with the grid of the output.
#[inline(always)]
pub unsafe fn naive_load<T: Copy, const TILE: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
) {
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
