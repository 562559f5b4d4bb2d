//! Where segments of given lengths begin.

use super::{Place, THREADS, place, write_offset};
use crate::item::Item;
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::grid;
use cuda_std::{thread, warp};

/// How many lengths a thread loads before it uses the first one.
pub const LENGTHS: u32 = 8;

/// What is known of lengths before they are read.
#[derive(Clone, Copy)]
pub struct Lengths<T> {
    /// The first length.
    pub source: *const T,
    /// The number of segments.
    pub count: u64,
    /// The greatest length. A greater one is the bits of a negative number.
    pub greatest: u64,
    /// An offset that is this number or more becomes this number. It is the number of elements and
    /// 1 more, so that a segment which ends behind the elements is seen. It is less than 2^52, so
    /// that the sum of a tile does not overflow.
    pub most: u64,
}

/// Writes where each segment begins, and behind these where the last one ends. This is the whole
/// body of a kernel that [`lengths!`](crate::lengths!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn lengths<T: Item + Into<u64>>(
    lengths: Lengths<T>,
    offsets: *mut u32,
    log: u32,
    words: *mut u64,
) {
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
    let Lengths { source, count, greatest, most } = lengths;
    let first =
        u64::from(block) * u64::from(THREADS * LENGTHS) + u64::from(warp_of_block * WARP * LENGTHS);
    let there = count.saturating_sub(first).min((WARP * LENGTHS).into()) as u32;
    let index = |i: usize| i as u32 * WARP + lane;
    let source = source.wrapping_add(first as usize);
    // SAFETY: only lengths that are there are read. All branches around collective calls are the
    // same in all lanes of a warp. The rest is the caller's contract.
    unsafe {
        grid::wait_for_dependencies();
        let mut own = [0; LENGTHS as usize];
        each(LENGTHS as usize, |i| {
            let is_there = index(i) < there;
            let length = T::load_if(source.wrapping_add(index(i) as usize), is_there).into();
            let length = if length > greatest { most } else { length.min(most) };
            own[i] = if is_there { length } else { 0 };
        });
        // Each length gives way to the sum of those before it in the warp, because a thread has too
        // few registers for both.
        let mut sum = 0;
        each(LENGTHS as usize, |i| {
            let mut until = own[i];
            each(WARP.ilog2() as usize, |step| {
                let (lower, is_lane) = warp::warp_shuffle_up(u32::MAX, until, 1 << step, WARP);
                until += if is_lane { lower } else { 0 };
            });
            own[i] = sum + until - own[i];
            sum += warp::warp_shuffle_idx(u32::MAX, until, WARP - 1, WARP).0;
        });

        let Place { before, end } = place(sum, most, words);
        each(LENGTHS as usize, |i| {
            if index(i) < there {
                let offset = (before + own[i]).min(most);
                write_offset(offsets, log, first + u64::from(index(i)), offset);
            }
        });
        if block == last && tid == 0 {
            write_offset(offsets, log, count, end.min(most));
        }
    }
}
