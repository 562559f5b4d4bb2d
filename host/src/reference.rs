//! What the result should be, computed on the CPU, and how far from it a right result may be.
//!
//! Integers, and the minimum and maximum of any type, are exact. The sum and the product of floats depend on the order
//! of the operations, which differs from rung to rung; so they are compared with the exact value, and the bound on the
//! difference follows from the number of roundings (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd
//! ed., Lemma 3.1 and section 4.2), with `u` the unit roundoff, 2^-24 for `f32` and 2^-53 for `f64`:
//!
//! - **Sum**: each element passes through at most `d` additions, the depth of the whole tree
//!   ([`Plan::depth`](crate::launch::Plan::depth)), so the error is at most `((1 + u)^d - 1) * sum |x_i|`. Sums that
//!   underflow are exact.
//! - **Product**: every one of the `n - 1` multiplications rounds the one result, whatever the shape of the tree, so the
//!   error is at most `((1 + u)^(n-1) - 1) * |product|`. This holds while no intermediate product can leave the range of
//!   normal numbers.
//!
//! Atomic additions come in the order of their arrival, and the depth is that of the worst order. On an `f32` in global
//! memory they also flush subnormal numbers to zero (PTX ISA, "atom"): what is added and what comes out, less than `2^-126`
//! each time, which [`Reference::for_plan`] adds to the bound.
//!
//! `(1 + u)^k - 1` is at most Higham's `γ_k = k u / (1 - k u)`, and holds for any `k`. The reference is itself rounded
//! to `f64`, so `2^-53` of its magnitude (`2^-51` for a product) is added.
//!
//! **NaN and infinities.** A sum with a NaN, or with infinities of both signs, is NaN, as is a product with a NaN, or with
//! an infinity and a zero. Else an infinity makes a sum infinite, and an infinity or a zero decides a product. Where
//! finite elements are so large that partial results may overflow in some order (or, in a product, underflow), no order
//! is wrong: a sum may then come out infinite or NaN; of a product only the sign is checked, and its error bound is
//! infinite.

mod exact_sum;

use approx::abs_diff_eq;

use self::exact_sum::ExactSum;
use crate::{
    element::{Element, Value, Values, with_slice},
    launch::Plan,
    op::Op,
};

/// The value that a reduction should have, and the allowed distance from it.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    value: Value,
    error_bound: f64,
    rule: Rule,
}

/// How a result is compared with the value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// The same bits (any NaN for a NaN).
    Same,
    /// The same, or NaN because finite elements overflowed or underflowed on the way.
    SameOrNan,
    /// Finite and within the bound.
    Near,
    /// Within the bound, or not finite because a partial sum overflowed.
    NearOrOverflow,
    /// Any value of the same sign.
    Sign,
    /// Any value of the same sign, or NaN.
    SignOrNan,
}

impl Reference {
    /// The reference for `values` reduced by `op` in a tree of the given depth. No values give the identity.
    ///
    /// ```
    /// use warpfold_lab::{element::{Value, Values}, op::Op, reference::Reference};
    ///
    /// let reference = Reference::new(&Values::F32(vec![1e8, 1.0, -1e8]), Op::Sum, 2);
    /// assert_eq!(reference.value().as_float(), Some(1.0));
    /// // In f32 the 1 is lost beside 1e8. The bound allows it: it is proportional to the sum of the magnitudes.
    /// assert!(reference.agrees(Value::F32(0.0)));
    /// assert!(!reference.agrees(Value::F32(100.0)));
    /// ```
    pub fn new(values: &Values, op: Op, depth: u64) -> Self {
        match (values, op) {
            (Values::F32(values), Op::Sum) => float_sum(values.iter().map(|&x| x.into()), depth, &BINARY32),
            (Values::F64(values), Op::Sum) => float_sum(values.iter().copied(), depth, &BINARY64),
            (Values::F32(values), Op::Prod) => float_product(values.iter().map(|&x| x.into()), &BINARY32),
            (Values::F64(values), Op::Prod) => float_product(values.iter().copied(), &BINARY64),
            _ => Self::exact(with_slice!(values, slice => fold(slice, op))),
        }
    }

    /// The reference for `values` reduced as planned: [`Self::new`], and what the atomics of an `f32` sum flush.
    ///
    /// ```
    /// use warpfold_lab::{element::*, launch::*, op::Op, reference::Reference, variant::Variant};
    ///
    /// let limits = DeviceLimits {
    ///     multiprocessors: 132,
    ///     max_threads_per_block: 1024,
    ///     shared_bytes_per_block: 48 << 10,
    ///     memory_bytes: 80 << 30,
    ///     compute_capability: (9, 0),
    ///     resident_blocks: None,
    /// };
    /// let problem = Problem { variant: Variant::AtomicBlock, op: Op::Sum, element: ElementType::F32, n: 2 };
    /// let plan = plan(&problem, &Request::default(), &limits)?;
    /// let reference = Reference::for_plan(&Values::F32(vec![1e-45; 2]), &plan);
    /// assert!(reference.agrees(Value::F32(0.0)) && !reference.agrees(Value::F32(1.0)));
    /// # Ok::<(), PlanError>(())
    /// ```
    pub fn for_plan(values: &Values, plan: &Plan) -> Self {
        let op = plan.problem.op;
        let mut reference = Self::new(values, op, plan.depth());
        let is_near = matches!(reference.rule, Rule::Near | Rule::NearOrOverflow);
        if let (Values::F32(_), Op::Sum, true) = (values, op, is_near) {
            let flushed = 2.0 * f64::from(f32::MIN_POSITIVE) * plan.atomics() as f64;
            reference.error_bound += flushed * (1.0 + BINARY32.relative_error(plan.depth()));
        }
        reference
    }

    fn exact(value: Value) -> Self {
        Self { value, error_bound: 0.0, rule: Rule::Same }
    }

    /// The exact value; the sum or product of floats is rounded to `f64`, whatever the type of the elements.
    pub fn value(&self) -> Value {
        self.value
    }

    /// How far from the [value](Self::value) a right result may be: 0 where it must be the same, infinite where no bound
    /// is known because partial results may leave the range of the type.
    pub fn error_bound(&self) -> f64 {
        self.error_bound
    }

    /// Whether a result is right.
    pub fn agrees(&self, result: Value) -> bool {
        let (Some(value), Some(number)) = (self.value.as_float(), result.as_float()) else {
            return self.value.is_same(result);
        };
        let same = || number.to_bits() == value.to_bits() || number.is_nan() && value.is_nan();
        // A finite result of an infinite value is wrong by what it lacks to the largest number, at least.
        let near = || abs_diff_eq!(number, value.clamp(-f64::MAX, f64::MAX), epsilon = self.error_bound);
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

fn fold<T: Element>(values: &[T], op: Op) -> Value {
    values.iter().fold(T::identity(op), |folded, &value| folded.combine(op, value)).value()
}

/// The numbers of a floating-point format.
struct Format {
    /// Half the distance from 1 to the next number.
    unit_roundoff: f64,
    max: f64,
    /// `2^exponent` overflows.
    overflow_exponent: f64,
    /// `2^-exponent` is the least normal number.
    underflow_exponent: f64,
}

const BINARY32: Format = Format {
    unit_roundoff: f32::EPSILON as f64 / 2.0,
    max: f32::MAX as f64,
    overflow_exponent: f32::MAX_EXP as f64,
    underflow_exponent: (1 - f32::MIN_EXP) as f64,
};

const BINARY64: Format = Format {
    unit_roundoff: f64::EPSILON / 2.0,
    max: f64::MAX,
    overflow_exponent: f64::MAX_EXP as f64,
    underflow_exponent: (1 - f64::MIN_EXP) as f64,
};

impl Format {
    /// `(1 + u)^roundings - 1`, a little above it rather than below.
    fn relative_error(&self, roundings: u64) -> f64 {
        (roundings as f64 * self.unit_roundoff.ln_1p()).exp_m1() * (1.0 + 8.0 * f64::EPSILON)
    }
}

/// What stands among the elements that is not a finite number.
#[derive(Default)]
struct Specials {
    nan: bool,
    positive_infinity: bool,
    negative_infinity: bool,
}

impl Specials {
    /// Notes `x` if it is special, and tells whether it was.
    fn note(&mut self, x: f64) -> bool {
        self.nan |= x.is_nan();
        self.positive_infinity |= x == f64::INFINITY;
        self.negative_infinity |= x == f64::NEG_INFINITY;
        !x.is_finite()
    }

    fn infinite(&self) -> bool {
        self.positive_infinity || self.negative_infinity
    }
}

fn float_sum(values: impl Iterator<Item = f64>, depth: u64, format: &Format) -> Reference {
    let mut specials = Specials::default();
    let (mut sum, mut magnitude) = (ExactSum::new(), ExactSum::new());
    for x in values {
        if !specials.note(x) {
            sum.add(x);
            magnitude.add(x.abs());
        }
    }
    let sum = sum.value();
    let relative = format.relative_error(depth);
    let may_overflow = magnitude.value() * (1.0 + relative) > format.max;

    if specials.nan || specials.positive_infinity && specials.negative_infinity {
        return Reference::exact(Value::F64(f64::NAN));
    }
    if specials.infinite() {
        let value = if specials.positive_infinity { f64::INFINITY } else { f64::NEG_INFINITY };
        let rule = if may_overflow { Rule::SameOrNan } else { Rule::Same };
        return Reference { value: Value::F64(value), error_bound: 0.0, rule };
    }
    // The sum of the magnitudes may be beyond the range of `f64`, and this part of it within.
    let rounding = match magnitude.value() {
        finite if finite.is_finite() => relative * finite,
        _ => relative * magnitude.scaled(-64) * power_of_two(64),
    };
    Reference {
        value: Value::F64(sum),
        error_bound: rounding + BINARY64.unit_roundoff * sum.abs().min(f64::MAX),
        rule: if may_overflow { Rule::NearOrOverflow } else { Rule::Near },
    }
}

fn float_product(values: impl Iterator<Item = f64>, format: &Format) -> Reference {
    let mut specials = Specials::default();
    let (mut n, mut zero, mut negative) = (0u64, false, false);
    // How far the elements above 1, and those below 1, would take a product by themselves, as powers of 2: any partial
    // product lies between the two.
    let (mut up, mut down) = (0.0f64, 0.0f64);
    let mut product = Product::ONE;
    for x in values {
        n += 1;
        negative ^= x.is_sign_negative();
        zero |= x == 0.0;
        if !specials.note(x) && x != 0.0 {
            let exponent = x.abs().log2();
            up += exponent.max(0.0);
            down += (-exponent).max(0.0);
            product.multiply(x.abs());
        }
    }
    let roundings = n.saturating_sub(1);
    let relative = format.relative_error(roundings);
    // Rounding moves a partial product by a factor of (1 + u) each time; log2 and its sums are good to far below 1e-12.
    let slack = relative.ln_1p() / std::f64::consts::LN_2 + (up + down) * 1e-12;
    let may_overflow = up + slack >= format.overflow_exponent;
    let may_underflow = down + slack > format.underflow_exponent;
    let signed = |magnitude: f64| Value::F64(if negative { -magnitude } else { magnitude });

    if specials.nan || zero && specials.infinite() {
        return Reference::exact(Value::F64(f64::NAN));
    }
    if zero || specials.infinite() {
        let (value, nan) = if zero { (0.0, may_overflow) } else { (f64::INFINITY, may_underflow) };
        let rule = if nan { Rule::SameOrNan } else { Rule::Same };
        return Reference { value: signed(value), error_bound: 0.0, rule };
    }
    let magnitude = product.value();
    let value = signed(magnitude);
    match (may_overflow, may_underflow) {
        (false, false) => {
            let error_bound = (relative + 4.0 * BINARY64.unit_roundoff) * magnitude;
            Reference { value, error_bound, rule: Rule::Near }
        }
        (true, true) => Reference { value, error_bound: f64::INFINITY, rule: Rule::SignOrNan },
        _ => Reference { value, error_bound: f64::INFINITY, rule: Rule::Sign },
    }
}

/// A product of positive numbers in twice the precision of `f64` and with an exponent that does not overflow: the value
/// is `(high + low) * 2^exponent`, and `high` lies in `[0.5, 1]`. Each step errs by less than 2^-102 of the value.
struct Product {
    high: f64,
    low: f64,
    exponent: i64,
}

impl Product {
    const ONE: Self = Self { high: 1.0, low: 0.0, exponent: 0 };

    /// Multiplies by `x`, positive and finite.
    fn multiply(&mut self, x: f64) {
        let (mantissa, exponent) = split(x);
        // T. J. Dekker's double-length product, with a fused multiply-add for the rounding error.
        let high = self.high * mantissa;
        let low = self.high.mul_add(mantissa, -high) + self.low * mantissa;
        self.high = high + low;
        self.low = low - (self.high - high);
        self.exponent += exponent;
        if self.high < 0.5 {
            self.high *= 2.0;
            self.low *= 2.0;
            self.exponent -= 1;
        }
    }

    /// Rounded to `f64`.
    fn value(&self) -> f64 {
        // Beyond these exponents the value is infinite, or 0; within them half of one is an `f64`'s.
        let exponent = self.exponent.clamp(-1200, 1200);
        let half = exponent / 2;
        self.high * power_of_two(half) * power_of_two(exponent - half)
    }
}

/// A positive finite number as a mantissa in `[0.5, 1)` and an exponent of 2.
fn split(x: f64) -> (f64, i64) {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    const HALF: u64 = 0.5f64.to_bits();
    if x < f64::MIN_POSITIVE {
        let (mantissa, exponent) = split(x * power_of_two(64));
        return (mantissa, exponent - 64);
    }
    let bits = x.to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | HALF;
    (f64::from_bits(mantissa), (bits >> MANTISSA_BITS) as i64 - (HALF >> MANTISSA_BITS) as i64)
}

/// `2^exponent` for an exponent of a normal number.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + i64::from(f64::MAX_EXP) - 1) as u64) << (f64::MANTISSA_DIGITS - 1))
}

#[cfg(test)]
mod tests {
    // Exact results are what is tested.
    #![allow(clippy::float_cmp)]

    use super::*;

    fn sum32(values: &[f32], depth: u64) -> Reference {
        Reference::new(&Values::F32(values.to_vec()), Op::Sum, depth)
    }

    fn product64(values: &[f64]) -> Reference {
        Reference::new(&Values::F64(values.to_vec()), Op::Prod, 0)
    }

    fn number(reference: &Reference) -> f64 {
        reference.value().as_float().unwrap()
    }

    #[test]
    fn integers_wrap_and_must_be_the_same() {
        let reference = Reference::new(&Values::I32(vec![i32::MAX, 1]), Op::Sum, 1);
        assert!(reference.value().is_same(Value::I32(i32::MIN)));
        assert!(reference.error_bound() == 0.0);
        assert!(reference.agrees(Value::I32(i32::MIN)));
        assert!(!reference.agrees(Value::I32(i32::MIN + 1)));
        assert!(!reference.agrees(Value::I64(i32::MIN.into())));

        let odd: Vec<u64> = (0..40).map(|i| 2 * i + 1).collect();
        let product = odd.iter().fold(1u64, |p, &x| p.wrapping_mul(x));
        assert!(Reference::new(&Values::U64(odd), Op::Prod, 9).agrees(Value::U64(product)));
    }

    #[test]
    fn nothing_gives_the_identity() {
        for (op, value) in [(Op::Sum, 0), (Op::Prod, 1), (Op::Min, i64::MAX), (Op::Max, i64::MIN)] {
            assert!(Reference::new(&Values::I64(vec![]), op, 0).agrees(Value::I64(value)));
        }
        assert!(number(&sum32(&[], 0)).to_bits() == 0);
        assert!(number(&product64(&[])) == 1.0);
    }

    #[test]
    fn sums_are_exact_under_cancellation() {
        let big: Vec<f64> = (0..1000).flat_map(|i| [1e300, f64::from(i), -1e300]).collect();
        let reference = Reference::new(&Values::F64(big), Op::Sum, 12);
        assert!(number(&reference) == 499_500.0);
    }

    #[test]
    fn the_bound_of_a_sum_grows_with_depth_and_magnitude() {
        let u = f64::from(f32::EPSILON) / 2.0;
        let bound = |values: &[f32], depth| sum32(values, depth).error_bound();
        assert!(bound(&[1.0, 1.0], 0) < 4.0 * f64::EPSILON);
        let ten = bound(&[3.0, -3.0], 10);
        let gamma = 10.0 * u / (1.0 - 10.0 * u);
        assert!(ten > 10.0 * u * 6.0 && ten <= gamma * 6.0, "{ten:e}");
        // Beyond 1/u roundings γ is not defined any more.
        assert!(bound(&[1.0], 1 << 25) > 2.0);
    }

    #[test]
    fn a_wrong_sum_is_found() {
        let values: Vec<f32> = (0..1024).map(|i| i as f32).collect();
        let reference = sum32(&values, 10);
        assert!(reference.agrees(Value::F32(523_776.0)));
        assert!(!reference.agrees(Value::F32(523_775.0)));
        assert!(!reference.agrees(Value::F32(f32::INFINITY)));
        assert!(!reference.agrees(Value::F32(f32::NAN)));
    }

    #[test]
    fn infinities_and_nans_decide_a_sum() {
        const INF: f32 = f32::INFINITY;
        assert!(sum32(&[1.0, f32::NAN, INF], 2).agrees(Value::F32(f32::NAN)));
        assert!(!sum32(&[1.0, f32::NAN], 2).agrees(Value::F32(1.0)));
        assert!(sum32(&[INF, -INF], 1).agrees(Value::F32(f32::NAN)));
        let infinite = sum32(&[INF, -1.0], 1);
        assert!(infinite.agrees(Value::F32(INF)));
        assert!(!infinite.agrees(Value::F32(f32::NAN)) && !infinite.agrees(Value::F32(-INF)));
        // -3e38 * 2 overflows to -inf on its own, and then meets +inf.
        assert!(sum32(&[INF, -3e38, -3e38], 2).agrees(Value::F32(f32::NAN)));
    }

    #[test]
    fn a_sum_may_overflow_on_the_way() {
        let reference = sum32(&[3e38, 3e38, -3e38, -3e38], 3);
        assert!(number(&reference) == 0.0);
        for right in [0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            assert!(reference.agrees(Value::F32(right)), "{right}");
        }
        assert!(!reference.agrees(Value::F32(1e38)));
    }

    #[test]
    fn a_sum_beyond_f64_has_a_bound_all_the_same() {
        let sum64 = |values: &[f64]| Reference::new(&Values::F64(values.to_vec()), Op::Sum, 3);
        let infinite = sum64(&[f64::MAX, f64::MAX]);
        assert!(number(&infinite) == f64::INFINITY && infinite.error_bound().is_finite());
        for right in [f64::INFINITY, f64::MAX] {
            assert!(infinite.agrees(Value::F64(right)), "{right}");
        }
        for wrong in [0.0, 1e300, -f64::MAX] {
            assert!(!infinite.agrees(Value::F64(wrong)), "{wrong}");
        }
        let cancelled = sum64(&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX]);
        assert!(cancelled.agrees(Value::F64(0.0)) && cancelled.agrees(Value::F64(f64::NAN)));
        assert!(!cancelled.agrees(Value::F64(1e300)));
    }

    #[test]
    fn products_are_exact_beyond_the_range() {
        // 2^2000 * 3 / 2^2000, in an order that would overflow.
        let reference = product64(&[1e300, 1e300, 3.0, 1e-300, 1e-300]);
        assert!((number(&reference) - 3.0).abs() < 1e-14);
        assert!(reference.error_bound() == f64::INFINITY);
        assert!(reference.agrees(Value::F64(f64::INFINITY)) && reference.agrees(Value::F64(f64::NAN)));
        assert!(!reference.agrees(Value::F64(-3.0)));
        assert!(number(&product64(&[1e-200; 10])) == 0.0);
        assert!(number(&product64(&[-1e200; 3])) == f64::NEG_INFINITY);
        assert!(number(&product64(&[5e-324, 2f64.powi(1000), 2f64.powi(74)])) == 1.0);
    }

    #[test]
    fn the_bound_of_a_product_counts_every_multiplication() {
        let values = [1.5f32, -0.75, 1.25, 0.875];
        let reference = Reference::new(&Values::F32(values.to_vec()), Op::Prod, 2);
        assert!(number(&reference) == -315.0 / 256.0);
        let u = f64::from(f32::EPSILON) / 2.0;
        let bound = reference.error_bound();
        assert!(bound > 3.0 * u * 1.23 && bound < 3.1 * u * 1.24, "{bound:e}");
        assert!(reference.agrees(Value::F32(-315.0 / 256.0)));
        assert!(!reference.agrees(Value::F32(315.0 / 256.0)));
        assert!(!reference.agrees(Value::F32(-1.230_47)));
    }

    #[test]
    fn zeros_infinities_and_nans_decide_a_product() {
        const INF: f64 = f64::INFINITY;
        assert!(product64(&[2.0, f64::NAN]).agrees(Value::F64(f64::NAN)));
        assert!(product64(&[0.0, INF]).agrees(Value::F64(f64::NAN)));
        let zero = product64(&[-2.0, 0.0]);
        assert!(zero.agrees(Value::F64(-0.0)));
        assert!(!zero.agrees(Value::F64(0.0)) && !zero.agrees(Value::F64(f64::NAN)));
        assert!(product64(&[1e200, 1e200, 0.0]).agrees(Value::F64(f64::NAN)));
        assert!(product64(&[-INF, 2.0]).agrees(Value::F64(-INF)));
        assert!(!product64(&[-INF, 2.0]).agrees(Value::F64(INF)));
    }

    #[test]
    fn extremes_ignore_nans_and_order_zeros() {
        let min = |values: &[f32]| Reference::new(&Values::F32(values.to_vec()), Op::Min, 0);
        assert!(min(&[f32::NAN, 2.0, 1.0]).agrees(Value::F32(1.0)));
        assert!(min(&[f32::NAN; 3]).agrees(Value::F32(f32::INFINITY)));
        assert!(min(&[0.0, -0.0]).agrees(Value::F32(-0.0)));
        assert!(!min(&[0.0, -0.0]).agrees(Value::F32(0.0)));
    }

    #[test]
    fn numbers_split_and_scale() {
        for x in [1.0, 0.5, 0.75, 1e300, f64::MIN_POSITIVE, 5e-324, f64::MAX] {
            let (mantissa, exponent) = split(x);
            assert!((0.5..1.0).contains(&mantissa), "{x:e}");
            assert!(Product { high: mantissa, low: 0.0, exponent }.value() == x, "{x:e}");
        }
    }
}
