//! Instructions: one variant of [`Op`] for each form of operands.

use super::{Address, FunctionId, PredicateOperand, RegId, Space, Target, Type, Value, VarRef};

/// What an instruction does, with typed modifiers and operands.
///
/// Naming: `dst` is written, `a`, `b`, `c` are read in the PTX order. `ty` is the instruction's type; operands may be
/// registers of any type of the same width as the validator's rules allow. A destination of `Option` may be the sink
/// `_`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each variant says what its operands are")]
pub enum Op {
    /// `mov` of one value; also the address of a variable.
    Mov { ty: Type, dst: RegId, src: Value },
    /// `mov.bN dst, {a, b, ..}`: the first element goes to the low bits. 2 or 4 elements of equal width.
    Pack { ty: Type, dst: RegId, src: Vec<Value> },
    /// `mov.bN {a, b, ..}, src`: the first element takes the low bits.
    Unpack {
        ty: Type,
        dst: Vec<Option<RegId>>,
        src: Value,
    },
    /// `cvta.space` (to generic) or `cvta.to.space` (from generic). `ty` is `.u64` or `.u32`.
    Cvta {
        direction: CvtaDirection,
        space: Space,
        ty: Type,
        dst: RegId,
        src: Value,
    },
    /// `isspacep`: whether a generic address lies in `space`. `dst` is a predicate.
    Isspacep { space: Space, dst: RegId, src: Value },
    /// `ld`. `dst` has 1, 2, 4 or 8 elements of `ty`. Registers may be wider than `ty`: the value is sign-extended for
    /// signed types and zero-extended for others.
    Ld {
        space: Space,
        ordering: Ordering,
        cache: CacheHints,
        ty: Type,
        dst: Vec<Option<RegId>>,
        addr: Address,
    },
    /// `st`. `src` has 1, 2, 4 or 8 elements. Registers may be wider than `ty`: the low bits are stored.
    St {
        space: Space,
        ordering: Ordering,
        cache: CacheHints,
        ty: Type,
        addr: Address,
        src: Vec<Value>,
    },
    /// `prefetch`, `prefetchu`, `applypriority`, `discard`: no effect on values, except that `discard` makes the 128
    /// bytes undefined.
    CacheControl {
        op: CacheControlOp,
        space: Space,
        addr: Address,
    },

    /// `add sub mul div rem min max` on integers. For [`IntBinaryOp::MulWide`] `dst` is twice as wide as `ty`.
    IntBinary {
        op: IntBinaryOp,
        ty: Type,
        saturate: bool,
        dst: RegId,
        a: Value,
        b: Value,
    },
    /// `add.cc addc sub.cc subc`, with the carry flag of the thread.
    Carry {
        op: CarryOp,
        ty: Type,
        carry_in: bool,
        carry_out: bool,
        dst: RegId,
        a: Value,
        b: Value,
    },
    /// `mad` and `madc` on integers: `a * b + c`. For [`MulPart::Wide`] `c` and `dst` are twice as wide as `ty`.
    Mad {
        part: MulPart,
        ty: Type,
        saturate: bool,
        carry_in: bool,
        carry_out: bool,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `sad`: `c + |a - b|`.
    Sad {
        ty: Type,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `abs neg popc clz brev` and others on integers. For `popc`, `clz`, `bfind` `dst` is 32 bits.
    IntUnary {
        op: IntUnaryOp,
        ty: Type,
        dst: RegId,
        a: Value,
    },
    /// `and or xor`, bit by bit; `ty` may be `.pred`.
    Logic {
        op: LogicOp,
        ty: Type,
        dst: RegId,
        a: Value,
        b: Value,
    },
    /// `not`; `ty` may be `.pred`.
    Not { ty: Type, dst: RegId, a: Value },
    /// `lop3.b32` with its truth table.
    Lop3 {
        lut: u8,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `shl`, `shr`. `amount` is 32 bits; amounts beyond the width clamp to it. `shr` fills with the sign for signed
    /// types.
    Shift {
        op: ShiftOp,
        ty: Type,
        dst: RegId,
        a: Value,
        amount: Value,
    },
    /// `shf`: shifts `hi:lo` and takes the upper (left) or lower (right) 32 bits.
    Shf {
        op: ShiftOp,
        mode: ShfMode,
        dst: RegId,
        lo: Value,
        hi: Value,
        amount: Value,
    },
    /// `prmt.b32`
    Prmt {
        mode: PrmtMode,
        dst: RegId,
        a: Value,
        b: Value,
        selector: Value,
    },
    /// `bfe`: `len` bits of `a` from `pos`.
    Bfe {
        ty: Type,
        dst: RegId,
        a: Value,
        pos: Value,
        len: Value,
    },
    /// `bfi`: `len` bits of `a` put into `b` at `pos`.
    Bfi {
        ty: Type,
        dst: RegId,
        a: Value,
        b: Value,
        pos: Value,
        len: Value,
    },
    /// `bmsk`: a mask of `len` bits from `pos`.
    Bmsk {
        mode: ShfMode,
        dst: RegId,
        pos: Value,
        len: Value,
    },
    /// `szext`: sign- or zero-extension from `width` bits.
    Szext {
        mode: ShfMode,
        ty: Type,
        dst: RegId,
        a: Value,
        width: Value,
    },

    /// `add sub mul div min max copysign` on floats.
    FloatBinary {
        op: FloatBinaryOp,
        ty: Type,
        ftz: bool,
        saturate: bool,
        dst: RegId,
        a: Value,
        b: Value,
    },
    /// `fma`, and `mad` on floats, which rounds once as well.
    Fma {
        ty: Type,
        rounding: Rounding,
        ftz: bool,
        saturate: bool,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `abs neg sqrt rcp rsqrt ex2 lg2 sin cos tanh` on floats.
    FloatUnary {
        op: FloatUnaryOp,
        ty: Type,
        ftz: bool,
        dst: RegId,
        a: Value,
    },
    /// `testp`. `dst` is a predicate.
    Testp {
        test: FloatTest,
        ty: Type,
        dst: RegId,
        a: Value,
    },

    /// `setp`. `dst` takes `t = (a cmp b) [bool c]`, `complement` takes `!(a cmp b) [bool c]`.
    Setp {
        cmp: CmpOp,
        ty: Type,
        ftz: bool,
        combine: Option<Combine>,
        dst: Option<RegId>,
        complement: Option<RegId>,
        a: Value,
        b: Value,
    },
    /// `set`: all ones or 1.0 (`dst_ty` `.f32`) if true, else 0.
    Set {
        cmp: CmpOp,
        dst_ty: Type,
        ty: Type,
        ftz: bool,
        combine: Option<Combine>,
        dst: RegId,
        a: Value,
        b: Value,
    },
    /// `selp`: `a` if the predicate holds, else `b`.
    Selp {
        ty: Type,
        dst: RegId,
        a: Value,
        b: Value,
        pred: RegId,
    },
    /// `slct`: `a` if `c >= 0`, else `b`. `c_ty` is `.s32` or `.f32`.
    Slct {
        ty: Type,
        c_ty: Type,
        ftz: bool,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `cvt`. Registers may be wider than the types; a destination is then extended as the destination type says.
    Cvt {
        dst_ty: Type,
        src_ty: Type,
        rounding: Option<CvtRounding>,
        ftz: bool,
        saturate: bool,
        dst: RegId,
        src: Value,
    },

    /// `bra`. `uniform`: `.uni`, a promise that all active threads go the same way.
    Bra { uniform: bool, target: Target },
    /// `brx.idx`: branch to `targets[index]`. An index outside is undefined.
    BrxIdx {
        uniform: bool,
        index: RegId,
        targets: Vec<Target>,
    },
    /// `ret`. In a kernel it is `exit`.
    Ret { uniform: bool },
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`
    Brkpt,
    /// A direct `call`.
    Call {
        uniform: bool,
        callee: FunctionId,
        returns: Vec<CallReturn>,
        args: Vec<CallArg>,
    },

    /// `bar.*` and `barrier.*` of the block.
    Barrier {
        op: BarrierOp,
        aligned: bool,
        id: Value,
        threads: Option<Value>,
    },
    /// `bar.red`, `barrier.red`: a barrier that reduces a predicate over its threads.
    BarrierRed {
        op: BarrierRedOp,
        aligned: bool,
        dst: RegId,
        id: Value,
        threads: Option<Value>,
        pred: PredicateOperand,
    },
    /// `bar.warp.sync`
    WarpSync { mask: Value },
    /// `membar`, `fence`.
    Fence { sem: FenceSem, scope: Scope },
    /// `shfl.sync.mode.b32 dst|pred, a, lane, clamp, mask`. `lane` is PTX's b, `clamp` its c: the clamp value in bits
    /// 0 to 4 and the segment mask in bits 8 to 12.
    Shfl {
        mode: ShflMode,
        dst: RegId,
        pred: Option<RegId>,
        a: Value,
        lane: Value,
        clamp: Value,
        mask: Value,
    },
    /// `vote.sync`. `dst` is a predicate, or 32 bits for `ballot`.
    Vote {
        mode: VoteMode,
        dst: RegId,
        pred: PredicateOperand,
        mask: Value,
    },
    /// `match.any.sync`, `match.all.sync`. `ty` is `.b32` or `.b64`; `pred` belongs to `all`.
    Match {
        mode: MatchMode,
        ty: Type,
        dst: Option<RegId>,
        pred: Option<RegId>,
        a: Value,
        mask: Value,
    },
    /// `activemask`
    Activemask { dst: RegId },
    /// `redux.sync`. `ty` is `.u32`, `.s32`, or `.b32` for the bit-wise ones.
    Redux {
        op: ReduxOp,
        ty: Type,
        dst: RegId,
        a: Value,
        mask: Value,
    },
    /// `elect.sync`: `pred` holds in one lane, whose number goes to `dst`.
    Elect {
        dst: Option<RegId>,
        pred: RegId,
        mask: Value,
    },

    /// `atom` and `red`. `dst` is `None` for `red` and for the sink. `b` is there for [`AtomOp::Cas`] alone:
    /// `a` is compared, `b` stored.
    Atom {
        op: AtomOp,
        ordering: Ordering,
        space: Space,
        ty: Type,
        dst: Option<RegId>,
        addr: Address,
        a: Value,
        b: Option<Value>,
    },

    /// `nanosleep.u32`
    Nanosleep { duration: Value },
    /// `pmevent`
    Pmevent { mask: Value },
}

/// Which way `cvta` converts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CvtaDirection {
    /// `cvta.space`: from the space to generic.
    ToGeneric,
    /// `cvta.to.space`: from generic to the space.
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

/// Whom an ordering concerns.
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

/// What an access says about caches. It changes time, never values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct CacheHints {
    /// `.ca` and the like.
    pub op: Option<CacheOp>,
    /// `.nc`: the read-only path.
    pub non_coherent: bool,
    /// `.L1::…`
    pub l1: Option<Eviction>,
    /// `.L2::evict_…`
    pub l2: Option<Eviction>,
    /// `.L2::64B`, `.L2::128B`, `.L2::256B`: bytes to prefetch.
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

/// Instructions that speak to caches alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum CacheControlOp {
    PrefetchL1,
    PrefetchL2,
    PrefetchUniformL1,
    ApplyPriorityL2Normal,
    DiscardL2,
}

/// Two-operand integer arithmetic.
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

/// One-operand integer arithmetic.
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

/// Shift directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum ShiftOp {
    Left,
    Right,
}

/// What amounts beyond the width do.
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
    /// `.rn`: nearest, ties to even; also where nothing is written.
    #[default]
    NearestEven,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// How close a result is to the true one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `.approx`
    Approx,
    /// `.full`: within 2 ulp, of `div.f32`.
    Full,
    /// Correctly rounded.
    Rounded(Rounding),
}

/// Two-operand float arithmetic.
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
    /// `.NaN`: a NaN operand makes the result NaN. Without, the other operand wins.
    pub nan: bool,
    /// `.xorsign.abs`: of magnitudes, with the signs' xor.
    pub xorsign_abs: bool,
}

/// One-operand float arithmetic.
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

/// What `testp` asks.
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
    /// `.lt`, and `.lo` of unsigned types.
    Lt,
    /// `.le`, and `.ls` of unsigned types.
    Le,
    /// `.gt`, and `.hi` of unsigned types.
    Gt,
    /// `.ge`, and `.hs` of unsigned types.
    Ge,
    /// `.equ`: equal or unordered. This and what follows, floats only.
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

/// `.and`, `.or`, `.xor` of `setp` and `set` with a further predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combine {
    /// How.
    pub op: LogicOp,
    /// With what.
    pub with: PredicateOperand,
}

/// Rounding of `cvt`.
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

/// Where a call's result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallReturn {
    /// A `.param` variable of the caller.
    Param(VarRef),
    /// A register.
    Reg(RegId),
}

/// Barriers without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    /// Wait for the others.
    Sync,
    /// Count as arrived, do not wait. `threads` is always given.
    Arrive,
}

/// What `bar.red` computes over the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierRedOp {
    /// How many predicates hold, into a 32-bit register.
    Popc,
    /// Whether all hold, into a predicate.
    And,
    /// Whether one holds, into a predicate.
    Or,
}

/// The strength of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum FenceSem {
    Acquire,
    Release,
    AcqRel,
    /// Also what `membar` means.
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
