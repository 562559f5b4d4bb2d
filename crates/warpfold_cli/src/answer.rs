//! Results, whatever their type is.

use std::fmt;

use half::{bf16, f16};
use num_bigint::BigInt;
use serde_json::value::RawValue;
use warpfold::{Extremes, Indexed, Ranked, reducer::Item};
use warpfold_tools::arrays::Dtype;

/// A number or a truth value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(BigInt),
    /// A float of 16, 32 or 64 bits. Every float of fewer bits is an `f64` too.
    Float(f64, Dtype),
    Bool(bool),
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    One(Value),
    /// The least and the greatest element.
    Extremes {
        min: Value,
        max: Value,
    },
    /// The index of an element, and the element.
    Indexed {
        index: u64,
        value: Value,
    },
    /// The indices of the best elements, and the elements, the best one first.
    Ranked(Vec<(u64, Value)>),
}

impl Value {
    /// The type of the value as an array of one element: for an integer the narrowest of `i64`,
    /// `u64`, `i128` and `u128` that holds it. `None` if none does.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        match self {
            Self::Int(value) => {
                if i64::try_from(value).is_ok() {
                    Some(Dtype::I64)
                } else if u64::try_from(value).is_ok() {
                    Some(Dtype::U64)
                } else if i128::try_from(value).is_ok() {
                    Some(Dtype::I128)
                } else if u128::try_from(value).is_ok() {
                    Some(Dtype::U128)
                } else {
                    None
                }
            }
            Self::Float(_, dtype) => Some(*dtype),
            Self::Bool(_) => Some(Dtype::Bool),
        }
    }

    /// The type of an array of these values: for integers the narrowest of `i64`, `u64`, `i128` and
    /// `u128` that holds all of them. `None` if none does.
    pub(crate) fn common_dtype(values: &[Self]) -> Option<Dtype> {
        let integers = || {
            values.iter().filter_map(|value| match value {
                Self::Int(value) => Some(value),
                _ => None,
            })
        };
        let (Some(least), Some(greatest)) = (integers().min(), integers().max()) else {
            return values.first().map_or(Some(Dtype::I64), Self::dtype);
        };
        let is_signed = least.sign() == num_bigint::Sign::Minus;
        let of = |value: &BigInt| Self::Int(value.clone()).dtype();
        match (of(least)?, of(greatest)?) {
            (_, Dtype::U128) if is_signed => None,
            (Dtype::I128, _) | (_, Dtype::U64) if is_signed => Some(Dtype::I128),
            (_, greatest) => Some(greatest),
        }
    }

    pub(crate) fn is_negative_integer(&self) -> bool {
        matches!(self, Self::Int(value) if value.sign() == num_bigint::Sign::Minus)
    }

    /// The little-endian bytes of the value in the type [`Self::dtype`].
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Int(value) => {
                let size = self.dtype().map_or(24, Dtype::size);
                let mut bytes = value.to_signed_bytes_le();
                let sign = if value.sign() == num_bigint::Sign::Minus { 0xff } else { 0 };
                bytes.resize(bytes.len().max(size), sign);
                bytes.truncate(size);
                bytes
            }
            Self::Float(value, Dtype::F16) => f16::from_f64(*value).to_le_bytes().to_vec(),
            Self::Float(value, Dtype::Bf16) => bf16::from_f64(*value).to_le_bytes().to_vec(),
            Self::Float(value, Dtype::F32) => (*value as f32).to_le_bytes().to_vec(),
            Self::Float(value, _) => value.to_le_bytes().to_vec(),
            Self::Bool(value) => vec![u8::from(*value)],
        }
    }

    /// The value in JSON: a number with all its digits, a truth value, or one of the strings
    /// `"NaN"`, `"inf"` and `"-inf"`, because JSON has no such numbers.
    pub(crate) fn json(&self) -> Box<RawValue> {
        let text = match self {
            Self::Float(value, _) if !value.is_finite() => format!("\"{self}\""),
            _ => self.to_string(),
        };
        RawValue::from_string(text).expect("numbers of Rust are numbers of JSON")
    }
}

impl fmt::Display for Value {
    /// Writes the fewest digits that give the same value in its type again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value, Dtype::F64) => write!(f, "{value:?}"),
            Self::Float(value, _) => write!(f, "{:?}", *value as f32),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

impl fmt::Display for Answer {
    /// Writes what stdout shows: one value, two values with a space between them, an index, or
    /// indices and elements as `3:0.5 0:0.25`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(value) => write!(f, "{value}"),
            Self::Extremes { min, max } => write!(f, "{min} {max}"),
            Self::Indexed { index, .. } => write!(f, "{index}"),
            Self::Ranked(best) => {
                for (k, (index, value)) in best.iter().enumerate() {
                    write!(f, "{}{index}:{value}", if k > 0 { " " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// A type of elements or results that becomes a [`Value`].
pub(crate) trait IntoValue {
    fn value(self) -> Value;
}

macro_rules! into_value {
    (ints: $($int:ident)*; floats: $($float:ident $dtype:ident)*) => {
        $(impl IntoValue for $int {
            fn value(self) -> Value {
                Value::Int(self.into())
            }
        })*
        $(impl IntoValue for $float {
            fn value(self) -> Value {
                Value::Float(self.into(), Dtype::$dtype)
            }
        })*
    };
}

into_value! {
    ints: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128;
    floats: f16 F16 bf16 Bf16 f32 F32 f64 F64
}

impl IntoValue for bool {
    fn value(self) -> Value {
        Value::Bool(self)
    }
}

/// A result of the library that becomes an [`Answer`].
pub(crate) trait IntoAnswer {
    fn answer(self) -> Answer;
}

impl<V: IntoValue> IntoAnswer for V {
    fn answer(self) -> Answer {
        Answer::One(self.value())
    }
}

impl<T: Item + IntoValue> IntoAnswer for Extremes<T> {
    fn answer(self) -> Answer {
        Answer::Extremes { min: self.min.value(), max: self.max.value() }
    }
}

impl<T: Item + IntoValue> IntoAnswer for Indexed<T> {
    fn answer(self) -> Answer {
        Answer::Indexed { index: self.index, value: self.value.value() }
    }
}

impl<T: Item + IntoValue, const K: usize> IntoAnswer for Ranked<T, K> {
    fn answer(self) -> Answer {
        Answer::Ranked(self.iter().map(|best| (best.index, best.value.value())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_all_their_digits() {
        let json = |value: Value| (value.to_string(), value.json().get().to_owned());
        let same = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(json(u128::MAX.value()), same("340282366920938463463374607431768211455"));
        assert_eq!(json((-1i8).value()), same("-1"));
        assert_eq!(json(0.1f32.value()), same("0.1"));
        assert_eq!(json(1e300f64.value()), same("1e300"));
        assert_eq!(json(2.0f64.value()), same("2.0"));
        assert_eq!(json(f32::NAN.value()), ("NaN".into(), "\"NaN\"".into()));
        assert_eq!(json(f64::NEG_INFINITY.value()), ("-inf".into(), "\"-inf\"".into()));
        assert_eq!(json(true.value()), same("true"));
    }

    #[test]
    fn an_integer_has_the_bytes_of_its_type() {
        for value in [0i128, 1, -1, 255, -256, i64::MAX.into(), i64::MIN.into()] {
            assert_eq!(value.value().bytes(), (value as i64).to_le_bytes(), "{value}");
        }
        assert_eq!(u64::MAX.value().bytes(), u64::MAX.to_le_bytes());
        assert_eq!(i128::MIN.value().bytes(), i128::MIN.to_le_bytes());
        assert_eq!(u128::MAX.value().bytes(), u128::MAX.to_le_bytes());
        let beyond = BigInt::from(u128::MAX) + 1u8;
        assert_eq!(Value::Int(beyond).dtype(), None);
    }
    #[test]
    fn integers_have_a_common_type() {
        let (i64s, u64s, u128s) =
            (i128::from(i64::MAX), i128::from(u64::MAX), BigInt::from(u128::MAX));
        for (values, dtype) in [
            (&[][..], Dtype::I64),
            (&[3, -1, i64s], Dtype::I64),
            (&[3, u64s], Dtype::U64),
            (&[u64s, -1], Dtype::I128),
            (&[u64s + 1, 0], Dtype::I128),
            (&[i128::from(i64::MIN) - 1, 0], Dtype::I128),
        ] {
            let values: Vec<_> = values.iter().map(|value| value.value()).collect();
            assert_eq!(Value::common_dtype(&values), Some(dtype), "{values:?}");
        }
        let with_u128 = |other: i128| [Value::Int(u128s.clone()), other.value()];
        assert_eq!(Value::common_dtype(&with_u128(u64s + 1)), Some(Dtype::U128));
        assert_eq!(Value::common_dtype(&with_u128(-1)), None);
        assert_eq!(Value::common_dtype(&[0.5f32.value(), 1f32.value()]), Some(Dtype::F32));
    }
}
