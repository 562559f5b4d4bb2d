//! Lowering of operands, and of instructions that take several steps.

use super::frame::{Frame, index, predicate, storage, target};
use super::lowering::{Lowering, Result};
use crate::alu::{bits, compare, half, int};
use crate::ir::{self, Init, Op, Slot, Space};
use crate::ptx::ast::{
    self, Address, AddressBase, CarryOp, CmpOp, Combine, IntBinaryOp, LogicOp, Ordering, RegId,
    Type, Value,
};
use crate::registers::{AluFn, Operands};

impl<'a> Lowering<'a> {
    /// The slots of a memory operand, and the space that is known for it.
    pub(super) fn address(
        &mut self,
        frame: &Frame<'a>,
        space: ast::Space,
        address: Address,
    ) -> Result<(Space, ir::Address)> {
        let Address { base, offset } = address;
        let own = match base {
            AddressBase::Var(var) => self.module.space_of(frame.function, var),
            _ => space,
        };
        let ir_space = match own {
            ast::Space::Generic => Space::Generic,
            ast::Space::Global | ast::Space::Const => Space::Global,
            ast::Space::Shared => Space::Shared,
            ast::Space::SharedCluster => Space::Cluster,
            ast::Space::Local => Space::Local,
            ast::Space::Param => match base {
                AddressBase::Var(var) => storage(frame, var).0,
                _ if frame.is_kernel => Space::Param,
                _ => Space::Local,
            },
        };
        let (base, offset) = match base {
            AddressBase::Reg(reg) => (target(frame, reg), offset),
            AddressBase::Var(var) => (self.address_of(frame, var, offset, true)?, 0),
            AddressBase::Absolute => (self.constant(offset as u64, Type::B64), 0),
        };
        Ok((ir_space, ir::Address { base, offset }))
    }

    /// The slot of a stored value. Its register may have any width.
    pub(super) fn any_width(&mut self, frame: &Frame<'a>, value: Value, ty: Type) -> Result<Slot> {
        match value {
            Value::Reg(reg) => Ok(target(frame, reg)),
            _ => self.value(frame, value, ty),
        }
    }

    pub(super) fn local_store(
        &mut self,
        frame: &Frame<'a>,
        value: Value,
        ty: Type,
        at: u64,
    ) -> Result<()> {
        let source = self.any_width(frame, value, ty)?;
        let address = ir::Address { base: self.constant(at, Type::B64), offset: 0 };
        let (space, written) = (Space::Local, ast::Space::Param);
        let (width, ordering, sources) = (ty.size(), Ordering::Weak, vec![source]);
        self.emit(Op::Store(Box::new(ir::Store {
            space,
            address,
            width,
            ordering,
            written,
            sources,
        })));
        Ok(())
    }

    pub(super) fn local_load(&mut self, frame: &Frame<'a>, reg: RegId, ty: Type, at: u64) {
        let address = ir::Address { base: self.constant(at, Type::B64), offset: 0 };
        let filled =
            ir::Target { slot: target(frame, reg), bits: frame.function.reg_type(reg).bits() };
        let (space, width, signed) = (Space::Local, ty.size(), ty.is_signed());
        let (ordering, written, targets) = (Ordering::Weak, ast::Space::Param, vec![Some(filled)]);
        self.emit(Op::Load(Box::new(ir::Load {
            space,
            address,
            width,
            signed,
            ordering,
            written,
            targets,
        })));
    }

    pub(super) fn pack(
        &mut self,
        frame: &Frame<'a>,
        ty: Type,
        dst: RegId,
        src: &[Value],
    ) -> Result<()> {
        let width = ty.bits() / src.len() as u32;
        let part = element(width);
        let wide = ty.size() == 8;
        let mut parts = Vec::new();
        for value in src {
            parts.push(index(self.value(frame, *value, part)?));
        }
        let mut d = index(self.temporary(ty));
        let first = bits::resize(part, if wide { 64 } else { 32 });
        self.emit_alu(Some(first), Operands { d, a: parts[0], ..Operands::default() })?;
        for (i, b) in parts.iter().enumerate().skip(1) {
            let operands = Operands { a: d, b: *b, x: i as u32 * width, ..Operands::default() };
            if i + 1 == parts.len() {
                return self.alu_slots(frame, Some(bits::pack(wide)), (dst, ty), operands);
            }
            d = index(self.temporary(ty));
            self.emit_alu(Some(bits::pack(wide)), Operands { d, ..operands })?;
        }
        self.alu_slots(
            frame,
            Some(bits::copy(wide)),
            (dst, ty),
            Operands { a: d, ..Operands::default() },
        )
    }

    /// `add` or `sub` of registers `a` and `b` with the carry flag.
    pub(super) fn carry(
        &mut self,
        frame: &Frame<'a>,
        op: CarryOp,
        (ty, dst): (Type, RegId),
        (carry_in, carry_out): (bool, bool),
        (a, b): (u32, u32),
    ) -> Result<()> {
        let (subtract, wide) = (op == CarryOp::Sub, ty.size() == 8);
        let flag = if let Some(flag) = self.carry {
            flag
        } else {
            let flag = self.predicate();
            self.zeroed_predicates.push(flag);
            self.carry = Some(flag);
            flag
        };
        let c = index(self.temporary(ty));
        let plain = if subtract { IntBinaryOp::Sub } else { IntBinaryOp::Add };
        let f = if carry_in {
            Some(int::with_carry(subtract, wide))
        } else {
            int::binary(plain, ty, false)
        };
        self.emit_alu(f, Operands { d: c, a, b, x: flag, ..Operands::default() })?;
        if carry_out {
            let operands = Operands { d: flag, a, b, c, ..Operands::default() };
            self.emit_alu(Some(int::carry_out(subtract, wide)), operands)?;
        }
        self.alu_slots(
            frame,
            Some(bits::copy(wide)),
            (dst, ty),
            Operands { a: c, ..Operands::default() },
        )
    }

    /// A predicate operand. A constant becomes a predicate by a comparison.
    pub(super) fn predicate_value(&mut self, frame: &Frame<'a>, value: Value) -> Result<u32> {
        match value {
            Value::Reg(reg) => Ok(predicate(frame, reg)),
            Value::Imm(imm) => {
                let (a, b) =
                    (self.constant(imm.bits(Type::B32), Type::B32), self.constant(0, Type::B32));
                let d = self.predicate();
                let operands = Operands { d, a: index(a), b: index(b), ..Operands::default() };
                self.emit_alu(compare::compare(CmpOp::Ne, Type::U32, false), operands)?;
                Ok(d)
            }
            Value::Special(special) if special.ty() == Type::Pred => {
                let (a, b) =
                    (self.known(false, Init::Special(special)), self.constant(0, Type::B32));
                let d = self.predicate();
                let operands = Operands { d, a: index(a), b: index(b), ..Operands::default() };
                self.emit_alu(compare::compare(CmpOp::Ne, Type::U32, false), operands)?;
                Ok(d)
            }
            Value::Special(_) | Value::Address(..) | Value::Function(_) => {
                self.refuse("a predicate must be a register or a number")
            }
        }
    }

    /// `d = a op b`, where `a` and `b` may each be negated.
    pub(super) fn combine_predicates(
        &mut self,
        op: LogicOp,
        d: u32,
        a: (u32, bool),
        b: (u32, bool),
    ) {
        let x = u32::from(a.1) | u32::from(b.1) << 1;
        let operands = Operands { d, a: a.0, b: b.0, x, ..Operands::default() };
        self.emit_lifted(bits::predicate_logic(op), operands);
    }

    /// A comparison into a fresh predicate.
    pub(super) fn compare(
        &mut self,
        frame: &Frame<'a>,
        (cmp, ty, ftz): (CmpOp, Type, bool),
        values: [Value; 2],
    ) -> Result<u32> {
        self.compare_with(frame, compare::compare(cmp, ty, ftz), ty, values)
    }

    fn compare_with(
        &mut self,
        frame: &Frame<'a>,
        f: Option<AluFn>,
        ty: Type,
        [a, b]: [Value; 2],
    ) -> Result<u32> {
        let (a, b) = (index(self.value(frame, a, ty)?), index(self.value(frame, b, ty)?));
        let d = self.predicate();
        self.emit_alu(f, Operands { d, a, b, ..Operands::default() })?;
        Ok(d)
    }

    pub(super) fn set(
        &mut self,
        frame: &Frame<'a>,
        comparison: (CmpOp, Type, bool),
        combine: Option<Combine>,
        (dst, dst_ty): (RegId, Type),
        values: [Value; 2],
    ) -> Result<()> {
        let (cmp, ty, ftz) = comparison;
        let yes = match dst_ty {
            Type::F32 => 1f32.to_bits(),
            Type::F16 | Type::F16x2 => 0x3c00,
            Type::Bf16 | Type::Bf16x2 => 0x3f80,
            _ if ty.is_packed() || dst_ty.size() == 2 => 0xffff,
            _ => u32::MAX,
        };
        let zero = index(self.constant(0, Type::B32));
        let mut halves = vec![(self.compare(frame, comparison, values)?, yes)];
        if ty.is_packed() {
            halves.push((
                self.compare_with(frame, half::compare(cmp, ty, ftz, true), ty, values)?,
                yes << 16,
            ));
        }
        let mut parts = Vec::new();
        for (holds, yes) in halves {
            if let Some(Combine { op, with }) = combine {
                let with = (predicate(frame, with.reg), with.negated);
                self.combine_predicates(op, holds, (holds, false), with);
            }
            let a = index(self.constant(yes.into(), Type::B32));
            parts.push(Operands { a, b: zero, x: holds, ..Operands::default() });
        }
        let select = Some(compare::select(false));
        let [low, high] = parts[..] else {
            return self.alu_slots(frame, select, (dst, dst_ty), parts[0]);
        };
        let (a, b) = (index(self.temporary(Type::B32)), index(self.temporary(Type::B32)));
        self.emit_alu(select, Operands { d: a, ..low })?;
        self.emit_alu(select, Operands { d: b, ..high })?;
        let join = Some(bits::logic(LogicOp::Or, false));
        self.alu_slots(frame, join, (dst, dst_ty), Operands { a, b, ..Operands::default() })
    }

    pub(super) fn setp(
        &mut self,
        frame: &Frame<'a>,
        comparison: (CmpOp, Type, bool),
        combine: Option<Combine>,
        [dst, complement]: [Option<RegId>; 2],
        values: [Value; 2],
    ) -> Result<()> {
        if let (None, None, Some(dst)) = (combine, complement, dst) {
            let (cmp, ty, ftz) = comparison;
            let (a, b) = (self.value(frame, values[0], ty)?, self.value(frame, values[1], ty)?);
            let operands = Operands {
                d: predicate(frame, dst),
                a: index(a),
                b: index(b),
                ..Operands::default()
            };
            return self.emit_alu(compare::compare(cmp, ty, ftz), operands);
        }
        let (cmp, ty, ftz) = comparison;
        let holds = self.compare(frame, comparison, values)?;
        // For packed types, the second result is the comparison of the high halves.
        let second = if ty.is_packed() && complement.is_some() {
            (self.compare_with(frame, half::compare(cmp, ty, ftz, true), ty, values)?, false)
        } else {
            (holds, true)
        };
        // Both results are computed before either is written, because a destination may also be a
        // source or the guard.
        let mut results = Vec::new();
        for (dst, (holds, negated)) in [(dst, (holds, false)), (complement, second)] {
            let Some(dst) = dst else { continue };
            let result = self.predicate();
            match combine {
                Some(Combine { op, with }) => {
                    let with = (predicate(frame, with.reg), with.negated);
                    self.combine_predicates(op, result, (holds, negated), with);
                }
                None => {
                    self.combine_predicates(
                        LogicOp::Or,
                        result,
                        (holds, negated),
                        (holds, negated),
                    );
                }
            }
            results.push((predicate(frame, dst), result));
        }
        results.sort_by_key(|(dst, _)| *dst == self.guard.register);
        for (dst, result) in results {
            self.combine_predicates(LogicOp::Or, dst, (result, false), (result, false));
        }
        Ok(())
    }
}

/// The type of the parts that `mov` packs and unpacks.
pub(super) fn element(bits: u32) -> Type {
    match bits {
        8 => Type::B8,
        16 => Type::B16,
        _ => Type::B32,
    }
}
