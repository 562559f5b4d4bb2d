//! Copying through shared memory: the cost of a transposition by tiles without the transposition.
//!
//! Filipovič, "Transpozice matic", "Výkon": "if we only copy within the blocks".
//!
//! What it teaches: the detour and its barrier take little time. If a transposition by tiles is
//! slower, there is another reason for it.

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Copies the matrix, tile by tile.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)); `tile` belongs to the block and has space for
/// `TILE * TILE` elements.
#[inline(always)]
pub unsafe fn shared_copy<T: Copy, const TILE: u32, const PITCH: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut T,
) {
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let x = tile_column() * TILE + tx;
    let y = tile_row() * TILE + ty;

    // SAFETY: within the matrix and the tile; a thread reads the elements that it wrote itself.
    unsafe {
        let mut i = 0;
        while i < TILE {
            if x < cols && y + i < rows {
                *tile.add(at(ty + i, tx, PITCH)) = *input.add(at(y + i, x, cols));
            }
            i += BLOCK_ROWS;
        }
        thread::sync_threads();

        let mut i = 0;
        while i < TILE {
            if x < cols && y + i < rows {
                *output.add(at(y + i, x, cols)) = *tile.add(at(ty + i, tx, PITCH));
            }
            i += BLOCK_ROWS;
        }
    }
}
