//! Comparisons and selection.

use crate::alu::float::flush;
use crate::alu::half;
use crate::alu::relation::floats;
use crate::ptx::ast::{CmpOp, Type};
use crate::registers::{AluFn, alu};

macro_rules! integers {
    ($op:expr, $ty:ty) => {
        match $op {
            CmpOp::Eq => alu!(|a: $ty, b: $ty| -> bool { a == b }),
            CmpOp::Ne => alu!(|a: $ty, b: $ty| -> bool { a != b }),
            CmpOp::Lt => alu!(|a: $ty, b: $ty| -> bool { a < b }),
            CmpOp::Le => alu!(|a: $ty, b: $ty| -> bool { a <= b }),
            CmpOp::Gt => alu!(|a: $ty, b: $ty| -> bool { a > b }),
            CmpOp::Ge => alu!(|a: $ty, b: $ty| -> bool { a >= b }),
            _ => return None,
        }
    };
}

/// `setp`: writes whether `a cmp b` to predicate `d`. For packed types, compares the low halves.
pub(crate) fn compare(op: CmpOp, ty: Type, ftz: bool) -> Option<AluFn> {
    Some(match ty {
        Type::U16 | Type::B16 => integers!(op, u16),
        Type::S16 => integers!(op, i16),
        Type::U32 | Type::B32 => integers!(op, u32),
        Type::S32 => integers!(op, i32),
        Type::U64 | Type::B64 => integers!(op, u64),
        Type::S64 => integers!(op, i64),
        Type::F32 if ftz => floats!(op, f32, flush::<true>),
        Type::F32 => floats!(op, f32, flush::<false>),
        Type::F64 => floats!(op, f64, std::convert::identity),
        _ => return half::compare(op, ty, ftz, false),
    })
}

/// `selp`: `a` in the lanes where predicate `x` holds, and `b` in the others.
pub(crate) fn select(wide: bool) -> AluFn {
    let f = if wide {
        alu!(|a: u64, b: u64| [p: pred] -> u64 { if p { a } else { b } })
    } else {
        alu!(|a: u32, b: u32| [p: pred] -> u32 { if p { a } else { b } })
    };
    f.bitwise(2)
}
