//! Sums of absolute values and of squares, and the largest absolute value: the norms but for their square root.

use crate::reduce::Fold;
use crate::reduce::item::{Bf16, F16, Float, Item, Key, Number, Pack};
use crate::reduce::source::One;
use crate::reduce::unroll::tree;
use core::marker::PhantomData;

/// A type that has negative numbers.
pub trait Signed: Item {
    /// What has the absolute values: the unsigned type, or the float itself.
    type Abs: Item<Wide: Number>;

    /// The absolute value.
    fn abs(self) -> Self::Abs;

    /// The sum of a pack's absolute values.
    #[inline(always)]
    fn sum_abs(pack: Pack) -> <Self::Abs as Item>::Wide {
        tree(Self::LANES, |lane| Self::lane(pack, lane).abs().wide(), Number::add)
    }
    /// The largest of a pack's absolute values, or a NaN if there is one.
    #[inline(always)]
    fn max_abs(pack: Pack) -> <Self::Abs as Item>::Key {
        tree(Self::LANES, |lane| Self::lane(pack, lane).abs().key(), Self::larger)
    }
    /// The larger one, or a NaN if there is one.
    fn larger(a: <Self::Abs as Item>::Key, b: <Self::Abs as Item>::Key) -> <Self::Abs as Item>::Key;
}

/// A pack whose fields have become their absolute values: those with `sign` are turned around bit by bit, and 1 is added, which
/// carries into no other field.
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
            #[inline(always)]
            fn abs(self) -> $unsigned {
                self.unsigned_abs()
            }
            #[inline(always)]
            fn larger(
                a: <$unsigned as Item>::Key,
                b: <$unsigned as Item>::Key,
            ) -> <$unsigned as Item>::Key {
                Key::max(a, b)
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
    ($($t:ident, $abs:expr;)*) => {$(
        impl Signed for $t {
            type Abs = Self;
            #[inline(always)]
            fn abs(self) -> Self {
                $abs(self)
            }
            #[inline(always)]
            fn larger(a: Self::Key, b: Self::Key) -> Self::Key {
                Float::maximum(a, b)
            }
        }
    )*};
}

signed_floats! {
    F16, |x: F16| F16(x.0 & 0x7fff);
    Bf16, |x: Bf16| Bf16(x.0 & 0x7fff);
    f32, |x: f32| f32::from_bits(x.to_bits() & (u32::MAX >> 1));
    f64, |x: f64| f64::from_bits(x.to_bits() & (u64::MAX >> 1));
}

/// The sum of the absolute values, in the wide type of what has them: integers in `u64` or `u128`.
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
}

/// The sum of the squares, in the wide type: integers wrap there.
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
}

/// The largest absolute value, or a NaN if there is one. Of integers it is unsigned.
pub struct MaxAbs<T>(PhantomData<T>);

impl<T: Signed> Fold for MaxAbs<T> {
    type Source = One<T>;
    type Acc = <T::Abs as Item>::Key;
    type Raw = T::Abs;

    #[inline(always)]
    fn identity() -> Self::Acc {
        T::Abs::lane([0; 4], 0).key()
    }
    #[inline(always)]
    fn pack(acc: Self::Acc, pack: Pack) -> Self::Acc {
        T::larger(acc, T::max_abs(pack))
    }
    #[inline(always)]
    fn item(item: T) -> Self::Acc {
        item.abs().key()
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        T::larger(a, b)
    }
    #[inline(always)]
    fn raw(acc: Self::Acc) -> T::Abs {
        T::Abs::of_key(acc)
    }
}
