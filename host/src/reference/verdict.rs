//! The reference of one reduction, and the check whether a result agrees with it.

use approx::abs_diff_eq;

use crate::element::Value;

/// The value that a reduction should have, and the allowed distance from it.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub(super) value: Value,
    pub(super) error_bound: f64,
    pub(super) rule: Rule,
}

/// How a result is compared with the value of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// The result has the same bits (any NaN will do for a NaN).
    Same,
    /// The result is the same, or NaN because finite elements overflowed or underflowed on the way.
    SameOrNan,
    /// The result is finite and within the bound.
    Near,
    /// The result is within the bound, or not finite because a partial sum overflowed.
    NearOrOverflow,
    /// The result has the same sign.
    Sign,
    /// The result has the same sign, or is NaN.
    SignOrNan,
}

/// A result that disagrees with its reference.
#[derive(Clone, Debug, thiserror::Error)]
#[error("wrong result: {kernel} gave {result}, and the reference is {value}")]
pub struct WrongResult {
    kernel: String,
    result: Value,
    value: Value,
}

impl Reference {
    /// Checks a kernel's result.
    ///
    /// # Errors
    ///
    /// [`WrongResult`] if the result does not [agree](Self::agrees).
    pub fn check(&self, kernel: &str, result: Value) -> Result<(), WrongResult> {
        if self.agrees(result) {
            return Ok(());
        }
        Err(WrongResult { kernel: kernel.to_owned(), result, value: self.value })
    }

    pub(super) fn exact(value: Value) -> Self {
        Self { value, error_bound: 0.0, rule: Rule::Same }
    }

    /// The exact value. The sum or product of floats is rounded to `f64`, whatever the type of the
    /// elements.
    pub fn value(&self) -> Value {
        self.value
    }

    /// How far from the [value](Self::value) a right result may be. The bound is 0 if the result
    /// must be the same. It is infinite if no bound is known, because partial results may leave the
    /// range of the type.
    pub fn error_bound(&self) -> f64 {
        self.error_bound
    }

    /// Whether a result is right.
    pub fn agrees(&self, result: Value) -> bool {
        let (Some(value), Some(number)) = (self.value.as_float(), result.as_float()) else {
            return self.value.is_same(result);
        };
        let same = || number.to_bits() == value.to_bits() || number.is_nan() && value.is_nan();
        // If the value is infinite and the result finite, the error is at least the distance from
        // the result to the largest finite number.
        let near =
            || abs_diff_eq!(number, value.clamp(-f64::MAX, f64::MAX), epsilon = self.error_bound);
        let sign = || !number.is_nan() && number.is_sign_negative() == value.is_sign_negative();
        match self.rule {
            Rule::Same => same(),
            Rule::SameOrNan => same() || number.is_nan(),
            Rule::Near => number.is_finite() && near(),
            Rule::NearOrOverflow => !number.is_finite() || near(),
            Rule::Sign => sign(),
            Rule::SignOrNan => sign() || number.is_nan(),
        }
    }
}
