//! The operands of instructions.

use super::id::{FunctionId, RegId};
use super::special::SpecialReg;
use super::types::Type;
use super::variable::VarRef;

/// A predicate register, which may be negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredicateOperand {
    /// A register of type `.pred`.
    pub reg: RegId,
    /// Whether the operand is negated by `!`.
    pub negated: bool,
}

/// A source operand that yields one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A register.
    Reg(RegId),
    /// A number.
    Imm(Imm),
    /// A special register.
    Special(SpecialReg),
    /// The address of a variable in its own state space, plus an offset in bytes.
    Address(VarRef, i64),
    /// The address of a device function.
    Function(FunctionId),
}

/// A number in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imm {
    /// An integer, as 64 bits of two's complement.
    Int(u64),
    /// An `f32`, written as `0f` and eight digits, by its bits.
    F32(u32),
    /// An `f64`, written as `0d` and sixteen digits or as a decimal fraction, by its bits.
    F64(u64),
}

impl Imm {
    /// The bits that an instruction of type `ty` sees, zero-extended to 64.
    ///
    /// Integers are cut to the width of the type, and converted for float types. Floats are
    /// converted between precisions, and keep their bits for other types.
    pub fn bits(self, ty: Type) -> u64 {
        let raw = match (self, ty) {
            (Self::Int(value), Type::F32) => u64::from((value as i64 as f32).to_bits()),
            (Self::Int(value), Type::F64) => (value as i64 as f64).to_bits(),
            (Self::Int(value), _) => value,
            (Self::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Self::F32(bits), _) => u64::from(bits),
            (Self::F64(bits), Type::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
            (Self::F64(bits), _) => bits,
        };
        if ty.bits() >= 64 { raw } else { raw & ((1 << ty.bits()) - 1) }
    }
}

/// A memory operand: `[base+offset]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The base, to which the offset is added.
    pub base: AddressBase,
    /// The offset in bytes.
    pub offset: i64,
}

/// The base of a memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBase {
    /// A register of 64 bits, or of 32 for spaces other than generic and global.
    Reg(RegId),
    /// A variable.
    Var(VarRef),
    /// There is no base: the offset is the whole address.
    Absolute,
}
