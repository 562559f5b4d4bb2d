//! CUDA's mathematical functions in double precision (`data/foreign/math.cu`).

use std::collections::BTreeMap;

use simt::Arg;

use crate::{Gpu, builds};

/// The greatest difference of each function from the correctly rounded value, in units in the last
/// place (CUDA C++ Programming Guide, "Mathematical Functions").
const BOUNDS: [(&str, f64); 33] = [
    ("acos", 2.0),
    ("acosh", 3.0),
    ("asin", 2.0),
    ("asinh", 3.0),
    ("atan", 2.0),
    ("atan2", 2.0),
    ("atanh", 2.0),
    ("cbrt", 1.0),
    ("cos", 2.0),
    ("cosh", 1.0),
    ("erf", 2.0),
    ("erfc", 5.0),
    ("erfinv", 5.0),
    ("exp", 1.0),
    ("exp10", 1.0),
    ("exp2", 1.0),
    ("expm1", 1.0),
    ("fmod", 0.0),
    ("hypot", 2.0),
    ("lgamma", 4.0),
    ("log", 1.0),
    ("log10", 1.0),
    ("log1p", 1.0),
    ("log2", 1.0),
    ("pow", 2.0),
    ("rcbrt", 1.0),
    ("rsqrt", 1.0),
    ("sin", 2.0),
    ("sinh", 2.0),
    ("sqrt", 0.0),
    ("tan", 2.0),
    ("tanh", 1.0),
    ("tgamma", 10.0),
];

/// The arguments and the correctly rounded values of one function.
#[derive(Default)]
struct Cases {
    x: Vec<f64>,
    y: Vec<f64>,
    values: Vec<f64>,
}

/// The lines of `math.csv`, by function.
fn cases() -> BTreeMap<&'static str, Cases> {
    let mut cases: BTreeMap<&str, Cases> = BTreeMap::new();
    for line in include_str!("../data/foreign/math.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, x, y, value] = fields[..] else { panic!("{line}") };
        let double = |bits| {
            f64::from_bits(u64::from_str_radix(bits, 16).unwrap_or_else(|_| panic!("{line}")))
        };
        let of = cases.entry(name).or_default();
        of.x.push(double(x));
        of.values.push(double(value));
        if !y.is_empty() {
            of.y.push(double(y));
        }
    }
    cases
}

/// The spacing of doubles at a value.
fn ulp(value: f64) -> f64 {
    let magnitude = value.abs().max(f64::MIN_POSITIVE);
    magnitude.next_up() - magnitude
}

/// Runs a function on vectors of arguments.
fn run(module: &simt::Module, function: &str, vectors: &[&[f64]]) -> Vec<f64> {
    let gpu = Gpu::new();
    let n = vectors[0].len();
    let out = gpu.upload(&vec![0f64; n]);
    let mut args: Vec<Arg> =
        vectors.iter().map(|vector| Arg::Pointer(gpu.upload(vector))).collect();
    args.extend([Arg::Pointer(out), Arg::I32(n as i32)]);
    gpu.launch(module, &format!("d_{function}"), (n.div_ceil(64) as u32, 64), &args);
    gpu.download(out, n)
}

#[test]
fn functions_of_doubles_keep_the_documented_bounds() {
    let cases = cases();
    assert!(cases.keys().eq(BOUNDS.iter().map(|(name, _)| name)), "each function has cases");
    for module in builds("math") {
        for (name, bound) in BOUNDS {
            let Cases { x, y, values } = &cases[name];
            let vectors: &[&[f64]] = if y.is_empty() { &[x] } else { &[x, y] };
            let found = run(&module, name, vectors);
            for (i, (found, value)) in found.into_iter().zip(values).enumerate() {
                let error = (found - value).abs() / ulp(*value);
                assert!(
                    error <= bound,
                    "{}: {name}({}, {:?}) is {found:e}, {error} units from {value:e}",
                    module.name(),
                    x[i],
                    y.get(i)
                );
            }
        }
    }
}

#[test]
fn functions_of_doubles_know_the_special_values() {
    let cases: [(&str, &[f64], f64); 14] = [
        ("log", &[0.0], f64::NEG_INFINITY),
        ("log", &[-1.0], f64::NAN),
        ("log", &[f64::INFINITY], f64::INFINITY),
        ("log", &[5e-324], -744.440_071_921_381_2),
        ("exp", &[f64::NEG_INFINITY], 0.0),
        ("exp", &[710.0], f64::INFINITY),
        ("pow", &[0.0, -1.0], f64::INFINITY),
        ("pow", &[-2.0, 3.0], -8.0),
        ("pow", &[-2.0, 0.5], f64::NAN),
        ("rsqrt", &[0.0], f64::INFINITY),
        ("cbrt", &[-27.0], -3.0),
        ("lgamma", &[-1.0], f64::INFINITY),
        ("tan", &[f64::INFINITY], f64::NAN),
        ("hypot", &[f64::NAN, f64::INFINITY], f64::INFINITY),
    ];
    for module in builds("math") {
        for (name, arguments, expected) in cases {
            let vectors: Vec<&[f64]> = arguments.chunks(1).collect();
            let found = run(&module, name, &vectors)[0];
            let same = found == expected || found.is_nan() && expected.is_nan();
            assert!(same, "{}: {name}{arguments:?} is {found:e}, not {expected:e}", module.name());
        }
    }
}
