//! Transposition by tiles with padding: `tile[TILE][TILE + 1]`.
//!
//! Filipovič, "Sdílená paměť": the solution to bank conflicts is padding.
//!
//! What it teaches: if each row has one more word, which is never used, a column lies in 32
//! different banks. A bank is 4 bytes wide: the padding is 4 elements of 1 byte, 2 of 2 bytes, or 1
//! wider one. In a tile of 16 a warp spans two rows, and with elements of 4 bytes no pitch
//! separates the banks both of two rows and of two columns; [`swizzled`](super::swizzled) does.

use super::{tile_by_columns, tiled::transpose_tile};

/// Transposes the matrix, tile by tile.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)); `tile` belongs to the block and has space for
/// `TILE * PITCH` elements.
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
