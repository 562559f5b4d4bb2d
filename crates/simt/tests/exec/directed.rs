//! Doubles with the roundings `.rz`, `.rm` and `.rp`, compared with exact integers: the result is
//! the last double on the right side of the exact value.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use crate::{Lanes, eval};

/// Everything is measured in units of 2^-1074, which is the least positive double.
const SCALE: u64 = 1074;

/// A double in units; an infinity is one step beyond the greatest double.
fn units(value: f64) -> BigInt {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let magnitude = match exponent {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
    };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// An exact value, as a function that compares a double in units with it.
type Exact = Box<dyn Fn(&BigInt) -> Ordering>;

/// The quotient of two integers, in units.
fn ratio(dividend: BigInt, divisor: BigInt) -> Exact {
    let (dividend, divisor) =
        if divisor.sign() == Sign::Minus { (-dividend, -divisor) } else { (dividend, divisor) };
    Box::new(move |value| (value * &divisor).cmp(&dividend))
}

fn one() -> BigInt {
    BigInt::from(1) << SCALE
}

fn sum(a: f64, b: f64) -> Exact {
    ratio(units(a) + units(b), 1.into())
}

fn fused(a: f64, b: f64, c: f64) -> Exact {
    ratio(units(a) * units(b) + units(c) * one(), one())
}

fn quotient(a: f64, b: f64) -> Exact {
    ratio(units(a) * one(), units(b))
}

fn root(a: f64) -> Exact {
    Box::new(move |value| match value.sign() {
        Sign::Minus => Ordering::Less,
        _ => (value * value).cmp(&(units(a) * one())),
    })
}

/// Asserts that `found` is the exact value, rounded down.
fn assert_down(found: f64, exact: &Exact, what: &str) {
    assert!(!found.is_nan(), "{what} is NaN");
    // Nothing is below negative infinity, and an exact value above all doubles gives the greatest.
    let is_below = found == f64::NEG_INFINITY || exact(&units(found)).is_le();
    assert!(is_below, "{what}: {found:e} is above the exact value");
    let next = found.next_up();
    assert!(
        next == f64::INFINITY || exact(&units(next)).is_gt(),
        "{what}: {next:e} is not above the exact value, so {found:e} is too low"
    );
}

/// Asserts that the results of an instruction in the three roundings fit the exact values. `{}` in
/// the instruction stands for the rounding.
fn check(
    instruction: &str,
    [a, b, c]: [&Lanes; 3],
    exact: impl Fn(f64, f64, f64) -> Option<Exact>,
) {
    let run =
        |rounding| eval(&instruction.replace("{}", rounding), 'g', a, b, c).map(f64::from_bits);
    let (zero, down, up) = (run("rz"), run("rm"), run("rp"));
    for lane in 0..32 {
        let [a, b, c] = [a[lane], b[lane], c[lane]].map(f64::from_bits);
        let what = format!("{instruction} of {a:e}, {b:e}, {c:e}");
        let Some(exact) = exact(a, b, c) else { continue };
        if exact(&BigInt::from(0)).is_eq() {
            assert!(zero[lane] == 0.0 && down[lane] == 0.0 && up[lane] == 0.0, "{what}");
            continue;
        }
        assert_down(down[lane], &exact, &what);
        let mirrored: Exact = Box::new(move |value| exact(&-value).reverse());
        assert_down(-up[lane], &mirrored, &what);
        let is_negative = mirrored(&BigInt::from(0)).is_lt();
        let nearer = if is_negative { up[lane] } else { down[lane] };
        assert_eq!(zero[lane].to_bits(), nearer.to_bits(), "{what}: towards zero");
    }
}

/// Doubles of all magnitudes, those near each other, and those at the edges.
fn double() -> impl Strategy<Value = u64> {
    let edges = [
        1.0,
        -1.0,
        1.5,
        3.0,
        1.0 + f64::EPSILON,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE.next_down(),
        f64::MAX,
        -f64::MAX,
        f64::MAX / 2.0,
        1e-160,
        1e160,
    ];
    prop_oneof![
        any::<u64>().prop_filter("finite", |bits| f64::from_bits(*bits).is_finite()),
        (-4f64..4.0).prop_map(f64::to_bits),
        (-1e-160..1e-160).prop_map(f64::to_bits),
        (-8i32..8).prop_map(|value| f64::from(value).to_bits()),
        proptest::sample::select(edges.map(f64::to_bits).to_vec())
    ]
}

fn doubles() -> impl Strategy<Value = Lanes> {
    proptest::array::uniform32(double())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn arithmetic(a in doubles(), b in doubles(), c in doubles()) {
        let v = [&a, &b, &c];
        check("add.{}.f64 %g0, %g1, %g2;", v, |a, b, _| Some(sum(a, b)));
        check("sub.{}.f64 %g0, %g1, %g2;", v, |a, b, _| Some(sum(a, -b)));
        check("mul.{}.f64 %g0, %g1, %g2;", v, |a, b, _| Some(fused(a, b, 0.0)));
        check("fma.{}.f64 %g0, %g1, %g2, %g3;", v, |a, b, c| Some(fused(a, b, c)));
        check("mad.{}.f64 %g0, %g1, %g2, %g3;", v, |a, b, c| Some(fused(a, b, c)));
        check("div.{}.f64 %g0, %g1, %g2;", v, |a, b, _| (b != 0.0).then(|| quotient(a, b)));
        check("rcp.{}.f64 %g0, %g1;", v, |a, _, _| (a != 0.0).then(|| quotient(1.0, a)));
        check("sqrt.{}.f64 %g0, %g1;", v, |a, _, _| (a >= 0.0).then(|| root(a)));
    }

    /// Sums that cancel, in part or but for the last bits of the product.
    #[test]
    fn cancellation(a in doubles(), b in doubles(), steps in proptest::array::uniform32(0u64..4)) {
        let c: Lanes = std::array::from_fn(|lane| {
            let product = -(f64::from_bits(a[lane]) * f64::from_bits(b[lane]));
            let product = if product.is_finite() { product } else { 1.0 };
            (0..steps[lane]).fold(product, |value, _| value.next_up()).clamp(-f64::MAX, f64::MAX).to_bits()
        });
        check("fma.{}.f64 %g0, %g1, %g2, %g3;", [&a, &b, &c], |a, b, c| Some(fused(a, b, c)));
        let near = c.map(|c| (-f64::from_bits(c)).next_down().clamp(-f64::MAX, f64::MAX).to_bits());
        check("add.{}.f64 %g0, %g1, %g2;", [&c, &near, &a], |a, b, _| Some(sum(a, b)));
    }
}

/// Zeros, infinities and NaNs, as IEEE 754 defines them.
#[test]
fn special_values() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let result = |instruction: &str, a: f64, b: f64, c: f64| {
        let [a, b, c] = [a, b, c].map(|value| [value.to_bits(); 32]);
        f64::from_bits(eval(instruction, 'g', &a, &b, &c)[0])
    };
    for (instruction, [a, b, c], expected) in [
        ("add.rm.f64 %g0, %g1, %g2;", [1.0, -1.0, 0.0], -0.0),
        ("add.rp.f64 %g0, %g1, %g2;", [1.0, -1.0, 0.0], 0.0),
        ("add.rm.f64 %g0, %g1, %g2;", [0.0, 0.0, 0.0], 0.0),
        ("add.rm.f64 %g0, %g1, %g2;", [0.0, -0.0, 0.0], -0.0),
        ("add.rz.f64 %g0, %g1, %g2;", [-0.0, -0.0, 0.0], -0.0),
        ("sub.rm.f64 %g0, %g1, %g2;", [2.0, 2.0, 0.0], -0.0),
        ("add.rz.f64 %g0, %g1, %g2;", [INF, -INF, 0.0], NAN),
        ("add.rz.f64 %g0, %g1, %g2;", [f64::MAX, f64::MAX, 0.0], f64::MAX),
        ("add.rp.f64 %g0, %g1, %g2;", [f64::MAX, f64::MAX, 0.0], INF),
        ("mul.rm.f64 %g0, %g1, %g2;", [-f64::MAX, 2.0, 0.0], -INF),
        ("mul.rp.f64 %g0, %g1, %g2;", [5e-324, 5e-324, 0.0], 5e-324),
        ("mul.rz.f64 %g0, %g1, %g2;", [-5e-324, 5e-324, 0.0], -0.0),
        ("mul.rz.f64 %g0, %g1, %g2;", [0.0, INF, 0.0], NAN),
        ("div.rz.f64 %g0, %g1, %g2;", [-1.0, 0.0, 0.0], -INF),
        ("div.rz.f64 %g0, %g1, %g2;", [0.0, 0.0, 0.0], NAN),
        ("rcp.rp.f64 %g0, %g1;", [-INF, 0.0, 0.0], -0.0),
        ("sqrt.rm.f64 %g0, %g1;", [-0.0, 0.0, 0.0], -0.0),
        ("sqrt.rm.f64 %g0, %g1;", [-1.0, 0.0, 0.0], NAN),
        ("sqrt.rp.f64 %g0, %g1;", [INF, 0.0, 0.0], INF),
        ("fma.rm.f64 %g0, %g1, %g2, %g3;", [2.0, 3.0, -6.0], -0.0),
        ("fma.rz.f64 %g0, %g1, %g2, %g3;", [2.0, 3.0, -6.0], 0.0),
        ("fma.rm.f64 %g0, %g1, %g2, %g3;", [0.0, 3.0, -0.0], -0.0),
        ("fma.rz.f64 %g0, %g1, %g2, %g3;", [INF, 0.0, 1.0], NAN),
        ("fma.rz.f64 %g0, %g1, %g2, %g3;", [1e308, 10.0, -INF], -INF),
        ("fma.rz.f64 %g0, %g1, %g2, %g3;", [1e308, 10.0, f64::NAN], NAN),
    ] {
        let found = result(instruction, a, b, c);
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "{instruction} of {a:e}, {b:e}, {c:e} is {found:e}, not {expected:e}");
    }
}
