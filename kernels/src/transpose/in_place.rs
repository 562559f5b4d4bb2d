//! Transposition of a square matrix in place: a block exchanges two tiles that mirror each other.
//!
//! This is beyond the lecture, and uses its padded tiles.
//!
//! What it teaches: the block that owns both tiles can overwrite either, once both are in shared
//! memory. Blocks below the diagonal have nothing to do, and a tile on the diagonal is its own
//! mirror image.

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Transposes a square matrix of `n` x `n` elements in its own memory.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)) for a matrix of `n` x `n` at `data`, which
/// nothing else aliases; `tiles` belongs to the block and has space for `2 * TILE * PITCH`
/// elements.
#[inline(always)]
pub unsafe fn in_place<T: Copy, const TILE: u32, const PITCH: u32>(
    data: *mut T,
    n: u32,
    tiles: *mut T,
) {
    let (column, row) = (tile_column(), tile_row());
    // All threads of the block return together, so that none waits at the barrier.
    if column < row {
        return;
    }
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    // The tile of this row and column of tiles, and its mirror image.
    let (x, y) = (column * TILE + tx, row * TILE + ty);
    let (mirror_x, mirror_y) = (row * TILE + tx, column * TILE + ty);

    // SAFETY: within the matrix and the tiles. No other block touches these two tiles, and this
    // block writes them only after the barrier that follows all of its reads.
    unsafe {
        let mirror = tiles.add((TILE * PITCH) as usize);
        let mut i = 0;
        while i < TILE {
            if x < n && y + i < n {
                *tiles.add(at(ty + i, tx, PITCH)) = *data.add(at(y + i, x, n));
            }
            if column != row && mirror_x < n && mirror_y + i < n {
                *mirror.add(at(ty + i, tx, PITCH)) = *data.add(at(mirror_y + i, mirror_x, n));
            }
            i += BLOCK_ROWS;
        }
        thread::sync_threads();

        let mut i = 0;
        while i < TILE {
            if mirror_x < n && mirror_y + i < n {
                *data.add(at(mirror_y + i, mirror_x, n)) = *tiles.add(at(tx, ty + i, PITCH));
            }
            if column != row && x < n && y + i < n {
                *data.add(at(y + i, x, n)) = *mirror.add(at(tx, ty + i, PITCH));
            }
            i += BLOCK_ROWS;
        }
    }
}
