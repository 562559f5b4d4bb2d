//! Copying the matrix, whose speed is the goal.
//!
//! Filipovič, "Transpozice matic", "Výkon": `odata[y*n + x] = idata[y*n + x]`.
//!
//! What it teaches: how fast a transposition could be, because a copy moves the same bytes.

use core::mem::MaybeUninit;

use super::{BLOCK_ROWS, at, tile_column, tile_row};
use cuda_std::thread;

/// Copies the matrix.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)), with `TILE` at most 32.
#[inline(always)]
pub unsafe fn copy<T: Copy, const TILE: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
) {
    let x = tile_column() * TILE + thread::thread_idx_x();
    let y = tile_row() * TILE + thread::thread_idx_y();

    // The source puts all loads before the stores, because the compiler cannot know that the
    // matrices do not overlap.
    let mut elements = [const { MaybeUninit::<T>::uninit() }; (32 / BLOCK_ROWS) as usize];
    let mut i = 0;
    while i < TILE {
        if x < cols && y + i < rows {
            // SAFETY: within the matrix.
            elements[(i / BLOCK_ROWS) as usize].write(unsafe { *input.add(at(y + i, x, cols)) });
        }
        i += BLOCK_ROWS;
    }
    let mut i = 0;
    while i < TILE {
        if x < cols && y + i < rows {
            // SAFETY: within the matrix, and loaded above.
            unsafe {
                *output.add(at(y + i, x, cols)) = elements[(i / BLOCK_ROWS) as usize].assume_init();
            };
        }
        i += BLOCK_ROWS;
    }
}
