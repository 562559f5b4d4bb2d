//! A thread for each row.
//!
//! The thread adds the elements of its row one after the other, and needs no other thread.
//!
//! What it teaches: while a warp walks along its 32 rows, its lanes are a row apart. From rows of
//! eight elements of 4 bytes on, each request takes 32 sectors and uses an eighth of each. And few
//! rows are few threads, however long the rows are.

use crate::element::Element;
use crate::op::Op;
use cuda_std::thread;

/// `output[row]` is the result of the row, by one thread for each row.
///
/// # Safety
/// The launch's contract (see [`rows`](super)).
#[inline(always)]
pub unsafe fn row_thread<T: Element, O: Op<T>>(
    input: *const T,
    output: *mut T,
    rows: usize,
    cols: usize,
) {
    let row = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    if row >= rows {
        return;
    }
    let mut sum = O::IDENTITY;
    let mut col = 0;
    // SAFETY: `row` and `col` are within the matrix; a thread writes the result of its own row.
    unsafe {
        while col < cols {
            sum = O::combine(sum, *input.add(row * cols + col));
            col += 1;
        }
        *output.add(row) = sum;
    }
}
