//! Copies results that lie one behind the other to the places of an array with strides.

use super::Dim;
use crate::unroll::each;
use cuda_std::ext::{control, grid};
use cuda_std::thread;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// The most dimensions of the array.
pub const DIMS: usize = 8;

/// Copies `words` words, of which each value has `of_value`, to the places of the values: `output`
/// plus the offset of the value's number by `dims`, of which the first one changes fastest. This is
/// the whole body of a kernel that [`scatter!`](crate::scatter!) stamps out.
///
/// # Safety
/// The input has so many words, and each value has a place. No size is 0. The block has [`THREADS`]
/// threads.
#[inline(always)]
pub unsafe fn scatter<T: Copy>(
    input: *const T,
    output: *mut T,
    words: u64,
    of_value: u32,
    dims: [Dim; DIMS],
) {
    grid::launch_dependents();
    let at_once = u64::from(thread::grid_dim_x()) * u64::from(THREADS);
    let mut word =
        u64::from(thread::block_idx_x()) * u64::from(THREADS) + u64::from(thread::thread_idx_x());
    // No division by 0 is left for the compiler to look for.
    let of_value = u64::from(of_value.max(1));
    grid::wait_for_dependencies();
    while word < words {
        control::keep_rolled();
        let mut rest = word / of_value;
        let mut place = (word % of_value) * size_of::<T>() as u64;
        each(DIMS, |i| {
            // Few arrays have so many dimensions, and a division takes time.
            if rest > 0 {
                let Dim { size, stride } = dims[i];
                let size = size.max(1);
                place = place.wrapping_add((rest % size).wrapping_mul(stride as u64));
                rest /= size;
            }
        });
        // SAFETY: the caller's contract.
        unsafe {
            let value = input.add(word as usize).read();
            output.wrapping_byte_add(place as usize).write(value);
        }
        word += at_once;
    }
}
