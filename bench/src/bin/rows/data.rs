//! The inputs, and what their reductions must give.

use half::f16;
use warpfold::{ExpSum, Extremes, Indexed, Item, Ranked, Statistics};

use crate::cases::{Case, Operation};

/// An element type of the benchmark.
pub(crate) trait Value: Item {
    /// The element of this value, a small integer.
    fn from_small(value: i8) -> Self;
    fn to_f64(self) -> f64;
    /// The least value of an element. Sums stay exact because they stay near 0, where the type
    /// can be negative.
    const LEAST: i8 = -3;
}

impl Value for f32 {
    fn from_small(value: i8) -> Self {
        value.into()
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Value for f64 {
    fn from_small(value: i8) -> Self {
        value.into()
    }
    fn to_f64(self) -> f64 {
        self
    }
}

impl Value for f16 {
    fn from_small(value: i8) -> Self {
        value.into()
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Value for i32 {
    fn from_small(value: i8) -> Self {
        value.into()
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Value for u8 {
    fn from_small(value: i8) -> Self {
        value.unsigned_abs()
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    const LEAST: i8 = 0;
}

/// Random elements: integers from [`Value::LEAST`] on, of which there are seven.
pub(crate) fn generate<T: Value>(len: u64) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // The generator xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::from_small(T::LEAST + ((state >> 32) % 7) as i8)
    };
    (0..len).map(|_| next()).collect()
}

/// A raw result as numbers.
pub(crate) trait Numbers {
    fn numbers(&self) -> Vec<f64>;
}

macro_rules! one_number {
    ($($t:ty: $self:ident => $number:expr),* $(,)?) => {$(
        impl Numbers for $t {
            fn numbers(&$self) -> Vec<f64> {
                vec![$number]
            }
        }
    )*};
}

one_number! {
    f16: self => f64::from(*self),
    f32: self => f64::from(*self),
    f64: self => *self,
    u8: self => f64::from(*self),
    i32: self => f64::from(*self),
    i64: self => *self as f64,
    u64: self => *self as f64,
}

impl<T: Value> Numbers for Indexed<T> {
    fn numbers(&self) -> Vec<f64> {
        vec![self.value.to_f64(), self.index as f64]
    }
}

impl<T: Value> Numbers for Extremes<T> {
    fn numbers(&self) -> Vec<f64> {
        vec![self.min.to_f64(), self.max.to_f64()]
    }
}

impl<T: Value, const K: usize> Numbers for Ranked<T, K> {
    fn numbers(&self) -> Vec<f64> {
        self.iter().flat_map(Numbers::numbers).collect()
    }
}

impl Numbers for Statistics {
    fn numbers(&self) -> Vec<f64> {
        vec![self.count as f64, self.mean(), self.squared_deviations()]
    }
}

impl<T: Value> Numbers for ExpSum<T> {
    fn numbers(&self) -> Vec<f64> {
        vec![self.max.to_f64(), self.sum.to_f64()]
    }
}

impl Numbers for warpfold::Numbers {
    fn numbers(&self) -> Vec<f64> {
        vec![self.count as f64, self.sum]
    }
}

/// The result of a row of small integers, in the order of [`Numbers`].
pub(crate) fn expected(op: Operation, row: impl Iterator<Item = f64>) -> Vec<f64> {
    let (mut count, mut sum, mut squares, mut exponentials) = (0.0, 0.0, 0.0, 0.0);
    let (mut min, mut min_index) = (f64::INFINITY, 0.0);
    let (mut max, mut max_index) = (f64::NEG_INFINITY, 0.0);
    let places = match op {
        Operation::Top1 => 1,
        Operation::Top5 => 5,
        Operation::Top8 => 8,
        _ => 0,
    };
    let mut greatest: Vec<[f64; 2]> = Vec::new();
    for value in row {
        if places > 0 && greatest.get(places - 1).is_none_or(|least| value > least[0]) {
            // Of equal elements, the first one comes first.
            let place = greatest.partition_point(|other| other[0] >= value);
            greatest.insert(place, [value, count]);
            greatest.truncate(places);
        }
        if value > max {
            (max, max_index) = (value, count);
        }
        if value < min {
            (min, min_index) = (value, count);
        }
        count += 1.0;
        sum += value;
        squares += value * value;
        exponentials += value.exp();
    }
    match op {
        Operation::Sum | Operation::Exact => vec![sum],
        Operation::Min => vec![min],
        Operation::Max => vec![max],
        Operation::ArgMin => vec![min, min_index],
        Operation::ArgMax => vec![max, max_index],
        Operation::MinMax => vec![min, max],
        Operation::NanSum => vec![count, sum],
        Operation::SumSquares => vec![squares],
        Operation::Top1 | Operation::Top5 | Operation::Top8 => greatest.concat(),
        Operation::LogSumExp => vec![max, exponentials / max.exp()],
        Operation::Moments => vec![count, sum / count, squares - sum * sum / count],
    }
}

/// Whether two results are the same. Moments and sums of exponentials alone may be rounded.
pub(crate) fn agree(op: Operation, found: &[f64], expected: &[f64]) -> bool {
    let tolerance = match op {
        Operation::Moments => 1e-9,
        Operation::LogSumExp => 1e-4,
        _ => 0.0,
    };
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            (found - expected).abs() <= tolerance * expected.abs().max(1.0)
        })
}

/// The elements that a check may read, because the host is slow.
const MOST_CHECKED: u64 = 1 << 22;

/// The greatest number of results that a check looks at.
const MOST_RESULTS: u64 = 1000;

/// The results to check: the first, the last, and others at equal distances.
pub(crate) fn checked(case: &Case) -> Vec<u64> {
    let (rows, length) = (case.rows(), case.length());
    let count = (MOST_CHECKED / length).clamp(2, MOST_RESULTS).min(rows);
    (0..count).map(|index| index * (rows - 1) / (count - 1).max(1)).collect()
}

/// The places of the elements of the row with this number, in their order.
pub(crate) fn places(case: &Case, row: u64) -> impl Iterator<Item = usize> {
    let strides = case.strides();
    // Each pair is a size and a stride; the last axis comes first.
    let axes = |is_reduced: bool| -> Vec<(u64, u64)> {
        (0..case.shape.len())
            .rev()
            .filter(|axis| case.axes.contains(axis) == is_reduced)
            .map(|axis| (case.shape[axis], strides[axis] as u64))
            .collect()
    };
    let place = |axes: &[(u64, u64)], mut index: u64| {
        let mut place = 0;
        for &(size, stride) in axes {
            place += index % size * stride;
            index /= size;
        }
        place
    };
    let (start, reduced) = (place(&axes(false), row), axes(true));
    (0..case.length()).map(move |index| (start + place(&reduced, index)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::choose;

    #[test]
    fn the_places_of_all_rows_are_all_places() {
        for case in choose("8192x8192,64x256,512x512", Some(1024)).unwrap() {
            let mut all: Vec<_> = (0..case.rows()).flat_map(|row| places(&case, row)).collect();
            assert_eq!(all.len() as u64, case.elements(), "{}", case.name);
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..all.len()), "{}", case.name);
        }
    }

    #[test]
    fn the_first_and_the_last_result_are_checked() {
        for case in choose("full", None).unwrap() {
            let checked = checked(&case);
            assert_eq!(checked.first(), Some(&0), "{}", case.name);
            assert_eq!(checked.last(), Some(&(case.rows() - 1)), "{}", case.name);
        }
    }

    #[test]
    fn expected_results() {
        let of = |op| expected(op, [1.0, 3.0, -2.0, 3.0].into_iter());
        assert_eq!(of(Operation::Sum), [5.0]);
        assert_eq!(of(Operation::Min), [-2.0]);
        assert_eq!(of(Operation::ArgMin), [-2.0, 2.0]);
        assert_eq!(of(Operation::ArgMax), [3.0, 1.0]);
        assert_eq!(of(Operation::Top1), [3.0, 1.0]);
        assert_eq!(of(Operation::Top5), [3.0, 1.0, 3.0, 3.0, 1.0, 0.0, -2.0, 2.0]);
        assert_eq!(of(Operation::SumSquares), [23.0]);
        assert_eq!(of(Operation::MinMax), [-2.0, 3.0]);
        assert_eq!(of(Operation::Moments), [4.0, 1.25, 16.75]);
        assert_eq!(of(Operation::NanSum), [4.0, 5.0]);
        let of_exponentials = [3.0, 2.0 + (-2f64).exp() + (-5f64).exp()];
        assert!(agree(Operation::LogSumExp, &of(Operation::LogSumExp), &of_exponentials));
        assert!(!agree(Operation::LogSumExp, &[3.0, 2.0], &of_exponentials));
        assert!(!agree(Operation::Sum, &[5.0], &[5.000_001]));
        assert!(agree(Operation::Moments, &[4.0, 1.25, 16.75], &of(Operation::Moments)));
    }
}
