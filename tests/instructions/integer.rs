//! Rows for integer arithmetic and bits (PTX ISA 9.7.1, 9.7.2, 9.7.8).

use crate::{
    operands::{Amount, Kind},
    row::{Row, row},
};

/// An integer type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Int {
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

impl Int {
    pub(crate) fn name(self) -> String {
        format!("{}{}", if self.signed { 's' } else { 'u' }, self.bits)
    }

    pub(crate) fn kind(self) -> Kind {
        let Self { bits, signed } = self;
        Kind::Integer { bits, signed }
    }

    fn doubled(self) -> Self {
        Self { bits: 2 * self.bits, ..self }
    }

    pub(crate) fn value(self, word: u64) -> i128 {
        let up = 64 - self.bits;
        if self.signed {
            i128::from((word << up) as i64 >> up)
        } else {
            i128::from(word << up >> up)
        }
    }

    pub(crate) fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    pub(crate) fn max(self) -> i128 {
        self.min() + (1 << self.bits) - 1
    }

    pub(crate) fn clamp(self, value: i128) -> i128 {
        value.clamp(self.min(), self.max())
    }

    /// The register that holds the low bits of a value, extended by the sign or by zeros as the
    /// type requires.
    pub(crate) fn word(self, value: i128) -> u64 {
        let register = 64 - self.kind().register();
        (self.value(value as u64) as u64) << register >> register
    }
}

const TYPES: [Int; 6] = {
    const fn int(bits: u32, signed: bool) -> Int {
        Int { bits, signed }
    }
    [int(16, false), int(16, true), int(32, false), int(32, true), int(64, false), int(64, true)]
};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A row with `N` operands of these types, and a result of type `to`. The function gets exact
/// values, and its result is cut to the type.
fn exact<const N: usize>(
    text: &str,
    types: [Int; N],
    to: Int,
    f: impl Fn([i128; N]) -> i128 + 'static,
) -> Row {
    let operands = NAMES.into_iter().zip(types.map(Int::kind)).collect();
    let expect = move |inputs: &[[u64; 4]], thread: usize| {
        to.word(f(std::array::from_fn(|i| types[i].value(inputs[thread][i]))))
    };
    Row::new(text, operands, to.kind(), Some(Box::new(expect)))
}

/// The upper half of a product. The product of two `u64` takes all bits of a `u128`.
fn high(ty: Int, a: i128, b: i128) -> i128 {
    if ty.signed { (a * b) >> ty.bits } else { ((a as u128 * b as u128) >> ty.bits) as i128 }
}

fn arithmetic(rows: &mut Vec<Row>, ty: Int) {
    let t = ty.name();
    let mut two = |op: &str, f: fn(i128, i128) -> i128| {
        let row = exact(&format!("{op}.{t} d, a, b;"), [ty; 2], ty, move |[a, b]| f(a, b));
        rows.push(if matches!(op, "div" | "rem") { row.divides() } else { row });
    };
    two("add", |a, b| a + b);
    two("sub", |a, b| a - b);
    two("mul.lo", i128::wrapping_mul);
    two("div", |a, b| a / b);
    two("rem", |a, b| a % b);
    two("min", i128::min);
    two("max", i128::max);
    let mul_hi = format!("mul.hi.{t} d, a, b;");
    rows.push(exact(&mul_hi, [ty; 2], ty, move |[a, b]| high(ty, a, b)));
    rows.push(exact(&format!("mad.lo.{t} d, a, b, c;"), [ty; 3], ty, |[a, b, c]| {
        a.wrapping_mul(b).wrapping_add(c)
    }));
    rows.push(exact(&format!("mad.hi.{t} d, a, b, c;"), [ty; 3], ty, move |[a, b, c]| {
        high(ty, a, b) + c
    }));
    rows.push(exact(&format!("sad.{t} d, a, b, c;"), [ty; 3], ty, |[a, b, c]| c + (a - b).abs()));
    if ty.bits < 64 {
        let wide = ty.doubled();
        rows.push(exact(&format!("mul.wide.{t} d, a, b;"), [ty; 2], wide, |[a, b]| a * b));
        rows.push(exact(
            &format!("mad.wide.{t} d, a, b, c;"),
            [ty, ty, wide],
            wide,
            |[a, b, c]| a * b + c,
        ));
    }
    if ty.signed {
        rows.push(exact(&format!("neg.{t} d, a;"), [ty], ty, |[a]| -a));
        rows.push(exact(&format!("abs.{t} d, a;"), [ty], ty, |[a]| a.abs()));
    }
    if ty.bits == 32 {
        // The factors are the low 24 bits of each operand, read with the sign of the type.
        let part = Int { bits: 24, ..ty };
        let product = move |a: i128, b: i128| part.value(a as u64) * part.value(b as u64);
        rows.push(exact(&format!("mul24.lo.{t} d, a, b;"), [ty; 2], ty, move |[a, b]| {
            product(a, b)
        }));
        rows.push(exact(&format!("mul24.hi.{t} d, a, b;"), [ty; 2], ty, move |[a, b]| {
            product(a, b) >> 16
        }));
        rows.push(exact(&format!("mad24.lo.{t} d, a, b, c;"), [ty; 3], ty, move |[a, b, c]| {
            product(a, b) + c
        }));
        rows.push(exact(&format!("mad24.hi.{t} d, a, b, c;"), [ty; 3], ty, move |[a, b, c]| {
            (product(a, b) >> 16) + c
        }));
    }
    let amount = Int { bits: 32, signed: false };
    let mut shift = exact(&format!("shr.{t} d, a, b;"), [ty, amount], ty, |[a, b]| a >> b.min(64));
    shift.operands[1].1 = Kind::Amount;
    rows.push(shift);
    if ty.bits >= 32 {
        rows.push(exact(&format!("bfind.{t} d, a;"), [ty], amount, |[a]| top_bit(a)));
        rows.push(exact(
            &format!("bfind.shiftamt.{t} d, a;"),
            [ty],
            amount,
            move |[a]| match top_bit(a) {
                -1 => -1,
                top => i128::from(ty.bits) - 1 - top,
            },
        ));
        let mut extract = exact(
            &format!("{} bfe.{t} d, a, t0, t1;", bytes("b", "c")),
            [ty, amount, amount],
            ty,
            move |[a, position, length]| extracted(ty, a, position & 0xff, length & 0xff),
        );
        extract.operands[1].1 = Kind::Amount;
        extract.operands[2].1 = Kind::Amount;
        rows.push(extract);
    }
}

/// The position of the highest bit that differs from the sign, or -1.
fn top_bit(value: i128) -> i128 {
    let value = if value < 0 { !value } else { value };
    127 - i128::from(value.leading_zeros())
}

/// Puts the low bytes of two operands into `t0` and `t1`, because positions and lengths above 255
/// are not allowed.
fn bytes(position: &str, length: &str) -> String {
    format!("and.b32 t0, {position}, 255; and.b32 t1, {length}, 255;")
}

/// The result of `bfe`, computed bit by bit as the ISA describes it.
fn extracted(ty: Int, a: i128, position: i128, length: i128) -> i128 {
    let last = i128::from(ty.bits - 1);
    let sign = match length {
        _ if !ty.signed || length == 0 => 0,
        _ => a >> (position + length - 1).min(last) & 1,
    };
    (0..=last).fold(0, |result, i| {
        let inside = i < length && position + i <= last;
        let bit = if inside { a >> (position + i) & 1 } else { sign };
        result | bit << i
    })
}

/// The 64-bit number whose upper half is `b` and whose lower half is `a`.
fn joined(a: u32, b: u32) -> u64 {
    u64::from(b) << 32 | u64::from(a)
}

fn bits(rows: &mut Vec<Row>) {
    macro_rules! width {
        ($ty:ty) => {{
            let n = <$ty>::BITS;
            rows.push(row!(format!("and.b{n} d, a, b;"), (a: $ty, b: $ty) -> $ty = a & b));
            rows.push(row!(format!("or.b{n} d, a, b;"), (a: $ty, b: $ty) -> $ty = a | b));
            rows.push(row!(format!("xor.b{n} d, a, b;"), (a: $ty, b: $ty) -> $ty = a ^ b));
            rows.push(row!(format!("not.b{n} d, a;"), (a: $ty) -> $ty = !a));
            rows.push(row!(format!("cnot.b{n} d, a;"), (a: $ty) -> $ty = (a == 0) as $ty));
            rows.push(row!(format!("shl.b{n} d, a, b;"), (a: $ty, b: Amount) -> $ty = a.checked_shl(b.0).unwrap_or(0)));
            rows.push(row!(format!("mov.b{n} d, a;"), (a: $ty) -> $ty = a));
        }};
    }
    macro_rules! wide {
        ($ty:ty) => {{
            let n = <$ty>::BITS;
            rows.push(row!(format!("popc.b{n} d, a;"), (a: $ty) -> u32 = a.count_ones()));
            rows.push(row!(format!("clz.b{n} d, a;"), (a: $ty) -> u32 = a.leading_zeros()));
            rows.push(row!(format!("brev.b{n} d, a;"), (a: $ty) -> $ty = a.reverse_bits()));
            let text = format!("{} bfi.b{n} d, a, b, t0, t1;", bytes("c", "e"));
            rows.push(row!(text, (a: $ty, b: $ty, c: Amount, e: Amount) -> $ty = {
                let (position, length) = (c.0 & 0xff, e.0 & 0xff);
                (0..length.min(n)).filter(|i| position + i < n).fold(b, |result, i| {
                    result & !(1 << (position + i)) | (a >> i & 1) << (position + i)
                })
            }));
        }};
    }
    width!(u16);
    width!(u32);
    width!(u64);
    wide!(u32);
    wide!(u64);
    for lut in [0x00_u8, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1b, 0xff] {
        rows.push(
            row!(format!("lop3.b32 d, a, b, c, {lut:#x};"), (a: u32, b: u32, c: u32) -> u32 = {
                (0..32).fold(0, |result, i| {
                    let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
                    result | (u32::from(lut) >> index & 1) << i
                })
            }),
        );
    }
    rows.push(row!("shf.l.clamp.b32 d, a, b, c;", (a: u32, b: u32, c: Amount) -> u32 = {
        (joined(a, b) << c.0.min(32) >> 32) as u32
    }));
    rows.push(row!("shf.l.wrap.b32 d, a, b, c;", (a: u32, b: u32, c: Amount) -> u32 = {
        (joined(a, b) << (c.0 % 32) >> 32) as u32
    }));
    rows.push(row!("shf.r.clamp.b32 d, a, b, c;", (a: u32, b: u32, c: Amount) -> u32 = {
        (joined(a, b) >> c.0.min(32)) as u32
    }));
    rows.push(row!("shf.r.wrap.b32 d, a, b, c;", (a: u32, b: u32, c: Amount) -> u32 = {
        (joined(a, b) >> (c.0 % 32)) as u32
    }));
    rows.push(row!("prmt.b32 d, a, b, c;", (a: u32, b: u32, c: u32) -> u32 = {
        u32::from_le_bytes(std::array::from_fn(|i| {
            let selector = c >> (4 * i) & 0xf;
            let byte = joined(a, b).to_le_bytes()[selector as usize % 8];
            if selector < 8 { byte } else { (byte as i8 >> 7) as u8 }
        }))
    }));
    // The bytes that each mode picks for the selectors 0 to 3, from the highest byte of the result
    // to the lowest (the ISA has this table).
    let modes: [(&str, [u32; 4]); 6] = [
        ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
        ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
        ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
        ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
        ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
        ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
    ];
    for (mode, picked) in modes {
        rows.push(row!(format!("prmt.b32.{mode} d, a, b, c;"), (a: u32, b: u32, c: u32) -> u32 = {
            let bytes = joined(a, b).to_le_bytes();
            u32::from_le_bytes(std::array::from_fn(|i| bytes[(picked[c as usize % 4] >> (4 * i) & 0xf) as usize]))
        }));
    }
    rows.push(row!("bmsk.clamp.b32 d, a, b;", (a: Amount, b: Amount) -> u32 = mask(a.0, b.0)));
    rows.push(
        row!("bmsk.wrap.b32 d, a, b;", (a: Amount, b: Amount) -> u32 = mask(a.0 % 32, b.0 % 32)),
    );
    rows.push(row!("szext.clamp.u32 d, a, b;", (a: u32, b: Amount) -> u32 = a & mask(0, b.0)));
    rows.push(row!("szext.wrap.u32 d, a, b;", (a: u32, b: Amount) -> u32 = a & mask(0, b.0 % 32)));
    rows.push(row!("szext.clamp.s32 d, a, b;", (a: i32, b: Amount) -> i32 = sign_extended(a, b.0)));
    rows.push(
        row!("szext.wrap.s32 d, a, b;", (a: i32, b: Amount) -> i32 = sign_extended(a, b.0 % 32)),
    );
}

/// A mask of `length` ones from bit `position` on.
fn mask(position: u32, length: u32) -> u32 {
    ((1_u128 << length.min(64)) - 1).checked_shl(position.min(64)).unwrap() as u32
}

fn sign_extended(a: i32, width: u32) -> i32 {
    match width {
        0 => 0,
        1..32 => a << (32 - width) >> (32 - width),
        _ => a,
    }
}

/// Rows that pack values into a wider one and unpack them, and rows for sums through the carry
/// flag.
fn pieces(rows: &mut Vec<Row>) {
    rows.push(
        row!("mov.b64 d, {a, b};", (a: u32, b: u32) -> u64 = u64::from(b) << 32 | u64::from(a)),
    );
    rows.push(
        row!("mov.b32 d, {a, b};", (a: u16, b: u16) -> u32 = u32::from(b) << 16 | u32::from(a)),
    );
    rows.push(row!("mov.b64 d, {a, b, c, e};", (a: u16, b: u16, c: u16, e: u16) -> u64 = {
        [e, c, b, a].into_iter().fold(0, |word, part| word << 16 | u64::from(part))
    }));
    rows.push(row!("mov.b64 {t0, t1}, a; sub.u32 d, t1, t0;", (a: u64) -> u32 = {
        ((a >> 32) as u32).wrapping_sub(a as u32)
    }));
    rows.push(
        row!("mov.b32 {h0, h1}, a; mov.b32 d, {h1, h0};", (a: u32) -> u32 = a.rotate_left(16)),
    );
    for op in ["add", "sub"] {
        // Two 64-bit values are added in four words, with all three forms of the carry.
        let text = format!(
            "mov.b64 {{t0, t1}}, a; mov.b64 {{t2, t3}}, b;
    {op}.cc.u32 t0, t0, t2;
    {op}c.cc.u32 t1, t1, t3;
    {op}c.u32 t2, 0, 0;
    xor.b32 t0, t0, t2;
    mov.b64 d, {{t0, t1}};"
        );
        let add = op == "add";
        rows.push(row!(text, (a: u64, b: u64) -> u64 = {
            let (result, carry) = if add { a.overflowing_add(b) } else { a.overflowing_sub(b) };
            let carry = if add { u64::from(carry) } else { u64::from(carry) * 0xffff_ffff };
            result ^ carry
        }));
        let text = format!("{op}.cc.u64 w0, a, b; {op}c.u64 d, c, e;");
        rows.push(row!(text, (a: u64, b: u64, c: u64, e: u64) -> u64 = {
            let wide = |low: u64, high: u64| u128::from(high) << 64 | u128::from(low);
            let (x, y) = (wide(a, c), wide(b, e));
            ((if add { x.wrapping_add(y) } else { x.wrapping_sub(y) }) >> 64) as u64
        }));
    }
    rows.push(row!(
        "mad.lo.cc.u32 t0, a, b, c; madc.hi.u32 t1, a, b, e; mov.b64 d, {t0, t1};",
        (a: u32, b: u32, c: u32, e: u32) -> u64
            = (u64::from(a) * u64::from(b)).wrapping_add(u64::from(e) << 32 | u64::from(c))
    ));
    // In the next rows, numbers in the text are operands.
    rows.extend([
        row!("add.s32 d, a, -5;", (a: i32) -> i32 = a.wrapping_sub(5)),
        row!("sub.u64 d, -1, a;", (a: u64) -> u64 = !a),
        row!("mul.lo.u64 d, a, 0xFEDCBA9876543210;", (a: u64) -> u64 = a.wrapping_mul(0xfedc_ba98_7654_3210)),
        row!("mul.wide.s32 d, a, -3;", (a: i32) -> i64 = i64::from(a) * -3),
        row!("shr.s16 d, a, 3;", (a: i16) -> i16 = a >> 3),
        row!("and.b16 d, a, 0xF0F;", (a: u16) -> u16 = a & 0xf0f),
        row!("mov.b32 d, 0x80000000;", () -> u32 = 0x8000_0000),
    ]);
    rows.push(row!("add.sat.s32 d, a, b;", (a: i32, b: i32) -> i32 = a.saturating_add(b)));
    rows.push(row!("sub.sat.s32 d, a, b;", (a: i32, b: i32) -> i32 = a.saturating_sub(b)));
    rows.push(row!("mad.hi.sat.s32 d, a, b, c;", (a: i32, b: i32, c: i32) -> i32 = {
        (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
    }));
}

/// Rows for `dp4a` and `dp2a` with each pair of types.
fn dot_products(rows: &mut Vec<Row>) {
    for (a_ty, a_signed) in [("u32", false), ("s32", true)] {
        for (b_ty, b_signed) in [("u32", false), ("s32", true)] {
            for (op, bits, first) in [("dp4a", 8, 0), ("dp2a.lo", 16, 0), ("dp2a.hi", 16, 2)] {
                let (factor, byte) =
                    (Int { bits, signed: a_signed }, Int { bits: 8, signed: b_signed });
                let text = format!("{op}.{a_ty}.{b_ty} d, a, b, c;");
                rows.push(row!(text, (a: u32, b: u32, c: u32) -> u32 = {
                    let product = |i: u32| {
                        factor.value(u64::from(a >> (bits * i))) * byte.value(u64::from(b >> (8 * (first + i))))
                    };
                    ((0..32 / bits).map(product).sum::<i128>() + i128::from(c)) as u32
                }));
            }
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    dot_products(&mut rows);
    for ty in TYPES {
        arithmetic(&mut rows, ty);
    }
    bits(&mut rows);
    pieces(&mut rows);
    rows
}
