//! Arithmetic on 16-bit floats, on single values and on pairs.

use simt::{Arg, Module};

use crate::nearest::{BF16, F16, Format, Mode};
use crate::{Gpu, assert_close, builds, gamma, mix};

const N: usize = 1500;

/// The edges of the format, then bits of every kind, then values near 1.
fn samples(format: &Format, count: usize, from: usize) -> Vec<u16> {
    let infinity = format.infinity();
    let one = format.round(1.0, Mode::Nearest);
    let edges = [
        0,
        1,
        2,
        0x7f,
        0x80,
        0x3ff,
        0x400,
        one - 1,
        one,
        one + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        0x7fff,
    ];
    let any = (from..).map(|i| {
        let bits = mix(i);
        match bits >> 60 {
            0..4 => edges[(bits % 14) as usize] | (bits >> 20 & 0x8000) as u16,
            4..8 => bits as u16,
            _ => format.round((bits % 8192) as f64 / 1000.0 - 4.0, Mode::Nearest),
        }
    });
    // All pairs of edges come first. `from` says whether this is the first or the second operand.
    let crossed = (0..edges.len().pow(2))
        .map(|i| edges[if from == 0 { i % edges.len() } else { i / edges.len() }]);
    crossed.chain(any).take(count).collect()
}

/// Runs `kernel` in blocks of 128 threads over the elements of `inputs`. Each element gives
/// `results` words of 16 bits.
fn run(module: &Module, kernel: &str, inputs: &[&[u16]], count: usize, results: usize) -> Vec<u16> {
    let gpu = Gpu::new();
    let words = inputs[0].len() * results;
    let out = gpu.upload(&vec![0xdead_u16; words]);
    let mut args: Vec<Arg> = inputs.iter().map(|input| Arg::Pointer(gpu.upload(input))).collect();
    args.extend([Arg::Pointer(out), Arg::I32(count as i32)]);
    gpu.launch(module, kernel, (count.div_ceil(128) as u32, 128), &args);
    gpu.download(out, words)
}

/// Compares bits. Any NaN is equal to any other NaN.
#[track_caller]
fn assert_same(format: &Format, found: u16, expected: u16, what: impl FnOnce() -> String) {
    let both_nan = format.value(found).is_nan() && format.value(expected).is_nan();
    assert!(found == expected || both_nan, "{}: {found:#06x}, not {expected:#06x}", what());
}

/// The lesser number; -0 is below +0.
fn least(format: &Format, a: u16, b: u16) -> u16 {
    let (x, y) = (format.value(a), format.value(b));
    match (x.is_nan(), y.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if x == y => a | (b & 0x8000),
        _ if x < y => a,
        _ => b,
    }
}

fn greatest(format: &Format, a: u16, b: u16) -> u16 {
    let negated = |bits: u16| bits ^ 0x8000;
    negated(least(format, negated(a), negated(b)))
}

#[test]
fn halves_add() {
    let (a, b) = (samples(&F16, N, 0), samples(&F16, N, N));
    let sum = |i: usize| F16.round(F16.value(a[i]) + F16.value(b[i]), Mode::Nearest);
    for module in builds("half") {
        // With an odd count, the kernel must not change the last element.
        for (kernel, count) in [("half_add", N - 1), ("half2_add", N / 2 - 1)] {
            let found = run(&module, kernel, &[&a, &b], count, 1);
            let all = if kernel == "half_add" { count } else { 2 * count };
            for i in 0..all {
                let what =
                    || format!("{}: {kernel} of {:#06x} and {:#06x}", module.name(), a[i], b[i]);
                assert_same(&F16, found[i], sum(i), what);
            }
            assert_eq!(found[all..], vec![0xdead; N - all], "{}: {kernel}", module.name());
        }
    }
}

#[test]
fn halves_calculate() {
    let (a, b, c) = (samples(&F16, N, 0), samples(&F16, N, N), samples(&F16, N, 2 * N));
    let nearest = |value| F16.round(value, Mode::Nearest);
    for module in builds("half") {
        let found = run(&module, "half_operations", &[&a, &b, &c], N, 8);
        let pairs = run(&module, "half2_operations", &[&a, &b, &c], N / 2, 4);
        for i in 0..N {
            let [x, y, z] = [a[i], b[i], c[i]].map(|bits| F16.value(bits));
            let product = x * y;
            let expected = [
                nearest(x - y),
                nearest(product),
                F16.nearest_sum(product, z),
                if product > 0.0 { nearest(product.min(1.0)) } else { 0 },
                a[i] ^ 0x8000,
                a[i] & 0x7fff,
                least(&F16, a[i], b[i]),
                greatest(&F16, a[i], b[i]),
            ];
            for (k, expected) in expected.into_iter().enumerate() {
                let what = || {
                    format!(
                        "{}: result {k} of {:#06x}, {:#06x}, {:#06x}",
                        module.name(),
                        a[i],
                        b[i],
                        c[i]
                    )
                };
                assert_same(&F16, found[8 * i + k], expected, what);
            }
            // Each pair has four pairs of results. The halves of the last one are swapped.
            let (pair, place) = (i / 2, i % 2);
            let greater = if x > y { 0x3c00 } else { 0 };
            for (k, expected) in
                [expected[2], expected[1], greater, expected[0]].into_iter().enumerate()
            {
                let at = 2 * (4 * pair + k) + if k == 3 { 1 - place } else { place };
                let what = || {
                    format!("{}: packed result {k} of {:#06x}, {:#06x}", module.name(), a[i], b[i])
                };
                assert_same(&F16, pairs[at], expected, what);
            }
        }
    }
}

#[test]
fn halves_compare() {
    let (a, b) = (samples(&F16, N, 0), samples(&F16, N, N));
    for module in builds("half") {
        let found = run(&module, "half_compare", &[&a, &b], N, 2);
        for i in 0..N {
            let (x, y) = (F16.value(a[i]), F16.value(b[i]));
            let unordered = x.is_nan() || y.is_nan();
            let ordered = [x < y, x <= y, x > y, x >= y, x == y, x != y && !unordered];
            let holds = ordered
                .into_iter()
                .chain(ordered.map(|holds| holds || unordered))
                .chain([x == y, x.is_nan()]);
            let expected =
                holds.enumerate().fold(0, |bits, (k, holds)| bits | u32::from(holds) << k);
            let found = u32::from(found[2 * i]) | u32::from(found[2 * i + 1]) << 16;
            assert_eq!(
                found,
                expected,
                "{}: {:#06x} and {:#06x}: {found:#b}",
                module.name(),
                a[i],
                b[i]
            );
        }
    }
}

#[test]
fn halves_convert() {
    let half_way = |bits: u16| f64::midpoint(F16.value(bits), F16.value(bits + 1)) as f32;
    let mut values: Vec<f32> =
        vec![0.0, -0.0, 1e-30, -1e-30, 65_504.0, 65_519.9, 65_520.0, -70_000.0, 1e30, f32::NAN];
    values.extend([
        f32::INFINITY,
        f32::NEG_INFINITY,
        2.5,
        3.5,
        -0.5,
        32_767.5,
        -40_000.0,
        f32::from_bits(1),
    ]);
    values.extend((0..400).map(|i| half_way(mix(i) as u16 % 0x7bff)));
    values.extend((0..400).map(|i| -half_way(mix(i) as u16 % 0x7bff).next_up()));
    values.extend((0..600).map(|i| f32::from_bits(mix(i) as u32)));
    let integral =
        |value: f64, low: f64, high: f64| if value.is_nan() { 0.0 } else { value.clamp(low, high) };
    for module in builds("half") {
        let gpu = Gpu::new();
        let out = gpu.upload(&vec![0u16; 8 * values.len()]);
        let args =
            [Arg::Pointer(gpu.upload(&values)), Arg::Pointer(out), Arg::I32(values.len() as i32)];
        gpu.launch(&module, "half_convert", (values.len().div_ceil(128) as u32, 128), &args);
        let found: Vec<u16> = gpu.download(out, 8 * values.len());
        for (i, &value) in values.iter().enumerate() {
            let exact = f64::from(value);
            let nearest = F16.round(exact, Mode::Nearest);
            let half = F16.value(nearest);
            let double = F16.value(F16.round(2.0 * exact, Mode::Nearest));
            let expected = [
                nearest,
                F16.round(exact, Mode::Zero),
                F16.round(exact, Mode::Down),
                F16.round(exact, Mode::Up),
                F16.round(
                    integral(exact.trunc(), -2f64.powi(31), 2f64.powi(31) - 1.0),
                    Mode::Nearest,
                ),
                integral(half.round_ties_even(), -32_768.0, 32_767.0) as i16 as u16,
                integral(half.trunc(), 0.0, 4_294_967_295.0) as u32 as u16,
                F16.round(half + double / 4096.0, Mode::Nearest),
            ];
            for (k, expected) in expected.into_iter().enumerate() {
                let found = found[8 * i + k];
                // The integer that is made from -0.5 is +0, and so is the float that is made from
                // that integer.
                let expected = if k == 4 && expected == 0x8000 { 0 } else { expected };
                if matches!(k, 5 | 6) {
                    assert_eq!(found, expected, "{}: result {k} of {value:e}", module.name());
                } else {
                    assert_same(&F16, found, expected, || {
                        format!("{}: result {k} of {value:e}", module.name())
                    });
                }
            }
        }
    }
}

/// Products are rounded to `f16` exactly as in this test. Their sums in `f32` have a bound, as in
/// any other dot product.
#[test]
fn halves_make_a_dot_product() {
    let element = |i: usize| F16.round((mix(i) % 2001) as f64 / 1000.0 - 1.0, Mode::Nearest);
    for module in builds("half") {
        for pairs in [1, 100, 1111] {
            let gpu = Gpu::new();
            let a: Vec<u16> = (0..2 * pairs).map(element).collect();
            let b: Vec<u16> = (2 * pairs..4 * pairs).map(element).collect();
            let out = gpu.upload(&[0f32]);
            let args = [gpu.upload(&a), gpu.upload(&b), out].map(Arg::Pointer);
            let args = [&args[..], &[Arg::I32(pairs as i32)]].concat();
            gpu.launch(&module, "half_dot", (2, 96), &args);
            let product = |(a, b): (&u16, &u16)| {
                F16.value(F16.round(F16.value(*a) * F16.value(*b), Mode::Nearest))
            };
            let terms = || a.iter().zip(&b).map(product);
            let size: f64 = terms().map(f64::abs).sum();
            // The roundings in the thread, those over the warp, and one for each warp.
            let depth = 2 * pairs.div_ceil(2 * 96) + 5 + 6;
            let found = gpu.download::<f32>(out, 1)[0];
            assert_close(
                found,
                terms().sum(),
                gamma(depth) * size,
                &format!("{} of {pairs}", module.name()),
            );
        }
    }
}

/// Small integers add up exactly in every order.
#[test]
fn halves_add_up_atomically() {
    for module in builds("half") {
        let gpu = Gpu::new();
        let pairs = 1000;
        let value = |i: usize| (mix(i) % 15) as i32 - 7;
        let a: Vec<u16> =
            (0..2 * pairs).map(|i| F16.round(value(i).into(), Mode::Nearest)).collect();
        let slots = gpu.upload(&[0u16; 16]);
        let args = [Arg::Pointer(gpu.upload(&a)), Arg::Pointer(slots), Arg::I32(pairs as i32)];
        gpu.launch(&module, "half_atomic", (8, 128), &args);
        let mut expected = [0; 16];
        (0..2 * pairs).for_each(|i| expected[i % 16] += value(i));
        let found = gpu.download::<u16>(slots, 16);
        let found: Vec<f64> = found.into_iter().map(|bits| F16.value(bits)).collect();
        assert_eq!(found, expected.map(f64::from), "{}", module.name());
    }
}

#[test]
fn bfloats_calculate() {
    let (a, b) = (samples(&BF16, N, 0), samples(&BF16, N, N));
    // The exponents are close, so `f64` holds products and sums without rounding.
    let near = |from: usize| -> Vec<u16> {
        (from..from + N)
            .map(|i| BF16.round((mix(i) % 100_000) as f64 / 1000.0 - 50.0, Mode::Nearest))
            .collect()
    };
    let close = [near(0), near(N), near(2 * N)];
    let nearest = |value| BF16.round(value, Mode::Nearest);
    for module in builds("bfloat") {
        let found = run(&module, "bfloat_add", &[&a, &b], N, 1);
        for i in 0..N {
            let (x, y) = (BF16.value(a[i]), BF16.value(b[i]));
            // If `f64` cannot hold the sum, the lesser number is too small to change the rounding
            // of the greater one.
            let what = || format!("{}: {:#06x} + {:#06x}", module.name(), a[i], b[i]);
            assert_same(&BF16, found[i], nearest(x + y), what);
        }
        let [a, b, c] = &close;
        let found = run(&module, "bfloat_operations", &[a, b, c], N, 8);
        let pairs = run(&module, "bfloat2_operations", &[a, b], N / 2, 2);
        for i in 0..N {
            let [x, y, z] = [a[i], b[i], c[i]].map(|bits| BF16.value(bits));
            let scaled = x as f32 * 1.2345;
            let expected = [
                nearest(x - y),
                nearest(x * y),
                nearest(x * y + z),
                a[i] ^ 0x8000,
                a[i] & 0x7fff,
                least(&BF16, a[i], b[i]),
                if x < y { a[i] } else { b[i] },
                (scaled.to_bits() >> 16) as u16,
            ];
            for (k, expected) in expected.into_iter().enumerate() {
                let what = || {
                    format!(
                        "{}: result {k} of {:#06x}, {:#06x}, {:#06x}",
                        module.name(),
                        a[i],
                        b[i],
                        c[i]
                    )
                };
                assert_same(&BF16, found[8 * i + k], expected, what);
            }
            for (k, expected) in [nearest(x + y), nearest(x * y + x)].into_iter().enumerate() {
                let what = || {
                    format!("{}: packed result {k} of {:#06x}, {:#06x}", module.name(), a[i], b[i])
                };
                assert_same(&BF16, pairs[2 * (2 * (i / 2) + k) + i % 2], expected, what);
            }
        }
    }
}
