//! Moves, logic, shifts, bit fields, byte permutations.

use crate::ptx::ast::{LogicOp, PrmtMode, ShfMode, ShiftOp, Type};
use crate::registers::{AluFn, File, Lifted, Operands, Registers, Rule, Shape, alu};

/// `mov` of a word or of a double.
pub(crate) fn copy(wide: bool) -> AluFn {
    let f = if wide { alu!(|a: u64| -> u64 { a }) } else { alu!(|a: u32| -> u32 { a }) };
    f.by(Rule::Copy)
}

/// A value of type `from` in a register of `to_bits` bits: the same value, or its low bits.
pub(crate) fn resize(from: Type, to_bits: u32) -> AluFn {
    let f = match (from, to_bits) {
        (Type::S8, 16) => alu!(|a: i8| -> i16 { a.into() }),
        (Type::S8, 32) => alu!(|a: i8| -> i32 { a.into() }),
        (Type::S8, 64) => alu!(|a: i8| -> i64 { a.into() }),
        (Type::S16, 32) => alu!(|a: i16| -> i32 { a.into() }),
        (Type::S16, 64) => alu!(|a: i16| -> i64 { a.into() }),
        (Type::S32, 64) => alu!(|a: i32| -> i64 { a.into() }),
        (from, to) => match (from.size(), to) {
            (8, 8) => alu!(|a: u64| -> u8 { a as u8 }),
            (8, 16) => alu!(|a: u64| -> u16 { a as u16 }),
            (8, 32) => alu!(|a: u64| -> u32 { a as u32 }),
            (8, _) => copy(true),
            (_, 8) => alu!(|a: u8| -> u8 { a }),
            (1, 64) => alu!(|a: u8| -> u64 { a.into() }),
            (1, _) => alu!(|a: u8| -> u32 { a.into() }),
            (2, 64) => alu!(|a: u16| -> u64 { a.into() }),
            (_, 16) | (2, _) => alu!(|a: u16| -> u16 { a }),
            (_, 64) => alu!(|a: u32| -> u64 { a.into() }),
            _ => copy(false),
        },
    };
    f.by(Rule::Copy)
}

/// `and or xor`. Narrow values are zero-extended, and their results are too.
pub(crate) fn logic(op: LogicOp, wide: bool) -> AluFn {
    let f = match (op, wide) {
        (LogicOp::And, false) => alu!(|a: u32, b: u32| -> u32 { a & b }),
        (LogicOp::Or, false) => alu!(|a: u32, b: u32| -> u32 { a | b }),
        (LogicOp::Xor, false) => alu!(|a: u32, b: u32| -> u32 { a ^ b }),
        (LogicOp::And, true) => alu!(|a: u64, b: u64| -> u64 { a & b }),
        (LogicOp::Or, true) => alu!(|a: u64, b: u64| -> u64 { a | b }),
        (LogicOp::Xor, true) => alu!(|a: u64, b: u64| -> u64 { a ^ b }),
    };
    f.bitwise(2)
}

/// `not`.
pub(crate) fn not(ty: Type) -> AluFn {
    let f = match ty.size() {
        8 => alu!(|a: u64| -> u64 { !a }),
        4 => alu!(|a: u32| -> u32 { !a }),
        _ => alu!(|a: u16| -> u16 { !a }),
    };
    f.bitwise(1)
}

/// Predicates: `d = (a op b)`, where bits 0 and 1 of `x` negate `a` and `b`.
pub(crate) fn predicate_logic(op: LogicOp) -> AluFn {
    fn sources(registers: &Registers, operands: &Operands) -> (u32, u32) {
        let negate = |bit: u32| if operands.x >> bit & 1 == 1 { u32::MAX } else { 0 };
        let value = |register: u32| registers.predicates[register as usize];
        (value(operands.a) ^ negate(0), value(operands.b) ^ negate(1))
    }
    let run: Lifted = match op {
        LogicOp::And => |registers, mask, operands| {
            let (a, b) = sources(registers, operands);
            registers.set_predicate(operands.d, mask, a & b);
        },
        LogicOp::Or => |registers, mask, operands| {
            let (a, b) = sources(registers, operands);
            registers.set_predicate(operands.d, mask, a | b);
        },
        LogicOp::Xor => |registers, mask, operands| {
            let (a, b) = sources(registers, operands);
            registers.set_predicate(operands.d, mask, a ^ b);
        },
    };
    let file = File::Predicates;
    AluFn { run, shape: Shape::new(file, 1, &[("a", file), ("b", file)]) }.bitwise(2)
}

/// `lop3.b32`; the truth table is `x`.
pub(crate) fn lop3() -> AluFn {
    alu!(|a: u32, b: u32, c: u32| [table: number] -> u32 {
        let mut result = 0;
        for row in 0..8 {
            let pick = |value: u32, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
            let chosen = if table >> row & 1 == 1 { u32::MAX } else { 0 };
            result |= pick(a, 2) & pick(b, 1) & pick(c, 0) & chosen;
        }
        result
    })
    .bitwise(3)
}

/// `shl` and `shr`. An amount beyond the width counts as the width.
pub(crate) fn shift(op: ShiftOp, ty: Type) -> Option<AluFn> {
    let f = match (op, ty) {
        (ShiftOp::Left, Type::B16 | Type::U16 | Type::S16) => {
            alu!(|a: u16, b: u32| -> u16 { a.checked_shl(b).unwrap_or(0) })
        }
        (ShiftOp::Left, Type::B32 | Type::U32 | Type::S32) => {
            alu!(|a: u32, b: u32| -> u32 { a.checked_shl(b).unwrap_or(0) })
        }
        (ShiftOp::Left, Type::B64 | Type::U64 | Type::S64) => {
            alu!(|a: u64, b: u32| -> u64 { a.checked_shl(b).unwrap_or(0) })
        }
        (ShiftOp::Right, Type::B16 | Type::U16) => {
            alu!(|a: u16, b: u32| -> u16 { a.checked_shr(b).unwrap_or(0) })
        }
        (ShiftOp::Right, Type::B32 | Type::U32) => {
            alu!(|a: u32, b: u32| -> u32 { a.checked_shr(b).unwrap_or(0) })
        }
        (ShiftOp::Right, Type::B64 | Type::U64) => {
            alu!(|a: u64, b: u32| -> u64 { a.checked_shr(b).unwrap_or(0) })
        }
        (ShiftOp::Right, Type::S16) => alu!(|a: i16, b: u32| -> i16 { a >> b.min(15) }),
        (ShiftOp::Right, Type::S32) => alu!(|a: i32, b: u32| -> i32 { a >> b.min(31) }),
        (ShiftOp::Right, Type::S64) => alu!(|a: i64, b: u32| -> i64 { a >> b.min(63) }),
        _ => return None,
    };
    Some(f.bitwise(1))
}

/// `shf`: `a` is the low word, `b` the high one, `c` the amount.
pub(crate) fn funnel(op: ShiftOp, mode: ShfMode) -> AluFn {
    fn join(low: u32, high: u32) -> u64 {
        u64::from(high) << 32 | u64::from(low)
    }
    let f = match (op, mode) {
        (ShiftOp::Left, ShfMode::Clamp) => {
            alu!(|a: u32, b: u32, c: u32| -> u32 { ((join(a, b) << c.min(32)) >> 32) as u32 })
        }
        (ShiftOp::Left, ShfMode::Wrap) => {
            alu!(|a: u32, b: u32, c: u32| -> u32 { ((join(a, b) << (c & 31)) >> 32) as u32 })
        }
        (ShiftOp::Right, ShfMode::Clamp) => {
            alu!(|a: u32, b: u32, c: u32| -> u32 { (join(a, b) >> c.min(32)) as u32 })
        }
        (ShiftOp::Right, ShfMode::Wrap) => {
            alu!(|a: u32, b: u32, c: u32| -> u32 { (join(a, b) >> (c & 31)) as u32 })
        }
    };
    f.bitwise(2)
}

/// `prmt.b32`.
pub(crate) fn permute(mode: PrmtMode) -> AluFn {
    /// Byte `i` of the eight in `b:a`.
    fn byte(a: u32, b: u32, i: u32) -> u32 {
        (((u64::from(b) << 32 | u64::from(a)) >> (8 * i)) & 0xff) as u32
    }
    fn gather(a: u32, b: u32, indices: [u32; 4]) -> u32 {
        (0..4).fold(0, |word, i| word | byte(a, b, indices[i] & 7) << (8 * i))
    }
    let f = match mode {
        PrmtMode::Index => alu!(|a: u32, b: u32, c: u32| -> u32 {
            let mut word = 0;
            for i in 0..4 {
                let selector = c >> (4 * i) & 0xf;
                let value = byte(a, b, selector & 7);
                let sign = if value >> 7 == 1 { 0xff } else { 0 };
                word |= (if selector & 8 != 0 { sign } else { value }) << (8 * i);
            }
            word
        }),
        PrmtMode::F4e => {
            alu!(|a: u32, b: u32, c: u32| -> u32 {
                let i = c & 3;
                gather(a, b, [i, i + 1, i + 2, i + 3])
            })
        }
        PrmtMode::B4e => {
            alu!(|a: u32, b: u32, c: u32| -> u32 {
                let i = c & 3;
                gather(a, b, [i, i + 7, i + 6, i + 5])
            })
        }
        PrmtMode::Rc8 => alu!(|a: u32, b: u32, c: u32| -> u32 { gather(a, b, [c & 3; 4]) }),
        PrmtMode::Ecl => {
            alu!(|a: u32, b: u32, c: u32| -> u32 {
                let i = c & 3;
                gather(a, b, [i, i.max(1), i.max(2), 3])
            })
        }
        PrmtMode::Ecr => {
            alu!(|a: u32, b: u32, c: u32| -> u32 {
                let i = c & 3;
                gather(a, b, [0, i.min(1), i.min(2), i])
            })
        }
        PrmtMode::Rc16 => {
            alu!(|a: u32, b: u32, c: u32| -> u32 {
                let i = (c & 1) * 2;
                gather(a, b, [i, i + 1, i, i + 1])
            })
        }
    };
    f.bitwise(2)
}

/// `bfe`: `c` bits of `a` from bit `b` on. For signed types, the result is sign-extended from the
/// last bit of the field, or from the last bit of the value if the field reaches beyond it.
pub(crate) fn extract(ty: Type) -> Option<AluFn> {
    fn field(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
        let (position, length) = (position & 0xff, length & 0xff);
        if length == 0 {
            return 0;
        }
        // Bits beyond the value's end are copies of its sign, or zero.
        let extended = if signed {
            i128::from((a << (64 - width)) as i64 >> (64 - width))
        } else {
            i128::from(a)
        };
        let shifted = extended >> position.min(127);
        if length >= width {
            return shifted as u64;
        }
        let up = 128 - length;
        if signed {
            // The sign is the last bit of the field, or the last bit of the value if the field ends
            // later.
            let last = (position + length - 1).min(width - 1);
            let sign = a >> last & 1 == 1;
            let low = shifted as u64 & ((1 << length) - 1);
            return if sign { low | !((1 << length) - 1) } else { low };
        }
        ((shifted as u128) << up >> up) as u64
    }
    let f = match ty {
        Type::U32 => {
            alu!(|a: u32, b: u32, c: u32| -> u32 { field(a.into(), b, c, 32, false) as u32 })
        }
        Type::S32 => {
            alu!(|a: u32, b: u32, c: u32| -> u32 { field(a.into(), b, c, 32, true) as u32 })
        }
        Type::U64 => alu!(|a: u64, b: u32, c: u32| -> u64 { field(a, b, c, 64, false) }),
        Type::S64 => alu!(|a: u64, b: u32, c: u32| -> u64 { field(a, b, c, 64, true) }),
        _ => return None,
    };
    Some(f.bitwise(1))
}

/// `bfi`: the value `b`, with `x` bits of `a` put in from bit `c` on.
pub(crate) fn insert(wide: bool) -> AluFn {
    fn field(a: u64, b: u64, position: u32, length: u32) -> u64 {
        let (position, length) = (position & 0xff, length & 0xff);
        let mask = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
        let mask = mask.checked_shl(position).unwrap_or(0);
        let value = a.checked_shl(position).unwrap_or(0);
        (b & !mask) | (value & mask)
    }
    let f = if wide {
        alu!(|a: u64, b: u64, c: u32, x: u32| -> u64 { field(a, b, c, x) })
    } else {
        alu!(|a: u32, b: u32, c: u32, x: u32| -> u32 { field(a.into(), b.into(), c, x) as u32 })
    };
    f.bitwise(2)
}

/// `bmsk`: a mask of `b` ones from bit `a` on.
pub(crate) fn bit_mask(mode: ShfMode) -> AluFn {
    fn ones(position: u32, length: u32) -> u32 {
        let mask = if length >= 32 { u32::MAX } else { (1 << length) - 1 };
        mask.checked_shl(position).unwrap_or(0)
    }
    match mode {
        ShfMode::Clamp => alu!(|a: u32, b: u32| -> u32 { ones(a, b) }),
        ShfMode::Wrap => alu!(|a: u32, b: u32| -> u32 { ones(a & 31, b & 31) }),
    }
}

/// `szext`: `a` extended from its low `b` bits.
pub(crate) fn extend(mode: ShfMode, signed: bool) -> AluFn {
    fn from_width(a: u32, width: u32, signed: bool) -> u32 {
        match (width, signed) {
            (0, _) => 0,
            (32.., _) => a,
            (n, false) => a & ((1 << n) - 1),
            (n, true) => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
        }
    }
    let f = match (mode, signed) {
        (ShfMode::Clamp, false) => alu!(|a: u32, b: u32| -> u32 { from_width(a, b, false) }),
        (ShfMode::Clamp, true) => alu!(|a: u32, b: u32| -> u32 { from_width(a, b, true) }),
        (ShfMode::Wrap, false) => alu!(|a: u32, b: u32| -> u32 { from_width(a, b & 31, false) }),
        (ShfMode::Wrap, true) => alu!(|a: u32, b: u32| -> u32 { from_width(a, b & 31, true) }),
    };
    f.bitwise(1)
}

/// `a` shifted right by the plain number `x` and cut to the width of `to_bits`; used to unpack.
pub(crate) fn unpack(from_wide: bool, to_bits: u32) -> Option<AluFn> {
    let f = match (from_wide, to_bits) {
        (true, 32) => alu!(|a: u64| [shift: number] -> u32 { (a >> shift) as u32 }),
        (true, 16) => alu!(|a: u64| [shift: number] -> u16 { (a >> shift) as u16 }),
        (true, 8) => alu!(|a: u64| [shift: number] -> u8 { (a >> shift) as u8 }),
        (false, 16) => alu!(|a: u32| [shift: number] -> u16 { (a >> shift) as u16 }),
        (false, 8) => alu!(|a: u32| [shift: number] -> u8 { (a >> shift) as u8 }),
        _ => return None,
    };
    Some(f.bitwise(1))
}

/// `a | b << x` for the plain number `x`; used to pack. `a` is a word or double, `b` a word.
pub(crate) fn pack(wide: bool) -> AluFn {
    let f = if wide {
        alu!(|a: u64, b: u32| [shift: number] -> u64 { a | u64::from(b) << shift })
    } else {
        alu!(|a: u32, b: u32| [shift: number] -> u32 { a | b << shift })
    };
    f.bitwise(2)
}
