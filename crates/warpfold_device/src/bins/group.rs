//! The lanes of a warp that have the same bin combine their elements.

use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::{LONGEST, Words};
use cuda_std::ext::{control, matching};
use cuda_std::warp;

/// All lanes.
const ALL: u32 = u32::MAX;

/// The accumulators of a lane, each of another step.
pub(super) type Accumulators<const N: usize> = [[u32; LONGEST]; N];

/// Combines the accumulators of those lanes that have the same bin in the same step, and tells for
/// each step whether this lane has the result of its bin: the lowest of the lanes does. `bins` has
/// `u32::MAX` where a lane has no bin.
///
/// In each round a lane takes the accumulator of the next lane of its group if an even number of
/// lanes is before it, and drops out of the group otherwise. So neighbours meet first, and the tree
/// depends on nothing but the order of the lanes that have the bin. All steps take their rounds
/// together, because a shuffle is a wait.
///
/// # Safety
/// The whole warp calls this.
#[inline(always)]
pub(super) unsafe fn combine<R: Reduction, const N: usize>(
    bins: &[u32; N],
    words: &mut Accumulators<N>,
    lane: u32,
) -> [bool; N] {
    let own = 1 << lane;
    let (lower, upper) = (own - 1, !(own | (own - 1)));
    let mut rest = [0; N];
    let mut are_whole = true;
    // SAFETY: the caller brings the whole warp. All lanes take the same branches.
    unsafe {
        each(N, |i| {
            rest[i] = matching::any_u32(ALL, bins[i]);
            are_whole &= rest[i] == ALL;
            rest[i] = if bins[i] == u32::MAX { 0 } else { rest[i] };
        });
        if warp::warp_vote_all(ALL, are_whole) {
            // All lanes have the same bin in each step. This is the same tree, in fewer
            // instructions, because many inputs have one key that is frequent.
            let mut distance = 1;
            while distance < WARP {
                control::keep_rolled();
                each(N, |i| take::<R>(&mut words[i], (lane + distance) % WARP, true));
                distance *= 2;
            }
            each(N, |i| rest[i] &= 1);
        } else {
            loop {
                control::keep_rolled();
                let mut is_done = true;
                each(N, |i| is_done &= rest[i] & rest[i].wrapping_sub(1) == 0);
                if warp::warp_vote_all(ALL, is_done) {
                    break;
                }
                each(N, |i| {
                    let is_odd = (rest[i] & lower).count_ones() % 2 != 0;
                    let above = rest[i] & upper;
                    let source = if above == 0 { lane } else { above.trailing_zeros() };
                    take::<R>(&mut words[i], source, above != 0 && !is_odd);
                    rest[i] &= !warp::warp_vote_ballot(ALL, rest[i] & own != 0 && is_odd);
                });
            }
        }
    }
    rest.map(|rest| rest == own)
}

/// Combines this lane's accumulator with that of lane `source` if `is_taken`.
///
/// # Safety
/// The whole warp calls this.
#[inline(always)]
unsafe fn take<R: Reduction>(words: &mut [u32; LONGEST], source: u32, is_taken: bool) {
    // SAFETY: the caller brings the whole warp.
    let other =
        R::Acc::from_words(&|i| unsafe { warp::warp_shuffle_idx(ALL, words[i], source, WARP).0 });
    let both = R::combine(R::Acc::from_words(&|i| words[i]), other);
    // Words are chosen, and not accumulators, because LLVM would keep those in local memory.
    each(R::Acc::COUNT, |i| words[i] = if is_taken { both.word(i) } else { words[i] });
}
