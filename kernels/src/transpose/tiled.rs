//! Transposition by tiles: all of global memory is read and written along rows.
//!
//! Filipovič, "Bloková transpozice": `mtran_coalesced`. A block reads a tile row by row into shared
//! memory, waits, and writes the tile's columns as rows of the output.
//!
//! What it teaches: now only shared memory is read down the columns, which costs no sectors. But a
//! column of `tile[TILE][TILE]` of 32 words lies in a single bank, so the 32 reads of a warp take
//! turns.

use super::{BLOCK_ROWS, at, tile_by_columns};
use cuda_std::thread;

/// Transposes the matrix, tile by tile.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)); `tile` belongs to the block and has space for
/// `TILE * PITCH` elements.
#[inline(always)]
pub unsafe fn tiled<T: Copy, const TILE: u32, const PITCH: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut T,
) {
    let (column, row) = tile_by_columns();
    // SAFETY: the caller's contract is the callee's.
    unsafe { transpose_tile::<T, TILE, PITCH>(input, output, rows, cols, tile, column, row) }
}

/// Transposes the tile in this column and row of tiles, through a tile in shared memory whose rows
/// are `PITCH` apart.
///
/// # Safety
/// As [`tiled`]; all threads of the block call this for the same tile.
#[inline(always)]
pub(super) unsafe fn transpose_tile<T: Copy, const TILE: u32, const PITCH: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut T,
    column: u32,
    row: u32,
) {
    let whole = (column + 1) * TILE <= cols && (row + 1) * TILE <= rows;
    // SAFETY: the caller's contract; all threads of the block take the same branch.
    unsafe {
        if whole {
            turn::<T, TILE, PITCH, true>(input, output, rows, cols, tile, column, row);
        } else {
            turn::<T, TILE, PITCH, false>(input, output, rows, cols, tile, column, row);
        }
    }
}

/// The lecture's kernel. If the tile is `WHOLE`, it does not test for the edges of the matrix.
///
/// # Safety
/// As [`transpose_tile`].
#[inline(always)]
unsafe fn turn<T: Copy, const TILE: u32, const PITCH: u32, const WHOLE: bool>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut T,
    column: u32,
    row: u32,
) {
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());

    // SAFETY: within the matrices and the tile. Each element that is read from the tile was written
    // before the barrier, because both conditions test the same element.
    unsafe {
        let (x, y) = (column * TILE + tx, row * TILE + ty);
        let index_in = at(y, x, cols);
        let mut i = 0;
        while i < TILE {
            if WHOLE || x < cols && y + i < rows {
                *tile.add(at(ty + i, tx, PITCH)) = *input.add(index_in + at(i, 0, cols));
            }
            i += BLOCK_ROWS;
        }
        thread::sync_threads();

        let (x, y) = (row * TILE + tx, column * TILE + ty);
        let index_out = at(y, x, rows);
        let mut i = 0;
        while i < TILE {
            if WHOLE || x < rows && y + i < cols {
                *output.add(index_out + at(i, 0, rows)) = *tile.add(at(tx, ty + i, PITCH));
            }
            i += BLOCK_ROWS;
        }
    }
}
