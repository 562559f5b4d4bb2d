//! A thread for each column.
//!
//! The loop is that of a thread for each row, with row and column exchanged.
//!
//! What it teaches: that exchange makes the lanes neighbours. At each step a warp reads 32
//! neighbouring elements of one row, which lie in four sectors or five. So what is the worst way
//! along long rows is the natural way along columns.

use crate::element::Element;
use crate::op::Op;
use cuda_std::thread;

/// `output[col]` is the result of the column, by one thread for each column.
///
/// # Safety
/// The launch's contract (see [`rows`](super)).
#[inline(always)]
pub unsafe fn column_thread<T: Element, O: Op<T>>(
    input: *const T,
    output: *mut T,
    rows: usize,
    cols: usize,
) {
    let col = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    if col >= cols {
        return;
    }
    let mut sum = O::IDENTITY;
    let mut row = 0;
    // SAFETY: `row` and `col` are within the matrix; a thread writes the result of its own column.
    unsafe {
        while row < rows {
            sum = O::combine(sum, *input.add(row * cols + col));
            row += 1;
        }
        *output.add(col) = sum;
    }
}
