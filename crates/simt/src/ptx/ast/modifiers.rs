//! The modifiers that instructions carry, as types.

use super::{PredicateOperand, RegId, Value, VarRef};

/// The direction in which `cvta` converts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CvtaDirection {
    /// `cvta.space`: from an address in the space to a generic address.
    ToGeneric,
    /// `cvta.to.space`: from a generic address to an address in the space.
    FromGeneric,
}

/// Ordering and scope of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum Ordering {
    Weak,
    Volatile,
    Relaxed(Scope),
    Acquire(Scope),
    Release(Scope),
    AcqRel(Scope),
}

impl Ordering {
    /// Whether later accesses stay after this one.
    pub const fn acquires(self) -> bool {
        matches!(self, Ordering::Acquire(_) | Ordering::AcqRel(_))
    }

    /// Whether earlier accesses stay before this one.
    pub const fn releases(self) -> bool {
        matches!(self, Ordering::Release(_) | Ordering::AcqRel(_))
    }

    /// The threads that observe a strong access; `None` for a weak access. (PTX ISA 8.4: "volatile"
    /// means relaxed with system scope.)
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Ordering::Weak => None,
            Ordering::Volatile => Some(Scope::Sys),
            Ordering::Relaxed(scope)
            | Ordering::Acquire(scope)
            | Ordering::Release(scope)
            | Ordering::AcqRel(scope) => Some(scope),
        }
    }
}

/// The threads that an ordering concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The block.
    Cta,
    /// The cluster.
    Cluster,
    /// The device.
    Gpu,
    /// All devices and the host.
    Sys,
}

/// The cache hints of an access. They change the time that it takes, and never its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct CacheHints {
    /// The cache operator, such as `.ca`.
    pub op: Option<CacheOp>,
    /// `.nc`: whether the access takes the read-only path.
    pub non_coherent: bool,
    /// The eviction priority in the first-level cache, `.L1::…`.
    pub l1: Option<Eviction>,
    /// The eviction priority in the second-level cache, `.L2::evict_…`.
    pub l2: Option<Eviction>,
    /// `.L2::64B`, `.L2::128B`, `.L2::256B`: how many bytes to prefetch.
    pub l2_prefetch: Option<u16>,
}

/// Cache operators of `ld` and `st` (PTX ISA 9.7.9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum CacheOp {
    Ca,
    Cg,
    Cs,
    Lu,
    Cv,
    Wb,
    Wt,
}

/// Eviction priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum Eviction {
    Normal,
    Unchanged,
    First,
    Last,
    NoAllocate,
}

/// Instructions that act on caches alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum CacheControlOp {
    PrefetchL1,
    PrefetchL2,
    PrefetchUniformL1,
    ApplyPriorityL2Normal,
    DiscardL2,
}

/// Integer arithmetic on two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum IntBinaryOp {
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    Mul24Lo,
    Mul24Hi,
    Div,
    Rem,
    Min,
    Max,
}

/// Arithmetic with the carry flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum CarryOp {
    Add,
    Sub,
}

/// The part of the product that `mad` keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum MulPart {
    Lo,
    Hi,
    Wide,
    /// `mad24.lo`
    Lo24,
    /// `mad24.hi`
    Hi24,
}

/// The factors that `dp4a` and `dp2a` multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DotPart {
    /// `dp4a`: four bytes with four bytes.
    Bytes,
    /// `dp2a.lo`: two halves with the low two bytes.
    LowHalves,
    /// `dp2a.hi`: two halves with the high two bytes.
    HighHalves,
}

/// Integer arithmetic on one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum IntUnaryOp {
    Abs,
    Neg,
    Cnot,
    Popc,
    Clz,
    Brev,
    Bfind,
    /// `bfind.shiftamt`
    BfindShiftAmount,
}

/// Bit-wise operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum LogicOp {
    And,
    Or,
    Xor,
}

/// The directions of shifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum ShiftOp {
    Left,
    Right,
}

/// The effect of a shift amount beyond the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum ShfMode {
    Clamp,
    Wrap,
}

/// Modes of `prmt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum PrmtMode {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// Rounding of float results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rounding {
    /// `.rn`: to the nearest, with ties to even. This is also the meaning if no rounding is
    /// written.
    #[default]
    NearestEven,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: down.
    Down,
    /// `.rp`: up.
    Up,
}

/// The precision of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `.approx`: an approximation.
    Approx,
    /// `.full` of `div.f32`: within 2 ulp.
    Full,
    /// A correctly rounded result.
    Rounded(Rounding),
}

/// Float arithmetic on two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum FloatBinaryOp {
    Add(Rounding),
    Sub(Rounding),
    Mul(Rounding),
    Div(Precision),
    Min(MinMaxMode),
    Max(MinMaxMode),
    /// The magnitude of `b` with the sign of `a`.
    Copysign,
}

/// Modifiers of float `min` and `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MinMaxMode {
    /// `.NaN`: a NaN operand makes the result NaN. Without it, the result is the other operand.
    pub nan: bool,
    /// `.xorsign.abs`: the operation compares magnitudes, and the sign of the result is the xor of
    /// the signs.
    pub xorsign_abs: bool,
}

/// Float arithmetic on one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum FloatUnaryOp {
    Abs,
    Neg,
    Sqrt(Precision),
    Rcp(Precision),
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// The property for which `testp` tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum FloatTest {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Comparisons of `setp` and `set` (PTX ISA 9.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// `.eq`
    Eq,
    /// `.ne`
    Ne,
    /// `.lt`, and `.lo` for unsigned types.
    Lt,
    /// `.le`, and `.ls` for unsigned types.
    Le,
    /// `.gt`, and `.hi` for unsigned types.
    Gt,
    /// `.ge`, and `.hs` for unsigned types.
    Ge,
    /// `.equ`: equal or unordered. This comparison and the following ones are for floats only.
    Equ,
    /// `.neu`
    Neu,
    /// `.ltu`
    Ltu,
    /// `.leu`
    Leu,
    /// `.gtu`
    Gtu,
    /// `.geu`
    Geu,
    /// `.num`: neither is NaN.
    Num,
    /// `.nan`: one or both are NaN.
    Nan,
}

/// A further predicate with which `setp` and `set` combine the result, by `.and`, `.or` or `.xor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combine {
    /// The logical operation.
    pub op: LogicOp,
    /// The predicate with which the result is combined.
    pub with: PredicateOperand,
}

/// The rounding of `cvt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CvtRounding {
    /// `.rn .rz .rm .rp`: to a float.
    Float(Rounding),
    /// `.rni .rzi .rmi .rpi`: to an integer, or to an integral float of the same type.
    Integer(Rounding),
}

/// An argument of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallArg {
    /// The contents of a `.param` variable of the caller.
    Param(VarRef),
    /// A register or a number.
    Value(Value),
}

/// The destination of a call's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallReturn {
    /// A `.param` variable of the caller.
    Param(VarRef),
    /// A register.
    Reg(RegId),
}

/// Barriers that give no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    /// Arrive, and wait for the others.
    Sync,
    /// Arrive, and do not wait. The instruction always gives a thread count.
    Arrive,
}

/// The value that `bar.red` computes over the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierRedOp {
    /// The number of threads whose predicate is true, into a 32-bit register.
    Popc,
    /// Whether all predicates are true, into a predicate.
    And,
    /// Whether at least one predicate is true, into a predicate.
    Or,
}

/// The strength of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum FenceSem {
    Acquire,
    Release,
    AcqRel,
    /// `.sc`, which is also the meaning of `membar`.
    Sc,
}

/// Modes of `shfl.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// Modes of `vote.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// Modes of `match.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum MatchMode {
    Any,
    All,
}

/// Operations of `redux.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum ReduxOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// Operations of `atom` and `red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// `old >= a ? 0 : old + 1`
    Inc,
    /// `old == 0 || old > a ? a : old - 1`
    Dec,
    Exch,
    Cas,
}

/// The rounding of a conversion to `tf32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tf32Rounding {
    /// `.rna`: to the nearest value, and away from zero from the middle of two.
    NearestAway,
    /// `.rn`: to the nearest value, and to the even one from the middle of two.
    NearestEven,
    /// `.rz`: towards zero.
    Zero,
}
