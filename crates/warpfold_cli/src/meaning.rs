//! What a result of the library means: the answers of each operation.

use num_bigint::BigInt;
use warpfold::{Error, Statistics};
use warpfold_tools::arrays::Dtype;

use crate::answer::{Answer, IntoAnswer, IntoValue, Value};

/// What a result of the library means.
pub(crate) struct Meaning<R> {
    /// Makes the answer. The number is that of [`Task::setting`](crate::task::Task::setting).
    pub(crate) answer: fn(Result<R, Error>, u64) -> Result<Answer, Error>,
    pub(crate) setting: u64,
}

impl<R> Meaning<R> {
    pub(crate) fn answer(&self, result: Result<R, Error>) -> Result<Answer, Error> {
        (self.answer)(result, self.setting)
    }
}

pub(crate) fn plain<R: IntoAnswer>(
    result: Result<R, Error>,
    _setting: u64,
) -> Result<Answer, Error> {
    result.map(IntoAnswer::answer)
}

/// The best `k` elements.
pub(crate) fn ranked<R: IntoAnswer>(result: Result<R, Error>, k: u64) -> Result<Answer, Error> {
    Ok(match result?.answer() {
        Answer::Ranked(mut best) => {
            best.truncate(k as usize);
            Answer::Ranked(best)
        }
        other => other,
    })
}

/// Bytes of truth values that are truth values again.
pub(crate) fn truth<R: IntoAnswer>(
    result: Result<R, Error>,
    _setting: u64,
) -> Result<Answer, Error> {
    // The bitwise and of no bytes has all bits set.
    let truth = |value| match value {
        Value::Int(value) => Value::Bool(value != BigInt::ZERO),
        other => other,
    };
    Ok(match result?.answer() {
        Answer::One(value) => Answer::One(truth(value)),
        Answer::Extremes { min, max } => Answer::Extremes { min: truth(min), max: truth(max) },
        other => other,
    })
}

/// A sum of integers, whether the type of the elements holds it or not.
pub(crate) fn exact_sum<T: IntoValue>(
    result: Result<T, Error>,
    _setting: u64,
) -> Result<Answer, Error> {
    match result {
        Err(Error::Overflow { exact, .. }) => {
            let exact = exact.to_string().parse().expect("an integer is written in digits");
            Ok(Answer::One(Value::Int(exact)))
        }
        result => result.map(IntoAnswer::answer),
    }
}

pub(crate) fn mean(all: Result<Statistics, Error>, _setting: u64) -> Result<Answer, Error> {
    all.map(|all| Answer::One(all.mean().value()))
}

/// The variance. It is NaN, as NumPy's is, if the divisor is 0, and not a number either if it is
/// negative.
pub(crate) fn variance(all: Result<Statistics, Error>, ddof: u64) -> Result<Answer, Error> {
    let all = all?;
    let divisor = all.count.saturating_sub(ddof);
    let variance = if divisor == 0 { f64::NAN } else { all.squared_deviations() / divisor as f64 };
    Ok(Answer::One(variance.value()))
}

pub(crate) fn deviation(all: Result<Statistics, Error>, ddof: u64) -> Result<Answer, Error> {
    variance(all, ddof).map(root)
}

/// The square root, in the type of a float, and in `f64` for an integer.
pub(crate) fn root(square: Answer) -> Answer {
    match square {
        Answer::One(Value::Float(square, Dtype::F64)) => Answer::One(square.sqrt().value()),
        Answer::One(Value::Float(square, _)) => Answer::One((square as f32).sqrt().value()),
        // The library has no distance of integers whose square a 64-bit integer may not hold.
        Answer::One(Value::Int(square)) => {
            let square = u64::try_from(square).expect("a sum of squares is not negative");
            Answer::One((square as f64).sqrt().value())
        }
        other => other,
    }
}
