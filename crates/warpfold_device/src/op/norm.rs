//! Sums of absolute values and of squares, and the largest absolute value. These are the norms
//! before a square root is taken.

use crate::Fold;
use crate::item::{Bf16, F16, Item, Number, Pack};
use crate::key::{Key, Largest};
use crate::op::extreme::{Extreme, Measure};
use crate::source::One;
use crate::unroll::tree;
use core::marker::PhantomData;

/// A type that has negative numbers.
pub trait Signed: Item {
    /// The type of absolute values: the unsigned integer, or the float itself.
    type Abs: Item<Wide: Number>;
    /// An unsigned integer with the order of absolute values. For a float it is the absolute
    /// value's bits, so that NaNs are above all numbers (bench/NOTEBOOK.md, attempt 26; H100,
    /// maxabs f64 of 2^20: 6.3 us to 3.6).
    type Magnitude: Key;

    /// The absolute value.
    fn abs(self) -> Self::Abs;

    /// The sum of a pack's absolute values.
    #[inline(always)]
    fn sum_abs(pack: Pack) -> <Self::Abs as Item>::Wide {
        tree(Self::PER_PACK, |i| Self::element(pack, i).abs().wide(), Number::add)
    }

    /// The integer that orders this element's absolute value.
    fn magnitude(self) -> Self::Magnitude;
    /// The absolute value that has this integer.
    fn of_magnitude(magnitude: Self::Magnitude) -> Self::Abs;
}

/// The absolute values of a pack whose words have fields of `bits` bits; `ones` has a 1 in each
/// field. Negative fields are inverted bit by bit, and then 1 is added to them, which carries into
/// no other field.
#[inline(always)]
fn abs_fields(pack: Pack, bits: u32, ones: u32) -> Pack {
    pack.map(|word| {
        let signs = word >> (bits - 1) & ones;
        let ones = signs * ((1 << bits) - 1);
        (word ^ ones) + signs
    })
}

macro_rules! signed_integers {
    ($($t:ty, $unsigned:ty $(, $ones:literal)?;)*) => {$(
        impl Signed for $t {
            type Abs = $unsigned;
            type Magnitude = <$unsigned as Item>::Key;
            #[inline(always)]
            fn abs(self) -> $unsigned {
                self.unsigned_abs()
            }
            #[inline(always)]
            fn magnitude(self) -> Self::Magnitude {
                self.unsigned_abs().key()
            }
            #[inline(always)]
            fn of_magnitude(magnitude: Self::Magnitude) -> $unsigned {
                Item::of_key(magnitude)
            }
            $(
                #[inline(always)]
                fn sum_abs(pack: Pack) -> u64 {
                    <$unsigned>::sum(abs_fields(pack, <$t>::BITS, $ones))
                }
            )?
        }
    )*};
}

signed_integers! {
    i8, u8, 0x0101_0101;
    i16, u16, 0x0001_0001;
    i32, u32;
    i64, u64;
    i128, u128;
}

macro_rules! signed_floats {
    ($($t:ident, $magnitude:ty, $bits:expr, $from:expr;)*) => {$(
        impl Signed for $t {
            type Abs = Self;
            type Magnitude = $magnitude;
            #[inline(always)]
            fn abs(self) -> Self {
                Self::of_magnitude(self.magnitude())
            }
            #[inline(always)]
            fn magnitude(self) -> $magnitude {
                $bits(self)
            }
            #[inline(always)]
            fn of_magnitude(magnitude: $magnitude) -> Self {
                $from(magnitude)
            }
        }
    )*};
}

signed_floats! {
    F16, u32, |x: F16| u32::from(x.0 & 0x7fff), |bits| F16(bits as u16);
    Bf16, u32, |x: Bf16| u32::from(x.0 & 0x7fff), |bits| Bf16(bits as u16);
    f32, u32, |x: f32| x.to_bits() & (u32::MAX >> 1), f32::from_bits;
    f64, u64, |x: f64| x.to_bits() & (u64::MAX >> 1), f64::from_bits;
}

/// The sum of the absolute values, in their wide type, which for integers is `u64` or `u128`.
pub struct SumAbs<T>(PhantomData<T>);

impl<T: Signed> Fold for SumAbs<T> {
    type Source = One<T>;
    type Acc = <T::Abs as Item>::Wide;
    type Raw = Self::Acc;

    #[inline(always)]
    fn identity() -> Self::Acc {
        Number::ZERO
    }
    #[inline(always)]
    fn pack(acc: Self::Acc, pack: Pack) -> Self::Acc {
        acc.add(T::sum_abs(pack))
    }
    #[inline(always)]
    fn item(item: T) -> Self::Acc {
        item.abs().wide()
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        a.add(b)
    }
    #[inline(always)]
    fn raw(acc: Self::Acc) -> Self::Acc {
        acc
    }
    #[inline(always)]
    unsafe fn redux(acc: Self::Acc) -> Option<Self::Acc> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_sum() }
    }
}

/// The sum of the squares, in the wide type. Integers wrap.
pub struct SumSquares<T>(PhantomData<T>);

impl<T: Item> Fold for SumSquares<T> {
    type Source = One<T>;
    type Acc = T::Wide;
    type Raw = T::Wide;

    #[inline(always)]
    fn identity() -> T::Wide {
        T::Wide::ZERO
    }
    #[inline(always)]
    fn pack(acc: T::Wide, pack: Pack) -> T::Wide {
        acc.add(T::dot(pack, pack))
    }
    #[inline(always)]
    fn item(item: T) -> T::Wide {
        item.wide().multiply(item.wide())
    }
    #[inline(always)]
    fn combine(a: T::Wide, b: T::Wide) -> T::Wide {
        a.add(b)
    }
    #[inline(always)]
    fn raw(acc: T::Wide) -> T::Wide {
        acc
    }
    #[inline(always)]
    unsafe fn redux(acc: T::Wide) -> Option<T::Wide> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_sum() }
    }
}

/// The largest absolute value, or a NaN if there is one. For integers it is unsigned.
pub type MaxAbs<T> = Extreme<T, Largest, Magnitude>;

/// The absolute value of an element.
pub struct Magnitude;

impl<T: Signed> Measure<T> for Magnitude {
    type Key = T::Magnitude;
    type Raw = T::Abs;
    #[inline(always)]
    fn key(item: T) -> T::Magnitude {
        item.magnitude()
    }
    #[inline(always)]
    fn raw(key: T::Magnitude) -> T::Abs {
        T::of_magnitude(key)
    }
}
