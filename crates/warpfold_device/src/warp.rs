//! Integers of a warp made one by `redux.sync` (sm_80), which knows 32 bits: those of 64 take two or three of them.
//!
//! All 32 lanes call these together, and each gets the result.

use cuda_std::ext::redux;

const ALL: u32 = u32::MAX;

macro_rules! redux_32 {
    ($($name:ident: $t:ty = $redux:ident;)*) => {$(
        /// For 32 bits there is an instruction.
        ///
        /// # Safety
        /// All 32 lanes call this together, on sm_80 or later.
        #[inline(always)]
        pub unsafe fn $name(value: $t) -> $t {
            // SAFETY: the caller's word.
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

/// The sum, which wraps. That of 32 times 16 bits has no carry that is lost, and the upper half may wrap.
///
/// # Safety
/// All 32 lanes call this together, on sm_80 or later.
#[inline(always)]
pub unsafe fn sum_u64(value: u64) -> u64 {
    // SAFETY: the caller's word.
    let sum = |part: u32| u64::from(unsafe { redux::add_u32(ALL, part) });
    let (lowest, middle, upper) = (value as u32 & 0xffff, value as u32 >> 16, (value >> 32) as u32);
    sum(lowest).wrapping_add(sum(middle) << 16).wrapping_add(sum(upper) << 32)
}

/// As [`sum_u64`].
///
/// # Safety
/// Those of [`sum_u64`].
#[inline(always)]
pub unsafe fn sum_i64(value: i64) -> i64 {
    // SAFETY: the caller's word.
    unsafe { sum_u64(value as u64) as i64 }
}

/// The smallest one: the smallest upper half, and of those that have it the smallest lower one.
///
/// # Safety
/// All 32 lanes call this together, on sm_80 or later.
#[inline(always)]
pub unsafe fn min_u64(value: u64) -> u64 {
    let upper = (value >> 32) as u32;
    // SAFETY: the caller's word.
    unsafe {
        let least = redux::min_u32(ALL, upper);
        let lower = redux::min_u32(ALL, if upper == least { value as u32 } else { u32::MAX });
        u64::from(least) << 32 | u64::from(lower)
    }
}

/// As [`min_u64`]: with the sign turned around, the order is that of unsigned ones.
///
/// # Safety
/// Those of [`min_u64`].
#[inline(always)]
pub unsafe fn min_i64(value: i64) -> i64 {
    const SIGN: u64 = 1 << 63;
    // SAFETY: the caller's word.
    unsafe { (min_u64(value as u64 ^ SIGN) ^ SIGN) as i64 }
}
