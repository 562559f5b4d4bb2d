//! Instructions: one variant of [`Op`] for each form of operands.

use super::{
    Address, AtomOp, BarrierOp, BarrierRedOp, CacheControlOp, CacheHints, CallArg, CallReturn,
    Callees, CarryOp, CmpOp, Combine, CvtRounding, CvtaDirection, DotPart, FenceSem, FloatBinaryOp,
    FloatTest, FloatUnaryOp, FunctionId, IntBinaryOp, IntUnaryOp, LogicOp, MatchMode, MulPart,
    Ordering, PredicateOperand, PrmtMode, ReduxOp, RegId, Rounding, Scope, ShfMode, ShflMode,
    ShiftOp, Space, Target, Tf32Rounding, Type, Unknown, Value, Video, VideoOp, VoteMode,
};

/// The operation of an instruction, with typed modifiers and operands.
///
/// `dst` is written; `a`, `b` and `c` are read, in the order of the PTX text. `ty` is the type of
/// the instruction. Operands may be registers of any type of the same width that the validator's
/// rules allow. A destination of type `Option` is `None` for the sink `_`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each variant says what its operands are")]
#[non_exhaustive]
pub enum Op {
    /// `mov` of one value. The value may also be the address of a variable.
    Mov { ty: Type, dst: RegId, src: Value },
    /// `mov.bN dst, {a, b, ..}`: the first element goes to the low bits. There are 2 or 4 elements
    /// of equal width.
    Pack { ty: Type, dst: RegId, src: Vec<Value> },
    /// `mov.bN {a, b, ..}, src`: the first element takes the low bits.
    Unpack { ty: Type, dst: Vec<Option<RegId>>, src: Value },
    /// `cvta.space` (to generic) or `cvta.to.space` (from generic). `ty` is `.u64`.
    Cvta { direction: CvtaDirection, space: Space, ty: Type, dst: RegId, src: Value },
    /// `isspacep`: whether a generic address lies in `space`. `dst` is a predicate.
    Isspacep { space: Space, dst: RegId, src: Value },
    /// `mapa`: the address of the same variable in the block of rank `rank`. `space` is generic or
    /// `.shared::cluster`.
    Mapa { space: Space, ty: Type, dst: RegId, src: Value, rank: Value },
    /// `getctarank`: the rank of the block in whose shared memory an address of type `ty` lies.
    /// `dst` is 32 bits.
    GetCtaRank { space: Space, ty: Type, dst: RegId, src: Value },
    /// `ld`. `dst` has 1, 2, 4 or 8 elements of `ty`. Registers may be wider than `ty`: the value
    /// is sign-extended for signed types and zero-extended for others.
    Ld {
        space: Space,
        ordering: Ordering,
        cache: CacheHints,
        ty: Type,
        dst: Vec<Option<RegId>>,
        addr: Address,
    },
    /// `st`. `src` has 1, 2, 4 or 8 elements. Registers may be wider than `ty`: the low bits are
    /// stored.
    St {
        space: Space,
        ordering: Ordering,
        cache: CacheHints,
        ty: Type,
        addr: Address,
        src: Vec<Value>,
    },
    /// `prefetch`, `prefetchu`, `applypriority` and `discard`. They do not affect values, except
    /// that `discard` makes the 128 bytes undefined.
    CacheControl { op: CacheControlOp, space: Space, addr: Address },

    /// `add sub mul div rem min max` on integers. `saturate` is `.sat`, and `.relu` of `min` and
    /// `max`. For [`IntBinaryOp::MulWide`], `dst` is twice as wide as `ty`.
    IntBinary { op: IntBinaryOp, ty: Type, saturate: bool, dst: RegId, a: Value, b: Value },
    /// `add.cc addc sub.cc subc`, with the carry flag of the thread.
    Carry { op: CarryOp, ty: Type, carry_in: bool, carry_out: bool, dst: RegId, a: Value, b: Value },
    /// `mad` and `madc` on integers: `a * b + c`. For [`MulPart::Wide`], `c` and `dst` are twice as
    /// wide as `ty`.
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
    Sad { ty: Type, dst: RegId, a: Value, b: Value, c: Value },
    /// `dp4a` and `dp2a`: `c` plus the products of bytes of `b` with bytes or halves of `a`. All
    /// operands have 32 bits.
    DotProduct {
        part: DotPart,
        a_signed: bool,
        b_signed: bool,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `abs neg popc clz brev` and others on integers. For `popc`, `clz` and `bfind`, `dst` has 32
    /// bits.
    IntUnary { op: IntUnaryOp, ty: Type, dst: RegId, a: Value },
    /// `and or xor`, bit by bit; `ty` may be `.pred`.
    Logic { op: LogicOp, ty: Type, dst: RegId, a: Value, b: Value },
    /// `not`; `ty` may be `.pred`.
    Not { ty: Type, dst: RegId, a: Value },
    /// `lop3.b32` with its truth table.
    Lop3 { lut: u8, dst: RegId, a: Value, b: Value, c: Value },
    /// `shl` and `shr`. `amount` has 32 bits; an amount beyond the width counts as the width. For
    /// signed types, `shr` fills with the sign.
    Shift { op: ShiftOp, ty: Type, dst: RegId, a: Value, amount: Value },
    /// `shf`: shifts `hi:lo`, and takes the upper (left shift) or lower (right shift) 32 bits.
    Shf { op: ShiftOp, mode: ShfMode, dst: RegId, lo: Value, hi: Value, amount: Value },
    /// `prmt.b32`
    Prmt { mode: PrmtMode, dst: RegId, a: Value, b: Value, selector: Value },
    /// `bfe`: `len` bits of `a` from bit `pos` on.
    Bfe { ty: Type, dst: RegId, a: Value, pos: Value, len: Value },
    /// `bfi`: the value `b`, with `len` bits of `a` put in from bit `pos` on.
    Bfi { ty: Type, dst: RegId, a: Value, b: Value, pos: Value, len: Value },
    /// `bmsk`: a mask of `len` bits from bit `pos` on.
    Bmsk { mode: ShfMode, dst: RegId, pos: Value, len: Value },
    /// `szext`: sign- or zero-extension from `width` bits.
    Szext { mode: ShfMode, ty: Type, dst: RegId, a: Value, width: Value },

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
    /// `fma`, and `mad` on floats, which also rounds once. With `.relu` (`relu`), a negative result
    /// becomes 0.
    Fma {
        ty: Type,
        rounding: Rounding,
        ftz: bool,
        saturate: bool,
        relu: bool,
        dst: RegId,
        a: Value,
        b: Value,
        c: Value,
    },
    /// `abs neg sqrt rcp rsqrt ex2 lg2 sin cos tanh` on floats.
    FloatUnary { op: FloatUnaryOp, ty: Type, ftz: bool, dst: RegId, a: Value },
    /// `testp`. `dst` is a predicate.
    Testp { test: FloatTest, ty: Type, dst: RegId, a: Value },

    /// `setp`. `dst` receives `t = (a cmp b) [bool c]`, and `complement` receives
    /// `!(a cmp b) [bool c]`. For packed types, `dst` receives the comparison of the low halves,
    /// and `complement` the comparison of the high halves, not negated.
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
    /// `set`: if the comparison is true, the result is all ones, or 1.0 if `dst_ty` is a float;
    /// else it is 0. For packed types, each half has its own result.
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
    Selp { ty: Type, dst: RegId, a: Value, b: Value, pred: RegId },
    /// `slct`: `a` if `c >= 0`, else `b`. `c_ty` is `.s32` or `.f32`.
    Slct { ty: Type, c_ty: Type, ftz: bool, dst: RegId, a: Value, b: Value, c: Value },
    /// `cvt`. Registers may be wider than the types. A wider destination is extended as the
    /// destination type says.
    Cvt {
        dst_ty: Type,
        src_ty: Type,
        rounding: Option<CvtRounding>,
        ftz: bool,
        saturate: bool,
        relu: bool,
        dst: RegId,
        src: Value,
    },
    /// `cvt` of two `.f32` to a packed type: `high` goes to the high half, `low` to the low one.
    CvtPack { dst_ty: Type, rounding: Rounding, relu: bool, dst: RegId, high: Value, low: Value },

    /// `cvt` from `.f32` to `.tf32`, which is held in 32 bits.
    CvtTf32 { rounding: Tf32Rounding, relu: bool, dst: RegId, src: Value },
    /// `add min max` on the two halves of 32 bits (`.u16x2`, `.s16x2`).
    IntPairs { op: IntBinaryOp, signed: bool, relu: bool, dst: RegId, a: Value, b: Value },
    /// `fns`: the position of a one in `mask`, counted from bit `base` on.
    Fns { dst: RegId, mask: Value, base: Value, offset: Value },
    /// `vadd2`, `vabsdiff4` and similar instructions, on the bytes (`bytes`) or halves of 32 bits.
    Video { op: VideoOp, bytes: bool, video: Video, dst: RegId, a: Value, b: Value, c: Value },

    /// `bra`. `uniform` stands for `.uni`, a promise that all active threads go the same way.
    Bra { uniform: bool, target: Target },
    /// `brx.idx`: branches to `targets[index]`. An index outside the table is undefined.
    BrxIdx { uniform: bool, index: RegId, targets: Vec<Target> },
    /// `ret`. In a kernel it is `exit`.
    Ret { uniform: bool },
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`
    Brkpt,
    /// A direct `call`.
    Call { uniform: bool, callee: FunctionId, returns: Vec<CallReturn>, args: Vec<CallArg> },
    /// A `call` of the function whose address is in `target`.
    CallIndirect {
        uniform: bool,
        target: RegId,
        returns: Vec<CallReturn>,
        args: Vec<CallArg>,
        callees: Box<Callees>,
    },

    /// `bar.*` and `barrier.*` of the block.
    Barrier { op: BarrierOp, aligned: bool, id: Value, threads: Option<Value> },
    /// `bar.red`, `barrier.red`: a barrier that reduces a predicate over its threads.
    BarrierRed {
        op: BarrierRedOp,
        aligned: bool,
        dst: RegId,
        id: Value,
        threads: Option<Value>,
        pred: PredicateOperand,
    },
    /// `barrier.cluster.arrive`. It releases (`releases`) unless it is `.relaxed`.
    ClusterArrive { releases: bool, aligned: bool },
    /// `barrier.cluster.wait`
    ClusterWait { aligned: bool },
    /// `bar.warp.sync`
    WarpSync { mask: Value },
    /// `membar`, `fence`.
    Fence { sem: FenceSem, scope: Scope },
    /// `fence.proxy` and `fence.mbarrier_init`: fences between memory proxies.
    ProxyFence,
    /// `shfl.sync.mode.b32 dst|pred, a, lane, clamp, mask`. PTX calls `lane` b, and `clamp` c.
    /// `clamp` holds the clamp value in bits 0 to 4 and the segment mask in bits 8 to 12.
    Shfl {
        mode: ShflMode,
        dst: RegId,
        pred: Option<RegId>,
        a: Value,
        lane: Value,
        clamp: Value,
        mask: Value,
    },
    /// `vote.sync`. `dst` is a predicate, or has 32 bits for `ballot`.
    Vote { mode: VoteMode, dst: RegId, pred: PredicateOperand, mask: Value },
    /// `match.any.sync` and `match.all.sync`. `ty` is `.b32` or `.b64`. Only `all` has `pred`.
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
    /// `redux.sync`. `ty` is `.u32`, `.s32`, or `.b32` for the bit-wise operations.
    Redux { op: ReduxOp, ty: Type, dst: RegId, a: Value, mask: Value },
    /// `elect.sync`: `pred` holds in one lane, whose number goes to `dst`.
    Elect { dst: Option<RegId>, pred: RegId, mask: Value },

    /// `atom` and `red`. `dst` is `None` for `red` and for the sink. Only [`AtomOp::Cas`] has `b`:
    /// it compares with `a`, and stores `b`.
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

    /// `atom` and `red` on vectors of floats (`.v2` to `.v8`). Each element is changed atomically
    /// on its own. `dst` is empty for `red`.
    AtomVector {
        op: AtomOp,
        ordering: Ordering,
        space: Space,
        ty: Type,
        dst: Vec<Option<RegId>>,
        addr: Address,
        src: Vec<Value>,
    },

    /// `mbarrier.init`: initialises an mbarrier that waits for `count` arrivals.
    MbarrierInit { space: Space, addr: Address, count: Value },
    /// `mbarrier.inval`
    MbarrierInval { space: Space, addr: Address },
    /// `mbarrier.arrive` and `mbarrier.arrive_drop` (`drop`). `operand` is the transaction count
    /// with `.expect_tx` (`expects`), and the number of arrivals otherwise. `dst` receives the
    /// state before the arrival, in 64 bits.
    MbarrierArrive {
        drop: bool,
        expects: bool,
        no_complete: bool,
        ordering: Ordering,
        space: Space,
        dst: Option<RegId>,
        addr: Address,
        operand: Option<Value>,
    },
    /// `mbarrier.expect_tx`, and `mbarrier.complete_tx` (`completes`).
    MbarrierTx { completes: bool, space: Space, addr: Address, count: Value },
    /// `mbarrier.test_wait`, and `mbarrier.try_wait` (`blocks`). A state (64 bits) or a parity (32
    /// bits) names a phase. The destination, a predicate, receives whether the phase is complete.
    MbarrierWait {
        blocks: bool,
        parity: bool,
        ordering: Ordering,
        space: Space,
        dst: RegId,
        addr: Address,
        phase: Value,
        time: Option<Value>,
    },
    /// `mbarrier.pending_count`: the number of arrivals for which a state still waited.
    MbarrierPending { dst: RegId, state: Value },
    /// `cp.async.bulk` of `size` bytes. The copy signals its end to an mbarrier
    /// (`.mbarrier::complete_tx::bytes`), or else it belongs to the thread's bulk group. `mask`
    /// names the blocks of `.multicast::cluster`.
    BulkCopy {
        to: Space,
        from: Space,
        dst: Address,
        src: Address,
        size: Value,
        mbarrier: Option<Address>,
        mask: Option<Value>,
    },
    /// `cp.async` from global to shared memory, of 4, 8 or 16 bytes. The first `from` bytes are
    /// copied, and the others are set to zero.
    AsyncCopy { bytes: u32, dst: Address, src: Address, from: Option<Value> },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's earlier copies have ended. With
    /// `.noinc` (`counted`), the mbarrier already waits for this arrival.
    AsyncArrive { counted: bool, space: Space, addr: Address },
    /// `cp.async.commit_group`, and `cp.async.bulk.commit_group` (`bulk`).
    CommitGroup { bulk: bool },
    /// `cp.async.wait_group`, `cp.async.wait_all` (no `groups`), and `cp.async.bulk.wait_group`
    /// (`bulk`). They wait until at most the last `groups` groups are in flight. With `read`, they
    /// wait only until the sources of the other groups have been read.
    WaitGroup { bulk: bool, groups: Option<u32>, read: bool },

    /// `nanosleep.u32`
    Nanosleep { duration: Value },
    /// `pmevent`
    Pmevent { mask: Value },
    /// `griddepcontrol.wait`, `griddepcontrol.launch_dependents`
    GridDependency,

    /// An instruction that is not known. Only
    /// [`parse_with_unknown`](crate::ptx::parse_with_unknown) returns it.
    Unknown(Box<Unknown>),
}
