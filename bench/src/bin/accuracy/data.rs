//! Makes numbers whose sum has any wanted condition number, together with their exact sum.

use anyhow::{Context, bail, ensure};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use warpfold_lab::{element::Values, op::Op, reference::Reference};

/// While the numbers are made, they are integers in units of `2^-64`. This is the exponent.
const UNIT: i32 = -64;

/// A kind of numbers to sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Numbers that are uniformly distributed from 0 to 1. Their sum is well-conditioned.
    Uniform,
    /// Numbers whose sum has about this condition number `sum |x| / |sum x|`.
    Conditioned(f64),
    /// Numbers of either sign and of magnitudes from `2^-100` to `2^100`.
    Wide,
}

impl Kind {
    /// The name of this kind in tables.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Uniform => "uniform [0, 1)".to_owned(),
            Self::Conditioned(condition) => format!("condition {condition:.0e}"),
            Self::Wide => "2^-100 to 2^100".to_owned(),
        }
    }
}

/// Numbers, the same numbers in another order, and the facts about their sum.
pub(crate) struct Data {
    pub(crate) kind: Kind,
    pub(crate) values: Vec<f32>,
    pub(crate) permuted: Vec<f32>,
    /// The exact sum, rounded to `f64`.
    pub(crate) truth: f64,
    /// The condition number of the sum, `sum |x| / |sum x|`.
    pub(crate) condition: f64,
}

impl Data {
    /// Makes `n` numbers of a kind. The same seed gives the same numbers.
    pub(crate) fn new(kind: Kind, n: usize, seed: u64) -> anyhow::Result<Self> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut values = match kind {
            Kind::Uniform => (0..n).map(|_| rng.random()).collect(),
            Kind::Conditioned(condition) => ill_conditioned(n, condition, &mut rng),
            Kind::Wide => (0..n).map(|_| wide(&mut rng)).collect(),
        };
        values.shuffle(&mut rng);
        let mut permuted = values.clone();
        permuted.shuffle(&mut rng);
        let magnitudes: f64 = values.iter().map(|x| f64::from(x.abs())).sum();
        let values = Values::F32(values);
        let truth = Reference::new(&values, Op::Sum, 0)
            .value()
            .as_float()
            .context("a sum of floats is a float")?;
        let Values::F32(values) = values else { bail!("values of f32 are f32") };
        ensure!(
            truth != 0.0,
            "the sum of {n} numbers, {}, is 0: there is no relative error",
            kind.name()
        );
        Ok(Self { kind, values, permuted, truth, condition: magnitudes / truth.abs() })
    }
}

/// A number of any sign and of a magnitude from `2^-100` to `2^100`.
fn wide(rng: &mut StdRng) -> f32 {
    let bits: u32 = rng.random();
    let exponent = rng.random_range(127 - 100..127 + 100u32);
    f32::from_bits(bits & 0x807f_ffff | exponent << 23)
}

/// Numbers whose sum has about this condition number, before they are shuffled.
///
/// The method is that of T. Ogita, S. M. Rump and S. Oishi, *Accurate Sum and Dot Product* (SIAM J.
/// Sci. Comput. 26, 2005), algorithm 6.1, with one change. The exponents of the first half are
/// random, up to half of the condition number's exponent. The numbers of the second half cancel the
/// exact sum of the numbers before them, down to the wanted sum. In the paper, each number of the
/// second half leaves a random remainder, and these remainders get smaller and smaller. With 10^8
/// numbers, the last ones would be very small or the first ones very large. Here each number of the
/// second half cancels one number of the first half. It leaves only an equal share of the wanted
/// sum, and it also cancels the rounding errors of the numbers before it.
fn ill_conditioned(n: usize, condition: f64, rng: &mut StdRng) -> Vec<f32> {
    const FRACTION: i32 = 24;
    let pairs = n / 2;
    let most = (condition.log2() / 2.0).floor().clamp(0.0, 24.0) as i32;
    let mut first: Vec<i128> = Vec::with_capacity(pairs);
    for i in 0..pairs {
        // The last number is small, so that its rounding error is small.
        let exponent = if i + 1 == pairs { 0 } else { rng.random_range(0..=most) };
        let fraction = rng.random_range(-(1 << FRACTION) + 1..1 << FRACTION);
        first.push(i128::from(fraction) << (exponent - FRACTION - UNIT));
    }
    let magnitudes: i128 = first.iter().map(|x| x.abs()).sum();
    let share = (2.0 * magnitudes as f64 / condition / pairs.max(1) as f64) as i128;

    let mut values: Vec<f32> = first.iter().map(|&x| number(x)).collect();
    let mut sum: i128 = first.iter().sum();
    let mut wanted = sum;
    for x in first {
        wanted += share - x;
        let rounded = number(wanted - sum);
        sum += units(rounded);
        values.push(rounded);
    }
    if values.len() < n {
        values.push(number(wanted - sum));
    }
    values
}

/// Converts a number of units to an `f32`, with rounding.
fn number(units: i128) -> f32 {
    units as f32 * 2f32.powi(UNIT)
}

/// Converts an `f32` back to its number of units. It is the inverse of [`number`] for the results
/// of that function.
fn units(number: f32) -> i128 {
    (number * 2f32.powi(-UNIT)) as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_is_what_was_asked_for() {
        for n in [1000, 1001, 20_000] {
            for exponent in [2, 4, 6, 8, 10, 12] {
                let asked = 10f64.powi(exponent);
                let data = Data::new(Kind::Conditioned(asked), n, 1).unwrap();
                let ratio = data.condition / asked;
                assert!(
                    (0.5..2.0).contains(&ratio),
                    "{n} numbers: {:e} instead of {asked:e}",
                    data.condition
                );
                assert_eq!((data.values.len(), data.permuted.len()), (n, n));
            }
        }
    }

    #[test]
    fn the_truth_is_the_exact_sum() {
        let data = Data::new(Kind::Conditioned(1e10), 501, 2).unwrap();
        let exact: i128 = data.values.iter().map(|&x| units(x)).sum();
        assert_eq!(data.truth.to_bits(), (exact as f64 * 2f64.powi(UNIT)).to_bits());
    }

    #[test]
    fn the_permuted_numbers_are_the_same() {
        let data = Data::new(Kind::Wide, 1000, 3).unwrap();
        assert_ne!(data.values, data.permuted);
        let sorted = |values: &[f32]| {
            let mut values = values.to_vec();
            values.sort_unstable_by(f32::total_cmp);
            values
        };
        assert_eq!(sorted(&data.values), sorted(&data.permuted));
    }
}
