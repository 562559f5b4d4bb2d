//! Transposition by tiles with padding: `tile[TILE][TILE + 1]`.
//!
//! Filipovič, "Sdílená paměť": the solution is padding.
//!
//! What it teaches: with one more word in each row, which is never used, a column lies in 32
//! different banks. A bank is 4 bytes wide: elements of 1 and 2 bytes need 4 and 2 of them as
//! padding, wider ones one. A warp spans two rows of a tile of 16, and with elements of 4 bytes no
//! pitch separates the banks of both two rows and two columns; [`swizzled`](super::swizzled) does.

use super::{tile_by_columns, tiled::transpose_tile};

/// Transposes the matrix, tile by tile.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)); `tile` is the block's, of `TILE * PITCH`
/// elements.
#[inline(always)]
pub unsafe fn padded<T: Copy, const TILE: u32, const PITCH: u32>(
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
