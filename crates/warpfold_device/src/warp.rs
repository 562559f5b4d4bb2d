//! Combines the accumulators of a warp into one.
//!
//! [`warp_reduce`] goes from lane to lane by shuffles. For integers there is `redux.sync` (sm_80),
//! one instruction for 32 bits; integers of 64 bits take two or three of them. All 32 lanes call
//! these functions together, and each lane gets the result.

use crate::Reduction;
use crate::unroll::each;
use crate::words::Words;
use core::ops::AddAssign;
use cuda_std::ext::{control, redux};
use cuda_std::warp::{self, WarpShuffleValue};

/// The number of lanes in a warp. A block also has at most this many warps.
pub const WARP: u32 = 32;

/// Combines the accumulators of the first `lanes` lanes of a warp, where `lanes` is 8 or 32. Only
/// lane 0 gets the result; the values that other lanes get mean nothing. `by_block` is passed on to
/// [`Reduction::redux`].
///
/// # Safety
/// All 32 lanes call this together, with the same `lanes`. The lanes from number `lanes` on bring
/// the identity.
#[inline(always)]
pub unsafe fn warp_reduce<R: Reduction>(acc: R::Acc, lanes: u32, by_block: bool) -> R::Acc {
    // SAFETY: the caller brings the whole warp.
    if let Some(folded) = unsafe { R::redux(acc, by_block) } {
        return folded;
    }
    let mut folded = acc;
    let mut step = |distance| {
        // SAFETY: the caller brings the whole warp. An upper lane whose source lane would lie
        // beyond the warp's end gets its own value back, and nobody reads the result of such a
        // lane.
        let shuffle = |word| unsafe { warp::warp_shuffle_down(u32::MAX, word, distance, WARP) }.0;
        let words = folded.to_words();
        folded = R::combine(folded, R::Acc::from_words(&|i| shuffle(words[i])));
    };
    if R::Acc::COUNT <= 2 {
        each(5, |i| {
            if 16 >> i < lanes {
                step(16 >> i);
            }
        });
    } else {
        // Long accumulators take a loop, because five copies of these steps would be most of the
        // kernel's code.
        let mut distance = control::opaque(lanes / 2);
        while distance > 0 {
            control::no_unroll();
            step(distance);
            distance /= 2;
        }
    }
    folded
}

/// The sum of the values of all lanes up to this one.
///
/// # Safety
/// All 32 lanes call this together.
#[inline(always)]
pub(crate) unsafe fn sum_up_to<T: WarpShuffleValue + AddAssign + Default>(value: T) -> T {
    let mut until = value;
    each(WARP.ilog2() as usize, |step| {
        // SAFETY: the caller brings the whole warp.
        let (lower, is_lane) = unsafe { warp::warp_shuffle_up(u32::MAX, until, 1 << step, WARP) };
        until += if is_lane { lower } else { T::default() };
    });
    until
}

const ALL: u32 = u32::MAX;

macro_rules! redux_32 {
    ($($name:ident: $t:ty = $redux:ident;)*) => {$(
        /// Combines the integers of the warp in one instruction, because they have 32 bits.
        ///
        /// # Safety
        /// All 32 lanes call this together, on sm_80 or later.
        #[inline(always)]
        pub unsafe fn $name(value: $t) -> $t {
            // SAFETY: the caller brings the whole warp, and a device that has the instruction.
            unsafe { redux::$redux(ALL, value) }
        }
    )*};
}

redux_32! {
    sum_i32: i32 = add_i32;
    sum_u32: u32 = add_u32;
    min_i32: i32 = min_i32;
    min_u32: u32 = min_u32;
}

/// The sum, which wraps. The lower half is summed in two parts of 16 bits, because the sum of 32
/// such parts does not overflow; the sum of the upper halves may wrap.
///
/// # Safety
/// All 32 lanes call this together, on sm_80 or later.
#[inline(always)]
pub unsafe fn sum_u64(value: u64) -> u64 {
    // SAFETY: the caller brings the whole warp, and a device that has the instruction.
    let sum = |part: u32| u64::from(unsafe { redux::add_u32(ALL, part) });
    let (lowest, middle, upper) = (value as u32 & 0xffff, value as u32 >> 16, (value >> 32) as u32);
    sum(lowest).wrapping_add(sum(middle) << 16).wrapping_add(sum(upper) << 32)
}

/// The sum, which wraps, as [`sum_u64`] makes it.
///
/// # Safety
/// All 32 lanes call this together, on sm_80 or later.
#[inline(always)]
pub unsafe fn sum_i64(value: i64) -> i64 {
    // SAFETY: the caller brings the whole warp, and a device that has the instruction.
    unsafe { sum_u64(value as u64) as i64 }
}

/// The smallest integer. It is made of the smallest upper half, and of the smallest lower half
/// among the integers that have this upper half.
///
/// # Safety
/// All 32 lanes call this together, on sm_80 or later.
#[inline(always)]
pub unsafe fn min_u64(value: u64) -> u64 {
    let upper = (value >> 32) as u32;
    // SAFETY: the caller brings the whole warp, and a device that has the instruction.
    unsafe {
        let least = redux::min_u32(ALL, upper);
        let lower = redux::min_u32(ALL, if upper == least { value as u32 } else { u32::MAX });
        u64::from(least) << 32 | u64::from(lower)
    }
}

/// The smallest integer. With the sign bit inverted, signed integers have the order of unsigned
/// ones.
///
/// # Safety
/// All 32 lanes call this together, on sm_80 or later.
#[inline(always)]
pub unsafe fn min_i64(value: i64) -> i64 {
    const SIGN: u64 = 1 << 63;
    // SAFETY: the caller brings the whole warp, and a device that has the instruction.
    unsafe { (min_u64(value as u64 ^ SIGN) ^ SIGN) as i64 }
}
