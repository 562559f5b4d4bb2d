//! The syntax tree of a PTX module.
//!
//! Names are resolved before this tree exists: a register is a [`RegId`] with a declared type, a variable a [`VarRef`],
//! a function a [`FunctionId`], a label an index into [`Function::body`]. What [`crate::ptx::parse`] returns has passed
//! the validator, so whoever lowers it may index by these ids without checks.
//!
//! An instruction is an [`Op`]: one variant for each form that differs in operands, with its modifiers as types. The
//! names follow the PTX ISA, sections 5 to 10.

use std::fmt;
use std::sync::Arc;

mod location;
mod modifiers;
mod op;

pub(crate) use location::frames;
pub use location::{Frame, InlinedAt, Location, SourceFile};
pub use modifiers::*;
pub use op::Op;

/// A whole PTX file.
#[derive(Debug, Clone)]
pub struct Module {
    /// The name that diagnostics show, usually the file's.
    pub name: String,
    /// The text that was parsed; spans point into it.
    pub source: Arc<str>,
    /// `.version`: major, minor.
    pub version: (u32, u32),
    /// `.target`: `sm_75` and options such as `debug`, in order.
    pub targets: Vec<String>,
    /// `.address_size` in bits. Always 64: others are refused.
    pub address_size: u32,
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// Kernels and device functions, declared or defined; a name occurs once.
    pub functions: Vec<Function>,
    /// `.file` entries, in order of appearance.
    pub files: Vec<SourceFile>,
    /// Distinct `.loc` places, referred to by [`Instruction::location`].
    pub locations: Vec<Location>,
}

impl Module {
    /// The text under a span.
    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The column in which a span begins, in characters from 1.
    pub fn column(&self, span: Span) -> u32 {
        let before = self.source.get(..span.start as usize).unwrap_or_default();
        before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<(FunctionId, &Function)> {
        let index = self.functions.iter().position(|function| function.name == name)?;
        Some((FunctionId(index as u32), &self.functions[index]))
    }

    /// The variable that a reference names, seen from `function`. `None` for parameters (see [`Function::param`]).
    pub fn variable<'a>(&'a self, function: &'a Function, var: VarRef) -> Option<&'a Variable> {
        match var {
            VarRef::Module(index) => self.variables.get(index as usize),
            VarRef::Function(index) => function.variables.get(index as usize),
            VarRef::Param(_) | VarRef::Return(_) => None,
        }
    }

    /// The state space that a symbol lives in, seen from `function`.
    pub fn space_of(&self, function: &Function, var: VarRef) -> Space {
        self.variable(function, var).map_or(Space::Param, |variable| variable.space)
    }

    /// A symbol's name, seen from `function`.
    pub fn name_of<'a>(&'a self, function: &'a Function, var: VarRef) -> &'a str {
        match self.variable(function, var) {
            Some(variable) => &variable.name,
            None => function.param(var).map_or("", |param| &param.name),
        }
    }
}

/// A place in the PTX text: byte offsets into [`Module::source`] and the line they begin on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line, from 1.
    pub line: u32,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A register of the function at hand: an index into [`Function::registers`].
    RegId,
    /// An index into [`Module::functions`].
    FunctionId,
    /// An index into [`Module::locations`].
    LocationId,
    /// A branch target: an index into [`Function::body`], always less than its length.
    Target,
}

/// A symbol that names storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarRef {
    /// [`Module::variables`].
    Module(u32),
    /// [`Function::variables`].
    Function(u32),
    /// [`Function::params`].
    Param(u32),
    /// [`Function::returns`].
    Return(u32),
}

/// A variable with storage.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `.global`, `.const`, `.shared`, `.local`, or `.param` (the scratch of a call sequence).
    pub space: Space,
    /// How it links.
    pub linkage: Linkage,
    /// Element type.
    pub ty: Type,
    /// 1, 2 or 4: `.v2`, `.v4`.
    pub vector: u8,
    /// `None`: a scalar. `Some(n)`: an array of n elements over all its dimensions. `Some(0)`: `extern ... x[]`, whose
    /// size comes with the launch.
    pub count: Option<u64>,
    /// In bytes, a power of two.
    pub align: u32,
    /// The first contents; without it, storage begins zeroed (`.global`, `.const`) or undefined (others).
    pub init: Option<Initializer>,
    /// The declaration.
    pub span: Span,
}

impl Variable {
    /// Size in bytes; 0 for the unsized `extern x[]`.
    pub fn size(&self) -> u64 {
        u64::from(self.ty.size()) * u64::from(self.vector) * self.count.unwrap_or(1)
    }

    /// Whether it is dynamic shared memory: `.extern .shared x[]`.
    pub fn is_dynamic_shared(&self) -> bool {
        self.space == Space::Shared && self.linkage == Linkage::Extern && self.count == Some(0)
    }
}

/// The first contents of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Initializer {
    /// Little-endian, exactly [`Variable::size`] bytes.
    pub bytes: Vec<u8>,
    /// Addresses to add into `bytes`, 8 bytes each.
    pub relocations: Vec<Relocation>,
}

/// The address of a variable inside an initialiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Where in the bytes.
    pub offset: u64,
    /// Whose address, an index into [`Module::variables`].
    pub variable: u32,
    /// What to add to it.
    pub addend: i64,
    /// `generic(x)`: the generic address, not the one in the variable's own space.
    pub generic: bool,
}

/// How a symbol links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Seen in this module alone.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

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

/// A fundamental type (PTX ISA 5.2) or an alternate float format (5.2.3), which instructions know and registers do not:
/// `bf16` lies in registers of `b16`, `bf16x2` in `b32`. What is `x2` holds two values, the first in the low half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl Type {
    /// Size in bytes; a predicate counts as 1.
    pub const fn size(self) -> u32 {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Size in bits; a predicate has 1.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            other => other.size() * 8,
        }
    }

    /// Of any width, packed ones included.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64) || self.is_half()
    }

    /// `f16`, `bf16`, or two of them.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2)
    }

    /// `f16x2` or `bf16x2`.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::F16x2 | Self::Bf16x2)
    }

    /// `s8` to `s64`.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// `u8` to `u64`.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// `b8` to `b64`.
    pub const fn is_untyped(self) -> bool {
        matches!(self, Self::B8 | Self::B16 | Self::B32 | Self::B64)
    }

    /// Signed or unsigned, not untyped.
    pub const fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// As PTX spells it, without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::B8 => "b8",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F16x2 => "f16x2",
            Self::Bf16 => "bf16",
            Self::Bf16x2 => "bf16x2",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space (PTX ISA 5.1). Registers and special registers are operands of their own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// No space written: the address says which.
    Generic,
    /// `.global`
    Global,
    /// `.shared`, which is `.shared::cta`: that of the block.
    Shared,
    /// `.shared::cluster`: that of the blocks of the cluster, its own among them.
    SharedCluster,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`: of a kernel, of a device function, or of a call at hand.
    Param,
}

impl Space {
    /// As PTX spells it, without the dot; `generic` for none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::SharedCluster => "shared::cluster",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
        }
    }
}

/// A predicate register, perhaps negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredicateOperand {
    /// A register of type `.pred`.
    pub reg: RegId,
    /// `!`
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
    /// The address of a variable in its own state space, plus bytes.
    Address(VarRef, i64),
}

/// A number in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imm {
    /// An integer, as 64 bits of two's complement.
    Int(u64),
    /// `0f` and eight digits: the bits of an `f32`.
    F32(u32),
    /// `0d` and sixteen digits, or a decimal fraction: the bits of an `f64`.
    F64(u64),
}

impl Imm {
    /// The bits that an instruction of this type sees, zero-extended to 64.
    ///
    /// Integers are cut to the type's width, and converted for float types. Floats are converted between precisions,
    /// and keep their bits for other types.
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
        if ty.bits() == 64 { raw } else { raw & ((1 << ty.bits()) - 1) }
    }
}

/// A memory operand: `[base+offset]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// In bytes.
    pub offset: i64,
}

/// The base of a memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBase {
    /// A register of 64 bits, or of 32 for spaces other than generic and global.
    Reg(RegId),
    /// A variable.
    Var(VarRef),
    /// None: the offset is the whole address.
    Absolute,
}

/// An axis of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Axis {
    X,
    Y,
    Z,
}

/// Special registers (PTX ISA 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum SpecialReg {
    Tid(Axis),
    Ntid(Axis),
    Ctaid(Axis),
    Nctaid(Axis),
    ClusterId(Axis),
    NClusterId(Axis),
    ClusterCtaid(Axis),
    ClusterNctaid(Axis),
    ClusterCtaRank,
    ClusterNctaRank,
    /// A predicate.
    IsExplicitCluster,
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    TotalSmemSize,
    DynamicSmemSize,
    /// `%reserved_smem_offset_begin`, `_end`, `_0`, `_1`: shared memory that the system keeps for itself.
    ReservedSmemOffset,
    /// `%reserved_smem_offset_cap`: how much of that there is.
    ReservedSmemCap,
    /// `%envreg<32>`: what the driver says to its own code.
    EnvReg(u8),
}

impl SpecialReg {
    /// The type of its value.
    pub const fn ty(self) -> Type {
        match self {
            Self::Clock64 | Self::GlobalTimer | Self::GridId => Type::U64,
            Self::IsExplicitCluster => Type::Pred,
            _ => Type::U32,
        }
    }
}
