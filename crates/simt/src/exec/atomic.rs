//! The values that `atom` and `red` compute.

use crate::alu::{float, half};
use crate::ptx::ast::{AtomOp, Type};

/// The value that replaces `old`; both are in the low bits. `b` is the value that [`AtomOp::Cas`]
/// stores. `add.f32` flushes subnormals to zero in global memory, and does not in shared memory
/// (PTX ISA, "atom").
pub(crate) fn apply(op: AtomOp, ty: Type, global: bool, old: u64, a: u64, b: u64) -> u64 {
    let wide = ty.size() == 8;
    match op {
        AtomOp::Add => match ty {
            Type::F32 => {
                let flush = if global { float::flush::<true> } else { float::flush::<false> };
                let sum = flush(f32::from_bits(old as u32)) + flush(f32::from_bits(a as u32));
                u64::from(float::canonical32(flush(sum)).to_bits())
            }
            Type::F64 => {
                let (old, a) = (f64::from_bits(old), f64::from_bits(a));
                float::propagate64(old + a, &[old, a]).to_bits()
            }
            _ if ty.is_half() => half::atomic_sum(ty, old as u32, a as u32).into(),
            _ => old.wrapping_add(a),
        },
        AtomOp::Min | AtomOp::Max if ty.is_half() => {
            half::atomic_extreme(ty, old as u32, a as u32, op == AtomOp::Max).into()
        }
        AtomOp::Min | AtomOp::Max => {
            let less = match ty {
                Type::S32 => (old as i32) < a as i32,
                Type::S64 => (old as i64) < a as i64,
                _ if wide => old < a,
                _ => (old as u32) < a as u32,
            };
            if less == (op == AtomOp::Min) { old } else { a }
        }
        AtomOp::And => old & a,
        AtomOp::Or => old | a,
        AtomOp::Xor => old ^ a,
        AtomOp::Inc => {
            if old as u32 >= a as u32 {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old as u32 == 0 || old as u32 > a as u32 {
                a
            } else {
                old - 1
            }
        }
        AtomOp::Exch => a,
        AtomOp::Cas => {
            let same = match ty.size() {
                8 => old == a,
                4 => old as u32 == a as u32,
                _ => old as u16 == a as u16,
            };
            if same { b } else { old }
        }
    }
}
