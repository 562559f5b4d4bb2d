//! Means and variances.

use warpfold_tools::exact::ExactSum;

use super::{Verdict, element::Number};
use crate::operation::Operation;

/// The error that is allowed, as a part of the greatest magnitude or of the squared range.
const TOLERANCE: f64 = 1.0 / (1u64 << 45) as f64;

/// The sums of the elements less the first one, and of the squares of these differences. Both are
/// exact but for the rounding of the differences of integers beyond 2^53.
pub(super) struct MomentFacts {
    first: Option<f64>,
    sum: ExactSum,
    squares: ExactSum,
    n: u64,
    least: f64,
    greatest: f64,
    is_finite: bool,
}

impl MomentFacts {
    pub(super) fn new() -> Self {
        Self {
            first: None,
            sum: ExactSum::new(),
            squares: ExactSum::new(),
            n: 0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            is_finite: true,
        }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        self.n += elements.len() as u64;
        for x in elements.iter().map(|x| x.float()) {
            let difference = x - *self.first.get_or_insert(x);
            let square = difference * difference;
            if !x.is_finite() || !square.is_finite() {
                self.is_finite = false;
                continue;
            }
            self.sum.add(difference);
            self.squares.add(square);
            self.squares.add(difference.mul_add(difference, -square));
            self.least = self.least.min(x);
            self.greatest = self.greatest.max(x);
        }
    }

    pub(super) fn verdict(&self, operation: Operation, value: f64, ddof: u64) -> Verdict {
        if !self.is_finite {
            // Infinities, NaNs, or squares beyond the range of f64.
            let reference = "a result that is not finite".into();
            return Verdict { agrees: !value.is_finite(), reference, bound: None };
        }
        let n = self.n as f64;
        let mean_difference = self.sum.value() / n;
        let mean = self.first.unwrap_or(f64::NAN) + mean_difference;
        let range = self.greatest - self.least;
        let magnitude = self.greatest.abs().max(self.least.abs());
        // `squares - n * mean_difference^2`, without the cancellation.
        let mut deviations = self.squares.clone();
        let square = mean_difference * mean_difference;
        let rest = mean_difference.mul_add(mean_difference, -square);
        for part in [square, rest] {
            let product = part * n;
            deviations.add(-product);
            deviations.add(-part.mul_add(n, -product));
        }
        let divisor = self.n.saturating_sub(ddof) as f64;
        let variance =
            if divisor == 0.0 { f64::NAN } else { deviations.value().max(0.0) / divisor };
        let scale = if divisor == 0.0 { 1.0 } else { n / divisor };
        let (reference, bound) = match operation {
            Operation::Mean => (mean, magnitude * TOLERANCE),
            Operation::Var => (variance, range * range * TOLERANCE * scale),
            _ => {
                let bound = range * range * TOLERANCE * scale;
                let deviation = variance.sqrt();
                // The root of a small variance is less exact than the variance is.
                let bound =
                    if deviation * deviation > bound { bound / deviation } else { bound.sqrt() };
                (deviation, bound)
            }
        };
        let agrees = (value - reference).abs() <= bound || (value.is_nan() && reference.is_nan());
        Verdict { agrees, reference: format!("{reference:?}"), bound: Some(bound) }
    }
}
