//! Rows for `cvt` between all pairs of types (PTX ISA 9.7.9).

use crate::{
    float::{flushed, saturated},
    integer::Int,
    operands::Operand,
    rounding::Mode,
    row::{Row, row},
};

const BITS: [u32; 4] = [8, 16, 32, 64];

fn integers() -> impl Iterator<Item = Int> {
    BITS.into_iter().flat_map(|bits| [false, true].map(|signed| Int { bits, signed }))
}

/// A value rounded to an integer.
pub(crate) fn integral(value: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => value.round_ties_even(),
        Mode::Down => value.floor(),
        Mode::Up => value.ceil(),
        Mode::Zero => value.trunc(),
    }
}

/// An integer rounded to a float with this many digits.
fn rounded(value: i128, digits: u32, mode: Mode) -> f64 {
    let magnitude = value.unsigned_abs();
    let cut = (128 - magnitude.leading_zeros()).saturating_sub(digits);
    let (kept, rest, half) = (magnitude >> cut, magnitude & ((1 << cut) - 1), (1_u128 << cut) / 2);
    let up = match mode {
        Mode::Nearest => cut > 0 && (rest > half || rest == half && kept % 2 == 1),
        Mode::Down => rest > 0 && value < 0,
        Mode::Up => rest > 0 && value > 0,
        Mode::Zero => false,
    };
    let result = (kept + u128::from(up)) as f64 * 2_f64.powi(cut as i32);
    if value < 0 { -result } else { result }
}

/// The nearest `f32` that the rounding mode allows.
fn narrowed(value: f64, mode: Mode) -> f32 {
    let nearest = value as f32;
    let mode = match mode {
        Mode::Zero if value.is_sign_negative() => Mode::Up,
        Mode::Zero => Mode::Down,
        mode => mode,
    };
    match mode {
        Mode::Down if f64::from(nearest) > value => nearest.next_down(),
        Mode::Up if f64::from(nearest) < value => nearest.next_up(),
        _ => nearest,
    }
}

fn saturated64(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn between_integers(rows: &mut Vec<Row>, from: Int, to: Int) {
    let (source, result) = (from.name(), to.name());
    let operands = vec![("a", from.kind())];
    let text = format!("cvt.{result}.{source} d, a;");
    let expect = move |inputs: &[[u64; 4]], thread: usize| to.word(from.value(inputs[thread][0]));
    rows.push(Row::new(text, operands.clone(), to.kind(), Some(Box::new(expect))));
    // `.sat` is for destinations that cannot hold every source.
    if from.min() < to.min() || from.max() > to.max() {
        let text = format!("cvt.sat.{result}.{source} d, a;");
        let expect = move |inputs: &[[u64; 4]], thread: usize| {
            to.word(to.clamp(from.value(inputs[thread][0])))
        };
        rows.push(Row::new(text, operands, to.kind(), Some(Box::new(expect))));
    }
}

fn from_integer(rows: &mut Vec<Row>, from: Int) {
    for mode in Mode::ALL {
        for sat in [false, true] {
            for (float, digits) in [("f32", 24), ("f64", 53)] {
                let text = format!(
                    "cvt.{}{}.{float}.{} d, a;",
                    mode.name(),
                    if sat { ".sat" } else { "" },
                    from.name()
                );
                let kind = if digits == 24 { f32::KIND } else { f64::KIND };
                let expect = move |inputs: &[[u64; 4]], thread: usize| {
                    let value = rounded(from.value(inputs[thread][0]), digits, mode);
                    let value = if sat { saturated64(value) } else { value };
                    if digits == 24 { (value as f32).to_word() } else { value.to_word() }
                };
                rows.push(Row::new(text, vec![("a", from.kind())], kind, Some(Box::new(expect))));
            }
        }
    }
}

fn to_integer(rows: &mut Vec<Row>, to: Int) {
    for mode in Mode::ALL {
        for (float, ftz, sat) in
            [("f32", "", ""), ("f32", ".ftz", ""), ("f32", "", ".sat"), ("f64", "", "")]
        {
            let text = format!("cvt.{}i{ftz}{sat}.{}.{float} d, a;", mode.name(), to.name());
            let (single, flush) = (float == "f32", !ftz.is_empty());
            let expect = move |inputs: &[[u64; 4]], thread: usize| {
                let word = inputs[thread][0];
                let value = match (single, flush) {
                    (true, true) => flushed(f32::from_word(word)).into(),
                    (true, false) => f32::from_word(word).into(),
                    (false, _) => f64::from_word(word),
                };
                // The result for a NaN depends on the types.
                if value.is_nan() && (!single || to.bits == 64) {
                    return to.word(1 << (to.bits - 1));
                }
                // `as` turns a NaN into 0.
                to.word(to.clamp(integral(value, mode) as i128))
            };
            let kind = if single { f32::KIND } else { f64::KIND };
            rows.push(Row::new(text, vec![("a", kind)], to.kind(), Some(Box::new(expect))));
        }
    }
}

/// [`narrowed`], but zero if the result is tiny: if it would be below the least normal number even
/// with exponents that have no limit.
fn narrowed_and_flushed(value: f64, mode: Mode) -> f32 {
    const UP: f64 = (1_u64 << 32) as f64;
    let tiny = narrowed(value * UP, mode).abs() < f32::MIN_POSITIVE * UP as f32;
    if tiny { 0_f32.copysign(value as f32) } else { narrowed(value, mode) }
}

fn between_floats(rows: &mut Vec<Row>) {
    for sat in ["", ".sat"] {
        let single = move |value| if sat.is_empty() { value } else { saturated(value) };
        let double = move |value| if sat.is_empty() { value } else { saturated64(value) };
        rows.extend([
            row!(format!("cvt{sat}.f64.f32 d, a;"), (a: f32) -> f64 = double(a.into())),
            row!(format!("cvt.ftz{sat}.f64.f32 d, a;"), (a: f32) -> f64 = double(flushed(a).into())),
            row!(format!("cvt{sat}.f32.f32 d, a;"), (a: f32) -> f32 = single(a)),
            row!(format!("cvt.ftz{sat}.f32.f32 d, a;"), (a: f32) -> f32 = single(flushed(a))),
            row!(format!("cvt{sat}.f64.f64 d, a;"), (a: f64) -> f64 = double(a)),
        ]);
        for mode in Mode::ALL {
            let name = mode.name();
            rows.extend([
                row!(format!("cvt.{name}{sat}.f32.f64 d, a;"), (a: f64) -> f32 = single(narrowed(a, mode))),
                row!(format!("cvt.{name}.ftz{sat}.f32.f64 d, a;"), (a: f64) -> f32 = {
                    single(narrowed_and_flushed(a, mode))
                }),
                row!(format!("cvt.{name}i{sat}.f32.f32 d, a;"), (a: f32) -> f32 = {
                    single(integral(a.into(), mode) as f32)
                }),
                row!(format!("cvt.{name}i.ftz{sat}.f32.f32 d, a;"), (a: f32) -> f32 = {
                    single(integral(flushed(a).into(), mode) as f32)
                }),
                row!(format!("cvt.{name}i{sat}.f64.f64 d, a;"), (a: f64) -> f64 = double(integral(a, mode))),
            ]);
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for from in integers() {
        for to in integers() {
            between_integers(&mut rows, from, to);
        }
        from_integer(&mut rows, from);
        to_integer(&mut rows, from);
    }
    between_floats(&mut rows);
    rows
}
