//! The number of elements within an interval, or outside of it.
//!
//! Every comparison with a constant asks whether an element lies within an interval or outside of
//! one, so one kernel of each type serves all comparisons. The host makes the interval.

use crate::Fold;
use crate::item::{Bf16, F16, Item, Number, Pack};
use crate::source::{Along, One};
use crate::unroll::each;
use crate::words::Words;
use core::marker::PhantomData;

/// A type whose elements are compared with bounds.
///
/// Floats are compared as IEEE 754 demands: a NaN lies within no interval, and -0 is equal to 0.
/// The interval of integers begins at its first bound and goes upwards to the second one, if need
/// be around the end of the type. So the bits of an integer are enough, and the sign does not
/// matter.
pub trait Compared: Item {
    /// The type in which elements are compared, and that of the bounds.
    type Bound: Words + Default;

    /// The two numbers that describe the interval from `least` to `most`.
    fn interval(least: Self::Bound, most: Self::Bound) -> [Self::Bound; 2];
    /// The element in the type in which it is compared.
    fn compared(self) -> Self::Bound;
    /// Element `i` of a pack in that type.
    #[inline(always)]
    fn compared_of(pack: Pack, i: usize) -> Self::Bound {
        Self::element(pack, i).compared()
    }
    /// Whether an element lies within an interval.
    fn is_within(element: Self::Bound, interval: [Self::Bound; 2]) -> bool;
}

/// Implements [`Compared`] for integers. The highest bits of the `$bound` are the element. Below
/// it, there may be any bits, so that `$of` can take an element out of a word by one shift. An
/// interval is its first bound and its length less one.
macro_rules! integers {
    ($($t:ty, $bound:ty $(, $of:expr)?;)*) => {$(
        impl Compared for $t {
            type Bound = $bound;
            #[inline(always)]
            fn interval(least: $bound, most: $bound) -> [$bound; 2] {
                let below = <$bound>::BITS - <$t>::BITS;
                let length = (most.wrapping_sub(least) << below) | ((1 << below) - 1);
                [least << below, length]
            }
            #[inline(always)]
            fn compared(self) -> $bound {
                <$bound>::from(self) << (<$bound>::BITS - <$t>::BITS)
            }
            $(
                #[inline(always)]
                fn compared_of(pack: Pack, i: usize) -> $bound {
                    $of(pack, i)
                }
            )?
            #[inline(always)]
            fn is_within(element: $bound, [least, length]: [$bound; 2]) -> bool {
                element.wrapping_sub(least) <= length
            }
        }
    )*};
}

integers! {
    u8, u32, |pack: Pack, i: usize| pack[i / 4] << (24 - 8 * (i % 4));
    u16, u32, |pack: Pack, i: usize| pack[i / 2] << (16 - 16 * (i % 2));
    u32, u32;
    u64, u64;
    u128, u128;
}

/// Implements [`Compared`] for floats, which are compared in their wide type.
macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Compared for $t {
            type Bound = <$t as Item>::Wide;
            #[inline(always)]
            fn interval(least: Self::Bound, most: Self::Bound) -> [Self::Bound; 2] {
                [least, most]
            }
            #[inline(always)]
            fn compared(self) -> Self::Bound {
                self.wide()
            }
            #[inline(always)]
            fn is_within(element: Self::Bound, [least, most]: [Self::Bound; 2]) -> bool {
                (element >= least) & (element <= most)
            }
        }
    )*};
}

floats!(F16 Bf16 f32 f64);

/// An interval, and whether the elements outside of it count.
#[derive(Clone, Copy, Default)]
pub struct Interval<B> {
    interval: [B; 2],
    counts_outside: bool,
}

/// An array whose elements come with an interval.
pub type Within<T> = Along<T, Interval<<T as Compared>::Bound>>;

impl<T: Compared> Within<T> {
    /// The array at `address`, whose elements are compared with the interval from `least` to
    /// `most`. If `counts_outside` is true, those elements count that do not lie within it. A bound
    /// is given by its bits, the lowest ones first, in the type that [`Compared::Bound`] names.
    #[inline(always)]
    pub fn new(address: *const T, least: [u64; 2], most: [u64; 2], counts_outside: bool) -> Self {
        let bound =
            |words: [u64; 2]| T::Bound::from_words(&|i| (words[i / 2] >> (32 * (i % 2))) as u32);
        let interval = T::interval(bound(least), bound(most));
        Self { array: One(address), value: Interval { interval, counts_outside } }
    }
}

/// The number of elements that count: those within the interval of [`Within`], or those outside.
pub struct CountWithin<T>(PhantomData<T>);

impl<T: Compared> Fold for CountWithin<T> {
    type Source = Within<T>;
    type Acc = u64;
    type Raw = u64;

    #[inline(always)]
    fn identity() -> u64 {
        0
    }
    #[inline(always)]
    fn pack(acc: u64, (pack, interval): (Pack, Interval<T::Bound>)) -> u64 {
        let mut within = 0;
        each(T::PER_PACK, |i| {
            within += u32::from(T::is_within(T::compared_of(pack, i), interval.interval));
        });
        let counted = if interval.counts_outside { T::PER_PACK as u32 - within } else { within };
        acc + u64::from(counted)
    }
    #[inline(always)]
    fn item((item, interval): (T, Interval<T::Bound>)) -> u64 {
        let is_within = T::is_within(item.compared(), interval.interval);
        u64::from(is_within != interval.counts_outside)
    }
    #[inline(always)]
    fn combine(a: u64, b: u64) -> u64 {
        a + b
    }
    #[inline(always)]
    fn raw(acc: u64) -> u64 {
        acc
    }
    #[inline(always)]
    unsafe fn redux(acc: u64) -> Option<u64> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_sum() }
    }
}
