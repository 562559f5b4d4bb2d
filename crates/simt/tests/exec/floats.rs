//! Float instructions, compared with Rust's own operations bit for bit.

use proptest::prelude::*;

use crate::{Lanes, check};

/// Random bits, ordinary values, and values at the edges.
fn single() -> impl Strategy<Value = u64> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        2_147_483_648.0,
        -2_147_483_904.0,
    ];
    prop_oneof![
        any::<u32>(),
        (-100f32..100.0).prop_map(f32::to_bits),
        proptest::sample::select(edges.map(f32::to_bits).to_vec())
    ]
    .prop_map(u64::from)
}

fn double() -> impl Strategy<Value = u64> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -2.5,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
    ];
    prop_oneof![
        any::<u64>(),
        (-1e9..1e9).prop_map(f64::to_bits),
        proptest::sample::select(edges.map(f64::to_bits).to_vec())
    ]
}

fn singles() -> impl Strategy<Value = Lanes> {
    proptest::array::uniform32(single())
}

fn doubles() -> impl Strategy<Value = Lanes> {
    proptest::array::uniform32(double())
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The bits of a result, with the NaN that PTX arithmetic makes.
fn out(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
}

/// The bits of a result. A NaN is the first NaN of the operands, made quiet, or the NaN of an
/// invalid operation.
fn out64(value: f64, operands: &[u64]) -> u64 {
    if !value.is_nan() {
        return value.to_bits();
    }
    operands
        .iter()
        .find(|bits| g(**bits).is_nan())
        .map_or(0xfff8_0000_0000_0000, |nan| nan | 1 << 51)
}

fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn single_arithmetic(a in singles(), b in singles(), c in singles()) {
        let v = [&a, &b, &c];
        check("add.rn.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(f(a) + f(b)));
        check("sub.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(f(a) - f(b)));
        check("mul.rn.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(f(a) * f(b)));
        check("div.rn.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(f(a) / f(b)));
        check("fma.rn.f32 %f0, %f1, %f2, %f3;", 'f', v, |a, b, c| out(f(a).mul_add(f(b), f(c))));
        check("sqrt.rn.f32 %f0, %f1;", 'f', v, |a, _, _| out(f(a).sqrt()));
        check("rcp.rn.f32 %f0, %f1;", 'f', v, |a, _, _| out(1.0 / f(a)));
        check("add.ftz.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(flush(flush(f(a)) + flush(f(b)))));
        check("mul.sat.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| {
            let product = f(a) * f(b);
            out(if product > 0.0 { product.min(1.0) } else { 0.0 })
        });
        check("neg.f32 %f0, %f1;", 'f', v, |a, _, _| a ^ 0x8000_0000);
        check("abs.f32 %f0, %f1;", 'f', v, |a, _, _| a & 0x7fff_ffff);
        check("min.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| {
            let (a, b) = (f(a), f(b));
            out(match (a.is_nan(), b.is_nan()) {
                (true, _) => b,
                (_, true) => a,
                _ if a == b => f32::from_bits(a.to_bits() | b.to_bits()),
                _ => a.min(b),
            })
        });
        check("max.NaN.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| {
            let (a, b) = (f(a), f(b));
            out(match a.is_nan() || b.is_nan() {
                true => f32::NAN,
                _ if a == b => f32::from_bits(a.to_bits() & b.to_bits()),
                _ => a.max(b),
            })
        });
    }

    /// A result with a directed rounding is the nearest value or its neighbour, on the right side
    /// of the exact value. Products and sums of 24-bit numbers whose exponents are close are exact
    /// in `f64`.
    #[test]
    fn directed_rounding(a in proptest::array::uniform32(-100f32..100.0), b in proptest::array::uniform32(-100f32..100.0)) {
        let (a, b) = (a.map(|a| u64::from(a.to_bits())), b.map(|b| u64::from(b.to_bits())));
        let v = [&a, &b, &[0; 32]];
        let down = |exact: f64| {
            let near = exact as f32;
            if f64::from(near) > exact { near.next_down() } else { near }
        };
        check("mul.rm.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(down(f64::from(f(a)) * f64::from(f(b)))));
        check("mul.rp.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| out(-down(-(f64::from(f(a)) * f64::from(f(b))))));
        check("add.rz.f32 %f0, %f1, %f2;", 'f', v, |a, b, _| {
            let exact = f64::from(f(a)) + f64::from(f(b));
            out(if exact < 0.0 { -down(-exact) } else { down(exact) })
        });
    }

    #[test]
    fn double_arithmetic(a in doubles(), b in doubles(), c in doubles()) {
        let v = [&a, &b, &c];
        check("add.rn.f64 %g0, %g1, %g2;", 'g', v, |a, b, _| out64(g(a) + g(b), &[a, b]));
        check("sub.f64 %g0, %g1, %g2;", 'g', v, |a, b, _| out64(g(a) - g(b), &[a, b]));
        check("mul.f64 %g0, %g1, %g2;", 'g', v, |a, b, _| out64(g(a) * g(b), &[a, b]));
        check("div.rn.f64 %g0, %g1, %g2;", 'g', v, |a, b, _| out64(g(a) / g(b), &[a, b]));
        check("fma.rn.f64 %g0, %g1, %g2, %g3;", 'g', v, |a, b, c| out64(g(a).mul_add(g(b), g(c)), &[a, b, c]));
        check("sqrt.rn.f64 %g0, %g1;", 'g', v, |a, _, _| out64(g(a).sqrt(), &[a]));
        check("max.f64 %g0, %g1, %g2;", 'g', v, |a, b, _| {
            let (x, y) = (g(a), g(b));
            let max = match (x.is_nan(), y.is_nan()) {
                (true, _) => y,
                (_, true) => x,
                _ if x == y => f64::from_bits(a & b),
                _ => x.max(y),
            };
            out64(max, &[a, b])
        });
    }

    #[test]
    fn comparisons(a in singles(), b in singles()) {
        let v = [&a, &b, &[0; 32]];
        check("setp.lt.f32 %p0, %f1, %f2;", 'p', v, |a, b, _| u64::from(f(a) < f(b)));
        check("setp.ne.f32 %p0, %f1, %f2;", 'p', v, |a, b, _| {
            u64::from(!f(a).is_nan() && !f(b).is_nan() && f(a) != f(b))
        });
        check("setp.neu.f32 %p0, %f1, %f2;", 'p', v, |a, b, _| u64::from(f(a) != f(b)));
        check("setp.geu.f32 %p0, %f1, %f2;", 'p', v, |a, b, _| {
            u64::from(f(a).partial_cmp(&f(b)).is_none_or(std::cmp::Ordering::is_ge))
        });
        check("setp.equ.f32 %p0, %f1, %f2;", 'p', v, |a, b, _| {
            u64::from(f(a).partial_cmp(&f(b)).is_none_or(std::cmp::Ordering::is_eq))
        });
        check("setp.num.f32 %p0, %f1, %f2;", 'p', v, |a, b, _| u64::from(!f(a).is_nan() && !f(b).is_nan()));
    }

    #[test]
    fn conversions(a in singles(), b in doubles()) {
        let v = [&a, &b, &[0; 32]];
        check("cvt.rzi.s32.f32 %r0, %f1;", 'r', v, |a, _, _| u64::from(f(a) as i32 as u32));
        check("cvt.rni.u32.f32 %r0, %f1;", 'r', v, |a, _, _| u64::from(f(a).round_ties_even() as u32));
        check("cvt.rmi.s64.f64 %d0, %g2;", 'd', v, |_, b, _| {
            if g(b).is_nan() { 1 << 63 } else { g(b).floor() as i64 as u64 }
        });
        check("cvt.rpi.u64.f64 %d0, %g2;", 'd', v, |_, b, _| {
            if g(b).is_nan() { 1 << 63 } else { g(b).ceil() as u64 }
        });
        check("cvt.rni.f32.f32 %f0, %f1;", 'f', v, |a, _, _| {
            if f(a).is_nan() { f(a).round_ties_even().to_bits().into() } else { out(f(a).round_ties_even()) }
        });
        check("cvt.f64.f32 %g0, %f1;", 'g', v, |a, _, _| out64(f(a).into(), &[f64::from(f(a)).to_bits()]));
        check("cvt.rn.f32.f64 %f0, %g2;", 'f', v, |_, b, _| out(g(b) as f32));
        check("cvt.rz.f32.f64 %f0, %g2;", 'f', v, |_, b, _| {
            let near = g(b) as f32;
            let beyond = f64::from(near).abs() > g(b).abs() && g(b).is_finite();
            out(if beyond { f32::from_bits(near.to_bits() - 1) } else { near })
        });
    }

    /// The results are within two units in the last place of the results in `f64`.
    #[test]
    fn approximations(a in proptest::array::uniform32(0.01f32..100.0)) {
        let a = a.map(|a| u64::from(a.to_bits()));
        let expect = |body: &str, function: fn(f64) -> f64| {
            let result = crate::eval(body, 'f', &a, &[0; 32], &[0; 32]);
            for (result, a) in result.into_iter().zip(a) {
                let exact = function(f(a).into());
                let error = (f64::from(f(result)) - exact).abs();
                assert!(error <= exact.abs() * f64::from(f32::EPSILON), "{body} of {} gave {}", f(a), f(result));
            }
        };
        expect("ex2.approx.f32 %f0, %f1;", f64::exp2);
        expect("lg2.approx.f32 %f0, %f1;", f64::log2);
        expect("sin.approx.f32 %f0, %f1;", f64::sin);
        expect("rsqrt.approx.f32 %f0, %f1;", |a| 1.0 / a.sqrt());
        expect("sqrt.approx.f32 %f0, %f1;", f64::sqrt);
    }
}
