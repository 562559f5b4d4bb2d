//! How elements are compared.
//!
//! A thread compares floats by PTX `min` and `max`, with one exception: if the thread keeps the
//! index as well and a pack has at most two elements, it uses ordinary comparisons. Accumulators
//! are *ranks*. A rank is an integer; in every order, a better key has a smaller rank. So one
//! comparison of integers orders numbers, zeros and NaNs, and `redux.sync` does it for a whole
//! warp.

use crate::unroll::{each, tree};
use crate::warp;
use crate::words::{LONGEST, Words};
use cuda_std::ext::{math, target};

/// An order, which says which of two keys is better. Among floats, -0 is below +0, as IEEE 754-2019
/// demands of `minimum` and its kin.
pub trait Order {
    /// Whether the larger key is better; otherwise the smaller one is.
    const LARGEST: bool;
    /// Whether a NaN is better than all numbers; otherwise it is worse than all.
    const NAN_WINS: bool;
}

macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $largest:literal, $nan_wins:literal;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Order for $name {
            const LARGEST: bool = $largest;
            const NAN_WINS: bool = $nan_wins;
        }
    )*};
}

orders! {
    /// The smallest number is best. NaNs are worst.
    Smallest: false, false;
    /// The largest number is best. NaNs are worst.
    Largest: true, false;
    /// NaNs are best, and then the smallest number.
    SmallestOrNan: false, true;
    /// NaNs are best, and then the largest number.
    LargestOrNan: true, true;
}

/// A type in which elements are compared.
pub trait Key: Words {
    /// An integer that has the order of the keys.
    type Rank: Rank;
    /// The form in which a thread keeps its best key.
    type Kept: Copy;

    /// The key's rank. A better key has a smaller rank. All NaNs have the same rank.
    ///
    /// ```
    /// use warpfold_device::key::{Key, Largest, Smallest};
    ///
    /// assert!((-0.0f32).rank::<Smallest>() < 0.0f32.rank::<Smallest>());
    /// assert!(7i32.rank::<Largest>() < 3i32.rank::<Largest>());
    /// assert_eq!(f64::of_rank::<Largest>(2.5f64.rank::<Largest>()), 2.5);
    /// ```
    fn rank<O: Order>(self) -> Self::Rank;
    /// The inverse of [`rank`](Self::rank). All NaNs become one NaN.
    fn of_rank<O: Order>(rank: Self::Rank) -> Self;

    /// The worst key, which a thread keeps before it has seen any other.
    fn worst<O: Order>() -> Self::Kept;
    /// The better one of the kept key and `key`, and whether that is `key`. If both are equal, it
    /// is the kept one.
    fn keep<O: Order>(kept: Self::Kept, key: Self) -> (Self::Kept, bool);
    /// The better one of two.
    #[must_use]
    fn better<O: Order>(self, other: Self) -> Self;
    /// As [`keep`](Self::keep), but `key` is the best of the keys that `get` gives for the numbers
    /// below `count`, which is a power of two up to 16.
    #[inline(always)]
    fn keep_all<O: Order>(
        kept: Self::Kept,
        count: usize,
        get: impl Fn(usize) -> Self,
    ) -> (Self::Kept, bool) {
        Self::keep::<O>(kept, tree(count, get, Self::better::<O>))
    }
    /// Whether this key is equal to the kept one.
    fn is_kept<O: Order>(self, kept: Self::Kept) -> bool;
    /// The rank of the kept key.
    fn rank_of_kept<O: Order>(kept: Self::Kept) -> Self::Rank;
}

/// An integer that orders keys: the smallest is best.
pub trait Rank: Words + PartialOrd {
    /// The worst rank.
    const MAX: Self;
    /// Whether this rank and `number` come before `other`. The rank decides, and the number decides
    /// between equal ranks.
    #[inline(always)]
    #[expect(clippy::needless_bitwise_bool, reason = "LLVM would branch, and lanes differ")]
    fn is_before(self, number: u32, other: (Self, u32)) -> bool {
        (self < other.0) | ((self == other.0) & (number < other.1))
    }
    /// The smallest rank of a warp, in each of its lanes, or `None` if the device has no
    /// instructions for that.
    ///
    /// # Safety
    /// All 32 lanes call this together.
    #[inline(always)]
    unsafe fn redux_min(self) -> Option<Self> {
        None
    }
}

/// The smaller rank of two.
#[inline(always)]
pub fn lower<R: Rank>(a: R, b: R) -> R {
    if b < a { b } else { a }
}

/// The form in which integers are kept: their words. From words, LLVM makes one comparison and
/// picks the words by its result; from whole integers it would make a minimum and then compare
/// again.
type InWords = [u32; LONGEST];

/// The words of `key` if `taken` is true, else the kept words.
#[inline(always)]
fn pick<W: Words>(taken: bool, key: W, kept: InWords) -> InWords {
    let key = key.to_words();
    let mut picked = [0; LONGEST];
    each(W::COUNT, |i| picked[i] = if taken { key[i] } else { kept[i] });
    picked
}

macro_rules! integers {
    ($($t:ty $(, $redux_min:path)? $(, with number: $both:ty)?;)*) => {$(
        impl Rank for $t {
            const MAX: Self = <$t>::MAX;
            $(
                // One comparison of 64 bits is two instructions, and two of 32 bits are three.
                #[inline(always)]
                fn is_before(self, number: u32, other: (Self, u32)) -> bool {
                    let both =
                        |rank, number| <$both>::from(rank) << u32::BITS | <$both>::from(number);
                    both(self, number) < both(other.0, other.1)
                }
            )?
            $(
                #[inline(always)]
                unsafe fn redux_min(self) -> Option<Self> {
                    // SAFETY: the caller brings the whole warp, and the architecture has the
                    // instruction.
                    (target::arch() >= 800).then(|| unsafe { $redux_min(self) })
                }
            )?
        }

        impl Key for $t {
            type Rank = Self;
            type Kept = InWords;

            #[inline(always)]
            fn rank<O: Order>(self) -> Self {
                if O::LARGEST { !self } else { self }
            }
            #[inline(always)]
            fn of_rank<O: Order>(rank: Self) -> Self {
                rank.rank::<O>()
            }
            #[inline(always)]
            fn worst<O: Order>() -> InWords {
                Self::of_rank::<O>(Rank::MAX).to_words()
            }
            #[inline(always)]
            fn better<O: Order>(self, other: Self) -> Self {
                if O::LARGEST { self.max(other) } else { self.min(other) }
            }
            #[inline(always)]
            fn keep<O: Order>(kept: InWords, key: Self) -> (InWords, bool) {
                let best = Self::from_words(&|i| kept[i]);
                let taken = if O::LARGEST { key > best } else { key < best };
                (pick(taken, key, kept), taken)
            }
            #[inline(always)]
            fn is_kept<O: Order>(self, kept: InWords) -> bool {
                self == Self::from_words(&|i| kept[i])
            }
            #[inline(always)]
            fn rank_of_kept<O: Order>(kept: InWords) -> Self {
                Self::from_words(&|i| kept[i]).rank::<O>()
            }
        }
    )*};
}

integers! {
    i32, warp::min_i32, with number: i64;
    u32, warp::min_u32, with number: u64;
    i64, warp::min_i64;
    u64, warp::min_u64;
    i128;
    u128;
}

macro_rules! floats {
    ($($t:ident, $rank:ident, $minimum:ident, $maximum:ident;)*) => {$(
        impl Key for $t {
            type Rank = $rank;
            type Kept = Self;

            // The rank is made of the bits as an integer. If the sign is set, all other bits are
            // inverted, so that the integers have the order of the floats.
            #[inline(always)]
            fn rank<O: Order>(self) -> $rank {
                let bits = self.to_bits().cast_signed();
                let rank = bits ^ (bits >> ($rank::BITS - 1) & $rank::MAX);
                match (self.is_nan(), O::NAN_WINS) {
                    (false, _) => rank.rank::<O>(),
                    (true, false) => $rank::MAX,
                    (true, true) => $rank::MIN,
                }
            }
            #[inline(always)]
            fn of_rank<O: Order>(rank: $rank) -> Self {
                let rank = rank.rank::<O>();
                let bits = rank ^ (rank >> ($rank::BITS - 1) & $rank::MAX);
                let key = Self::from_bits(bits.cast_unsigned());
                if key.is_nan() { Self::NAN } else { key }
            }
            #[inline(always)]
            fn worst<O: Order>() -> Self {
                match (O::LARGEST, O::NAN_WINS) {
                    (_, false) => Self::NAN,
                    (false, true) => Self::INFINITY,
                    (true, true) => Self::NEG_INFINITY,
                }
            }
            // PTX `min` and `max` order the zeros and drop NaNs as the order demands, and make all
            // NaNs one; Rust's functions promise less.
            #[inline(always)]
            fn better<O: Order>(self, other: Self) -> Self {
                match (O::LARGEST, O::NAN_WINS) {
                    (false, false) => self.min(other),
                    (true, false) => self.max(other),
                    (false, true) => math::$minimum(self, other),
                    (true, true) => math::$maximum(self, other),
                }
            }
            // For doubles these are seven instructions. PTX `min` is eight, and more are needed to
            // see which key it chose (bench/NOTEBOOK.md, attempt 37; H100, argmin f64 of 2^20: 3.78
            // us to 3.69). If neither key is below the other, as with two zeros, the signs decide.
            // The signs are in the upper words.
            #[inline(always)]
            #[expect(
                clippy::neg_cmp_op_on_partial_ord,
                reason = "a NaN that is kept is worse than any number"
            )]
            fn keep<O: Order>(kept: Self, key: Self) -> (Self, bool) {
                let upper = |x: Self| (x.to_bits() >> ($rank::BITS - 32)) as u32 as i32;
                let is_better = if O::LARGEST {
                    !(kept >= key) | ((upper(key) > upper(kept)) & (key >= kept))
                } else {
                    !(kept <= key) | ((upper(key) < upper(kept)) & (key <= kept))
                };
                let loses = if O::NAN_WINS { kept } else { key };
                let taken = is_better & !loses.is_nan();
                let picked = pick(taken, key, kept.to_words());
                (Self::from_words(&|i| picked[i]), taken)
            }
            // `better` finds the best key of the pack, and then the better one of that and the kept
            // key. If the result has other bits than the kept key had, the kept key is a new one
            // (bench/NOTEBOOK.md, attempt 27).
            #[inline(always)]
            fn keep_all<O: Order>(kept: Self, count: usize, get: impl Fn(usize) -> Self) -> (Self, bool) {
                let best = kept.better::<O>(tree(count, get, Self::better::<O>));
                (best, best.to_bits() != kept.to_bits())
            }
            #[inline(always)]
            fn is_kept<O: Order>(self, kept: Self) -> bool {
                if self.is_nan() { kept.is_nan() } else { self.to_bits() == kept.to_bits() }
            }
            #[inline(always)]
            fn rank_of_kept<O: Order>(kept: Self) -> $rank {
                kept.rank::<O>()
            }
        }
    )*};
}

floats! {
    f32, i32, minimum_f32, maximum_f32;
    f64, i64, minimum_f64, maximum_f64;
}
