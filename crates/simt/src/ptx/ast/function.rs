//! Functions: kernels and device functions, their parameters and instructions.

use super::id::{LocationId, RegId, Span, Target};
use super::op::Op;
use super::operand::PredicateOperand;
use super::types::{Space, Type};
use super::variable::{Linkage, VarRef, Variable};

/// Whether a function can be launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: a device function.
    Func,
}

/// A kernel or a device function.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// How it links.
    pub linkage: Linkage,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Return parameters, of device functions only; at most one.
    pub returns: Vec<Param>,
    /// `.maxntid` and the like.
    pub limits: Limits,
    /// `.noreturn`
    pub noreturn: bool,
    /// Declared registers. `%r<5>` declares five.
    pub registers: Vec<Register>,
    /// Variables declared in the body: `.local`, `.shared`, and the `.param` scratch of calls.
    pub variables: Vec<Variable>,
    /// Whether a body was given. Without, it is a prototype and `body` is empty.
    pub defined: bool,
    /// Instructions. A defined body is never empty and ends with one that does not fall through: where the text has
    /// none, the parser adds a `ret` with the span of the closing brace.
    pub body: Vec<Instruction>,
    /// Labels, in order of appearance. For reports; branches carry their target.
    pub labels: Vec<Label>,
    /// The header.
    pub span: Span,
}

impl Function {
    /// The parameter or return parameter that a reference names.
    pub fn param(&self, var: VarRef) -> Option<&Param> {
        match var {
            VarRef::Param(index) => self.params.get(index as usize),
            VarRef::Return(index) => self.returns.get(index as usize),
            VarRef::Module(_) | VarRef::Function(_) => None,
        }
    }

    /// The declared type of a register.
    ///
    /// # Panics
    /// If the register is of another function.
    pub fn reg_type(&self, reg: RegId) -> Type {
        self.registers[reg.index()].ty
    }

    /// Whether it is a kernel.
    pub fn is_entry(&self) -> bool {
        self.kind == FunctionKind::Entry
    }

    /// Whether it is the system's `__assertfail`, which has no body and can be called all the same.
    pub fn is_assert_fail(&self) -> bool {
        !self.defined && self.name == "__assertfail"
    }
}

/// A parameter of a function: storage in the `.param` space.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// `None`: a scalar. `Some(n)`: an array of n elements (a structure passed by value).
    pub count: Option<u64>,
    /// In bytes, a power of two.
    pub align: u32,
    /// `.ptr`: the parameter is a pointer, with what it points to.
    pub pointer: Option<PointerInfo>,
    /// The declaration.
    pub span: Span,
}

impl Param {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        u64::from(self.ty.size()) * self.count.unwrap_or(1)
    }
}

/// `.ptr .space .align n` on a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerInfo {
    /// Where it points; [`Space::Generic`] if not said.
    pub space: Space,
    /// Alignment of what it points to, in bytes; 4 if not said.
    pub align: u32,
}

/// Performance directives of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// `.maxntid`: the product bounds the threads of a block.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the block must have this shape.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_blocks_per_sm: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// `.explicitcluster`: it is launched in clusters.
    pub explicit_cluster: bool,
    /// `.reqnctapercluster`: a cluster must have this shape.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: blocks of a cluster, at most.
    pub max_cluster_rank: Option<u32>,
}

/// A declared register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// With its percent sign, as written.
    pub name: String,
    /// Its type. Registers are scalar.
    pub ty: Type,
    /// How many operands and guards name it.
    pub mentions: u32,
}

/// A label and the instruction it stands before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// As written.
    pub name: String,
    /// The instruction after it.
    pub target: Target,
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// `@%p` or `@!%p`.
    pub guard: Option<PredicateOperand>,
    /// What it does.
    pub op: Op,
    /// The text from the guard or opcode to the semicolon.
    pub span: Span,
    /// The source line it was compiled from.
    pub location: Option<LocationId>,
}
