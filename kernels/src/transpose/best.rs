//! The fastest transposition here: every access of memory is a vector.
//!
//! This is beyond the lecture. If a vector has `W` elements, a thread reads `W` vectors, each from
//! the row below the one before. They are a small square, which the thread transposes in its
//! registers. So accesses of shared memory move vectors too, and each row of a tile fills whole
//! lines of the cache.
//!
//! What it teaches: once there are no conflicts, the time depends on how many bytes are on their
//! way at the same time, and on how few instructions ask for them.
//!
//! On an H100, 16384 x 16384 floats: 0.987 of a device-to-device copy in squares of 4 x 4 by 256
//! threads; by 128 threads 0.994, but for 4000 x 4000 only 0.974 instead of 0.989; in vectors of 8
//! bytes 0.987; in tiles of 32 0.937; with the tiles in groups of 16 rows 0.976. Stores with
//! `st.cs` gained nothing. Tiles by pairs of columns gained 0.6 % there, but lost 1 % at 4096 x
//! 4096.

mod vector;

pub use vector::Vector;

use super::{at, tile_column, tile_row};
use cuda_std::thread;

/// Transposes the matrix in tiles of `SIDE` x `SIDE` squares, each of `W` vectors of `W` elements.
///
/// # Safety
/// The launch's contract (see [`transpose`](super)), with these differences: a block has `SIDE` x
/// `ROWS` threads, and tiles have `SIDE * W` elements on each side; `tile` belongs to the block and
/// has space for `W * SIDE * (SIDE + 1)` vectors.
#[inline(always)]
pub unsafe fn best<T: Copy, V: Vector<W>, const W: usize, const SIDE: u32, const ROWS: u32>(
    input: *const T,
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut V,
) {
    let (column, row) = (tile_column(), tile_row());

    // SAFETY: the caller's contract; all threads take the same branches, and the barrier lies
    // between writes and reads.
    unsafe {
        if cols.is_multiple_of(W as u32) {
            load_vectors::<T, V, W, SIDE, ROWS>(input, rows, cols, tile, column, row);
        } else {
            load_elements::<T, V, W, SIDE, ROWS>(input, rows, cols, tile, column, row);
        }
        thread::sync_threads();
        if rows.is_multiple_of(W as u32) {
            store_vectors::<T, V, W, SIDE, ROWS>(output, rows, cols, tile, column, row);
        } else {
            store_elements::<T, V, W, SIDE, ROWS>(output, rows, cols, tile, column, row);
        }
    }
}

/// The index in the tile of the vector in column `W * square_x + k` that covers the `W` rows of
/// square `square_y`. There is a plane for each `k`, which is padded like the lecture's tile.
#[inline(always)]
fn cell<const SIDE: u32>(k: u32, square_x: u32, square_y: u32) -> usize {
    ((k * SIDE + square_x) * (SIDE + 1) + square_y) as usize
}

/// # Safety
/// As [`best`]; rows of the input are whole vectors.
#[inline(always)]
unsafe fn load_vectors<T: Copy, V: Vector<W>, const W: usize, const SIDE: u32, const ROWS: u32>(
    input: *const T,
    rows: u32,
    cols: u32,
    tile: *mut V,
    column: u32,
    row: u32,
) {
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let x = (column * SIDE + tx) * W as u32;
    let mut i = 0;
    while i < SIDE {
        let y = (row * SIDE + ty + i) * W as u32;
        let mut square = [V::ZERO; W];
        let mut k = 0;
        while k < W {
            if x < cols && y + (k as u32) < rows {
                // SAFETY: within the matrix, and aligned, because `x` and the length of a row are
                // multiples of a vector.
                square[k] = unsafe { *input.add(at(y + k as u32, x, cols)).cast() };
            }
            k += 1;
        }
        let square = V::transpose(square);
        let mut k = 0;
        while k < W {
            // SAFETY: within the tile.
            unsafe { *tile.add(cell::<SIDE>(k as u32, tx, ty + i)) = square[k] };
            k += 1;
        }
        i += ROWS;
    }
}

/// # Safety
/// As [`best`]; rows of the output are whole vectors.
#[inline(always)]
unsafe fn store_vectors<T: Copy, V: Vector<W>, const W: usize, const SIDE: u32, const ROWS: u32>(
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *const V,
    column: u32,
    row: u32,
) {
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let x = (row * SIDE + tx) * W as u32;
    let mut i = 0;
    while i < SIDE {
        let y = (column * SIDE + ty + i) * W as u32;
        let mut k = 0;
        while k < W {
            if x < rows && y + (k as u32) < cols {
                // SAFETY: within the matrix and the tile, and aligned, because `x` and the length
                // of the output's rows are multiples of a vector.
                unsafe {
                    *output.add(at(y + k as u32, x, rows)).cast::<V>() =
                        *tile.add(cell::<SIDE>(k as u32, ty + i, tx));
                };
            }
            k += 1;
        }
        i += ROWS;
    }
}

/// Goes element by element, because the rows are not whole vectors.
///
/// # Safety
/// As [`best`].
#[inline(always)]
unsafe fn load_elements<T: Copy, V: Vector<W>, const W: usize, const SIDE: u32, const ROWS: u32>(
    input: *const T,
    rows: u32,
    cols: u32,
    tile: *mut V,
    column: u32,
    row: u32,
) {
    let side = SIDE * W as u32;
    let mut i = thread::thread_idx_y() * SIDE + thread::thread_idx_x();
    while i < side * side {
        let (ty, tx) = (i / side, i % side);
        let (x, y) = (column * side + tx, row * side + ty);
        if x < cols && y < rows {
            // SAFETY: within the matrix; element `ty` of column `tx` of the tile.
            unsafe { *element::<T, V, W, SIDE>(tile, tx, ty) = *input.add(at(y, x, cols)) };
        }
        i += SIDE * ROWS;
    }
}

/// Goes element by element, because the rows are not whole vectors.
///
/// # Safety
/// As [`best`].
#[inline(always)]
unsafe fn store_elements<
    T: Copy,
    V: Vector<W>,
    const W: usize,
    const SIDE: u32,
    const ROWS: u32,
>(
    output: *mut T,
    rows: u32,
    cols: u32,
    tile: *mut V,
    column: u32,
    row: u32,
) {
    let side = SIDE * W as u32;
    let mut i = thread::thread_idx_y() * SIDE + thread::thread_idx_x();
    while i < side * side {
        let (ty, tx) = (i / side, i % side);
        let (x, y) = (row * side + tx, column * side + ty);
        if x < rows && y < cols {
            // SAFETY: within the matrix; element `tx` of column `ty` of the tile.
            unsafe { *output.add(at(y, x, rows)) = *element::<T, V, W, SIDE>(tile, ty, tx) };
        }
        i += SIDE * ROWS;
    }
}

/// The element of this column and row of the tile.
///
/// # Safety
/// Both are below `SIDE * W`.
#[inline(always)]
unsafe fn element<T: Copy, V: Vector<W>, const W: usize, const SIDE: u32>(
    tile: *mut V,
    x: u32,
    y: u32,
) -> *mut T {
    let width = W as u32;
    // SAFETY: within the tile.
    unsafe {
        tile.add(cell::<SIDE>(x % width, x / width, y / width))
            .cast::<T>()
            .add((y % width) as usize)
    }
}
