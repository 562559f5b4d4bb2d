//! Extremes, indices, counts and bits, one element after the other.

use num_bigint::BigInt;
use warpfold_tools::arrays::Dtype;

use super::element::Number;
use crate::{
    answer::{Answer, Value},
    condition::Condition,
    operation::Operation,
};

/// A number that is ordered by sign and magnitude, or as a float with -0 below +0.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    Int(bool, u128),
    Float(f64),
}

impl Key {
    pub(super) fn of<T: Number>(element: T, is_float: bool) -> Self {
        if is_float {
            return Self::Float(element.float());
        }
        let (is_negative, magnitude) = element.integer();
        Self::Int(is_negative, magnitude)
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self, Self::Float(x) if x.is_nan())
    }

    pub(super) fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a.total_cmp(&b).is_lt(),
            (Self::Int(true, a), Self::Int(true, b)) => a > b,
            (Self::Int(false, a), Self::Int(false, b)) => a < b,
            (Self::Int(a, _), Self::Int(b, _)) => a && !b,
            _ => false,
        }
    }

    /// The element of this type.
    pub(super) fn value(self, dtype: Dtype) -> Value {
        match self {
            Self::Float(x) => Value::Float(x, dtype),
            Self::Int(true, magnitude) => Value::Int(-BigInt::from(magnitude)),
            Self::Int(false, magnitude) => Value::Int(magnitude.into()),
        }
    }
}

/// The extremes of the elements that are no NaNs, the first NaN, and their indices.
pub(super) struct Order {
    is_magnitude: bool,
    n: u64,
    least: Option<(Key, u64)>,
    greatest: Option<(Key, u64)>,
    nan: Option<(Key, u64)>,
}

impl Order {
    pub(super) fn new(operation: Operation) -> Self {
        let is_magnitude = operation == Operation::MaxAbs;
        Self { is_magnitude, n: 0, least: None, greatest: None, nan: None }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        let is_float = T::NAME.contains('f');
        for &element in elements {
            let mut key = Key::of(element, is_float);
            if self.is_magnitude {
                key = match key {
                    Key::Int(_, magnitude) => Key::Int(false, magnitude),
                    Key::Float(x) => Key::Float(x.abs()),
                };
            }
            let here = Some((key, self.n));
            self.n += 1;
            if key.is_nan() {
                self.nan = self.nan.or(here);
                continue;
            }
            if self.least.is_none_or(|(least, _)| key.is_below(least)) {
                self.least = here;
            }
            if self.greatest.is_none_or(|(greatest, _)| greatest.is_below(key)) {
                self.greatest = here;
            }
        }
    }

    pub(super) fn answer(&self, operation: Operation, dtype: Dtype) -> Answer {
        use Operation as O;
        let value = |found: Option<(Key, u64)>| match found {
            Some((Key::Int(_, magnitude), _))
                if dtype == Dtype::Bool && operation != O::MaxAbs && !operation.is_ordered() =>
            {
                Value::Bool(magnitude != 0)
            }
            Some((key, _)) => key.value(dtype),
            // The greatest magnitude of no elements is 0.
            None if dtype.is_float() => Value::Float(0.0, dtype),
            None => Value::Int(BigInt::ZERO),
        };
        let (least, greatest) = (self.least.or(self.nan), self.greatest.or(self.nan));
        let indexed = |found: Option<(Key, u64)>| Answer::Indexed {
            index: found.map_or(0, |(_, index)| index),
            value: value(found),
        };
        match operation {
            O::Min => Answer::One(value(least)),
            O::Max => Answer::One(value(greatest)),
            O::Minimum => Answer::One(value(self.nan.or(least))),
            O::Maximum | O::MaxAbs => Answer::One(value(self.nan.or(greatest))),
            O::ArgMin => indexed(least),
            O::ArgMax => indexed(greatest),
            O::ArgMinimum => indexed(self.nan.or(least)),
            O::ArgMaximum => indexed(self.nan.or(greatest)),
            _ => Answer::Extremes { min: value(least), max: value(greatest) },
        }
    }
}

/// The number of elements for which a condition holds, or that are not 0.
pub(super) struct Count {
    condition: Option<Condition>,
    dtype: Dtype,
    counted: u64,
}

impl Count {
    pub(super) fn new(condition: Option<Condition>, dtype: Dtype) -> Self {
        Self { condition, dtype, counted: 0 }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        let comparison = self.condition.as_ref().map(|condition| {
            // The task has been made of the same condition.
            condition.of::<T>(self.dtype).unwrap_or_else(|_| panic!("the constant is checked"))
        });
        let counts = |element: T| match comparison {
            Some(comparison) => comparison.holds(element),
            None => element.is_nonzero(),
        };
        self.counted += elements.iter().filter(|&&element| counts(element)).count() as u64;
    }

    pub(super) fn answer(&self, operation: Operation, n: u64) -> Answer {
        Answer::One(match operation {
            Operation::Any => Value::Bool(self.counted > 0),
            Operation::All => Value::Bool(self.counted == n),
            _ => Value::Int(self.counted.into()),
        })
    }
}

/// Bits of integers in two's complement.
pub(super) struct Bits {
    and: u128,
    or: u128,
    xor: u128,
    dtype: Dtype,
}

impl Bits {
    pub(super) fn new(dtype: Dtype) -> Self {
        Self { and: u128::MAX, or: 0, xor: 0, dtype }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        for element in elements {
            let (is_negative, magnitude) = element.integer();
            let bits = if is_negative { magnitude.wrapping_neg() } else { magnitude };
            self.and &= bits;
            self.or |= bits;
            self.xor ^= bits;
        }
    }

    pub(super) fn answer(&self, operation: Operation, dtype: Dtype) -> Answer {
        let bits = match operation {
            Operation::BitAnd => self.and,
            Operation::BitOr => self.or,
            _ => self.xor,
        };
        if dtype == Dtype::Bool {
            return Answer::One(Value::Bool(bits != 0));
        }
        let unused = 128 - 8 * self.dtype.size() as u32;
        Answer::One(Value::Int(if dtype.is_signed_integer() {
            ((bits << unused) as i128 >> unused).into()
        } else {
            (bits << unused >> unused).into()
        }))
    }
}
