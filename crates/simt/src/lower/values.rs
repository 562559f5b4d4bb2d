//! Values: the registers that hold operands, constants and addresses, and arithmetic on them.

use super::frame::{Frame, Register, index, slot, storage, target, unsigned};
use super::lowering::{Lowering, Result};
use crate::alu::bits;
use crate::ir::layout::function_address;
use crate::ir::{Init, Op, Slot};
use crate::ptx::ast::{self, RegId, SpecialReg, Type, Value, VarRef};
use crate::registers::{AluFn, Operands};

impl<'a> Lowering<'a> {
    pub(super) fn predicate(&mut self) -> u32 {
        self.predicates += 1;
        self.predicates - 1
    }

    /// A fresh register wide enough for a type.
    pub(super) fn temporary(&mut self, ty: Type) -> Slot {
        if ty.size() == 8 {
            self.doubles += 1;
            Slot::Double(self.doubles - 1)
        } else {
            self.words += 1;
            Slot::Word(self.words - 1)
        }
    }

    /// The register that holds a constant value, which no instruction writes.
    pub(super) fn known(&mut self, wide: bool, init: Init) -> Slot {
        if let Some(&register) = self.known.get(&(wide, init)) {
            return slot(wide, register);
        }
        let fresh = self.temporary(if wide { Type::B64 } else { Type::B32 });
        let (values, register) = match fresh {
            Slot::Double(register) => (&mut self.double_values, register),
            Slot::Word(register) => (&mut self.word_values, register),
        };
        values.push((register, init));
        self.known.insert((wide, init), register);
        fresh
    }

    pub(super) fn constant(&mut self, bits: u64, ty: Type) -> Slot {
        self.known(ty.size() == 8, Init::Const(bits))
    }

    pub(super) fn special(&mut self, special: SpecialReg) -> Slot {
        let ty = special.ty();
        let shift = match special {
            SpecialReg::Clock
            | SpecialReg::Clock64
            | SpecialReg::GlobalTimer
            | SpecialReg::GlobalTimerLo => 0,
            SpecialReg::ClockHi | SpecialReg::GlobalTimerHi => 32,
            _ => return self.known(ty.size() == 8, Init::Special(special)),
        };
        let target = self.temporary(ty);
        self.emit(Op::Clock { target, shift });
        target
    }

    /// A register with the address of a variable plus an offset, in the variable's own space.
    pub(super) fn address_of(
        &mut self,
        frame: &Frame<'a>,
        var: VarRef,
        offset: i64,
        wide: bool,
    ) -> Result<Slot> {
        if let Some(variable) = self.module.variable(frame.function, var) {
            if variable.is_dynamic_shared() {
                let register = self.temporary(if wide { Type::B64 } else { Type::B32 });
                self.dynamic.push((wide, index(register), offset));
                return Ok(register);
            }
            if let VarRef::Module(number) = var {
                match variable.space {
                    ast::Space::Shared => {
                        let at = match self.shared.get(&number) {
                            Some(at) => *at,
                            None => {
                                self.place_shared(variable.size(), u64::from(variable.align))?
                            }
                        };
                        self.shared.insert(number, at);
                        return Ok(self.known(wide, Init::Const(at.wrapping_add_signed(offset))));
                    }
                    ast::Space::Global | ast::Space::Const if variable.size() > 0 => {
                        return Ok(self.known(wide, Init::Variable(number, offset)));
                    }
                    space => {
                        let name = &variable.name;
                        return self.refuse(format!(
                            ".{} variable `{name}` without storage here",
                            space.name()
                        ));
                    }
                }
            }
        }
        let (_, at) = storage(frame, var);
        Ok(self.known(wide, Init::Const(at.wrapping_add_signed(offset))))
    }

    /// A register with the value of an operand. The register is as wide as `ty` requires.
    pub(super) fn value(&mut self, frame: &Frame<'a>, value: Value, ty: Type) -> Result<Slot> {
        let wide = ty.size() == 8;
        let (found, found_ty) = match value {
            Value::Reg(reg) => match frame.registers[reg.index()] {
                Register::Value(found) => (found, frame.function.reg_type(reg)),
                Register::Pair(_) | Register::Predicate(_) => {
                    return self.refuse("a predicate or 128 bits where a value is needed");
                }
            },
            Value::Imm(imm) => return Ok(self.constant(imm.bits(ty), ty)),
            Value::Special(special) => (self.special(special), special.ty()),
            Value::Address(var, offset) => return self.address_of(frame, var, offset, wide),
            Value::Function(id) => return Ok(self.constant(function_address(id.0), ty)),
        };
        if matches!(found, Slot::Double(_)) == wide {
            return Ok(found);
        }
        let fresh = self.temporary(ty);
        let f = bits::resize(unsigned(found_ty), ty.bits());
        let operands = Operands { d: index(fresh), a: index(found), ..Operands::default() };
        self.emit_lifted(f, operands);
        Ok(fresh)
    }

    /// Emits arithmetic into a declared register. If the register is wider than the result, the
    /// result is extended.
    pub(super) fn alu(
        &mut self,
        frame: &Frame<'a>,
        f: Option<AluFn>,
        (dst, ty): (RegId, Type),
        sources: &[(Value, Type)],
        x: u32,
    ) -> Result<()> {
        let mut operands = Operands { x, ..Operands::default() };
        for (i, (value, ty)) in sources.iter().enumerate() {
            let source = index(self.value(frame, *value, *ty)?);
            *[&mut operands.a, &mut operands.b, &mut operands.c, &mut operands.x][i] = source;
        }
        self.alu_slots(frame, f, (dst, ty), operands)
    }

    /// [`Lowering::alu`] with sources that are registers already.
    pub(super) fn alu_slots(
        &mut self,
        frame: &Frame<'a>,
        f: Option<AluFn>,
        (dst, ty): (RegId, Type),
        mut operands: Operands,
    ) -> Result<()> {
        let target = target(frame, dst);
        let bits = frame.function.reg_type(dst).bits();
        if bits <= ty.bits() {
            operands.d = index(target);
            return self.emit_alu(f, operands);
        }
        let narrow = index(self.temporary(ty));
        operands.d = narrow;
        self.emit_alu(f, operands)?;
        let extend = bits::resize(ty, bits);
        let operands = Operands { d: index(target), a: narrow, ..Operands::default() };
        self.emit_lifted(extend, operands);
        Ok(())
    }
}
