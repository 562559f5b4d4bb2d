//! What the interpreter executes: a flat list of instructions over numbered registers, with calls inlined.

pub(crate) mod layout;
pub(crate) mod param;

use crate::fault::{self, FaultKind};
use crate::ptx::ast::{
    self, AtomOp, BarrierOp, BarrierRedOp, FenceSem, LocationId, MatchMode, Ordering, ReduxOp, Scope, ShflMode,
    SpecialReg, Type, VoteMode,
};
use crate::registers::{AluFn, Operands};

/// A kernel made ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) code: Vec<Inst>,
    /// For each instruction where it comes from: a span's byte range and line.
    pub(crate) places: Vec<Place>,
    /// Sizes of the register files.
    pub(crate) words: usize,
    pub(crate) doubles: usize,
    pub(crate) predicates: usize,
    /// Registers that nothing writes and their values.
    pub(crate) word_values: Vec<(u32, Init)>,
    pub(crate) double_values: Vec<(u32, Init)>,
    /// Registers that a lane may read before it writes them: they begin as zero in each block.
    pub(crate) zeroed_words: Vec<u32>,
    pub(crate) zeroed_doubles: Vec<u32>,
    pub(crate) zeroed_predicates: Vec<u32>,
    /// Bytes of statically sized shared memory.
    pub(crate) static_shared: u32,
    /// Where dynamic shared memory begins, after it.
    pub(crate) dynamic_base: u32,
    /// Bytes of local memory of each thread.
    pub(crate) local: u32,
    /// Bytes of parameters.
    pub(crate) params: u32,
}

impl Program {
    /// Whether it reads what the driver tells its own code in `%envreg`.
    pub(crate) fn reads_environment(&self) -> bool {
        self.word_values.iter().any(|(_, init)| matches!(init, Init::Special(SpecialReg::EnvReg(_))))
    }

    /// From one thread's local memory to the next one's, in bytes.
    pub(crate) fn local_stride(&self) -> usize {
        self.local.next_multiple_of(16) as usize
    }
}

/// A place in the PTX text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) line: u32,
    /// The source that the PTX was compiled from.
    pub(crate) location: Option<LocationId>,
    /// Whether this is the first of what its PTX instruction became: the one that stands for it in counts.
    pub(crate) first: bool,
}

/// The value of a register that nothing writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Init {
    Const(u64),
    Special(SpecialReg),
    /// The device address of a module's variable plus an offset.
    Variable(u32, i64),
}

/// A predicate that decides, lane by lane, whether an instruction acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) register: u32,
    pub(crate) negated: bool,
}

impl Guard {
    /// The guard of an unguarded instruction.
    pub(crate) const ALWAYS: Guard = Guard { register: u32::MAX, negated: false };
}

#[derive(Debug)]
pub(crate) struct Inst {
    pub(crate) guard: Guard,
    pub(crate) op: Op,
}

/// A register's file and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Word(u32),
    Double(u32),
}

/// A memory operand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// Where an access goes, as far as the instruction says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    /// Shared memory of any block of the cluster: the address says whose.
    Cluster,
    Local,
    Param,
}

/// How a loaded value fills its register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) slot: Slot,
    /// Bits of the declared register; the rest of a word stays zero.
    pub(crate) bits: u32,
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub(crate) width: u32,
    pub(crate) signed: bool,
    pub(crate) ordering: Ordering,
    /// The space that the PTX names: parameters of calls lie in local memory here, constants in global memory.
    pub(crate) written: ast::Space,
    /// One for each element; `None` drops it.
    pub(crate) targets: Vec<Option<Target>>,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) width: u32,
    pub(crate) ordering: Ordering,
    /// As in [`Load`].
    pub(crate) written: ast::Space,
    pub(crate) sources: Vec<Slot>,
}

#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) op: AtomOp,
    pub(crate) ty: Type,
    pub(crate) ordering: Ordering,
    /// Where the old value goes. Without one it is a reduction, to the hardware too.
    pub(crate) target: Option<Slot>,
    pub(crate) a: Slot,
    pub(crate) b: Option<Slot>,
}

/// A barrier of the block.
#[derive(Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) aligned: bool,
    /// Words.
    pub(crate) id: u32,
    pub(crate) threads: Option<u32>,
}

#[derive(Debug)]
pub(crate) enum BarrierKind {
    Plain(BarrierOp),
    /// The reduced predicate (and whether it is negated) and the destination: a word for `popc`, else a predicate.
    Reduce {
        op: BarrierRedOp,
        source: u32,
        negated: bool,
        target: u32,
    },
}

/// A memory operand and its space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryOperand {
    pub(crate) space: Space,
    pub(crate) address: Address,
}

/// A step of the cluster's barrier.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClusterStep {
    Arrive { releases: bool },
    Wait,
}

/// A wait for a phase of an mbarrier. `phase` is a word with its parity, or a double with a state of that phase; `target`
/// is a predicate.
#[derive(Debug)]
pub(crate) struct PhaseWait {
    pub(crate) mbarrier: MemoryOperand,
    pub(crate) phase: Slot,
    pub(crate) ordering: Ordering,
    pub(crate) target: u32,
}

/// A bulk copy. Its sizes and masks are words.
#[derive(Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to: MemoryOperand,
    pub(crate) from: MemoryOperand,
    pub(crate) size: u32,
    /// Where its end is told; else it belongs to the thread's bulk group.
    pub(crate) mbarrier: Option<MemoryOperand>,
    /// The blocks of a multicast.
    pub(crate) mask: Option<u32>,
}

/// What goes on beside the threads, and what speaks to it without waiting. Operands are words.
#[derive(Debug)]
pub(crate) enum Async {
    Init {
        mbarrier: MemoryOperand,
        count: u32,
    },
    Invalidate {
        mbarrier: MemoryOperand,
    },
    Arrive(Arrive),
    /// `mbarrier.expect_tx` and `mbarrier.complete_tx`.
    Transactions {
        mbarrier: MemoryOperand,
        completes: bool,
        count: u32,
    },
    TestWait(PhaseWait),
    Bulk(BulkCopy),
    /// `cp.async`: the first `read` bytes are copied, if that is said, and the rest is zero.
    Copy {
        to: MemoryOperand,
        from: MemoryOperand,
        bytes: u32,
        read: Option<u32>,
    },
    /// `cp.async.mbarrier.arrive`
    CopyArrive {
        mbarrier: MemoryOperand,
        counted: bool,
    },
    Commit {
        bulk: bool,
    },
    /// Until at most the last `groups` are in flight, or none at all, not even what was not committed.
    Wait {
        bulk: bool,
        groups: Option<u32>,
        read: bool,
    },
}

/// An arrival at an mbarrier. `operand` is a number of arrivals, or of bytes (`expects`); `target` is a double.
#[derive(Debug)]
pub(crate) struct Arrive {
    pub(crate) mbarrier: MemoryOperand,
    pub(crate) drop: bool,
    pub(crate) expects: bool,
    pub(crate) no_complete: bool,
    pub(crate) ordering: Ordering,
    pub(crate) target: Option<u32>,
    pub(crate) operand: Option<u32>,
}

/// What crosses lanes.
#[derive(Debug)]
pub(crate) enum Collective {
    Shuffle {
        mode: ShflMode,
        target: u32,
        predicate: Option<u32>,
        a: u32,
        lane: u32,
        clamp: u32,
    },
    /// `target` is a word for `ballot`, else a predicate.
    Vote {
        mode: VoteMode,
        target: u32,
        source: u32,
        negated: bool,
    },
    Match {
        mode: MatchMode,
        target: Option<u32>,
        predicate: Option<u32>,
        a: Slot,
    },
    Redux {
        op: ReduxOp,
        signed: bool,
        target: u32,
        a: u32,
    },
    Elect {
        target: Option<u32>,
        predicate: u32,
    },
}

#[derive(Debug)]
pub(crate) enum Op {
    Alu {
        f: AluFn,
        operands: Operands,
    },
    /// Faults in lanes where the divisor is zero.
    CheckDivisor {
        divisor: Slot,
        bits: u32,
    },
    Bra {
        target: u32,
        /// Whether the PTX has a branch here, and not a call or a return.
        written: bool,
    },
    BrxIdx {
        index: u32,
        targets: Vec<u32>,
    },
    Exit,
    Trap {
        kind: FaultKind,
    },
    Load(Box<Load>),
    Store(Box<Store>),
    Atomic(Box<Atomic>),
    /// `target` is a predicate.
    IsSpace {
        space: Space,
        target: u32,
        address: u32,
    },
    Fence {
        sem: FenceSem,
        scope: Scope,
    },
    ProxyFence,
    /// The address that the block of rank `rank`, a word, has for what `address` is here.
    MapRank {
        target: Slot,
        address: Slot,
        rank: u32,
    },
    /// The rank of the block whose shared memory an address lies in.
    RankOf {
        target: u32,
        address: Slot,
    },
    Async(Box<Async>),
    Barrier(Box<Barrier>),
    Cluster {
        step: ClusterStep,
        aligned: bool,
    },
    TryWait(Box<PhaseWait>),
    /// `mask` is a word.
    WarpSync {
        mask: u32,
    },
    Collective {
        mask: u32,
        collective: Box<Collective>,
    },
    ActiveMask {
        target: u32,
    },
    /// A clock of the warp, shifted right, into a register.
    Clock {
        target: Slot,
        shift: u32,
    },
    Nop,
}

impl Op {
    /// Whether it may wait for others: it has run once it no longer waits.
    #[inline(always)]
    pub(crate) const fn waits(&self) -> bool {
        matches!(
            self,
            Op::Barrier(_) | Op::Cluster { .. } | Op::TryWait(_) | Op::WarpSync { .. } | Op::Collective { .. }
        )
    }
}

impl From<Space> for fault::Space {
    fn from(space: Space) -> fault::Space {
        match space {
            Space::Global | Space::Generic => fault::Space::Global,
            Space::Shared | Space::Cluster => fault::Space::Shared,
            Space::Local => fault::Space::Local,
            Space::Param => fault::Space::Param,
        }
    }
}
