//! What a reduction should give, computed on the CPU, and how far from it a right result may be.
//!
//! Integers, extremes, indices, counts and bits are exact. Sums and products of floats are compared
//! with a value of far more digits, within the bounds that the library's documentation derives
//! from the number of roundings. For means and variances, which the library computes in `f64` with
//! shifted elements, the bound is 2^-45 of the greatest magnitude, or of the squared range: a
//! rounding is 2^-53, and at most a few hundred of them lie between an element and the result.

mod element;
mod exponentials;
mod float;
mod integer;
mod moments;
mod order;
mod top;

use warpfold_tools::arrays::Dtype;

use crate::{
    answer::{Answer, Value},
    condition::Condition,
    operation::Operation,
    wrap::may_wrap,
};

pub(crate) use element::Number;
use exponentials::Exponentials;
use float::{FloatProduct, FloatSum};
use integer::{IntegerProduct, IntegerSum};
use moments::MomentFacts;
use order::{Bits, Count, Order};
use top::Top;

/// The comparison of a result with the CPU's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) agrees: bool,
    /// The CPU's result.
    pub(crate) reference: String,
    /// How far from it the result may be. `None` if it must be the same.
    pub(crate) bound: Option<f64>,
}

/// What the CPU finds out about the elements.
pub(crate) struct Facts {
    operation: Operation,
    dtype: Dtype,
    kind: Kind,
    n: u64,
    is_verified: bool,
}

enum Kind {
    IntegerSum(IntegerSum),
    IntegerProduct(IntegerProduct),
    FloatSum(Box<FloatSum>),
    FloatProduct(FloatProduct),
    Moments(Box<MomentFacts>),
    Exponentials(Exponentials),
    Order(Order),
    Count(Count),
    Bits(Bits),
    Top(Top),
}

impl Facts {
    /// The facts that are needed: for the comparison, or to find out whether the result of an
    /// operation over `n` elements has wrapped around.
    pub(crate) fn wanted(
        (operation, condition): (Operation, Option<&Condition>),
        dtype: Dtype,
        n: Option<u64>,
        is_verified: bool,
    ) -> Option<Self> {
        use Operation as O;
        let is_needed = match operation {
            // The exact sum says whether it wraps.
            O::WrappingSum => false,
            _ => may_wrap(operation, dtype) && integer::may_exceed(operation, dtype, n),
        };
        if !is_verified && !is_needed {
            return None;
        }
        let is_float = dtype.is_float();
        let kind = match operation {
            O::Sum
            | O::WrappingSum
            | O::CheckedSum
            | O::Exact
            | O::Compensated
            | O::Wide
            | O::NanSum
            | O::NanMean
            | O::Norm1
            | O::Norm2
            | O::SumSquares
            | O::Dot
            | O::Distance
            | O::SquaredDistance => {
                if is_float {
                    Kind::FloatSum(Box::new(FloatSum::new(operation)))
                } else {
                    Kind::IntegerSum(IntegerSum::new(operation))
                }
            }
            O::Product if is_float => Kind::FloatProduct(FloatProduct::new(dtype)),
            O::Product => Kind::IntegerProduct(IntegerProduct::new(dtype)),
            O::Mean | O::Var | O::Std => Kind::Moments(Box::new(MomentFacts::new())),
            O::LogSumExp => Kind::Exponentials(Exponentials::new()),
            O::Min
            | O::Max
            | O::MinMax
            | O::Minimum
            | O::Maximum
            | O::ArgMin
            | O::ArgMax
            | O::ArgMinimum
            | O::ArgMaximum
            | O::MaxAbs => Kind::Order(Order::new(operation)),
            O::TopK => Kind::Top(Top::new(true)),
            O::BottomK => Kind::Top(Top::new(false)),
            O::Count | O::Any | O::All => Kind::Count(Count::new(condition.cloned(), dtype)),
            O::BitAnd | O::BitOr | O::BitXor => Kind::Bits(Bits::new(dtype)),
        };
        Some(Self { operation, dtype, kind, n: 0, is_verified })
    }

    pub(crate) fn is_verified(&self) -> bool {
        self.is_verified
    }

    /// Takes the next elements. `second` is there for a pair, and is as long as `first`.
    pub(crate) fn feed<T: Number>(&mut self, first: &[T], second: Option<&[T]>) {
        match &mut self.kind {
            Kind::IntegerSum(sum) => sum.feed(first, second),
            Kind::IntegerProduct(product) => product.feed(first),
            Kind::FloatSum(sum) => sum.feed(first, second),
            Kind::FloatProduct(product) => product.feed(first),
            Kind::Moments(moments) => moments.feed(first),
            Kind::Exponentials(sum) => sum.feed(first),
            Kind::Order(order) => order.feed(first),
            Kind::Count(count) => count.feed(first),
            Kind::Bits(bits) => bits.feed(first),
            Kind::Top(top) => top.feed(first),
        }
        self.n += first.len() as u64;
    }

    /// Whether the exact result of an integer operation does not fit into the type of its result.
    /// `None` for other operations.
    pub(crate) fn wrapped(&self) -> Option<bool> {
        if !may_wrap(self.operation, self.dtype) {
            return None;
        }
        match &self.kind {
            Kind::IntegerSum(sum) => Some(sum.wraps(self.dtype)),
            Kind::IntegerProduct(product) => Some(product.wraps()),
            _ => None,
        }
    }

    /// Compares an answer. `depth` is the number of roundings between an element and the result,
    /// and `setting` the number of `--ddof` or `-k`.
    pub(crate) fn verdict(&self, answer: &Answer, depth: u64, setting: u64) -> Verdict {
        match (&self.kind, answer) {
            (Kind::IntegerSum(sum), Answer::One(Value::Float(root, dtype))) => {
                near_root(*root, sum.value().to_string().parse().unwrap_or(f64::NAN), *dtype)
            }
            (Kind::IntegerSum(sum), _) => {
                let is_exact = matches!(
                    self.operation,
                    Operation::Sum | Operation::CheckedSum | Operation::WrappingSum
                );
                let value = if is_exact { sum.value() } else { sum.cut(self.dtype) };
                same(answer, &Answer::One(Value::Int(value)))
            }
            (Kind::IntegerProduct(product), _) => {
                same(answer, &Answer::One(Value::Int(product.value())))
            }
            (Kind::FloatSum(sum), Answer::One(Value::Float(value, dtype))) => {
                sum.verdict(*value, *dtype, depth)
            }
            (Kind::FloatProduct(product), Answer::One(Value::Float(value, _))) => {
                product.verdict(*value, self.n)
            }
            (Kind::Moments(moments), Answer::One(Value::Float(value, _))) => {
                moments.verdict(self.operation, *value, setting)
            }
            (Kind::Exponentials(sum), Answer::One(Value::Float(value, dtype))) => {
                sum.verdict(*value, *dtype, depth)
            }
            (Kind::Order(order), _) => same(answer, &order.answer(self.operation, self.dtype)),
            (Kind::Count(count), _) => same(answer, &count.answer(self.operation, self.n)),
            (Kind::Top(top), _) => same(answer, &top.answer(setting, self.dtype)),
            (Kind::Bits(bits), _) => same(answer, &bits.answer(self.operation, self.dtype)),
            _ => {
                Verdict { agrees: false, reference: "a result of another kind".into(), bound: None }
            }
        }
    }
}

/// The root of an integer below 2^64, which is rounded twice.
fn near_root(root: f64, square: f64, dtype: Dtype) -> Verdict {
    let reference = square.sqrt();
    let bound = reference * if dtype == Dtype::F64 { 2f64.powi(-51) } else { 2f64.powi(-22) };
    Verdict {
        agrees: (root - reference).abs() <= bound,
        reference: format!("{reference:?}"),
        bound: Some(bound),
    }
}

/// The verdict on an answer that must be exactly this one. All NaNs are alike, and -0 is not +0.
fn same(answer: &Answer, expected: &Answer) -> Verdict {
    let reference = match expected {
        Answer::Indexed { index, value } => format!("{index} (element {value})"),
        other => other.to_string(),
    };
    let found = match answer {
        Answer::Indexed { index, value } => format!("{index} (element {value})"),
        other => other.to_string(),
    };
    Verdict { agrees: found == reference, reference, bound: None }
}

#[cfg(test)]
mod tests;
