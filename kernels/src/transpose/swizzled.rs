//! Transposition by tiles without padding. Each row of a tile has its columns in another order.
//!
//! This is beyond the lecture. The element of row r and column c lies at `tile[r][c ^ r]`.
//!
//! What it teaches: `c ^ r` runs through all columns as `c` does, and also as `r` does. So neither
//! a row nor a column of the tile uses a bank twice, for elements of any width, and no shared
//! memory is lost.

use super::{BLOCK_ROWS, at, tile_by_columns};
use cuda_std::thread;

/// Transposes the matrix, tile by tile.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)); `tile` belongs to the block and has space for
/// `TILE * TILE` elements.
#[inline(always)]
pub unsafe fn swizzled<T: Copy, const TILE: u32, const PITCH: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut T,
) {
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (column, row) = tile_by_columns();

    // SAFETY: as in `tiled`; `TILE` is a power of two, so the permuted column is one of the tile.
    unsafe {
        let (x, y) = (column * TILE + tx, row * TILE + ty);
        let mut i = 0;
        while i < TILE {
            if x < cols && y + i < rows {
                *tile.add(at(ty + i, tx ^ (ty + i), PITCH)) = *input.add(at(y + i, x, cols));
            }
            i += BLOCK_ROWS;
        }
        thread::sync_threads();

        let (x, y) = (row * TILE + tx, column * TILE + ty);
        let mut i = 0;
        while i < TILE {
            if x < rows && y + i < cols {
                *output.add(at(y + i, x, rows)) = *tile.add(at(tx, (ty + i) ^ tx, PITCH));
            }
            i += BLOCK_ROWS;
        }
    }
}
