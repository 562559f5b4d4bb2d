//! Rung 0, naive: one launch for each level of the tree, all in global memory.
//!
//! Filipovič, "Naivní přístup": a kernel adds pairs, and is launched again for half as many, until
//! one is left. That reads 2n elements, writes n, and launches log2 n kernels; each addition takes
//! three memory accesses.

use super::element_or_identity;
use crate::element::Element;
use crate::op::Op;
use cuda_std::thread;

/// One level: `output[i] = input[2i] + input[2i + 1]`.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)); `output` holds one element for each pair.
#[inline(always)]
pub unsafe fn reduce0<T: Element, O: Op<T>>(input: *const T, output: *mut T, n: usize) {
    let i = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    if 2 * i < n {
        // SAFETY: `2 * i` is below `n`, its neighbour is checked, and only this thread uses pair
        // `i`.
        unsafe {
            let left = *input.add(2 * i);
            let right = element_or_identity::<T, O>(input, 2 * i + 1, n);
            *output.add(i) = O::combine(left, right);
        }
    }
}
