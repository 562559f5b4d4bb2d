//! The mean and the variance.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

use crate::reducer::{
    Item, Single,
    operation::{bin_kernels, kernels, operation},
};

/// The mean and the variance, computed in one pass in `f64`. For an empty input, the call returns
/// [`Error::Empty`](crate::Error::Empty).
///
/// For integers of up to 32 bits, each thread sums its elements and their squares exactly. For all
/// other types, each thread subtracts its first element from its elements, and sums the differences
/// and their squares. The results of the threads are combined by the formulas of T. F. Chan, G. H.
/// Golub and R. J. LeVeque (*Updating Formulae and a Pairwise Algorithm for Computing Sample
/// Variances*, 1979). So a mean that is large compared with the deviation does not cost digits, as
/// it would in the formula `E[x^2] - E[x]^2`. If an element is not finite, the mean is not finite
/// and the squared deviations are NaN.
///
/// ```
/// use warpfold::{Device, Moments};
///
/// let device = Device::simulator();
/// let statistics = device.reduce(&[1e9f64 + 1.0, 1e9 + 2.0, 1e9 + 3.0], Moments)?;
/// assert_eq!(statistics.mean(), 1e9 + 2.0);
/// assert_eq!(statistics.sample_variance(), Some(1.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Moments;

kernels!(Moments, moments: i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f16, bf16, f32, f64);
bin_kernels!(Moments, moments, |T| 24; u8, i32, u32, i64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> Moments: Single, KernelClass::Moments, "mean";
    type Raw = Statistics;
    fn identity() = None;
    fn combine(first, others) = first.combined(others);
}

/// The number of the elements, their mean and their squared deviations from it. This is both the
/// raw result and the result of [`Moments`].
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Statistics {
    /// The number of elements.
    pub count: u64,
    mean: f64,
    squared_deviations: f64,
}

impl Statistics {
    /// The mean of the elements.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The sum of the squared deviations of the elements from the mean.
    pub fn squared_deviations(&self) -> f64 {
        self.squared_deviations
    }

    /// The variance of the elements as a whole population: the mean of the squared deviations from
    /// the mean.
    pub fn variance(&self) -> f64 {
        self.squared_deviations / self.count as f64
    }

    /// The estimated variance of the population from which the elements are a sample, with the
    /// divisor `count - 1`. It is `None` for one element.
    pub fn sample_variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squared_deviations / (self.count - 1) as f64)
    }

    /// The square root of the [variance](Self::variance).
    pub fn standard_deviation(&self) -> f64 {
        self.variance().sqrt()
    }

    fn combined(self, others: Self) -> Self {
        if self.count == 0 || others.count == 0 {
            return if self.count == 0 { others } else { self };
        }
        let count = self.count + others.count;
        let share = others.count as f64 / count as f64;
        let difference = others.mean - self.mean;
        let between = difference * difference * self.count as f64 * share;
        Self {
            count,
            mean: difference.mul_add(share, self.mean),
            squared_deviations: self.squared_deviations + others.squared_deviations + between,
        }
    }
}
