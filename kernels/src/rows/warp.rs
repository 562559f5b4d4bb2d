//! A warp for each row.
//!
//! The lanes take neighbouring elements of the row, 32 at a time. Then five shuffles combine their
//! values, as in rung 8.
//!
//! What it teaches: a request takes the four sectors that its 32 words fill, or five if the row
//! begins within a sector. But a row of fewer than 32 elements leaves lanes without work, and the
//! five shuffles come once for each row, however short it is.

use crate::element::Element;
use crate::ladder::block::{WARP, warp_reduce};
use crate::op::Op;
use cuda_std::thread;

/// `output[row]` is the result of the row, by one warp for each row.
///
/// # Safety
/// The launch's contract (see [`rows`](super)).
#[inline(always)]
pub unsafe fn row_warp<T: Element, O: Op<T>>(
    input: *const T,
    output: *mut T,
    rows: usize,
    cols: usize,
) {
    let lane = thread::thread_idx_x() % WARP;
    let warps = (thread::block_dim_x() / WARP) as usize;
    let row = thread::block_idx_x() as usize * warps + (thread::thread_idx_x() / WARP) as usize;
    if row >= rows {
        return;
    }
    let mut sum = O::IDENTITY;
    let mut col = lane as usize;
    // SAFETY: `row` and `col` are within the matrix. All lanes of a warp have the same row, so they
    // reduce together, and one of them writes the result.
    unsafe {
        while col < cols {
            sum = O::combine(sum, *input.add(row * cols + col));
            col += WARP as usize;
        }
        sum = warp_reduce::<T, O>(sum);
        if lane == 0 {
            *output.add(row) = sum;
        }
    }
}
