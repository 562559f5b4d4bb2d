//! Rows for floats of 16 bits, alone and in pairs: arithmetic, comparisons, conversions (PTX ISA
//! 9.7.4, 9.7.6, 9.7.7, 9.7.9).

use std::cmp::Ordering;

use crate::{
    convert::integral,
    float::{flushed, holds, saturated},
    integer::Int,
    nearest::{BF16, F16, Format, Mode},
    operands::{Kind, Operand, Tuple},
    rounding,
    row::{Row, row},
};

const NAMES: [&str; 3] = ["a", "b", "c"];
const NAN: u16 = 0x7fff;
const COMPARISONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
const MODES: [(&str, Mode); 4] =
    [("rn", Mode::Nearest), ("rz", Mode::Zero), ("rm", Mode::Down), ("rp", Mode::Up)];

/// One of the four types: f16 or bf16, alone or in pairs.
#[derive(Clone, Copy)]
struct Ty {
    name: &'static str,
    brain: bool,
    packed: bool,
}

const F16_: Ty = Ty { name: "f16", brain: false, packed: false };
const BF16_: Ty = Ty { name: "bf16", brain: true, packed: false };
const TYPES: [Ty; 4] = [
    F16_,
    Ty { name: "f16x2", packed: true, ..F16_ },
    BF16_,
    Ty { name: "bf16x2", packed: true, ..BF16_ },
];

impl Ty {
    fn kind(self) -> Kind {
        Kind::Half { brain: self.brain, packed: self.packed }
    }

    fn format(self) -> &'static Format {
        if self.brain { &BF16 } else { &F16 }
    }

    /// The widths of the integers that `cvt` converts from and to.
    fn integers(self) -> impl Iterator<Item = u32> {
        [8, 16, 32, 64].into_iter().filter(move |&bits| !self.brain || bits > 8)
    }

    /// The least normal number.
    fn least(self) -> f64 {
        self.format().value(if self.brain { 0x80 } else { 0x400 })
    }

    fn flush(self, bits: u16) -> u16 {
        if self.format().value(bits).abs() < self.least() { bits & 0x8000 } else { bits }
    }

    /// The sum of two values, rounded to nearest. With `ftz` it is a zero if it is tiny: if it
    /// would be below the least normal number even with exponents that have no limit.
    fn sum(self, a: f64, b: f64, ftz: bool) -> u16 {
        const UP: f64 = (1 << 12) as f64;
        let result = self.format().nearest_sum(a, b);
        let above = self.format().value(self.format().nearest_sum(a * UP, b * UP));
        if ftz && above.abs() < self.least() * UP { result & 0x8000 } else { result }
    }

    fn saturate(self, bits: u16) -> u16 {
        let value = self.format().value(bits);
        if value > 0.0 { self.format().round(value.min(1.0), Mode::Nearest) } else { 0 }
    }

    fn relu(self, bits: u16) -> u16 {
        if bits >> 15 == 1 && !self.format().value(bits).is_nan() { 0 } else { bits }
    }

    /// A row with `count` operands of this type. If the type is a pair, each half of the operands
    /// gives one half of the result.
    fn row(self, text: String, count: usize, result: impl Fn([u16; 3]) -> u16 + 'static) -> Row {
        let operands = NAMES[..count].iter().map(|name| (*name, self.kind())).collect();
        let one = move |tuple: &Tuple, shift: u32| {
            let [a, b, c, _] = tuple.map(|word| (word >> shift) as u16);
            u64::from(result([a, b, c]))
        };
        let packed = self.packed;
        let expect = move |inputs: &[Tuple], thread: usize| {
            let low = one(&inputs[thread], 0);
            if packed { low | one(&inputs[thread], 16) << 16 } else { low }
        };
        Row::new(text, operands, self.kind(), Some(Box::new(expect)))
    }
}

fn arithmetic(rows: &mut Vec<Row>) {
    for ty in TYPES {
        let value = move |bits| ty.format().value(bits);
        // The allowed combinations of `.ftz` and `.sat`.
        let flavours: &[(bool, bool)] = if ty.brain {
            &[(false, false)]
        } else {
            &[(false, false), (true, false), (false, true), (true, true)]
        };
        for &(ftz, sat) in flavours {
            let take = move |bits| value(if ftz { ty.flush(bits) } else { bits });
            let give = move |bits| if sat { ty.saturate(bits) } else { bits };
            let modifiers = format!(
                "{}{}.{}",
                if ftz { ".ftz" } else { "" },
                if sat { ".sat" } else { "" },
                ty.name
            );
            let target = |row: Row| if ty.brain { row.sm_90() } else { row };
            rows.extend([
                target(ty.row(format!("add{modifiers} d, a, b;"), 2, move |[a, b, _]| {
                    give(ty.sum(take(a), take(b), ftz))
                })),
                target(ty.row(format!("sub.rn{modifiers} d, a, b;"), 2, move |[a, b, _]| {
                    give(ty.sum(take(a), -take(b), ftz))
                })),
                target(ty.row(format!("mul{modifiers} d, a, b;"), 2, move |[a, b, _]| {
                    // The product is rounded as a sum with a zero of its own sign, which does not
                    // change its value.
                    let product = take(a) * take(b);
                    give(ty.sum(product, 0_f64.copysign(product), ftz))
                })),
            ]);
            let fma = move |[a, b, c]: [u16; 3]| give(ty.sum(take(a) * take(b), take(c), ftz));
            let row = ty.row(format!("fma.rn{modifiers} d, a, b, c;"), 3, fma);
            rows.push(if ty.brain { row.sm_80() } else { row });
            if !sat {
                let text =
                    format!("fma.rn{}.relu.{} d, a, b, c;", if ftz { ".ftz" } else { "" }, ty.name);
                rows.push(
                    ty.row(text, 3, move |operands| ty.relu(fma(operands))).canonical_nan().sm_80(),
                );
            }
        }
        for ftz in if ty.brain { &[""][..] } else { &["", ".ftz"] } {
            let take = move |bits| if ftz.is_empty() { bits } else { ty.flush(bits) };
            let [abs, neg] = [
                ty.row(format!("abs{ftz}.{} d, a;", ty.name), 1, move |[a, ..]| take(a) & 0x7fff),
                ty.row(format!("neg{ftz}.{} d, a;", ty.name), 1, move |[a, ..]| take(a) ^ 0x8000),
            ];
            rows.extend(if ty.brain { [abs.sm_80(), neg.sm_80()] } else { [abs, neg] });
            for (nan, xorsign) in
                [("", ""), (".NaN", ""), ("", ".xorsign.abs"), (".NaN", ".xorsign.abs")]
            {
                for op in ["min", "max"] {
                    let text = format!("{op}{ftz}{nan}{xorsign}.{} d, a, b;", ty.name);
                    let row = ty.row(text, 2, move |[a, b, _]| {
                        extreme(
                            ty,
                            [take(a), take(b)],
                            op == "max",
                            !nan.is_empty(),
                            !xorsign.is_empty(),
                        )
                    });
                    let row = row.canonical_nan();
                    rows.push(if xorsign.is_empty() { row.sm_80() } else { row.sm_90() });
                }
            }
        }
    }
}

/// The lesser or the greater of two values by the formulas of the ISA, in which -0 is below +0.
fn extreme(ty: Ty, operands: [u16; 2], greatest: bool, nan: bool, xorsign: bool) -> u16 {
    let sign = (operands[0] ^ operands[1]) & 0x8000;
    let [a, b] = operands.map(|bits| if xorsign { bits & 0x7fff } else { bits });
    let [x, y] = [a, b].map(|bits| ty.format().value(bits));
    let first = match x.partial_cmp(&y) {
        Some(Ordering::Less) => !greatest,
        Some(Ordering::Greater) => greatest,
        Some(Ordering::Equal) => (a >> 15 == 1) != greatest,
        None if nan || x.is_nan() && y.is_nan() => return NAN,
        None => y.is_nan(),
    };
    let result = if first { a } else { b };
    if xorsign { result | sign } else { result }
}

/// A row for an approximation, whose results lie within an error of the true ones.
fn approximate(
    ty: Ty,
    text: String,
    truth: fn(f64) -> f64,
    error: impl Fn(f64) -> f64 + 'static,
) -> Row {
    let ftz = text.contains(".ftz");
    let close = move |operand: u16, result: u16| {
        let operand = ty.format().value(if ftz { ty.flush(operand) } else { operand });
        let magnitude = (result & 0x7fff).clamp(1, ty.format().infinity() - 1);
        let spacing = ty.format().value(magnitude) - ty.format().value(magnitude - 1);
        let (truth, result) = (truth(operand), ty.format().value(result));
        if truth.is_nan() {
            return result.is_nan();
        }
        // Rounding to the format adds an error; an H100 rounds by up to a whole unit in the last
        // place.
        let error = error(truth) + spacing;
        match result.is_infinite() {
            true => truth + error > ty.format().value(ty.format().infinity() - 1),
            false if ftz && result == 0.0 => truth.abs() - error < ty.least(),
            false => (result - truth).abs() <= error,
        }
    };
    let row = Row::new(text, vec![("a", ty.kind())], ty.kind(), None);
    row.within(move |operands, result| {
        close(operands[0] as u16, result as u16)
            && (!ty.packed || close((operands[0] >> 16) as u16, (result >> 16) as u16))
    })
}

pub(crate) fn approximations() -> Vec<Row> {
    let mut rows = Vec::new();
    for ty in TYPES {
        // For f16 and bf16, `tanh` has absolute errors of 2^-10.987 and 2^-8, and `ex2` has
        // relative errors of 2^-9.9 and 2^-7.
        let (tanh, ex2) = if ty.brain { (-8.0, -7.0) } else { (-10.987, -9.9) };
        let (tanh, ex2) = (2_f64.powf(tanh), 2_f64.powf(ex2));
        let row =
            approximate(ty, format!("tanh.approx.{} d, a;", ty.name), f64::tanh, move |_| tanh);
        rows.push(if ty.brain { row.sm_90() } else { row });
        let ftz = if ty.brain { ".ftz" } else { "" };
        let row = approximate(
            ty,
            format!("ex2.approx{ftz}.{} d, a;", ty.name),
            f64::exp2,
            move |truth| truth * ex2,
        );
        rows.push(if ty.brain { row.sm_90() } else { row });
    }
    rows
}

pub(crate) fn comparisons() -> Vec<Row> {
    let mut rows = Vec::new();
    for ty in TYPES {
        for ftz in if ty.brain { &[""][..] } else { &["", ".ftz"] } {
            for cmp in COMPARISONS {
                let take = move |bits| {
                    ty.format().value(if ftz.is_empty() { bits } else { ty.flush(bits) })
                };
                let one = move |a, b| holds(cmp, take(a).partial_cmp(&take(b)));
                let both = move |tuple: &Tuple| {
                    [0, 16].map(|shift| one((tuple[0] >> shift) as u16, (tuple[1] >> shift) as u16))
                };
                let target = |row: Row| if ty.brain { row.sm_90() } else { row };
                let binary = |text: String, result, expect: Box<dyn Fn([bool; 2]) -> u64>| {
                    let operands = NAMES[..2].iter().map(|name| (*name, ty.kind())).collect();
                    let expect =
                        move |inputs: &[Tuple], thread: usize| expect(both(&inputs[thread]));
                    target(Row::new(text, operands, result, Some(Box::new(expect))))
                };
                let (name, bits32) = (ty.name, <u32 as Operand>::KIND);
                if ty.packed {
                    rows.push(binary(
                        format!(
                            "setp.{cmp}{ftz}.{name} p|q, a, b; selp.u32 d, 1, 0, p; selp.u32 t0, 2, 0, q; or.b32 d, d, t0;"
                        ),
                        bits32,
                        Box::new(|[low, high]| u64::from(low) | u64::from(high) << 1),
                    ));
                    // The further predicate applies to both halves.
                    rows.push(binary(
                        format!(
                            "setp.{cmp}{ftz}.{name} p, a, b; setp.{cmp}.xor{ftz}.{name} p|q, a, b, !p; \
                             selp.u32 d, 1, 0, p; selp.u32 t0, 2, 0, q; or.b32 d, d, t0;"
                        ),
                        bits32,
                        Box::new(|[low, high]| 1 | u64::from(high == low) << 1),
                    ));
                    rows.push(binary(
                        format!("set.{cmp}{ftz}.u32.{name} d, a, b;"),
                        bits32,
                        Box::new(|[low, high]| {
                            u64::from(low) * 0xffff + u64::from(high) * 0xffff_0000
                        }),
                    ));
                } else {
                    rows.push(binary(
                        format!("setp.{cmp}{ftz}.{name} p, a, b; selp.u32 d, 1, 0, p;"),
                        bits32,
                        Box::new(|[holds, _]| holds.into()),
                    ));
                    rows.push(binary(
                        format!("set.{cmp}{ftz}.s32.{name} d, a, b;"),
                        bits32,
                        Box::new(|[holds, _]| u64::from(holds) * 0xffff_ffff),
                    ));
                    rows.push(binary(
                        format!("set.{cmp}{ftz}.u16.{name} d, a, b;"),
                        <u16 as Operand>::KIND,
                        Box::new(|[holds, _]| u64::from(holds) * 0xffff),
                    ));
                }
                let yes = u64::from(ty.format().round(1.0, Mode::Nearest));
                rows.push(binary(
                    format!("set.{cmp}{ftz}.{name}.{name} d, a, b;"),
                    ty.kind(),
                    Box::new(move |[low, high]| {
                        let high = ty.packed && high;
                        u64::from(low) * yes + ((u64::from(high) * yes) << 16)
                    }),
                ));
            }
        }
    }
    rows.extend([
        row!("set.lt.f16.s32 d, a, b;", (a: i32, b: i32) -> u16 = if a < b { 0x3c00 } else { 0 }),
        row!("set.geu.f16.f32 d, a, b;", (a: f32, b: f32) -> u16 = {
            if a.partial_cmp(&b) == Some(Ordering::Less) { 0 } else { 0x3c00 }
        }),
        row!("set.lt.bf16.u32 d, a, b;", (a: u32, b: u32) -> u16 = if a < b { 0x3f80 } else { 0 })
            .sm_90(),
    ]);
    rows
}

/// The value of a float operand as the instruction sees it.
type Widen = fn(u64, bool) -> f64;

fn to_half(rows: &mut Vec<Row>, ty: Ty) {
    // Conversions to bf16 are older from f32 than from other types.
    let target = move |row: Row, from: &str| match (ty.brain, from) {
        (true, "f32") => row.sm_80(),
        (true, _) => row.sm_90(),
        _ => row,
    };
    let single: Widen = |word, _| f32::from_word(word).into();
    let flushed_single: Widen = |word, _| flushed(f32::from_word(word)).into();
    let sats: &[&str] = if ty.brain { &[""] } else { &["", ".sat"] };
    for (name, mode) in MODES {
        for &sat in sats {
            let give = move |bits| if sat.is_empty() { bits } else { ty.saturate(bits) };
            let floats: [(&str, &str, Kind, Widen); 4] = [
                ("f32", "", f32::KIND, single),
                // The ISA says that subnormals are always flushed here, but an H100 does not flush
                // them in conversions to f16.
                ("f32", ".ftz", f32::KIND, if ty.brain { flushed_single } else { single }),
                ("f64", "", f64::KIND, |word, _| f64::from_word(word)),
                if ty.brain {
                    ("f16", "", F16_.kind(), |word, _| F16.value(word as u16))
                } else {
                    ("bf16", "", BF16_.kind(), |word, _| BF16.value(word as u16))
                },
            ];
            for (from, ftz, kind, value) in floats {
                if from == "bf16" && !sat.is_empty() {
                    continue;
                }
                let text = format!("cvt.{name}{ftz}{sat}.{}.{from} d, a;", ty.name);
                let expect = move |inputs: &[Tuple], thread: usize| {
                    give(ty.format().round(value(inputs[thread][0], false), mode)).into()
                };
                let row = Row::new(text, vec![("a", kind)], ty.kind(), Some(Box::new(expect)));
                rows.push(if from == "bf16" { row.sm_90() } else { target(row, from) });
            }
            for bits in ty.integers() {
                for signed in [false, true] {
                    let from = Int { bits, signed };
                    let text = format!("cvt.{name}{sat}.{}.{} d, a;", ty.name, from.name());
                    let expect = move |inputs: &[Tuple], thread: usize| {
                        give(rounded(ty.format(), from.value(inputs[thread][0]), mode)).into()
                    };
                    let row =
                        Row::new(text, vec![("a", from.kind())], ty.kind(), Some(Box::new(expect)));
                    rows.push(target(row, "integer"));
                }
            }
        }
        if matches!(mode, Mode::Nearest | Mode::Zero) {
            let round = move |value: f32| ty.format().round(value.into(), mode);
            rows.push(
                row!(format!("cvt.{name}.relu.{}.f32 d, a;", ty.name), (a: f32) -> u16 = ty.relu(round(a))).sm_80(),
            );
            for relu in ["", ".relu"] {
                let give =
                    move |value| if relu.is_empty() { round(value) } else { ty.relu(round(value)) };
                let text = format!("cvt.{name}{relu}.{}x2.f32 d, a, b;", ty.name);
                rows.push(row!(text, (a: f32, b: f32) -> u32 = u32::from(give(a)) << 16 | u32::from(give(b))).sm_80());
            }
        }
    }
}

/// An integer rounded to the nearest value that the mode allows.
fn rounded(format: &Format, value: i128, mode: Mode) -> u16 {
    let magnitude = value.unsigned_abs();
    let near = magnitude as f64;
    let below = if near as u128 > magnitude { near.next_down() } else { near };
    // If `f64` cannot hold the value, the last bit is made odd (round to odd), so that the value
    // stays on its side of the format's numbers and their midpoints.
    let odd = if below as u128 == magnitude { below } else { f64::from_bits(below.to_bits() | 1) };
    format.round(if value < 0 { -odd } else { odd }, mode)
}

fn from_half(rows: &mut Vec<Row>, ty: Ty) {
    let value = move |word: u64| ty.format().value(word as u16);
    let target = move |row: Row| if ty.brain { row.sm_90() } else { row };
    let unary = |text: String, result: Kind, expect: Box<dyn Fn(u64) -> u64>| {
        let expect = move |inputs: &[Tuple], thread: usize| expect(inputs[thread][0]);
        target(Row::new(text, vec![("a", ty.kind())], result, Some(Box::new(expect))))
    };
    let name = ty.name;
    rows.push(unary(
        format!("cvt.f32.{name} d, a;"),
        f32::KIND,
        Box::new(move |a| (value(a) as f32).to_word()),
    ));
    rows.push(unary(
        format!("cvt.ftz.f32.{name} d, a;"),
        f32::KIND,
        Box::new(move |a| flushed(value(a) as f32).to_word()),
    ));
    rows.push(unary(
        format!("cvt.f64.{name} d, a;"),
        f64::KIND,
        Box::new(move |a| value(a).to_word()),
    ));
    rows.push(unary(format!("cvt.{name}.{name} d, a;"), ty.kind(), Box::new(|a| a & 0xffff)));
    if !ty.brain {
        rows.push(unary(
            format!("cvt.sat.f32.{name} d, a;"),
            f32::KIND,
            Box::new(move |a| saturated(value(a) as f32).to_word()),
        ));
        rows.push(unary(
            format!("cvt.sat.f64.{name} d, a;"),
            f64::KIND,
            Box::new(move |a| if value(a) > 0.0 { value(a).min(1.0) } else { 0.0 }.to_word()),
        ));
        rows.push(unary(
            format!("cvt.sat.{name}.{name} d, a;"),
            ty.kind(),
            Box::new(move |a| ty.saturate(a as u16).into()),
        ));
    }
    for mode in rounding::Mode::ALL {
        let mode_name = mode.name();
        rows.push(unary(
            format!("cvt.{mode_name}i.{name}.{name} d, a;"),
            ty.kind(),
            Box::new(move |a| ty.format().round(integral(value(a), mode), Mode::Nearest).into()),
        ));
        for bits in ty.integers() {
            for signed in [false, true] {
                let to = Int { bits, signed };
                rows.push(unary(
                    format!("cvt.{mode_name}i.{}.{name} d, a;", to.name()),
                    to.kind(),
                    Box::new(move |a| {
                        if value(a).is_nan() && bits == 64 {
                            return to.word(1 << 63);
                        }
                        to.word(to.clamp(integral(value(a), mode) as i128))
                    }),
                ));
            }
        }
    }
}

pub(crate) fn conversions() -> Vec<Row> {
    let mut rows = Vec::new();
    for ty in [F16_, BF16_] {
        to_half(&mut rows, ty);
        from_half(&mut rows, ty);
    }
    rows
}

/// Rows for sums in memory, which do not flush.
fn atomics(rows: &mut Vec<Row>) {
    for ty in TYPES {
        for space in ["global", "shared"] {
            let address = match space {
                "global" => "mov.u64 w0, own;",
                _ => "mov.u32 t0, %tid.x; mov.u64 w0, buffer; mad.wide.u32 w0, t0, 16, w0;",
            };
            let (bits, old) = if ty.packed { (32, "t1") } else { (16, "h1") };
            let sum = move |[a, b, _]: [u16; 3]| {
                ty.sum(ty.format().value(a), ty.format().value(b), false)
            };
            let text = format!(
                "{address} st.{space}.b{bits} [w0], a; atom.{space}.add.noftz.{} {old}, [w0], b; ld.{space}.b{bits} d, [w0];",
                ty.name
            );
            let row = ty.row(text, 2, sum);
            rows.push(if ty.brain { row.sm_90() } else { row });
            let text = format!(
                "{address} st.{space}.b{bits} [w0], a; red.{space}.add.noftz.{} [w0], b; ld.{space}.b{bits} d, [w0];",
                ty.name
            );
            let row = ty.row(text, 2, sum);
            rows.push(if ty.brain { row.sm_90() } else { row });
            let text = format!(
                "{address} st.{space}.b{bits} [w0], a; atom.{space}.add.noftz.{} d, [w0], b;",
                ty.name
            );
            let row = ty.row(text, 2, |[a, ..]| a);
            rows.push(if ty.brain { row.sm_90() } else { row });
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    arithmetic(&mut rows);
    atomics(&mut rows);
    rows
}
