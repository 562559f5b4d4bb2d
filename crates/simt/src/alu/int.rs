//! Integer arithmetic, 16 to 64 bits.

use crate::ptx::ast::{DotPart, IntBinaryOp, IntUnaryOp, MulPart, Type};
use crate::registers::{AluFn, Rule, alu};

/// Expands one expression for all integer types of 16 to 64 bits.
macro_rules! by_type {
    ($ty:expr, |$($arg:ident),+| $body:block) => {
        match $ty {
            Type::U16 | Type::B16 => alu!(|$($arg: u16),+| -> u16 $body),
            Type::S16 => alu!(|$($arg: i16),+| -> i16 $body),
            Type::U32 | Type::B32 => alu!(|$($arg: u32),+| -> u32 $body),
            Type::S32 => alu!(|$($arg: i32),+| -> i32 $body),
            Type::U64 | Type::B64 => alu!(|$($arg: u64),+| -> u64 $body),
            Type::S64 => alu!(|$($arg: i64),+| -> i64 $body),
            _ => return None,
        }
    };
}

macro_rules! wide {
    ($ty:expr, |$($arg:ident: $class:ident),+| as $w:ident $body:block) => {
        match $ty {
            Type::U16 => wide!(@ u16, u32, [$($arg: $class),+], $w, $body),
            Type::S16 => wide!(@ i16, i32, [$($arg: $class),+], $w, $body),
            Type::U32 => wide!(@ u32, u64, [$($arg: $class),+], $w, $body),
            Type::S32 => wide!(@ i32, i64, [$($arg: $class),+], $w, $body),
            _ => return None,
        }
    };
    (@ $narrow:ty, $double:ty, [$a:ident: narrow, $b:ident: narrow], $w:ident, $body:block) => {
        alu!(|$a: $narrow, $b: $narrow| -> $double { type $w = $double; $body })
    };
    (@ $narrow:ty, $double:ty, [$a:ident: narrow, $b:ident: narrow, $c:ident: wide], $w:ident, $body:block) => {
        alu!(|$a: $narrow, $b: $narrow, $c: $double| -> $double { type $w = $double; $body })
    };
}

/// `add sub mul div rem min max`. Division by zero yields all ones here; a separate instruction
/// before it faults. `saturate` is `.sat` of `add` and `sub`, and `.relu` of `min` and `max`.
pub(crate) fn binary(op: IntBinaryOp, ty: Type, saturate: bool) -> Option<AluFn> {
    if saturate {
        return match (op, ty) {
            (IntBinaryOp::Add, Type::S32) => {
                Some(alu!(|a: i32, b: i32| -> i32 { a.saturating_add(b) }))
            }
            (IntBinaryOp::Sub, Type::S32) => {
                Some(alu!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) }))
            }
            (IntBinaryOp::Min, Type::S32) => {
                Some(alu!(|a: i32, b: i32| -> i32 { a.min(b).max(0) }))
            }
            (IntBinaryOp::Max, Type::S32) => {
                Some(alu!(|a: i32, b: i32| -> i32 { a.max(b).max(0) }))
            }
            _ => None,
        };
    }
    let f = match op {
        IntBinaryOp::Add => by_type!(ty, |a, b| { a.wrapping_add(b) }),
        IntBinaryOp::Sub => by_type!(ty, |a, b| { a.wrapping_sub(b) }),
        IntBinaryOp::MulLo => by_type!(ty, |a, b| { a.wrapping_mul(b) }),
        IntBinaryOp::Min => by_type!(ty, |a, b| { a.min(b) }),
        IntBinaryOp::Max => by_type!(ty, |a, b| { a.max(b) }),
        IntBinaryOp::Div => by_type!(ty, |a, b| { if b == 0 { !0 } else { a.wrapping_div(b) } }),
        IntBinaryOp::Rem => by_type!(ty, |a, b| { if b == 0 { a } else { a.wrapping_rem(b) } }),
        IntBinaryOp::MulHi => match ty {
            Type::U16 => {
                alu!(|a: u16, b: u16| -> u16 { (u32::from(a) * u32::from(b) >> 16) as u16 })
            }
            Type::S16 => {
                alu!(|a: i16, b: i16| -> i16 { (i32::from(a) * i32::from(b) >> 16) as i16 })
            }
            Type::U32 => {
                alu!(|a: u32, b: u32| -> u32 { (u64::from(a) * u64::from(b) >> 32) as u32 })
            }
            Type::S32 => {
                alu!(|a: i32, b: i32| -> i32 { (i64::from(a) * i64::from(b) >> 32) as i32 })
            }
            Type::U64 => {
                alu!(|a: u64, b: u64| -> u64 { (u128::from(a) * u128::from(b) >> 64) as u64 })
            }
            Type::S64 => {
                alu!(|a: i64, b: i64| -> i64 { (i128::from(a) * i128::from(b) >> 64) as i64 })
            }
            _ => return None,
        },
        IntBinaryOp::MulWide => {
            wide!(ty, |a: narrow, b: narrow| as W { W::from(a).wrapping_mul(W::from(b)) })
        }
        IntBinaryOp::Mul24Lo => match ty {
            Type::U32 => {
                alu!(|a: u32, b: u32| -> u32 { unsigned24(a).wrapping_mul(unsigned24(b)) })
            }
            Type::S32 => alu!(|a: i32, b: i32| -> i32 { signed24(a).wrapping_mul(signed24(b)) }),
            _ => return None,
        },
        IntBinaryOp::Mul24Hi => match ty {
            Type::U32 => {
                alu!(|a: u32, b: u32| -> u32 {
                    (u64::from(unsigned24(a)) * u64::from(unsigned24(b)) >> 16) as u32
                })
            }
            Type::S32 => {
                alu!(|a: i32, b: i32| -> i32 {
                    (i64::from(signed24(a)) * i64::from(signed24(b)) >> 16) as i32
                })
            }
            _ => return None,
        },
    };
    Some(
        if matches!(
            op,
            IntBinaryOp::Add
                | IntBinaryOp::Sub
                | IntBinaryOp::MulLo
                | IntBinaryOp::Mul24Lo
                | IntBinaryOp::MulWide
        ) {
            f.by(Rule::Upward)
        } else {
            f
        },
    )
}

/// The low 24 bits of a value.
fn unsigned24(value: u32) -> u32 {
    value & 0xff_ffff
}

/// The low 24 bits of a value, sign-extended.
fn signed24(value: i32) -> i32 {
    value << 8 >> 8
}

/// `mad`: `a * b + c`.
pub(crate) fn mad(part: MulPart, ty: Type, saturate: bool) -> Option<AluFn> {
    if saturate {
        return match (part, ty) {
            (MulPart::Hi, Type::S32) => Some(alu!(|a: i32, b: i32, c: i32| -> i32 {
                ((i64::from(a) * i64::from(b) >> 32) as i32).saturating_add(c)
            })),
            (MulPart::Hi24, Type::S32) => Some(alu!(|a: i32, b: i32, c: i32| -> i32 {
                ((i64::from(signed24(a)) * i64::from(signed24(b)) >> 16) as i32).saturating_add(c)
            })),
            _ => None,
        };
    }
    Some(match part {
        MulPart::Lo => {
            by_type!(ty, |a, b, c| { a.wrapping_mul(b).wrapping_add(c) }).by(Rule::Upward)
        }
        MulPart::Wide => {
            wide!(ty, |a: narrow, b: narrow, c: wide| as W { W::from(a).wrapping_mul(W::from(b)).wrapping_add(c) })
        }
        // The other forms are rare, and are lowered as a product and a sum.
        MulPart::Hi | MulPart::Lo24 | MulPart::Hi24 => return None,
    })
}

/// `sad`: `c + |a - b|`.
pub(crate) fn sad(ty: Type) -> Option<AluFn> {
    Some(match ty {
        Type::U16 => alu!(|a: u16, b: u16, c: u16| -> u16 { c.wrapping_add(a.abs_diff(b)) }),
        Type::S16 => alu!(|a: i16, b: i16, c: u16| -> u16 { c.wrapping_add(a.abs_diff(b)) }),
        Type::U32 => alu!(|a: u32, b: u32, c: u32| -> u32 { c.wrapping_add(a.abs_diff(b)) }),
        Type::S32 => alu!(|a: i32, b: i32, c: u32| -> u32 { c.wrapping_add(a.abs_diff(b)) }),
        Type::U64 => alu!(|a: u64, b: u64, c: u64| -> u64 { c.wrapping_add(a.abs_diff(b)) }),
        Type::S64 => alu!(|a: i64, b: i64, c: u64| -> u64 { c.wrapping_add(a.abs_diff(b)) }),
        _ => return None,
    })
}

/// `dp4a`, `dp2a`.
pub(crate) fn dot_product(part: DotPart, a_signed: bool, b_signed: bool) -> AluFn {
    macro_rules! dot {
        ($factor:ty, $byte:ty, $count:expr, $first:expr) => {
            alu!(|a: u32, b: u32, c: u32| -> u32 {
                (0..$count).fold(c, |sum, i| {
                    let factor = (a >> (i * <$factor>::BITS)) as $factor;
                    let byte = (b >> ((i + $first) * 8)) as $byte;
                    sum.wrapping_add((factor as u32).wrapping_mul(byte as u32))
                })
            })
        };
    }
    macro_rules! signs {
        ($unsigned:ty, $signed:ty, $count:expr, $first:expr) => {
            match (a_signed, b_signed) {
                (false, false) => dot!($unsigned, u8, $count, $first),
                (false, true) => dot!($unsigned, i8, $count, $first),
                (true, false) => dot!($signed, u8, $count, $first),
                (true, true) => dot!($signed, i8, $count, $first),
            }
        };
    }
    match part {
        DotPart::Bytes => signs!(u8, i8, 4, 0),
        DotPart::LowHalves => signs!(u16, i16, 2, 0),
        DotPart::HighHalves => signs!(u16, i16, 2, 2),
    }
}

/// `addc` and `subc`, with the carry in predicate `x`.
///
/// Subtraction adds the complement: it borrows if the carry is clear, and sets the carry if it does
/// not borrow. The ISA does not define the result if a program mixes `addc` and `subc`. The
/// simulator does what ptxas does, because the 128-bit division of nvcc relies on it.
pub(crate) fn with_carry(subtract: bool, wide: bool) -> AluFn {
    match (subtract, wide) {
        (false, false) => {
            alu!(|a: u32, b: u32| [cc: pred] -> u32 { a.wrapping_add(b).wrapping_add(u32::from(cc)) })
        }
        (true, false) => {
            alu!(|a: u32, b: u32| [cc: pred] -> u32 { a.wrapping_add(!b).wrapping_add(u32::from(cc)) })
        }
        (false, true) => {
            alu!(|a: u64, b: u64| [cc: pred] -> u64 { a.wrapping_add(b).wrapping_add(u64::from(cc)) })
        }
        (true, true) => {
            alu!(|a: u64, b: u64| [cc: pred] -> u64 { a.wrapping_add(!b).wrapping_add(u64::from(cc)) })
        }
    }
}

/// Writes the carry out of an addition or subtraction to predicate `d`, from `a`, `b` and the
/// result `c`. If there is a carry in, a comparison of the result with an operand does not give the
/// carry out. It is therefore derived from the top bits.
pub(crate) fn carry_out(subtract: bool, wide: bool) -> AluFn {
    match (subtract, wide) {
        (false, false) => {
            alu!(|a: u32, b: u32, c: u32| -> bool { (a & b | (a | b) & !c) >> 31 == 1 })
        }
        (true, false) => {
            alu!(|a: u32, b: u32, c: u32| -> bool { (a & !b | (a | !b) & !c) >> 31 == 1 })
        }
        (false, true) => {
            alu!(|a: u64, b: u64, c: u64| -> bool { (a & b | (a | b) & !c) >> 63 == 1 })
        }
        (true, true) => {
            alu!(|a: u64, b: u64, c: u64| -> bool { (a & !b | (a | !b) & !c) >> 63 == 1 })
        }
    }
}

/// `abs neg cnot popc clz brev bfind`.
pub(crate) fn unary(op: IntUnaryOp, ty: Type) -> Option<AluFn> {
    Some(match op {
        IntUnaryOp::Abs => match ty {
            Type::S16 => alu!(|a: i16| -> i16 { a.wrapping_abs() }),
            Type::S32 => alu!(|a: i32| -> i32 { a.wrapping_abs() }),
            Type::S64 => alu!(|a: i64| -> i64 { a.wrapping_abs() }),
            _ => return None,
        },
        IntUnaryOp::Neg => by_type!(ty, |a| { a.wrapping_neg() }).by(Rule::Upward),
        IntUnaryOp::Cnot => by_type!(ty, |a| { (a == 0).into() }),
        IntUnaryOp::Popc => match ty.size() {
            4 => alu!(|a: u32| -> u32 { a.count_ones() }),
            8 => alu!(|a: u64| -> u32 { a.count_ones() }),
            _ => return None,
        },
        IntUnaryOp::Clz => match ty.size() {
            4 => alu!(|a: u32| -> u32 { a.leading_zeros() }),
            8 => alu!(|a: u64| -> u32 { a.leading_zeros() }),
            _ => return None,
        },
        IntUnaryOp::Brev => match ty.size() {
            4 => alu!(|a: u32| -> u32 { a.reverse_bits() }),
            8 => alu!(|a: u64| -> u64 { a.reverse_bits() }),
            _ => return None,
        }
        .bitwise(1),
        IntUnaryOp::Bfind => match ty {
            Type::U32 => alu!(|a: u32| -> u32 { 31u32.wrapping_sub(a.leading_zeros()) }),
            Type::S32 => {
                alu!(|a: i32| -> u32 { 31u32.wrapping_sub((a ^ (a >> 31)).leading_zeros()) })
            }
            Type::U64 => alu!(|a: u64| -> u32 { 63u32.wrapping_sub(a.leading_zeros()) }),
            Type::S64 => {
                alu!(|a: i64| -> u32 { 63u32.wrapping_sub((a ^ (a >> 63)).leading_zeros()) })
            }
            _ => return None,
        },
        IntUnaryOp::BfindShiftAmount => match ty {
            Type::U32 => {
                alu!(|a: u32| -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } })
            }
            Type::S32 => alu!(|a: i32| -> u32 {
                let a = a ^ (a >> 31);
                if a == 0 { u32::MAX } else { a.leading_zeros() }
            }),
            Type::U64 => {
                alu!(|a: u64| -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } })
            }
            Type::S64 => alu!(|a: i64| -> u32 {
                let a = a ^ (a >> 63);
                if a == 0 { u32::MAX } else { a.leading_zeros() }
            }),
            _ => return None,
        },
    })
}
