//! Elements whose reductions are known exactly: small integers, in any type.

use half::{bf16, f16};
use warpfold::Item;

/// A number type that can hold integers.
pub(crate) trait Whole: Copy {
    /// Converts an integer. If it is beyond the type's range, only its lowest bits are kept.
    fn of(value: i128) -> Self;

    /// The number as an integer; `None` for a float that is no integer.
    fn exact(self) -> Option<i128>;
}

/// An element type. Its elements are made from small integers, and its results are integers too.
pub(crate) trait Sample:
    Item<Wide: Whole, Magnitude: Whole, WideMagnitude: Whole> + Whole
{
    /// The greatest absolute value of an element. It is so small that the type of sums holds a sum
    /// of 65536 squared differences exactly.
    const MOST: i64;
    /// Whether the type has elements below zero.
    const SIGNED: bool;
}

macro_rules! integers {
    ($($type:ident: $most:literal, $signed:literal;)*) => {$(
        impl Sample for $type {
            const MOST: i64 = $most;
            const SIGNED: bool = $signed;
        }
        impl Whole for $type {
            fn of(value: i128) -> Self {
                value as $type
            }
            fn exact(self) -> Option<i128> {
                Some(self as i128)
            }
        }
    )*};
}

integers! {
    i8: 100, true;
    u8: 200, false;
    i16: 1000, true;
    u16: 1000, false;
    i32: 100_000, true;
    u32: 100_000, false;
    i64: 100_000, true;
    u64: 100_000, false;
    i128: 100_000, true;
    u128: 100_000, false;
}

macro_rules! floats {
    ($($type:ident: $most:literal, |$value:ident| $of:expr, |$float:ident| $wide:expr;)*) => {$(
        impl Sample for $type {
            // Sums are in `f32`, which holds all integers up to 2^24.
            const MOST: i64 = $most;
            const SIGNED: bool = true;
        }
        impl Whole for $type {
            fn of($value: i128) -> Self {
                $of
            }
            fn exact(self) -> Option<i128> {
                let $float = self;
                let wide: f64 = $wide;
                (wide.fract() == 0.0).then_some(wide as i128)
            }
        }
    )*};
}

floats! {
    f16: 7, |value| f16::from_f32(value as f32), |float| float.to_f64();
    bf16: 7, |value| bf16::from_f32(value as f32), |float| float.to_f64();
    f32: 7, |value| value as f32, |float| f64::from(float);
    f64: 100_000, |value| value as f64, |float| float;
}
