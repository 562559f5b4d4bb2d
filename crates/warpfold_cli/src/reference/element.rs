//! The elements as the reference sees them.

use std::str::FromStr;

use half::{bf16, f16};
use warpfold::reducer::Item;

use crate::answer::IntoValue;

/// A type of elements that the reference understands.
pub(crate) trait Number: Item + IntoValue + FromStr {
    /// The value as a sign and a magnitude; `(false, 0)` for a float.
    fn integer(self) -> (bool, u128);
    /// The value of a float, which is exact; for an integer the nearest `f64`.
    fn float(self) -> f64;
    /// Whether the value is neither 0 nor -0. A NaN is not 0.
    fn is_nonzero(self) -> bool {
        let (_, magnitude) = self.integer();
        magnitude != 0 || self.float() != 0.0
    }
}

macro_rules! signed {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn integer(self) -> (bool, u128) {
                (self < 0, self.unsigned_abs().into())
            }
            fn float(self) -> f64 {
                self as f64
            }
        }
    )*};
}

macro_rules! unsigned {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn integer(self) -> (bool, u128) {
                (false, self.into())
            }
            fn float(self) -> f64 {
                self as f64
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn integer(self) -> (bool, u128) {
                (false, 0)
            }
            fn float(self) -> f64 {
                self.into()
            }
        }
    )*};
}

signed!(i8 i16 i32 i64 i128);
unsigned!(u8 u16 u32 u64 u128);
floats!(f16 bf16 f32 f64);
