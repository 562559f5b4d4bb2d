//! Raw results that become accumulators again.

use super::{Exchanged, Ranks, words_of};
use crate::item::Item;
use crate::key::{Key, Largest, Order, Smallest};
use crate::op::arg::{Arg, Indexed};
use crate::op::bits::{Bits, Bitwise, Unsigned};
use crate::op::careful::{Compensated, Exact, SumAndError};
use crate::op::extreme::{Extreme, Extremes, MinMax};
use crate::op::logsumexp::{MaxAndSum, SumExp};
use crate::op::moments::{CountMeanM2, Moments};
use crate::op::nansum::{CountAndSum, NanSum};
use crate::op::sum::{Product, Sum, Wrapping};
use crate::{Position, Reduction};
use core::marker::PhantomData;
use cuda_std::ext::control;
use cuda_std::thread;

/// A reduction whose raw results can be combined with others.
pub trait FromRaw: Reduction {
    /// Whether a raw result has an index.
    const HAS_INDEX: bool = false;

    /// The accumulator that has become this raw result. An index becomes a position whose block is
    /// the upper half.
    fn from_raw(raw: Self::Raw) -> Self::Acc;

    /// See [`Exchanged::move_index`].
    ///
    /// # Safety
    /// Those of [`Exchanged::move_index`].
    #[inline(always)]
    unsafe fn move_index(_raw: *mut Self::Raw, _base: u64) {}
}

/// The raw results of `R`, combined as its accumulators are.
pub struct Combined<R>(PhantomData<R>);

/// How many words of 32 bits the results of a block take at most, so that a block has work for all
/// its threads, and all blocks of a small problem are resident at once.
const MOST_WORDS: u32 = 256;

impl<R: FromRaw> Exchanged for Combined<R> {
    type Raw = R::Raw;
    const PER_BLOCK: u32 = MOST_WORDS / words_of::<R::Raw>();
    const HAS_INDEX: bool = R::HAS_INDEX;

    #[inline(always)]
    unsafe fn move_index(raw: *mut R::Raw, base: u64) {
        // SAFETY: the caller's contract.
        unsafe { R::move_index(raw, base) }
    }

    #[inline(always)]
    unsafe fn combine(
        raw: impl Fn(u32, u32) -> *const R::Raw,
        ranks: Ranks,
        results: u32,
        outputs: impl Fn(u32) -> *mut R::Raw,
        copies: u32,
    ) {
        let index = |at: Position| u64::from(at.block) << 32 | u64::from(at.number);
        let mut result = thread::thread_idx_x();
        while result < results {
            control::keep_rolled();
            // The sum of +0 and the first result would lose the sign of -0, so that the first
            // result is taken as it is.
            let (mut acc, mut is_first) = (R::identity(), true);
            let mut rank = 0;
            while rank < ranks.count {
                control::keep_rolled();
                if ranks.has(rank) {
                    // SAFETY: the caller's contract.
                    let other = R::from_raw(unsafe { raw(rank, result).read() });
                    acc = if is_first { other } else { R::append(acc, other) };
                    is_first = false;
                }
                rank += 1;
            }
            let mut copy = 0;
            loop {
                control::keep_rolled();
                let output = outputs(copy).wrapping_add(result as usize);
                // SAFETY: the caller's contract.
                unsafe { output.write(R::raw_of_items(acc, index)) };
                copy += 1;
                if copy >= copies {
                    break;
                }
            }
            result += thread::block_dim_x();
        }
    }
}

impl<T: Item> FromRaw for Sum<T> {
    #[inline(always)]
    fn from_raw(raw: T::Wide) -> T::Wide {
        raw
    }
}

impl<T: Item> FromRaw for Product<T> {
    #[inline(always)]
    fn from_raw(raw: T::Wide) -> T::Wide {
        raw
    }
}

impl FromRaw for Wrapping {
    #[inline(always)]
    fn from_raw(raw: u32) -> u32 {
        raw
    }
}

impl FromRaw for Exact<u128> {
    #[inline(always)]
    fn from_raw([low, middle, high]: [u64; 3]) -> Self::Acc {
        (u128::from(middle) << 64 | u128::from(low), high)
    }
}

impl<T: Item> FromRaw for Compensated<T> {
    #[inline(always)]
    fn from_raw(SumAndError { sum, error }: Self::Raw) -> Self::Acc {
        (sum, error)
    }
}

impl FromRaw for NanSum<f64> {
    #[inline(always)]
    fn from_raw(CountAndSum { count, sum }: CountAndSum) -> Self::Acc {
        (count, sum)
    }
}

impl<T: Item> FromRaw for SumExp<T>
where
    Self: Reduction<Raw = MaxAndSum<T::Wide>, Acc = (T::Wide, T::Wide)>,
{
    #[inline(always)]
    fn from_raw(MaxAndSum { max, sum }: Self::Raw) -> Self::Acc {
        (max, sum)
    }
}

impl FromRaw for Moments<f64> {
    #[inline(always)]
    fn from_raw(CountMeanM2 { count, mean, m2 }: CountMeanM2) -> Self::Acc {
        (count as f64, (mean, m2))
    }
}

impl<T: Item, O: Order> FromRaw for Extreme<T, O> {
    #[inline(always)]
    fn from_raw(raw: T) -> Self::Acc {
        raw.key().rank::<O>()
    }
}

impl<T: Item> FromRaw for MinMax<T> {
    #[inline(always)]
    fn from_raw(Extremes { min, max }: Extremes<T>) -> Self::Acc {
        (Extreme::<T, Smallest>::from_raw(min), Extreme::<T, Largest>::from_raw(max))
    }
}

impl<T: Unsigned, O: Bitwise> FromRaw for Bits<T, O> {
    #[inline(always)]
    fn from_raw(raw: T) -> Self::Acc {
        raw.key()
    }
}

impl<T: Item, O: Order> FromRaw for Arg<T, O> {
    const HAS_INDEX: bool = true;

    #[inline(always)]
    fn from_raw(raw: Indexed<T>) -> Self::Acc {
        let (value, index) = raw.parts();
        let position = Position { block: (index >> 32) as u32, number: index as u32 };
        Self::item(value, position)
    }

    #[inline(always)]
    unsafe fn move_index(raw: *mut Indexed<T>, base: u64) {
        // SAFETY: the caller's contract; the lower 64 bits of an index come first.
        unsafe { *(&raw mut (*raw).index).cast::<u64>() += base };
    }
}
