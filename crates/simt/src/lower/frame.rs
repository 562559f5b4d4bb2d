//! One inlined instance of a function, and the places of its symbols.

use crate::ir::{Slot, Space};
use crate::ptx::ast::{self, Function, RegId, Type, VarRef};

/// A declared register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    Value(Slot),
    /// A register of 128 bits: the first of two neighbouring doubles.
    Pair(u32),
    Predicate(u32),
}

/// One inlined instance of a function.
pub(super) struct Frame<'a> {
    pub(super) function: &'a Function,
    pub(super) registers: Vec<Register>,
    /// The offsets of the function's variables in local or shared memory.
    pub(super) variables: Vec<u64>,
    pub(super) params: Vec<(Space, u64)>,
    pub(super) returns: Vec<(Space, u64)>,
    pub(super) is_kernel: bool,
}

/// The space and the offset of a variable in shared, local or parameter space.
pub(super) fn storage(frame: &Frame<'_>, var: VarRef) -> (Space, u64) {
    match var {
        VarRef::Param(index) => frame.params[index as usize],
        VarRef::Return(index) => frame.returns[index as usize],
        VarRef::Function(index) => {
            let shared = frame.function.variables[index as usize].space == ast::Space::Shared;
            let space = if shared { Space::Shared } else { Space::Local };
            (space, frame.variables[index as usize])
        }
        VarRef::Module(_) => (Space::Global, 0),
    }
}

/// The untyped type that has the same width as `ty`.
pub(super) fn unsigned(ty: Type) -> Type {
    match ty.size() {
        1 => Type::B8,
        2 => Type::B16,
        4 => Type::B32,
        _ => Type::B64,
    }
}

pub(super) fn slot(wide: bool, register: u32) -> Slot {
    if wide { Slot::Double(register) } else { Slot::Word(register) }
}

pub(super) fn index(slot: Slot) -> u32 {
    match slot {
        Slot::Word(register) | Slot::Double(register) => register,
    }
}

/// The slot of a declared register that holds a value. The validator has refused predicates here.
pub(super) fn target(frame: &Frame<'_>, reg: RegId) -> Slot {
    match frame.registers[reg.index()] {
        Register::Value(slot) => slot,
        Register::Pair(_) | Register::Predicate(_) => {
            unreachable!("the validator lets neither a predicate nor 128 bits stand for a value")
        }
    }
}

/// The number of a declared predicate.
pub(super) fn predicate(frame: &Frame<'_>, reg: RegId) -> u32 {
    match frame.registers[reg.index()] {
        Register::Predicate(predicate) => predicate,
        Register::Value(_) | Register::Pair(_) => {
            unreachable!("the validator lets no value stand for a predicate")
        }
    }
}

/// The first of the two doubles of a declared register of 128 bits.
pub(super) fn pair(frame: &Frame<'_>, reg: RegId) -> u32 {
    match frame.registers[reg.index()] {
        Register::Pair(first) => first,
        Register::Value(_) | Register::Predicate(_) => {
            unreachable!("the validator has compared the types")
        }
    }
}
