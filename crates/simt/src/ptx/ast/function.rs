//! Functions: kernels and device functions, their parameters and instructions.

use super::id::{FunctionId, LocationId, RegId, Span, Target};
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

/// A function that the system provides to kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemFunction {
    /// `__assertfail`: a failed `assert`.
    AssertFail,
    /// `vprintf`: behind `printf`.
    Vprintf,
}

/// A kernel or a device function.
#[derive(Debug, Clone)]
pub struct Function {
    /// The name, as written.
    pub name: String,
    /// Whether this is a kernel or a device function.
    pub kind: FunctionKind,
    /// The linkage.
    pub linkage: Linkage,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// The return parameters. Only a device function has them, and at most one.
    pub returns: Vec<Param>,
    /// The performance directives, such as `.maxntid`.
    pub limits: Limits,
    /// Whether the function is declared `.noreturn`.
    pub noreturn: bool,
    /// The declared registers. `%r<5>` declares five.
    pub registers: Vec<Register>,
    /// Variables declared in the body: `.local`, `.shared`, and the `.param` scratch of calls.
    pub variables: Vec<Variable>,
    /// Whether the function has a body. Otherwise it is a prototype, and `body` is empty.
    pub defined: bool,
    /// The instructions. A defined body is never empty, and its last instruction does not fall
    /// through: if the text has none at the end, the parser adds a `ret` with the span of the
    /// closing brace.
    pub body: Vec<Instruction>,
    /// The labels, in order of appearance. They are for reports only, because branches hold their
    /// targets.
    pub labels: Vec<Label>,
    /// The place of the function's header.
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
    /// Panics if the register belongs to another function.
    pub fn reg_type(&self, reg: RegId) -> Type {
        self.registers[reg.index()].ty
    }

    /// Whether this is a kernel.
    pub fn is_entry(&self) -> bool {
        self.kind == FunctionKind::Entry
    }

    /// The function of the system that this is, which has no body and can be called nevertheless;
    /// `None` if it is none.
    pub fn system(&self) -> Option<SystemFunction> {
        let sizes = |params: &[Param]| params.iter().map(Param::size).collect::<Vec<_>>();
        let (params, returns) = (sizes(&self.params), sizes(&self.returns));
        match (self.name.as_str(), &params[..], &returns[..]) {
            _ if self.defined => None,
            ("__assertfail", [8, 8, 4, 8, 8], []) => Some(SystemFunction::AssertFail),
            ("vprintf", [8, 8], [4]) => Some(SystemFunction::Vprintf),
            _ => None,
        }
    }
}

/// The functions that an indirect call may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callees {
    /// `.callprototype`: all functions with these parameters and results.
    Prototype(Prototype),
    /// `.calltargets`: these functions.
    Targets(Vec<FunctionId>),
}

/// The parameters and the results of functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// The return parameters; at most one.
    pub returns: Vec<Param>,
}

/// A parameter of a function: storage in the `.param` space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// The name, as written.
    pub name: String,
    /// The type of one element.
    pub ty: Type,
    /// `None` for a scalar. `Some(n)` for an array of n elements, which is a structure passed by
    /// value.
    pub count: Option<u64>,
    /// The alignment in bytes, a power of two.
    pub align: u32,
    /// The directive `.ptr`. It says that the parameter is a pointer, and to which memory it
    /// points.
    pub pointer: Option<PointerInfo>,
    /// The place of the declaration.
    pub span: Span,
}

impl Param {
    /// The size in bytes.
    pub fn size(&self) -> u64 {
        u64::from(self.ty.size()) * self.count.unwrap_or(1)
    }
}

/// The directive `.ptr .space .align n` of a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerInfo {
    /// The space to which the pointer points; [`Space::Generic`] if the directive does not say.
    pub space: Space,
    /// The alignment of the pointed-to memory in bytes; 4 if the directive does not say.
    pub align: u32,
}

/// Performance directives of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// `.maxntid`: a block has at most as many threads as the product of these numbers.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the block must have this shape.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`: the least number of blocks that a multiprocessor must be able to hold.
    pub min_blocks_per_sm: Option<u32>,
    /// `.maxnreg`: the greatest number of registers of a thread.
    pub max_registers: Option<u32>,
    /// `.explicitcluster`: the kernel must be launched in clusters.
    pub explicit_cluster: bool,
    /// `.reqnctapercluster`: a cluster must have this shape.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: the greatest number of blocks of a cluster.
    pub max_cluster_rank: Option<u32>,
}

/// A declared register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// The name, as written, with its percent sign.
    pub name: String,
    /// The type. Registers are scalar.
    pub ty: Type,
    /// How many operands and guards name the register.
    pub mentions: u32,
}

/// A label, and the instruction before which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The name, as written.
    pub name: String,
    /// The instruction after the label.
    pub target: Target,
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// The guard, `@%p` or `@!%p`.
    pub guard: Option<PredicateOperand>,
    /// The operation with its operands.
    pub op: Op,
    /// The place of the text from the guard or opcode to the semicolon.
    pub span: Span,
    /// The source line from which the instruction was compiled.
    pub location: Option<LocationId>,
}
