//! Rung 9: 128-bit loads, four of them in flight.
//!
//! J. Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA, 2013).
//! A load of 128 bits fetches four or two elements at once, and four loads are on their way before
//! the first value is used: by Little's law the memory is busy only if enough bytes are under way.
//! Such a load must be aligned to 16 bytes, but the input is only aligned to its element. So
//! elements before the first and after the last boundary are read singly.
//!
//! What it teaches: fewer instructions for the same bytes, and more bytes under way for each
//! thread.

use super::block::block_reduce;
use crate::element::{Element, Pack};
use crate::op::Op;
use cuda_std::{shared, thread};

/// The number of bytes in a load.
const LOAD: usize = 16;

/// One partial result for each block, whatever the grid and the alignment of the input.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn reduce9<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    // SAFETY: the caller's contract; the block reduces together, in shared memory that is not used
    // before.
    unsafe {
        let sum = thread_reduce::<T, O>(input, n);
        let sum = block_reduce::<T, O>(shared::dynamic_shared_mem(), sum);

        if thread::thread_idx_x() == 0 {
            *output.add(thread::block_idx_x() as usize) = sum;
        }
    }
}

/// Combines the thread's part of the input. The grid strides over the input, four loads a step.
///
/// # Safety
/// `input` holds `n` elements and is aligned to the element; grid and block have one dimension.
#[inline(always)]
pub(super) unsafe fn thread_reduce<T: Element, O: Op<T>>(input: *const T, n: usize) -> T {
    let grid_size = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;

    let head = elements_to_boundary(input, n);
    let packs = (n - head) / T::Pack::LEN;
    let tail = head + packs * T::Pack::LEN;

    let mut sum = O::IDENTITY;
    // SAFETY: `i` is below `head`, at most `n`; `tail + i` below `n`; a pack below `packs` lies
    // within the input, on a boundary.
    unsafe {
        if i < head {
            sum = O::combine(sum, *input.add(i));
        }
        if tail + i < n {
            sum = O::combine(sum, *input.add(tail + i));
        }

        let packed = input.add(head).cast::<T::Pack>();
        while i + 3 * grid_size < packs {
            let (a, b) = (*packed.add(i), *packed.add(i + grid_size));
            let (c, d) = (*packed.add(i + 2 * grid_size), *packed.add(i + 3 * grid_size));
            sum = d.fold::<O>(c.fold::<O>(b.fold::<O>(a.fold::<O>(sum))));
            i += 4 * grid_size;
        }
        while i < packs {
            sum = (*packed.add(i)).fold::<O>(sum);
            i += grid_size;
        }
    }
    sum
}

/// The number of elements before the first boundary of 16 bytes, at most `n`.
#[inline(always)]
pub(super) fn elements_to_boundary<T>(input: *const T, n: usize) -> usize {
    let head = (input as usize).wrapping_neg() % LOAD / size_of::<T>();
    if head < n { head } else { n }
}
