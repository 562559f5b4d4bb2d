//! Sums with a smaller error: sums of floats with the rounding error of each addition, sums of
//! floats in double precision, and sums of integers that do not wrap.

use crate::Fold;
use crate::item::{Item, Number, Pack};
use crate::source::One;
use crate::unroll::{each, tree};
use crate::words::Words;
use core::marker::PhantomData;

/// A sum and the rounding errors of its additions, as written to memory. If the sum is not finite,
/// the error means nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SumAndError<T> {
    /// The rounded sum.
    pub sum: T,
    /// The sum of the rounding errors, which is to be added to `sum`.
    pub error: T,
}

/// The sum of floats in the wide type, with the errors of all additions. The result is as good as
/// if it were computed with twice the digits.
///
/// Source: D. E. Knuth, "The Art of Computer Programming" 2, 4.2.2 (`TwoSum`); T. Ogita, S. M.
/// Rump, S. Oishi, "Accurate Sum and Dot Product", 2005 (`Sum2`).
pub struct Compensated<T>(PhantomData<T>);

/// The rounded sum, and its rounding error, which is exact.
#[inline(always)]
fn two_sum<N: Number>(a: N, b: N) -> (N, N) {
    let sum = a.add(b);
    let of_b = sum.subtract(a);
    let of_a = sum.subtract(of_b);
    (sum, a.subtract(of_a).add(b.subtract(of_b)))
}

impl<T: Item> Fold for Compensated<T> {
    type Source = One<T>;
    type Acc = (T::Wide, T::Wide);
    type Raw = SumAndError<T::Wide>;

    #[inline(always)]
    fn identity() -> Self::Acc {
        (T::Wide::ZERO, T::Wide::ZERO)
    }
    #[inline(always)]
    fn pack(acc: Self::Acc, pack: Pack) -> Self::Acc {
        Self::combine(acc, tree(T::PER_PACK, |i| Self::item(T::element(pack, i)), Self::combine))
    }
    #[inline(always)]
    fn item(item: T) -> Self::Acc {
        (item.wide(), T::Wide::ZERO)
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let (sum, error) = two_sum(a.0, b.0);
        (sum, a.1.add(b.1).add(error))
    }
    #[inline(always)]
    fn raw((sum, error): Self::Acc) -> Self::Raw {
        SumAndError { sum, error }
    }
}

/// The sum of floats of up to 32 bits, in `f64`.
pub struct WideSum<T>(PhantomData<T>);

impl<T: Item<Wide = f32>> Fold for WideSum<T> {
    type Source = One<T>;
    type Acc = f64;
    type Raw = f64;

    #[inline(always)]
    fn identity() -> f64 {
        0.0
    }
    #[inline(always)]
    fn pack(acc: f64, pack: Pack) -> f64 {
        acc + tree(T::PER_PACK, |i| Self::item(T::element(pack, i)), Number::add)
    }
    #[inline(always)]
    fn item(item: T) -> f64 {
        item.wide().into()
    }
    #[inline(always)]
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn raw(acc: f64) -> f64 {
        acc
    }
}

/// The exact sum of up to 2^64 integers of 64 or 128 bits, in 128 or 192 bits.
pub struct Exact<T>(PhantomData<T>);

/// A 192-bit integer in two's complement: the lower 128 bits, and the upper 64.
pub type Wide192 = (u128, u64);

/// A type whose elements are summed in a longer type.
pub trait Lengthen: Item {
    /// The longer type.
    type Long: Words;
    /// The longer type as it is written to memory.
    type Raw;
    /// The sum of no elements.
    const ZERO: Self::Long;
    /// The same number in the longer type.
    fn long(self) -> Self::Long;
    /// The sum, which wraps.
    fn add(a: Self::Long, b: Self::Long) -> Self::Long;
    /// The sum as it is written to memory.
    fn raw(sum: Self::Long) -> Self::Raw;
}

macro_rules! lengthen_64 {
    ($($t:ty, $long:ty;)*) => {$(
        impl Lengthen for $t {
            type Long = $long;
            type Raw = $long;
            const ZERO: $long = 0;
            #[inline(always)]
            fn long(self) -> $long {
                self.into()
            }
            #[inline(always)]
            fn add(a: $long, b: $long) -> $long {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn raw(sum: $long) -> $long {
                sum
            }
        }
    )*};
}

lengthen_64! {
    i64, i128;
    u64, u128;
}

macro_rules! lengthen_128 {
    ($($t:ty, $high:expr;)*) => {$(
        impl Lengthen for $t {
            type Long = Wide192;
            type Raw = [u64; 3];
            const ZERO: Wide192 = (0, 0);
            #[inline(always)]
            fn long(self) -> Wide192 {
                (self as u128, $high(self))
            }
            #[inline(always)]
            fn add(a: Wide192, b: Wide192) -> Wide192 {
                let (low, carry) = a.0.overflowing_add(b.0);
                (low, a.1.wrapping_add(b.1).wrapping_add(carry.into()))
            }
            #[inline(always)]
            fn raw((low, high): Wide192) -> [u64; 3] {
                [low as u64, (low >> 64) as u64, high]
            }
        }
    )*};
}

lengthen_128! {
    i128, |x: i128| (x >> 127) as u64;
    u128, |_| 0;
}

impl<T: Lengthen> Fold for Exact<T> {
    type Source = One<T>;
    type Acc = T::Long;
    type Raw = T::Raw;

    #[inline(always)]
    fn identity() -> T::Long {
        T::ZERO
    }
    #[inline(always)]
    fn pack(acc: T::Long, pack: Pack) -> T::Long {
        let mut sum = acc;
        each(T::PER_PACK, |i| sum = T::add(sum, T::element(pack, i).long()));
        sum
    }
    #[inline(always)]
    fn item(item: T) -> T::Long {
        item.long()
    }
    #[inline(always)]
    fn combine(a: T::Long, b: T::Long) -> T::Long {
        T::add(a, b)
    }
    #[inline(always)]
    fn raw(acc: T::Long) -> T::Raw {
        T::raw(acc)
    }
}
