//! What `atom` and `red` compute.

use crate::alu::float;
use crate::ptx::ast::{AtomOp, Type};

/// The new value for `old`, both in the low bits. `b` is what [`AtomOp::Cas`] stores.
pub(crate) fn apply(op: AtomOp, ty: Type, old: u64, a: u64, b: u64) -> u64 {
    let wide = ty.size() == 8;
    match op {
        AtomOp::Add => match ty {
            Type::F32 => {
                // `atom.add.f32` on global memory flushes subnormals on hardware; here, as in shared memory, it does not.
                let sum = f32::from_bits(old as u32) + f32::from_bits(a as u32);
                u64::from(float::canonical32(sum).to_bits())
            }
            Type::F64 => float::canonical64(f64::from_bits(old) + f64::from_bits(a)).to_bits(),
            _ => old.wrapping_add(a),
        },
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
