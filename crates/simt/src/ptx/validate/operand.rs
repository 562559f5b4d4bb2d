//! The rules for single operands (PTX ISA 9.2 and 9.4).

use super::super::ast::{
    Address, AddressBase, Imm, PredicateOperand, RegId, Space, Type, Value, VarRef,
};
use super::super::diagnostic::Result;
use super::Checker;

/// Whether an operand of an instruction of type `ty` may be a register of type `reg`.
fn fits(ty: Type, reg: Type) -> bool {
    if ty == Type::Pred || reg == Type::Pred {
        return ty == reg;
    }
    let agree = ty.is_untyped() || reg.is_untyped() || ty == reg;
    let alike = ty.is_float() == reg.is_float() && !ty.is_half() && !reg.is_half();
    (agree || alike) && ty.bits() == reg.bits()
}

/// Like [`fits`], but for `ld`, `st` and `cvt`, whose integer registers may be wider than the type.
fn fits_relaxed(ty: Type, reg: Type) -> bool {
    if ty == Type::Pred || reg == Type::Pred {
        return false;
    }
    let narrows = if reg.is_float() { ty.is_untyped() } else { !ty.is_float() || ty.is_half() };
    fits(ty, reg) || narrows && reg.bits() > ty.bits() && reg != Type::B128
}

impl Checker<'_> {
    fn mismatch(&self, reg: RegId, ty: Type) -> Result<()> {
        let register = &self.function.registers[reg.index()];
        self.fail(format!("register `{}` is {} where {ty} is needed", register.name, register.ty))
    }

    pub(super) fn reg(&self, reg: RegId, ty: Type) -> Result<()> {
        if fits(ty, self.function.reg_type(reg)) { Ok(()) } else { self.mismatch(reg, ty) }
    }

    pub(super) fn maybe_reg(&self, reg: Option<RegId>, ty: Type) -> Result<()> {
        reg.map_or(Ok(()), |reg| self.reg(reg, ty))
    }

    pub(super) fn reg_relaxed(&self, reg: RegId, ty: Type) -> Result<()> {
        if fits_relaxed(ty, self.function.reg_type(reg)) { Ok(()) } else { self.mismatch(reg, ty) }
    }

    pub(super) fn predicate(&self, operand: PredicateOperand) -> Result<()> {
        self.reg(operand.reg, Type::Pred)
    }

    /// Checks a source operand of the instruction's type.
    pub(super) fn value(&self, value: Value, ty: Type) -> Result<()> {
        match value {
            Value::Reg(reg) => self.reg(reg, ty),
            other => self.constant(other, ty),
        }
    }

    pub(super) fn values<const N: usize>(&self, values: [Value; N], ty: Type) -> Result<()> {
        values.into_iter().try_for_each(|value| self.value(value, ty))
    }

    pub(super) fn value_relaxed(&self, value: Value, ty: Type) -> Result<()> {
        match value {
            Value::Reg(reg) => self.reg_relaxed(reg, ty),
            other => self.constant(other, ty),
        }
    }

    /// Checks a source operand that is not a register.
    fn constant(&self, value: Value, ty: Type) -> Result<()> {
        match value {
            Value::Imm(_) if ty.is_half() || ty == Type::B128 => {
                self.fail(format!("a number stands where a register with {ty} is needed"))
            }
            Value::Imm(Imm::Int(_)) if ty.is_float() => {
                self.fail(format!("an integer stands where {ty} is needed"))
            }
            Value::Imm(Imm::F32(_) | Imm::F64(_)) if !ty.is_float() && !ty.is_untyped() => {
                self.fail(format!("a floating-point number stands where {ty} is needed"))
            }
            Value::Special(_) => {
                self.fail("a special register can only be read by `mov` and `cvt`")
            }
            Value::Address(var, _) => self.symbol(var, ty),
            Value::Function(function) => {
                let function = &self.module.functions[function.index()];
                let name = &function.name;
                if function.is_entry() {
                    return self
                        .unknown(format!("`{name}` is a kernel, whose address cannot be used"));
                }
                if ty.bits() == 64 && !ty.is_float() {
                    return Ok(());
                }
                self.fail(format!("the address of function `{name}` does not fit {ty}"))
            }
            Value::Reg(_) | Value::Imm(_) => Ok(()),
        }
    }

    /// Checks the address of a variable that is used as a value.
    fn symbol(&self, var: VarRef, ty: Type) -> Result<()> {
        let space = self.module.space_of(self.function, var);
        let is_wide = ty.bits() == 64 || ty.bits() == 32 && space != Space::Global;
        if is_wide && !ty.is_float() {
            return Ok(());
        }
        let name = self.module.name_of(self.function, var);
        self.fail(format!("the address of `{name}` does not fit {ty}"))
    }

    /// Checks the address of an access of `size` bytes in all.
    pub(super) fn address(
        &self,
        addr: Address,
        space: Space,
        size: u64,
        writes: bool,
    ) -> Result<()> {
        if writes && space == Space::Const {
            return self.fail("the .const space cannot be written");
        }
        match addr.base {
            AddressBase::Absolute => Ok(()),
            AddressBase::Reg(reg) => {
                let ty = self.function.reg_type(reg);
                let is_short = ty.bits() == 32 && !matches!(space, Space::Generic | Space::Global);
                if ty != Type::Pred && !ty.is_float() && (ty.bits() == 64 || is_short) {
                    return Ok(());
                }
                let name = &self.function.registers[reg.index()].name;
                self.fail(format!(
                    "register `{name}` of type {ty} cannot address the {} space",
                    space.name()
                ))
            }
            AddressBase::Var(var) => {
                let own = self.module.space_of(self.function, var);
                let name = self.module.name_of(self.function, var);
                let contained =
                    [(Space::Global, Space::Generic), (Space::Shared, Space::SharedCluster)];
                if own != space && !contained.contains(&(own, space)) {
                    let space = space.name();
                    return self.fail(format!(
                        "`{name}` is in the {} space, not in the {space} space",
                        own.name()
                    ));
                }
                if own == Space::Param {
                    self.param_access(var, addr.offset, size, writes)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Checks that an access to a parameter by name stays inside the parameter.
    fn param_access(&self, var: VarRef, offset: i64, size: u64, writes: bool) -> Result<()> {
        let name = self.module.name_of(self.function, var);
        if writes && matches!(var, VarRef::Param(_)) {
            return self.fail(format!("parameter `{name}` cannot be written"));
        }
        let declared = match self.function.param(var) {
            Some(param) => param.size(),
            None => self
                .module
                .variable(self.function, var)
                .map_or(0, super::super::ast::Variable::size),
        };
        let is_inside = u64::try_from(offset)
            .is_ok_and(|start| start.checked_add(size).is_some_and(|end| end <= declared));
        if !is_inside {
            return self.fail(format!(
                "{size} bytes at offset {offset} leave `{name}`, which has {declared} bytes"
            ));
        }
        if !(offset as u64).is_multiple_of(size) {
            return self.fail(format!(
                "offset {offset} in `{name}` is not a multiple of the access's {size} bytes"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Type::{B8, B32, B64, F32, F64, Pred, S32, U8, U16, U32, U64};

    #[test]
    fn operands_agree_in_size_and_kind() {
        for (ty, reg) in [(U32, S32), (U32, B32), (F32, B32), (B32, F32), (Pred, Pred), (B64, F64)]
        {
            assert!(fits(ty, reg), "{ty} {reg}");
        }
        for (ty, reg) in [(U32, F32), (F32, U32), (U32, U64), (U32, U16), (Pred, B8), (B8, Pred)] {
            assert!(!fits(ty, reg), "{ty} {reg}");
        }
    }

    #[test]
    fn wider_registers_only_hold_integers() {
        for (ty, reg) in [(U8, U32), (B8, F32), (U32, B64), (B32, F64), (F32, B32)] {
            assert!(fits_relaxed(ty, reg), "{ty} {reg}");
        }
        for (ty, reg) in [(U8, F32), (F32, F64), (F32, B64), (U64, U32), (B8, Pred)] {
            assert!(!fits_relaxed(ty, reg), "{ty} {reg}");
        }
    }
}
