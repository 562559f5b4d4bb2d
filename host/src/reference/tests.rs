// These tests compare exact results.
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
    // With more than 1/u roundings γ is not defined, but the bound still is.
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
    // The two finite elements alone overflow to -inf, which then meets +inf.
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
    // This product is 1e600 * 3 / 1e600, in an order that would overflow in `f64`.
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
