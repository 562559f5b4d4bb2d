//! Elements in the memory of the host.

use bytemuck::Pod;
use half::{bf16, f16};

use super::value::Value;

/// A type of elements.
pub(super) trait Element: Pod + PartialOrd + Send + Sync {
    const IS_FLOAT: bool;
    const IS_SIGNED: bool;
    /// The least and the greatest value that is no NaN.
    const LIMITS: [Self; 2];
    fn is_nan(self) -> bool;
    fn is_zero(self) -> bool;
    fn float(self) -> f64;
    /// The element as a number of 64 bits, with its sign if the type has one.
    fn integer(self) -> u64;
    fn value(self) -> Value;
}

macro_rules! integers {
    ($($type:ident, $wide:ident, $value:ident;)*) => {$(
        impl Element for $type {
            const IS_FLOAT: bool = false;
            const IS_SIGNED: bool = $type::MIN != 0;
            const LIMITS: [Self; 2] = [$type::MIN, $type::MAX];
            fn is_nan(self) -> bool {
                false
            }
            fn is_zero(self) -> bool {
                self == 0
            }
            fn float(self) -> f64 {
                self as f64
            }
            fn integer(self) -> u64 {
                self as $wide as u64
            }
            fn value(self) -> Value {
                Value::$value(self.into())
            }
        }
    )*};
}

integers! {
    i8, i64, Signed;
    i16, i64, Signed;
    i32, i64, Signed;
    i64, i64, Signed;
    u8, u64, Unsigned;
    u16, u64, Unsigned;
    u32, u64, Unsigned;
    u64, u64, Unsigned;
}

macro_rules! floats {
    ($($type:ident, $zero:expr;)*) => {$(
        impl Element for $type {
            const IS_FLOAT: bool = true;
            const IS_SIGNED: bool = true;
            const LIMITS: [Self; 2] = [$type::NEG_INFINITY, $type::INFINITY];
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }
            fn is_zero(self) -> bool {
                self == $zero
            }
            fn float(self) -> f64 {
                f64::from(self)
            }
            fn integer(self) -> u64 {
                unreachable!("floats are summed as floats")
            }
            fn value(self) -> Value {
                Value::Float(f64::from(self))
            }
        }
    )*};
}

floats! {
    f16, f16::ZERO;
    bf16, bf16::ZERO;
    f32, 0.0;
    f64, 0.0;
}

/// Calls a generic function with the type of elements that a [`Dtype`](crate::dtype::Dtype) names,
/// which is not complex.
macro_rules! with_element {
    ($dtype:expr, $type:ident => $call:expr) => {{
        let called = $crate::dtype::with_type!($dtype, all, $type => $call);
        called.unwrap_or_else(|| $crate::dtype::Dtype::whole_complex())
    }};
}
pub(super) use with_element;
