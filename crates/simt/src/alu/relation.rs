//! The comparisons of floats, for every type that can be compared.

macro_rules! floats {
    ($op:expr, $ty:ty, $flush:expr) => {
        match $op {
            CmpOp::Eq => alu!(|a: $ty, b: $ty| -> bool { $flush(a) == $flush(b) }),
            CmpOp::Ne => {
                alu!(|a: $ty, b: $ty| -> bool { $flush(a) < $flush(b) || $flush(a) > $flush(b) })
            }
            CmpOp::Lt => alu!(|a: $ty, b: $ty| -> bool { $flush(a) < $flush(b) }),
            CmpOp::Le => alu!(|a: $ty, b: $ty| -> bool { $flush(a) <= $flush(b) }),
            CmpOp::Gt => alu!(|a: $ty, b: $ty| -> bool { $flush(a) > $flush(b) }),
            CmpOp::Ge => alu!(|a: $ty, b: $ty| -> bool { $flush(a) >= $flush(b) }),
            CmpOp::Equ => {
                alu!(|a: $ty, b: $ty| -> bool { !($flush(a) < $flush(b) || $flush(a) > $flush(b)) })
            }
            CmpOp::Neu => alu!(|a: $ty, b: $ty| -> bool { $flush(a) != $flush(b) }),
            CmpOp::Ltu => {
                alu!(|a: $ty, b: $ty| -> bool { $flush(a) < $flush(b) || a.is_nan() || b.is_nan() })
            }
            CmpOp::Leu => alu!(|a: $ty, b: $ty| -> bool {
                $flush(a) <= $flush(b) || a.is_nan() || b.is_nan()
            }),
            CmpOp::Gtu => {
                alu!(|a: $ty, b: $ty| -> bool { $flush(a) > $flush(b) || a.is_nan() || b.is_nan() })
            }
            CmpOp::Geu => alu!(|a: $ty, b: $ty| -> bool {
                $flush(a) >= $flush(b) || a.is_nan() || b.is_nan()
            }),
            CmpOp::Num => alu!(|a: $ty, b: $ty| -> bool { !a.is_nan() && !b.is_nan() }),
            CmpOp::Nan => alu!(|a: $ty, b: $ty| -> bool { a.is_nan() || b.is_nan() }),
        }
    };
}

pub(crate) use floats;
