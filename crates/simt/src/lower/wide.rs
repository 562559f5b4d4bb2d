//! Lowering of instructions on 128 bits. A register of 128 bits is two neighbouring doubles, of
//! which the first one holds the low half.

use super::frame::{Frame, index, pair};
use super::lowering::{Lowering, Result};
use crate::alu::bits;
use crate::ir::{self, Op, Slot};
use crate::ptx::ast::{self, Ordering, RegId, Type, Value};
use crate::registers::Operands;

pub(super) fn is_wide(op: &ast::Op) -> bool {
    use ast::Op as A;
    match op {
        A::Mov { ty, .. }
        | A::Pack { ty, .. }
        | A::Unpack { ty, .. }
        | A::Ld { ty, .. }
        | A::St { ty, .. }
        | A::Atom { ty, .. } => *ty == Type::B128,
        _ => false,
    }
}

impl<'a> Lowering<'a> {
    /// The first half of a register operand.
    fn half(&self, frame: &Frame<'a>, value: Value) -> Result<u32> {
        match value {
            Value::Reg(reg) => Ok(pair(frame, reg)),
            _ => self.refuse("a register of 128 bits is needed"),
        }
    }

    fn copy_double(&mut self, d: u32, a: u32) {
        let operands = Operands { d, a, ..Operands::default() };
        self.emit_lifted(bits::copy(true), operands);
    }

    pub(super) fn wide(&mut self, frame: &Frame<'a>, op: &'a ast::Op) -> Result<()> {
        use ast::Op as A;
        let halves = |first: u32| [Slot::Double(first), Slot::Double(first + 1)];
        match *op {
            A::Mov { dst, src, .. } => {
                let (d, a) = (pair(frame, dst), self.half(frame, src)?);
                self.copy_double(d, a);
                self.copy_double(d + 1, a + 1);
            }
            A::Pack { dst, ref src, .. } => {
                for (d, value) in (pair(frame, dst)..).zip(src) {
                    let a = index(self.value(frame, *value, Type::B64)?);
                    self.copy_double(d, a);
                }
            }
            A::Unpack { ref dst, src, .. } => {
                for (a, dst) in (self.half(frame, src)?..).zip(dst) {
                    let Some(dst) = *dst else { continue };
                    let operands = Operands { a, ..Operands::default() };
                    self.alu_slots(frame, Some(bits::copy(true)), (dst, Type::B64), operands)?;
                }
            }
            A::Ld { space: written, ordering, ref dst, addr, .. } => {
                self.check_order(ordering)?;
                let (space, address) = self.address(frame, written, addr)?;
                let targets = |dst: &Option<RegId>| match *dst {
                    Some(dst) => {
                        halves(pair(frame, dst)).map(|slot| Some(ir::Target { slot, bits: 64 }))
                    }
                    None => [None; 2],
                };
                let targets = dst.iter().flat_map(targets).collect();
                let (width, signed) = (8, false);
                let load = ir::Load { space, address, width, signed, ordering, written, targets };
                self.emit(Op::Load(Box::new(load)));
            }
            A::St { space: written, ordering, addr, ref src, .. } => {
                self.check_order(ordering)?;
                let (space, address) = self.address(frame, written, addr)?;
                let mut sources = Vec::new();
                for value in src {
                    sources.extend(halves(self.half(frame, *value)?));
                }
                let store = ir::Store { space, address, width: 8, ordering, written, sources };
                self.emit(Op::Store(Box::new(store)));
            }
            A::Atom { op, ordering, space, ty, dst, addr, a, b } => {
                let (space, address) = self.address(frame, space, addr)?;
                let a = Slot::Double(self.half(frame, a)?);
                let b = b.map(|b| self.half(frame, b)).transpose()?.map(Slot::Double);
                let target = dst.map(|dst| Slot::Double(pair(frame, dst)));
                let more = Vec::new();
                let atomic = ir::Atomic { space, address, op, ty, ordering, target, a, b, more };
                self.emit(Op::Atomic(Box::new(atomic)));
            }
            _ => return self.refuse("this form of the instruction is not simulated"),
        }
        Ok(())
    }

    /// Refuses strong loads and stores, which must be indivisible. Here they would be two accesses.
    fn check_order(&self, ordering: Ordering) -> Result<()> {
        if matches!(ordering, Ordering::Weak | Ordering::Volatile) {
            return Ok(());
        }
        self.refuse("strong loads and stores of 128 bits are not simulated")
    }
}
