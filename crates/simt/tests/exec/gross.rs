//! `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`, compared with integer arithmetic for every
//! fraction that they can see.

use simt::LaunchConfig;

use crate::{kernel, run};

const FRACTIONS: usize = 1 << 20;

/// Runs one instruction on each input.
fn evaluate(instruction: &str, inputs: &[u64]) -> Vec<u64> {
    let module = kernel(
        "",
        &format!(
            "mul.wide.u32 %d12, %r12, 8;\nadd.s64 %d10, %d10, %d12;\nadd.s64 %d11, %d11, %d12;\n\
             ld.global.f64 %g1, [%d10];\n{instruction} %g0, %g1;\nst.global.f64 [%d11], %g0;"
        ),
    );
    let config = LaunchConfig::new((inputs.len() / 32) as u32, 32);
    run(&module, &config, inputs, inputs.len()).unwrap_or_else(|error| panic!("{error}"))
}

/// The bits of a positive double with this unbiased exponent and 20 bits of fraction.
fn upper(exponent: i64, fraction: u64) -> u64 {
    ((1023 + exponent) as u64) << 52 | fraction << 32
}

/// All doubles of an exponent that differ in their upper words. The lower words hold noise.
fn inputs(exponent: i64) -> Vec<u64> {
    let noise = |fraction: u64| fraction.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
    (0..FRACTIONS as u64).map(|fraction| upper(exponent, fraction) | noise(fraction)).collect()
}

#[test]
fn reciprocals_are_nearest_for_every_fraction() {
    for exponent in [0, 700, -1022] {
        let found = evaluate("rcp.approx.ftz.f64", &inputs(exponent));
        for (fraction, found) in found.into_iter().enumerate() {
            // The source is m / 2^20. Its reciprocal is 1, or half of a number between 1 and 2,
            // whose 21 bits are the integer next to 2^41 / m.
            let m = (FRACTIONS + fraction) as u64;
            let nearest = ((1u64 << 42) + m) / (2 * m);
            let expected = match fraction {
                0 => upper(-exponent, 0),
                _ => upper(-1 - exponent, nearest - (1 << 20)),
            };
            assert_eq!(found, expected, "2^{exponent} times {m:#x} / 2^20");
        }
    }
}

#[test]
fn reciprocal_roots_are_nearest_for_every_fraction() {
    for (exponent, odd) in [(0, 0), (1, 1), (1000, 0), (-1021, 1)] {
        let found = evaluate("rsqrt.approx.ftz.f64", &inputs(exponent));
        for (fraction, found) in found.into_iter().enumerate() {
            // The source is m / 2^20, times a power of 4. The reciprocal of its root is r / 2^21,
            // and r is the integer for which (2r - 1)^2 m and
            // (2r + 1)^2 m enclose the square.
            let m = (FRACTIONS + fraction) as u128;
            let bits = found & 0xf_ffff_ffff_ffff;
            assert_eq!(bits & 0xffff_ffff, 0, "the lower word of {found:#x}");
            let biased = (found >> 52) as i64;
            let half = (exponent - odd) / 2;
            if fraction == 0 && odd == 0 {
                assert_eq!(found, upper(-half, 0));
                continue;
            }
            assert_eq!(biased, 1022 - half, "the exponent for 2^{exponent} times {m:#x} / 2^20");
            let r = u128::from(bits >> 32) + (1 << 20);
            // (r / 2^21)^2 * (m * 2^odd / 2^20) is about 1.
            let square = |twice: u128| twice * twice * (m << odd);
            let one = 1u128 << 64;
            assert!(square(2 * r - 1) < one && one < square(2 * r + 1), "{m:#x}: {found:#x}");
        }
    }
}

/// The tables of the PTX ISA.
#[test]
fn special_values_are_those_of_the_isa() {
    const INF: u64 = 0x7ff << 52;
    const NAN: u64 = 0x7fff_ffff << 32;
    const MINUS: u64 = 1 << 63;
    // An infinity with bits in the lower word is a NaN that the upper word does not show.
    let sources = [
        MINUS | INF,
        MINUS | 0x000f_ffff_ffff_ffff,
        MINUS,
        0,
        1,
        INF,
        INF | 1,
        INF | 1 << 32,
        MINUS | INF | 1 << 51,
        f64::MAX.to_bits(),
        (-f64::MAX).to_bits(),
        upper(1022, 0),
        upper(1022, 1),
        (-4f64).to_bits(),
        4f64.to_bits(),
        f64::MIN_POSITIVE.to_bits(),
    ];
    let inputs = [sources, sources].concat();
    let reciprocals = [
        MINUS,
        MINUS | INF,
        MINUS | INF,
        INF,
        INF,
        0,
        0,
        NAN,
        NAN,
        0,
        MINUS,
        upper(-1022, 0),
        0,
        MINUS | upper(-2, 0),
        upper(-2, 0),
        upper(1022, 0),
    ];
    assert_eq!(evaluate("rcp.approx.ftz.f64", &inputs)[..16], reciprocals);
    let roots = [
        NAN,
        MINUS | INF,
        MINUS | INF,
        INF,
        INF,
        0,
        0,
        NAN,
        NAN,
        upper(-512, 0),
        NAN,
        upper(-511, 0),
        upper(-512, 0xf_ffff),
        NAN,
        upper(-1, 0),
        upper(511, 0),
    ];
    assert_eq!(evaluate("rsqrt.approx.ftz.f64", &inputs)[..16], roots);
}
