//! The operations: how two values are combined, and which value is the identity.

use crate::element::Element;

/// An associative, commutative operation on `T` with an identity.
///
/// A reduction folds its input in any order, and pads it with [`IDENTITY`](Self::IDENTITY) where a
/// block is not full. The host combines the result with the identity once more, so that it is the
/// same whether blocks were full or not: the maximum of NaNs alone is minus infinity.
pub trait Op<T: Element> {
    /// The value that changes no number when [`combine`](Self::combine) takes both.
    const IDENTITY: T;
    /// The operation itself.
    fn combine(a: T, b: T) -> T;
}

/// Addition. Integers wrap; floats round each addition to nearest even.
pub struct Sum;
/// The smaller value, by IEEE 754-2019 `minimumNumber`: a number beats a NaN, and -0 is below +0.
pub struct Min;
/// The larger value, by IEEE 754-2019 `maximumNumber`: a number beats a NaN, and +0 is above -0.
pub struct Max;
/// Multiplication. Integers wrap; floats round each product to nearest even.
pub struct Product;

macro_rules! integer_ops {
    ($($t:ty)*) => {$(
        impl Op<$t> for Sum {
            const IDENTITY: $t = 0;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                a.wrapping_add(b)
            }
        }
        impl Op<$t> for Min {
            const IDENTITY: $t = <$t>::MAX;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                if b < a { b } else { a }
            }
        }
        impl Op<$t> for Max {
            const IDENTITY: $t = <$t>::MIN;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                if b > a { b } else { a }
            }
        }
        impl Op<$t> for Product {
            const IDENTITY: $t = 1;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                a.wrapping_mul(b)
            }
        }
    )*};
}

macro_rules! float_ops {
    ($($t:ty)*) => {$(
        impl Op<$t> for Sum {
            const IDENTITY: $t = 0.0;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                a + b
            }
        }
        // PTX `min` and `max` order the zeros and drop NaNs as the two operations above demand;
        // Rust's `min` and `max` promise less.
        impl Op<$t> for Min {
            const IDENTITY: $t = <$t>::INFINITY;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                a.min(b)
            }
        }
        impl Op<$t> for Max {
            const IDENTITY: $t = <$t>::NEG_INFINITY;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                a.max(b)
            }
        }
        impl Op<$t> for Product {
            const IDENTITY: $t = 1.0;
            #[inline(always)]
            fn combine(a: $t, b: $t) -> $t {
                a * b
            }
        }
    )*};
}

integer_ops!(i32 u32 i64 u64);
float_ops!(f32 f64);
