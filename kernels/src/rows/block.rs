//! A block for each row.
//!
//! The threads of the block take neighbouring elements of the row, a block's width at a time. Then
//! the block combines their values, as in rung 8.
//!
//! What it teaches: long rows keep all threads of a block at work, even if there are few rows. But
//! a row that is shorter than the block leaves whole warps without an element, and each of them
//! reduces nothing, waits at the barrier, and costs as much as if it had something to add.

use crate::element::Element;
use crate::ladder::block::block_reduce;
use crate::op::Op;
use cuda_std::{shared, thread};

/// `output[row]` is the result of the row, by one block for each row.
///
/// # Safety
/// The launch's contract (see [`rows`](super)).
#[inline(always)]
pub unsafe fn row_block<T: Element, O: Op<T>>(
    input: *const T,
    output: *mut T,
    rows: usize,
    cols: usize,
) {
    let row = thread::block_idx_x() as usize;
    if row >= rows {
        return;
    }
    let mut sum = O::IDENTITY;
    let mut col = thread::thread_idx_x() as usize;
    // SAFETY: `row` and `col` are within the matrix. The block has one row and reduces together, in
    // shared memory that is not used before; one thread writes the result.
    unsafe {
        while col < cols {
            sum = O::combine(sum, *input.add(row * cols + col));
            col += thread::block_dim_x() as usize;
        }
        sum = block_reduce::<T, O>(shared::dynamic_shared_mem(), sum);
        if thread::thread_idx_x() == 0 {
            *output.add(row) = sum;
        }
    }
}
