//! The number of elements for which a comparison with a constant holds, and whether it holds for
//! any or all elements.

use half::{bf16, f16};

use crate::{
    device::Arg,
    reducer::{
        Error, Item, Operation, Single,
        operation::{More, kernels, private::Kernel},
        shapes::KernelClass,
    },
};

/// A comparison of each element with a constant, for [`CountWhere`], [`AnyWhere`] and [`AllWhere`].
///
/// Floats are compared as IEEE 754 demands, as in Rust and in NumPy: -0 is equal to 0, and of all
/// comparisons with a NaN on either side only [`NotEqual`](Self::NotEqual) holds.
///
/// ```
/// use warpfold::Is;
///
/// assert!(Is::Greater(0.5).holds(0.75));
/// assert!(Is::InRange(10, 20).holds(10) && !Is::InRange(10, 20).holds(20));
/// assert!(Is::NotEqual(0.0).holds(f64::NAN) && !Is::LessOrEqual(0.0).holds(f64::NAN));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Is<T> {
    /// The element is equal to the constant.
    Equal(T),
    /// The element is not equal to the constant.
    NotEqual(T),
    /// The element is less than the constant.
    Less(T),
    /// The element is less than the constant or equal to it.
    LessOrEqual(T),
    /// The element is greater than the constant.
    Greater(T),
    /// The element is greater than the constant or equal to it.
    GreaterOrEqual(T),
    /// The element is greater than the first constant or equal to it, and less than the second one.
    InRange(T, T),
}

impl<T: PartialOrd + Copy> Is<T> {
    /// Whether the comparison holds for this element.
    pub fn holds(&self, element: T) -> bool {
        match *self {
            Self::Equal(constant) => element == constant,
            Self::NotEqual(constant) => element != constant,
            Self::Less(constant) => element < constant,
            Self::LessOrEqual(constant) => element <= constant,
            Self::Greater(constant) => element > constant,
            Self::GreaterOrEqual(constant) => element >= constant,
            Self::InRange(from, below) => element >= from && element < below,
        }
    }
}

/// A type whose elements the kernels compare.
pub trait Compared: Item {
    /// The type in which elements are compared.
    type Bound: Bound;
    /// The element in that type.
    fn bound(self) -> Self::Bound;
}

/// A type in which elements are compared.
pub trait Bound: Copy + PartialOrd {
    /// The least number, except NaN.
    const LEAST: Self;
    /// The greatest number, except NaN.
    const GREATEST: Self;
    /// An interval in which no element lies.
    const NOTHING: Interval<Self>;
    /// The greatest number that is less than this one, if there is one.
    fn below(self) -> Option<Self>;
    /// The least number that is greater than this one, if there is one.
    fn above(self) -> Option<Self>;
    /// The bits of the number.
    fn bits(self) -> u128;
}

/// The numbers from `least` to `most`. If `is_outside` is set, all others and the NaNs instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<B> {
    least: B,
    most: B,
    is_outside: bool,
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Compared for $type {
            type Bound = Self;
            fn bound(self) -> Self {
                self
            }
        }
        impl Bound for $type {
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;
            // The kernels count upwards from `least` to `most`, around the end of the type if need
            // be, so that an interval of integers has at least one element.
            const NOTHING: Interval<Self> =
                Interval { least: Self::MIN, most: Self::MAX, is_outside: true };
            fn below(self) -> Option<Self> {
                self.checked_sub(1)
            }
            fn above(self) -> Option<Self> {
                self.checked_add(1)
            }
            fn bits(self) -> u128 {
                self as u128
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128);

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Compared for $type {
            type Bound = Self;
            fn bound(self) -> Self {
                self
            }
        }
        impl Bound for $type {
            const LEAST: Self = Self::NEG_INFINITY;
            const GREATEST: Self = Self::INFINITY;
            const NOTHING: Interval<Self> =
                Interval { least: Self::INFINITY, most: Self::NEG_INFINITY, is_outside: false };
            fn below(self) -> Option<Self> {
                (self > Self::LEAST).then(|| self.next_down())
            }
            fn above(self) -> Option<Self> {
                (self < Self::GREATEST).then(|| self.next_up())
            }
            fn bits(self) -> u128 {
                self.to_bits().into()
            }
        }
    )*};
}

floats!(f32 f64);

macro_rules! halves {
    ($($type:ident)*) => {$(
        impl Compared for $type {
            type Bound = f32;
            fn bound(self) -> f32 {
                self.into()
            }
        }
    )*};
}

halves!(f16 bf16);

impl<B: Bound> Interval<B> {
    /// The elements for which a comparison holds.
    fn of<T: Compared<Bound = B>>(comparison: Is<T>) -> Self {
        let (is_outside, bounds) = match comparison {
            Is::Equal(constant) => (false, Some((constant.bound(), constant.bound()))),
            Is::NotEqual(constant) => (true, Some((constant.bound(), constant.bound()))),
            Is::Less(constant) => (false, constant.bound().below().map(|most| (B::LEAST, most))),
            Is::LessOrEqual(constant) => (false, Some((B::LEAST, constant.bound()))),
            Is::Greater(constant) => {
                (false, constant.bound().above().map(|least| (least, B::GREATEST)))
            }
            Is::GreaterOrEqual(constant) => (false, Some((constant.bound(), B::GREATEST))),
            Is::InRange(from, below) => {
                (false, below.bound().below().map(|most| (from.bound(), most)))
            }
        };
        // No bound is above or below a NaN.
        let interval = match bounds {
            Some((least, most)) if least <= most => Self { least, most, is_outside: false },
            _ => B::NOTHING,
        };
        Self { is_outside: interval.is_outside != is_outside, ..interval }
    }

    /// The last arguments of the kernels.
    fn arguments(self) -> More {
        let Self { least, most, is_outside } = self;
        let words = |bound: B| [bound.bits(), bound.bits() >> 64].map(|word| Arg::U64(word as u64));
        let ([least, least_high], [most, most_high]) = (words(least), words(most));
        [least, least_high, most, most_high, Arg::U32(is_outside.into())].into()
    }
}

/// The number of elements for which a comparison with a constant holds. The count of an empty input
/// is 0.
///
/// ```
/// use warpfold::{Array, CountWhere, Device, Is};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[0.25f32, 0.75, f32::NAN, 1.5], CountWhere(Is::Greater(0.5)))?, 2);
///
/// let matrix = Array::new(&[1, 5, 9, -1, 0, 3], &[2, 3])?;
/// assert_eq!(device.reduce_rows(&matrix, CountWhere(Is::InRange(0, 5)))?, [1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountWhere<T>(pub Is<T>);

/// Whether a comparison with a constant holds for at least one element. For an empty input the
/// result is false.
///
/// ```
/// use warpfold::{AnyWhere, Device, Is};
///
/// let device = Device::simulator();
/// assert!(device.reduce(&[3u8, 7, 255], AnyWhere(Is::Equal(7)))?);
/// assert!(!device.reduce(&[3u8, 7, 255], AnyWhere(Is::Less(3)))?);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnyWhere<T>(pub Is<T>);

/// Whether a comparison with a constant holds for all elements. For an empty input the result is
/// true.
///
/// ```
/// use warpfold::{AllWhere, Device, Is};
///
/// let device = Device::simulator();
/// assert!(device.reduce(&[0.5, 1.0], AllWhere(Is::LessOrEqual(1.0)))?);
/// assert!(!device.reduce(&[0.5, f64::NAN], AllWhere(Is::LessOrEqual(1.0)))?);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllWhere<T>(pub Is<T>);

/// Implements [`Operation`] for the operations of a comparison. `$result` makes the result of the
/// number of elements for which the comparison holds, among `$n` elements.
macro_rules! of_comparisons {
    ($($op:ident, $name:literal: $output:ty = |$count:ident, $n:pat_param| $result:expr;)*) => {$(
        of_comparisons!(
            @kernels $op: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64,
            i128 as u128, u128, f16, bf16, f32, f64
        );

        impl<T: Compared> Operation<T> for $op<T>
        where
            $op<T>: Kernel<T>,
        {
            type Arity = Single;
            type Raw = u64;
            type Output = $output;
            const NAME: &'static str = $name;
            const CLASS: KernelClass = KernelClass::Plain;

            fn more(self) -> More {
                Interval::of(self.0).arguments()
            }

            fn identity() -> Option<u64> {
                Some(0)
            }

            fn combine(first: u64, others: u64) -> u64 {
                first + others
            }

            fn finish($count: u64, $n: u64) -> Result<$output, Error> {
                Ok($result)
            }
        }
    )*};
    (@kernels $op:ident: $($type:ident $(as $same:ident)?),*) => {$(
        kernels!($op<$type>, within: $type $(as $same)?);
    )*};
}

of_comparisons! {
    CountWhere, "count where": u64 = |count, _| count;
    AnyWhere, "any where": bool = |count, _| count > 0;
    AllWhere, "all where": bool = |count, n| count == n;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval<T: Compared>(comparison: Is<T>) -> (T::Bound, T::Bound, bool) {
        let Interval { least, most, is_outside } = Interval::of(comparison);
        (least, most, is_outside)
    }

    #[test]
    fn integers_have_intervals_of_one_element_at_least() {
        assert_eq!(interval(Is::Equal(7u8)), (7, 7, false));
        assert_eq!(interval(Is::NotEqual(-7i64)), (-7, -7, true));
        assert_eq!(interval(Is::Less(7u8)), (0, 6, false));
        assert_eq!(interval(Is::GreaterOrEqual(i128::MIN)), (i128::MIN, i128::MAX, false));
        assert_eq!(interval(Is::InRange(-1i8, 1)), (-1, 0, false));
        for nothing in [Is::Less(0u8), Is::Greater(255), Is::InRange(5, 5), Is::InRange(6, 2)] {
            assert_eq!(interval(nothing), (0, 255, true), "{nothing:?}");
        }
    }

    #[test]
    fn floats_have_intervals_without_nans() {
        let (inf, nan, tiny) = (f32::INFINITY, f32::NAN, f32::from_bits(1));
        assert_eq!(interval(Is::Less(0.0f32)), (-inf, -tiny, false));
        assert_eq!(interval(Is::Greater(-0.0f32)), (tiny, inf, false));
        assert_eq!(interval(Is::LessOrEqual(1.5f32)), (-inf, 1.5, false));
        assert_eq!(interval(Is::Less(inf)), (-inf, f32::MAX, false));
        assert_eq!(interval(Is::Greater(f16::MAX)), (65504f32.next_up(), inf, false));
        assert_eq!(interval(Is::NotEqual(nan)), (inf, -inf, true));
        for nothing in [
            Is::Less(-inf),
            Is::Greater(inf),
            Is::Equal(nan),
            Is::Less(nan),
            Is::LessOrEqual(nan),
            Is::Greater(nan),
            Is::GreaterOrEqual(nan),
            Is::InRange(nan, 1.0),
            Is::InRange(0.0, nan),
            Is::InRange(1.0, 0.5),
        ] {
            assert_eq!(interval(nothing), (inf, -inf, false), "{nothing:?}");
        }
    }
}
