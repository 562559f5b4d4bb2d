//! Logarithms of sums of exponentials, in `f64`.

use warpfold_tools::arrays::Dtype;

use super::{Verdict, element::Number, float::unit_roundoff};

/// The greatest element and the sum of the exponentials of the differences from it, with the error
/// of each addition (A. Neumaier's algorithm).
pub(super) struct Exponentials {
    max: f64,
    sum: f64,
    error: f64,
    n: u64,
}

impl Exponentials {
    pub(super) fn new() -> Self {
        Self { max: f64::NEG_INFINITY, sum: 0.0, error: 0.0, n: 0 }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        self.n += elements.len() as u64;
        for x in elements.iter().map(|x| x.float()) {
            if x.is_nan() || self.max.is_nan() {
                self.max = f64::NAN;
            } else if x > self.max {
                let factor = (self.max - x).exp();
                self.sum *= factor;
                self.error *= factor;
                self.max = x;
            }
            if self.max.is_finite() {
                let term = (x - self.max).exp();
                let sum = self.sum + term;
                let (greater, lesser) =
                    if self.sum >= term { (self.sum, term) } else { (term, self.sum) };
                self.error += (greater - sum) + lesser;
                self.sum = sum;
            }
        }
    }

    pub(super) fn verdict(&self, value: f64, result: Dtype, depth: u64) -> Verdict {
        if !self.max.is_finite() {
            let agrees = value.total_cmp(&self.max).is_eq() || value.is_nan() && self.max.is_nan();
            return Verdict { agrees, reference: format!("{:?}", self.max), bound: None };
        }
        let logarithm = (self.sum + self.error).ln();
        let reference = self.max + logarithm;
        let (u, ln) = (unit_roundoff(result), (self.n as f64).ln());
        // The bound that the library documents, and the errors of exponentials, differences and
        // logarithms in f64.
        let bound = (5.0 * depth as f64 + ln) * u
            + u * reference.abs()
            + (4.0 + 2.0 * ln + logarithm.abs() + reference.abs()) * f64::EPSILON;
        Verdict {
            agrees: (value - reference).abs() <= bound,
            reference: format!("{reference:?}"),
            bound: Some(bound),
        }
    }
}
