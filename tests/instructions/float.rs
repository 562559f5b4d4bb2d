//! Rows for floats: arithmetic, approximations and comparisons (PTX ISA 9.7.3, 9.7.6, 9.3).

use std::cmp::Ordering;

use crate::{
    operands::{Kind, Operand},
    rounding::{Mode, Operation, operation},
    row::{Row, row},
};

const F32: Kind = <f32 as Operand>::KIND;
const NAMES: [&str; 3] = ["a", "b", "c"];

/// The value, or a zero of the same sign if the value is subnormal.
pub(crate) fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0_f32.copysign(value) } else { value }
}

/// The value as `.sat` leaves it: clamped to 0 to 1, where NaN becomes +0.
pub(crate) fn saturated(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Adds all forms of one f32 operation: each rounding, with and without `.ftz` and, if it is
/// allowed, `.sat`.
fn single(rows: &mut Vec<Row>, op: &str, operation_: Operation, count: usize) {
    let saturates = !matches!(operation_, Operation::Div | Operation::Sqrt) && op != "rcp";
    for mode in Mode::ALL {
        for (ftz, sat) in [(false, false), (true, false), (false, true), (true, true)] {
            if sat && !saturates {
                continue;
            }
            let (ftz_name, sat_name) =
                (if ftz { ".ftz" } else { "" }, if sat { ".sat" } else { "" });
            let operands = NAMES[..count].join(", ");
            let text = format!("{op}.{}{ftz_name}{sat_name}.f32 d, {operands};", mode.name());
            let reciprocal = op == "rcp";
            let expect = operation(operation_).map(|f| -> crate::row::Expect {
                Box::new(move |inputs, thread| {
                    let mut values = [inputs[thread][0], inputs[thread][1], inputs[thread][2]]
                        .map(f32::from_word);
                    if reciprocal {
                        values = [1.0, values[0], 0.0];
                    }
                    let result = f(mode, ftz, values);
                    (if sat { saturated(result) } else { result }).to_word()
                })
            });
            let operands = NAMES[..count].iter().map(|name| (*name, F32)).collect();
            rows.push(Row::new(text, operands, F32, expect));
        }
    }
}

/// The minimumNumber of IEEE 754-2019.
macro_rules! minimum {
    ($a:expr, $b:expr) => {
        match $a.partial_cmp(&$b) {
            Some(Ordering::Less) => $a,
            Some(Ordering::Greater) => $b,
            Some(Ordering::Equal) => {
                if $a.is_sign_negative() {
                    $a
                } else {
                    $b
                }
            }
            None => {
                if $a.is_nan() {
                    $b
                } else {
                    $a
                }
            }
        }
    };
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    single(&mut rows, "add", Operation::Add, 2);
    single(&mut rows, "sub", Operation::Sub, 2);
    single(&mut rows, "mul", Operation::Mul, 2);
    single(&mut rows, "div", Operation::Div, 2);
    single(&mut rows, "fma", Operation::Fma, 3);
    single(&mut rows, "sqrt", Operation::Sqrt, 1);
    single(&mut rows, "rcp", Operation::Div, 1);
    // The next forms have no rounding, or are called `mad`.
    rows.extend([
        row!("add.f32 d, a, b;", (a: f32, b: f32) -> f32 = a + b),
        row!("sub.f32 d, a, b;", (a: f32, b: f32) -> f32 = a - b),
        row!("mul.f32 d, a, b;", (a: f32, b: f32) -> f32 = a * b),
        row!("mad.rn.f32 d, a, b, c;", (a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c)),
    ]);
    rows.extend([
        row!("min.f32 d, a, b;", (a: f32, b: f32) -> f32 = minimum!(a, b)),
        row!("max.f32 d, a, b;", (a: f32, b: f32) -> f32 = -minimum!(-a, -b)),
        row!("min.ftz.f32 d, a, b;", (a: f32, b: f32) -> f32 = minimum!(flushed(a), flushed(b))),
        row!("max.ftz.f32 d, a, b;", (a: f32, b: f32) -> f32 = -minimum!(-flushed(a), -flushed(b))),
        row!("abs.f32 d, a;", (a: f32) -> f32 = a.abs()),
        row!("neg.f32 d, a;", (a: f32) -> f32 = -a),
        row!("abs.ftz.f32 d, a;", (a: f32) -> f32 = flushed(a).abs()),
        row!("neg.ftz.f32 d, a;", (a: f32) -> f32 = -flushed(a)),
        row!("copysign.f32 d, a, b;", (a: f32, b: f32) -> f32 = b.copysign(a)),
    ]);
    // The ISA says that these NaNs are canonical, so their bits are fixed.
    rows.extend([
        row!("min.NaN.f32 d, a, b;", (a: f32, b: f32) -> f32 = {
            if a.is_nan() || b.is_nan() { f32::from_bits(0x7fff_ffff) } else { minimum!(a, b) }
        })
        .canonical_nan()
        .sm_80(),
        row!("max.NaN.f32 d, a, b;", (a: f32, b: f32) -> f32 = {
            if a.is_nan() || b.is_nan() { f32::from_bits(0x7fff_ffff) } else { -minimum!(-a, -b) }
        })
        .canonical_nan()
        .sm_80(),
    ]);
    for (op, greatest) in [("min", false), ("max", true)] {
        for nan in [false, true] {
            let text = format!("{op}{}.xorsign.abs.f32 d, a, b;", if nan { ".NaN" } else { "" });
            let row = row!(text, (a: f32, b: f32) -> f32 = {
                let (x, y) = (a.abs(), b.abs());
                let magnitude = if greatest { -minimum!(-x, -y) } else { minimum!(x, y) };
                match magnitude {
                    _ if nan && (a.is_nan() || b.is_nan()) || magnitude.is_nan() => f32::from_bits(0x7fff_ffff),
                    _ if a.is_sign_negative() != b.is_sign_negative() => -magnitude,
                    _ => magnitude,
                }
            });
            rows.push(row.canonical_nan().sm_90());
        }
    }
    rows.extend([
        row!("add.f64 d, a, b;", (a: f64, b: f64) -> f64 = a + b),
        row!("add.rn.f64 d, a, b;", (a: f64, b: f64) -> f64 = a + b),
        row!("sub.rn.f64 d, a, b;", (a: f64, b: f64) -> f64 = a - b),
        row!("mul.rn.f64 d, a, b;", (a: f64, b: f64) -> f64 = a * b),
        row!("div.rn.f64 d, a, b;", (a: f64, b: f64) -> f64 = a / b),
        row!("fma.rn.f64 d, a, b, c;", (a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c)),
        row!("sqrt.rn.f64 d, a;", (a: f64) -> f64 = a.sqrt()),
        row!("rcp.rn.f64 d, a;", (a: f64) -> f64 = 1.0 / a),
        row!("min.f64 d, a, b;", (a: f64, b: f64) -> f64 = minimum!(a, b)),
        row!("max.f64 d, a, b;", (a: f64, b: f64) -> f64 = -minimum!(-a, -b)),
        row!("abs.f64 d, a;", (a: f64) -> f64 = a.abs()),
        row!("neg.f64 d, a;", (a: f64) -> f64 = -a),
        row!("copysign.f64 d, a, b;", (a: f64, b: f64) -> f64 = b.copysign(a)),
    ]);
    // In the next rows, numbers in the text are operands.
    rows.extend([
        row!("add.rn.f32 d, a, 0f3FC00000;", (a: f32) -> f32 = a + 1.5),
        row!("mul.rn.f64 d, a, 0dBFF8000000000000;", (a: f64) -> f64 = a * -1.5),
        row!("fma.rn.f64 d, a, 2.5, b;", (a: f64, b: f64) -> f64 = a.mul_add(2.5, b)),
        row!("setp.lt.f32 p, a, 0f7F800000; selp.f32 d, 0fFF800000, a, p;", (a: f32) -> f32 = {
            if a < f32::INFINITY { f32::NEG_INFINITY } else { a }
        }),
    ]);
    macro_rules! tests {
        ($name:literal, $ty:ty) => {
            for (test, holds) in [
                ("finite", (|a| a.is_finite()) as fn($ty) -> bool),
                ("infinite", |a| a.is_infinite()),
                ("number", |a| !a.is_nan()),
                ("notanumber", |a| a.is_nan()),
                ("normal", |a| a.is_normal() || a == 0.0),
                ("subnormal", |a| a.is_subnormal()),
            ] {
                let text = format!("testp.{test}.{} p, a; selp.u32 d, 1, 0, p;", $name);
                rows.push(row!(text, (a: $ty) -> u32 = holds(a).into()));
            }
        };
    }
    tests!("f32", f32);
    tests!("f64", f64);
    rows
}

/// The distance between neighbouring `f32` numbers at a value.
fn ulp(value: f64) -> f64 {
    let value = value.abs().clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX));
    2_f64.powi(value.log2().floor() as i32 - 23)
}

/// A row for an approximation. `error` gives the largest absolute error that the ISA allows if the
/// true value is `truth`, or `None` if the ISA promises nothing. Half a spacing is added for the
/// rounding of the result.
fn approximate(
    text: &str,
    operands: usize,
    truth: fn(f64, f64) -> f64,
    error: fn(f64, f64, f64) -> Option<f64>,
) -> Row {
    let ftz = text.contains(".ftz");
    let names = NAMES[..operands].iter().map(|name| (*name, F32)).collect();
    Row::new(text, names, F32, None).within(move |operands, result| {
        let value = |word| {
            f64::from(if ftz { flushed(f32::from_word(word)) } else { f32::from_word(word) })
        };
        let (a, b) = (value(operands[0]), value(operands[1]));
        let (truth, result) = (truth(a, b), f64::from(f32::from_word(result)));
        let Some(error) = error(a, b, truth) else { return true };
        let overflows = truth.abs() + error >= f64::from(f32::MAX);
        let flushes = ftz && truth.abs() - error < f64::from(f32::MIN_POSITIVE);
        match truth {
            _ if truth.is_nan() => result.is_nan(),
            _ if truth.is_infinite() => result.to_bits() == truth.to_bits(),
            _ if overflows && result.is_infinite() => result.signum() == truth.signum(),
            _ if flushes && result == 0.0 => true,
            _ => (result - truth).abs() <= error + ulp(truth) / 2.0,
        }
    })
}

pub(crate) fn approximations() -> Vec<Row> {
    // The bounds are from the descriptions of the instructions in the PTX ISA, 9.7.3.
    let mut rows = Vec::new();
    for ftz in ["", ".ftz"] {
        rows.extend([
            // The error is 2 ulp for divisors of 2^-126 to 2^126.
            approximate(
                &format!("div.approx{ftz}.f32 d, a, b;"),
                2,
                |a, b| a / b,
                |_, b, truth| {
                    (2_f64.powi(-126)..=2_f64.powi(126))
                        .contains(&b.abs())
                        .then(|| 2.0 * ulp(truth))
                },
            ),
            // The error is 2 ulp everywhere.
            approximate(
                &format!("div.full{ftz}.f32 d, a, b;"),
                2,
                |a, b| a / b,
                |_, _, truth| Some(2.0 * ulp(truth)),
            ),
            // The error is 1 ulp.
            approximate(
                &format!("rcp.approx{ftz}.f32 d, a;"),
                1,
                |a, _| 1.0 / a,
                |_, _, truth| Some(ulp(truth)),
            ),
            // The relative error is 2^-23.
            approximate(
                &format!("sqrt.approx{ftz}.f32 d, a;"),
                1,
                |a, _| a.sqrt(),
                |_, _, truth| Some(truth.abs() * 2_f64.powi(-23)),
            ),
            // The relative error is 2^-22.9.
            approximate(
                &format!("rsqrt.approx{ftz}.f32 d, a;"),
                1,
                |a, _| 1.0 / a.sqrt(),
                |_, _, truth| Some(truth.abs() * 2_f64.powf(-22.9)),
            ),
            // The error is 2 ulp.
            approximate(
                &format!("ex2.approx{ftz}.f32 d, a;"),
                1,
                |a, _| a.exp2(),
                |_, _, truth| Some(2.0 * ulp(truth)),
            ),
            // The absolute error is 2^-22 for operands of 0.5 to 2. For others this is the relative
            // error.
            approximate(
                &format!("lg2.approx{ftz}.f32 d, a;"),
                1,
                |a, _| a.log2(),
                |a, _, truth| {
                    let scale = if a > 0.5 && a < 2.0 { 1.0 } else { truth.abs() };
                    Some(scale * 2_f64.powi(-22))
                },
            ),
            // The absolute error is 2^-20.5 for operands of -2pi to 2pi.
            approximate(
                &format!("sin.approx{ftz}.f32 d, a;"),
                1,
                |a, _| a.sin(),
                |a, _, _| trigonometric(a),
            ),
            approximate(
                &format!("cos.approx{ftz}.f32 d, a;"),
                1,
                |a, _| a.cos(),
                |a, _, _| trigonometric(a),
            ),
        ]);
    }
    // The relative error is 2^-11.
    rows.push(approximate(
        "tanh.approx.f32 d, a;",
        1,
        |a, _| a.tanh(),
        |_, _, truth| Some(truth.abs() * 2_f64.powi(-11)),
    ));
    rows
}

fn trigonometric(a: f64) -> Option<f64> {
    (a.abs() <= 2.0 * std::f64::consts::PI).then(|| 2_f64.powf(-20.5))
}

/// Whether a comparison of this name holds.
pub(crate) fn holds(cmp: &str, ordering: Option<Ordering>) -> bool {
    let Some(ordering) = ordering else {
        return cmp == "nan" || (cmp.len() == 3 && cmp.ends_with('u'));
    };
    match cmp {
        "num" => true,
        "nan" => false,
        "lo" => ordering.is_lt(),
        "ls" => ordering.is_le(),
        "hi" => ordering.is_gt(),
        "hs" => ordering.is_ge(),
        _ => match &cmp[..2] {
            "eq" => ordering.is_eq(),
            "ne" => ordering.is_ne(),
            "lt" => ordering.is_lt(),
            "le" => ordering.is_le(),
            "gt" => ordering.is_gt(),
            _ => ordering.is_ge(),
        },
    }
}

const BOTH: [&str; 2] = ["eq", "ne"];
const ORDERED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const FLOAT: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

pub(crate) fn comparisons() -> Vec<Row> {
    let mut rows = Vec::new();
    macro_rules! compared {
        ($names:expr, $ty:literal, $rust:ty, $prepare:expr) => {
            for cmp in $names {
                let prepare: fn($rust) -> $rust = $prepare;
                let holds = move |a, b| holds(cmp, prepare(a).partial_cmp(&prepare(b)));
                let text = format!("setp.{cmp}.{} p, a, b; selp.u32 d, 1, 0, p;", $ty);
                rows.push(row!(text, (a: $rust, b: $rust) -> u32 = holds(a, b).into()));
                if <$rust>::KIND.bits() > 16 {
                    let text = format!("set.{cmp}.u32.{} d, a, b;", $ty);
                    rows.push(row!(text, (a: $rust, b: $rust) -> u32 = if holds(a, b) { u32::MAX } else { 0 }));
                    let text = format!("set.{cmp}.f32.{} d, a, b;", $ty);
                    rows.push(row!(text, (a: $rust, b: $rust) -> f32 = if holds(a, b) { 1.0 } else { 0.0 }));
                }
            }
        };
    }
    compared!(BOTH, "b16", u16, |a| a);
    compared!(BOTH, "b32", u32, |a| a);
    compared!(BOTH, "b64", u64, |a| a);
    compared!(ORDERED, "s16", i16, |a| a);
    compared!(ORDERED, "s32", i32, |a| a);
    compared!(ORDERED, "s64", i64, |a| a);
    compared!(UNSIGNED, "u16", u16, |a| a);
    compared!(UNSIGNED, "u32", u32, |a| a);
    compared!(UNSIGNED, "u64", u64, |a| a);
    compared!(FLOAT, "f32", f32, |a| a);
    compared!(FLOAT, "f64", f64, |a| a);
    for cmp in FLOAT {
        let text = format!("setp.{cmp}.ftz.f32 p, a, b; selp.u32 d, 1, 0, p;");
        rows.push(row!(text, (a: f32, b: f32) -> u32 = holds(cmp, flushed(a).partial_cmp(&flushed(b))).into()));
    }
    // These rows combine the comparison with a second predicate, and also give the complement.
    for (op, combine) in [
        ("and", (|a, b| a & b) as fn(bool, bool) -> bool),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
    ] {
        for (not, negated) in [("", false), ("!", true)] {
            let text = format!(
                "setp.lt.s32 p, b, c;
    setp.lt.{op}.s32 p|q, a, b, {not}p;
    selp.u32 t0, 1, 0, p;
    selp.u32 t1, 2, 0, q;
    or.b32 d, t0, t1;"
            );
            rows.push(row!(text, (a: i32, b: i32, c: i32) -> u32 = {
                let with = (b < c) ^ negated;
                u32::from(combine(a < b, with)) | u32::from(combine(a >= b, with)) << 1
            }));
            let text = format!("setp.lt.s32 p, b, c; set.le.{op}.u32.f32 d, a, e, {not}p;");
            rows.push(row!(text, (a: f32, b: i32, c: i32, e: f32) -> u32 = {
                if combine(a <= e, (b < c) ^ negated) { u32::MAX } else { 0 }
            }));
        }
        let text = format!(
            "setp.lt.s32 p, a, b; setp.lt.s32 q, b, c;
    {op}.pred p, p, q;
    not.pred q, p;
    selp.u32 t0, 1, 0, p;
    selp.u32 d, 2, t0, q;"
        );
        rows.push(
            row!(text, (a: i32, b: i32, c: i32) -> u32 = if combine(a < b, b < c) { 1 } else { 2 }),
        );
    }
    // The bits pass through unchanged, even those of a NaN.
    for ty in ["b32", "f32", "s32"] {
        let text = format!("setp.ne.s32 p, c, 0; selp.{ty} d, a, b, p;");
        rows.push(row!(text, (a: u32, b: u32, c: i32) -> u32 = if c == 0 { b } else { a }));
        let text = format!("slct.{ty}.s32 d, a, b, c;");
        rows.push(row!(text, (a: u32, b: u32, c: i32) -> u32 = if c >= 0 { a } else { b }));
        let text = format!("slct.{ty}.f32 d, a, b, c;");
        rows.push(row!(text, (a: u32, b: u32, c: f32) -> u32 = if c >= 0.0 { a } else { b }));
        let text = format!("slct.ftz.{ty}.f32 d, a, b, c;");
        rows.push(
            row!(text, (a: u32, b: u32, c: f32) -> u32 = if flushed(c) >= 0.0 { a } else { b }),
        );
    }
    for ty in ["b16", "u16"] {
        let text = format!("setp.ne.s32 p, c, 0; selp.{ty} d, a, b, p;");
        rows.push(row!(text, (a: u16, b: u16, c: i32) -> u16 = if c == 0 { b } else { a }));
        let text = format!("slct.{ty}.s32 d, a, b, c;");
        rows.push(row!(text, (a: u16, b: u16, c: i32) -> u16 = if c >= 0 { a } else { b }));
    }
    for ty in ["b64", "f64", "u64"] {
        let text = format!("setp.ne.s32 p, c, 0; selp.{ty} d, a, b, p;");
        rows.push(row!(text, (a: u64, b: u64, c: i32) -> u64 = if c == 0 { b } else { a }));
        let text = format!("slct.{ty}.s32 d, a, b, c;");
        rows.push(row!(text, (a: u64, b: u64, c: i32) -> u64 = if c >= 0 { a } else { b }));
        let text = format!("slct.{ty}.f32 d, a, b, c;");
        rows.push(row!(text, (a: u64, b: u64, c: f32) -> u64 = if c >= 0.0 { a } else { b }));
    }
    rows
}
