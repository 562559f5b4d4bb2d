//! The types of the elements that the ladder reduces.

use std::{fmt, str::FromStr};

use crate::{device::Pod, op::Op};

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Signed integer, 32 bits.
    I32,
    /// Unsigned integer, 32 bits.
    U32,
    /// Signed integer, 64 bits.
    I64,
    /// Unsigned integer, 64 bits.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl ElementType {
    /// All types.
    pub const ALL: [Self; 6] = [Self::I32, Self::U32, Self::I64, Self::U64, Self::F32, Self::F64];

    /// The name of the type, as kernels and the command line spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Size in bytes.
    pub const fn size(self) -> u32 {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of an element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown type '{0}': it is one of i32, u32, i64, u64, f32, f64")]
pub struct UnknownType(pub String);

impl FromStr for ElementType {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<Self, UnknownType> {
        Self::ALL
            .into_iter()
            .find(|element| element.name() == text)
            .ok_or_else(|| UnknownType(text.to_owned()))
    }
}

/// A Rust type that the kernels reduce.
pub trait Element: Pod + PartialEq + PartialOrd + fmt::Debug + Send + Sync {
    /// The [`ElementType`] that stands for this Rust type at run time.
    const TYPE: ElementType;

    /// The identity of `op`, which is the value that changes nothing: 0 for a sum, 1 for a product,
    /// the largest value (`+inf`) for a minimum, the smallest (`-inf`) for a maximum.
    fn identity(op: Op) -> Self;

    /// Applies `op` to two values, as the kernels define it. Integers wrap. The minimum and the
    /// maximum of floats are minimumNumber and maximumNumber of IEEE 754-2019, for which a number
    /// wins over a NaN and -0 is less than +0.
    ///
    /// ```
    /// use warpfold_lab::{element::Element, op::Op};
    /// assert_eq!(i32::MAX.combine(Op::Sum, 1), i32::MIN);
    /// assert_eq!(f32::NAN.combine(Op::Min, 3.0), 3.0);
    /// ```
    #[must_use]
    fn combine(self, op: Op, other: Self) -> Self;

    /// This value as a [`Value`].
    fn value(self) -> Value;

    /// These values as [`Values`].
    fn values(values: Vec<Self>) -> Values;
}

macro_rules! element {
    ($type:ty, $variant:ident, $min:expr, $max:expr, $one:expr, $zero:expr, $sum:expr, $prod:expr, $lesser:expr, $greater:expr) => {
        impl Element for $type {
            const TYPE: ElementType = ElementType::$variant;

            fn identity(op: Op) -> Self {
                match op {
                    Op::Sum => $zero,
                    Op::Prod => $one,
                    Op::Min => $max,
                    Op::Max => $min,
                }
            }

            fn combine(self, op: Op, other: Self) -> Self {
                match op {
                    Op::Sum => $sum(self, other),
                    Op::Prod => $prod(self, other),
                    Op::Min => $lesser(self, other),
                    Op::Max => $greater(self, other),
                }
            }

            fn value(self) -> Value {
                Value::$variant(self)
            }

            fn values(values: Vec<Self>) -> Values {
                Values::$variant(values)
            }
        }
    };
    (integer $type:ident, $variant:ident) => {
        element!(
            $type,
            $variant,
            $type::MIN,
            $type::MAX,
            1,
            0,
            $type::wrapping_add,
            $type::wrapping_mul,
            Ord::min,
            Ord::max
        );
    };
    (float $type:ident, $variant:ident) => {
        element!(
            $type,
            $variant,
            $type::NEG_INFINITY,
            $type::INFINITY,
            1.0,
            0.0,
            std::ops::Add::add,
            std::ops::Mul::mul,
            |a: $type, b: $type| match (a.is_nan(), b.is_nan()) {
                (true, _) => b,
                (_, true) => a,
                _ if a.total_cmp(&b).is_le() => a,
                _ => b,
            },
            |a: $type, b: $type| match (a.is_nan(), b.is_nan()) {
                (true, _) => b,
                (_, true) => a,
                _ if a.total_cmp(&b).is_ge() => a,
                _ => b,
            }
        );
    };
}

element!(integer i32, I32);
element!(integer u32, U32);
element!(integer i64, I64);
element!(integer u64, U64);
element!(float f32, F32);
element!(float f64, F64);

/// One element of any type.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An `i32`.
    I32(i32),
    /// A `u32`.
    U32(u32),
    /// An `i64`.
    I64(i64),
    /// A `u64`.
    U64(u64),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
}

impl Value {
    /// Whether both values have the same type and the same bits. Two NaNs count as the same,
    /// whatever their payload.
    pub fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::I32(a), Self::I32(b)) => a == b,
            (Self::U32(a), Self::U32(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }

    /// The value of a float as an `f64`, which holds it exactly; `None` for an integer.
    pub fn as_float(self) -> Option<f64> {
        match self {
            Self::F32(value) => Some(value.into()),
            Self::F64(value) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    /// Writes the shortest decimal that reads back as the same value. Floats far from 1 are in
    /// scientific notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I32(value) => value.fmt(f),
            Self::U32(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            // `{:?}` writes 1e300, where `{}` would write one digit and 300 zeros.
            Self::F32(value) => write!(f, "{value:?}"),
            Self::F64(value) => write!(f, "{value:?}"),
        }
    }
}

/// Elements of any one type.
#[derive(Clone, Debug)]
pub enum Values {
    /// Elements of type `i32`.
    I32(Vec<i32>),
    /// Elements of type `u32`.
    U32(Vec<u32>),
    /// Elements of type `i64`.
    I64(Vec<i64>),
    /// Elements of type `u64`.
    U64(Vec<u64>),
    /// Elements of type `f32`.
    F32(Vec<f32>),
    /// Elements of type `f64`.
    F64(Vec<f64>),
}

/// Calls a generic function with the slice that a [`Values`] holds.
macro_rules! with_slice {
    ($values:expr, $slice:ident => $body:expr) => {
        match $values {
            $crate::element::Values::I32($slice) => $body,
            $crate::element::Values::U32($slice) => $body,
            $crate::element::Values::I64($slice) => $body,
            $crate::element::Values::U64($slice) => $body,
            $crate::element::Values::F32($slice) => $body,
            $crate::element::Values::F64($slice) => $body,
        }
    };
}
pub(crate) use with_slice;

impl Values {
    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        match self {
            Self::I32(_) => ElementType::I32,
            Self::U32(_) => ElementType::U32,
            Self::I64(_) => ElementType::I64,
            Self::U64(_) => ElementType::U64,
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        with_slice!(self, slice => slice.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    // These tests compare exact results.
    #![allow(clippy::float_cmp)]

    use super::*;

    #[test]
    fn names_parse_back() {
        for element in ElementType::ALL {
            assert_eq!(element.name().parse(), Ok(element));
        }
        assert_eq!("f16".parse::<ElementType>(), Err(UnknownType("f16".into())));
    }

    #[test]
    fn identities_change_nothing() {
        fn check<T: Element>(samples: &[T]) {
            for op in Op::ALL {
                for &sample in samples {
                    assert!(
                        T::identity(op).combine(op, sample).value().is_same(sample.value()),
                        "{op} {sample:?}"
                    );
                    assert!(
                        sample.combine(op, T::identity(op)).value().is_same(sample.value()),
                        "{op} {sample:?}"
                    );
                }
            }
        }
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[0, 1, u32::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[f32::NEG_INFINITY, f32::MIN, -1.0, 0.0, 1e-45, f32::MAX, f32::INFINITY]);
        check(&[f64::NEG_INFINITY, f64::MIN, -1.0, 0.0, 5e-324, f64::MAX, f64::INFINITY]);
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(i32::MAX.combine(Op::Sum, 1), i32::MIN);
        assert_eq!(u64::MAX.combine(Op::Prod, u64::MAX), 1);
    }

    #[test]
    fn float_extremes_follow_minimum_number() {
        assert_eq!(f32::NAN.combine(Op::Min, 3.0), 3.0);
        assert_eq!(3.0.combine(Op::Max, f64::NAN), 3.0);
        assert!(f64::NAN.combine(Op::Min, f64::NAN).is_nan());
        assert!((0.0f32).combine(Op::Min, -0.0).is_sign_negative());
        assert!((-0.0f32).combine(Op::Max, 0.0).is_sign_positive());
    }

    #[test]
    fn floats_print_what_reads_back() {
        assert_eq!(Value::F32(0.1).to_string(), "0.1");
        assert_eq!(Value::F64(1e300).to_string(), "1e300");
        assert_eq!(Value::F32(41.0).to_string(), "41.0");
    }
}
