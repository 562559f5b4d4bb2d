//! The padded transposition, with the blocks in diagonal order.
//!
//! Filipovič, "Výkon", warns of partition camping; the remedy is Ruetsch's and Micikevicius',
//! "Diagonal block reordering". Blocks that run at the same time have consecutive numbers. In the
//! usual order they read one row of tiles and write one column of tiles. Rows of the output that
//! are a power of two apart may then all lie in the same partition of memory. Along a diagonal,
//! blocks differ both in their row and in their column of tiles.
//!
//! What it teaches: the kernel can choose the order of the blocks. Since Fermi, addresses are
//! hashed over the partitions, so the diagonal order no longer helps: on an H100 it costs 5 %
//! against the usual order.

use super::{tile_column, tile_row, tiled::transpose_tile};

/// Transposes the matrix, tile by tile, along the diagonals.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)); `tile` belongs to the block and has space for
/// `TILE * PITCH` elements.
#[inline(always)]
pub unsafe fn diagonal<T: Copy, const TILE: u32, const PITCH: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut T,
) {
    let (column, row) = (tile_column(), tile_row());
    let tile_rows = rows.div_ceil(TILE);
    // Blocks beyond the last row of tiles keep their row, and so do nothing.
    let row = if row < tile_rows { (row + column) % tile_rows } else { row };
    // SAFETY: for each column of tiles this is a permutation of the rows of tiles; the rest is the
    // caller's contract.
    unsafe { transpose_tile::<T, TILE, PITCH>(input, output, rows, cols, tile, column, row) }
}
