//! The code that the interpreter executes: a flat list of instructions on numbered registers, with
//! all calls inlined.

pub(crate) mod layout;
pub(crate) mod param;

use crate::fault::{self, FaultKind};
use crate::ptx::ast::{
    self, AtomOp, BarrierOp, BarrierRedOp, FenceSem, LocationId, MatchMode, Ordering, ReduxOp,
    Scope, ShflMode, SpecialReg, Type, VoteMode,
};
use crate::registers::{Lifted, Operands, Shape};

/// A kernel made ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) code: Vec<Inst>,
    /// The registers that each arithmetic instruction reads and writes; `None` for others.
    pub(crate) shapes: Vec<Option<Shape>>,
    /// The index of the first instruction to run.
    pub(crate) entry: u32,
    /// The functions that can be called through an address.
    pub(crate) outlined: Vec<Outlined>,
    /// The place in the PTX text of each instruction.
    pub(crate) places: Vec<Place>,
    /// The sizes of the register files.
    pub(crate) words: usize,
    pub(crate) doubles: usize,
    pub(crate) predicates: usize,
    /// The registers that nothing writes, and their values.
    pub(crate) word_values: Vec<(u32, Init)>,
    pub(crate) double_values: Vec<(u32, Init)>,
    /// The registers that a lane may read before it writes them. They begin as zero in each block.
    pub(crate) zeroed_words: Vec<u32>,
    pub(crate) zeroed_doubles: Vec<u32>,
    pub(crate) zeroed_predicates: Vec<u32>,
    /// Bytes of statically sized shared memory.
    pub(crate) static_shared: u32,
    /// The offset of dynamic shared memory, after the static part.
    pub(crate) dynamic_base: u32,
    /// Bytes of local memory of each thread.
    pub(crate) local: u32,
    /// Bytes of parameters.
    pub(crate) params: u32,
}

impl Program {
    /// Whether the kernel reads `%envreg`, in which the driver passes values to its own code.
    pub(crate) fn reads_environment(&self) -> bool {
        self.word_values
            .iter()
            .any(|(_, init)| matches!(init, Init::Special(SpecialReg::EnvReg(_))))
    }

    /// The distance between the local memories of two neighbouring threads in bytes.
    pub(crate) fn local_stride(&self) -> usize {
        self.local.next_multiple_of(16) as usize
    }
}

/// A function that can be called through an address.
#[derive(Debug, Clone)]
pub(crate) struct Outlined {
    pub(crate) name: String,
    /// Its instructions: the first, and the one after the last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The word that holds the program counter to which it returns; 0 while it is not active.
    pub(crate) link: u32,
}

/// A place in the PTX text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) line: u32,
    /// The source line from which the PTX was compiled.
    pub(crate) location: Option<LocationId>,
    /// Whether this is the first of the instructions to which its PTX instruction was lowered. Only
    /// the first one is counted as an execution of the PTX instruction.
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

/// A predicate that decides for each lane whether an instruction acts.
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

/// The state space of an access, as far as the instruction names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    /// Shared memory of any block of the cluster; the address names the block.
    Cluster,
    Local,
    Param,
}

/// The register that receives a loaded value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) slot: Slot,
    /// The width of the declared register in bits. The rest of a word stays zero.
    pub(crate) bits: u32,
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// The size of one element in bytes: 1, 2, 4 or 8.
    pub(crate) width: u32,
    pub(crate) signed: bool,
    pub(crate) ordering: Ordering,
    /// The space that the PTX names. It may differ from `space`, because the simulator keeps
    /// parameters of calls in local memory, and constants in global memory.
    pub(crate) written: ast::Space,
    /// The target of each element; `None` drops the element.
    pub(crate) targets: Vec<Option<Target>>,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) width: u32,
    pub(crate) ordering: Ordering,
    /// The space that the PTX names, as in [`Load`].
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
    /// The register for the old value. Without one, the instruction is a reduction, as it is on
    /// hardware.
    pub(crate) target: Option<Slot>,
    pub(crate) a: Slot,
    pub(crate) b: Option<Slot>,
    /// The targets and the sources of the other elements of a vector.
    pub(crate) more: Vec<(Option<Slot>, Slot)>,
}

impl Atomic {
    /// How many bytes all elements have together.
    pub(crate) fn bytes(&self) -> u32 {
        self.ty.size() * (1 + self.more.len() as u32)
    }
}

/// `vprintf`. The format and the arguments are addresses, in registers of the doubles file. The
/// result goes to a word.
#[derive(Debug)]
pub(crate) struct Print {
    pub(crate) format: u32,
    pub(crate) arguments: u32,
    pub(crate) target: Slot,
}

/// `__assertfail`. The texts are addresses, in registers of the doubles file; the line is a word.
#[derive(Debug)]
pub(crate) struct Assertion {
    pub(crate) message: u32,
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) function: u32,
}

/// A call through an address.
#[derive(Debug)]
pub(crate) struct IndirectCall {
    /// A register of the doubles file: the address.
    pub(crate) target: u32,
    /// The addresses of the functions that may be called, in ascending order, and their indices in
    /// [`Program::outlined`].
    pub(crate) callees: Vec<(u64, u32)>,
}

/// A barrier of the block.
#[derive(Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) aligned: bool,
    /// Two registers of the words file: the barrier's number and the thread count.
    pub(crate) id: u32,
    pub(crate) threads: Option<u32>,
}

#[derive(Debug)]
pub(crate) enum BarrierKind {
    Plain(BarrierOp),
    /// A barrier that reduces a predicate. `source` is the predicate, and `negated` says whether it
    /// is negated. `target` is a word for `popc`, and a predicate otherwise.
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

/// A wait for a phase of an mbarrier. `phase` is a word that holds the parity of the phase, or a
/// double that holds a state of the phase. `target` is a predicate.
#[derive(Debug)]
pub(crate) struct PhaseWait {
    pub(crate) mbarrier: MemoryOperand,
    pub(crate) phase: Slot,
    pub(crate) ordering: Ordering,
    pub(crate) target: u32,
}

/// A bulk copy. Its size and its mask are registers of the words file.
#[derive(Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to: MemoryOperand,
    pub(crate) from: MemoryOperand,
    pub(crate) size: u32,
    /// The mbarrier that the copy signals. Without one, the copy belongs to the thread's bulk
    /// group.
    pub(crate) mbarrier: Option<MemoryOperand>,
    /// The blocks to which a multicast copies.
    pub(crate) mask: Option<u32>,
}

/// Asynchronous copies, and the instructions on copies and mbarriers that do not wait. Their
/// operands are registers of the words file.
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
    /// `mbarrier.expect_tx`, or `mbarrier.complete_tx` if `completes`.
    Transactions {
        mbarrier: MemoryOperand,
        completes: bool,
        count: u32,
    },
    TestWait(PhaseWait),
    Bulk(BulkCopy),
    /// `cp.async`. If `read` is given, only that many bytes are copied, and the rest of the
    /// destination becomes zero.
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
    /// Waits until at most the last `groups` groups are in flight. If `groups` is `None`, waits for
    /// all copies of the thread, even for those that were not committed.
    Wait {
        bulk: bool,
        groups: Option<u32>,
        read: bool,
    },
}

/// An arrival at an mbarrier. `operand` is a number of arrivals or, if `expects`, a number of
/// bytes. `target` is a double.
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

/// Instructions that move values across lanes.
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
    /// A vote. `target` is a word for `ballot`, and a predicate otherwise.
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
        f: Lifted,
        operands: Operands,
    },
    /// A check that faults if the divisor is zero in an active lane.
    CheckDivisor {
        divisor: Slot,
        bits: u32,
    },
    Bra {
        target: u32,
        /// Whether the PTX has a branch here. If not, it has a call or a return.
        written: bool,
    },
    BrxIdx {
        index: u32,
        targets: Vec<u32>,
    },
    CallIndirect(Box<IndirectCall>),
    /// A return from a function that was called through an address.
    Return {
        link: u32,
    },
    Exit,
    Trap {
        kind: FaultKind,
    },
    Print(Box<Print>),
    Assert(Box<Assertion>),
    Load(Box<Load>),
    Store(Box<Store>),
    Atomic(Box<Atomic>),
    /// A test whether an address lies in `space`. `target` is a predicate.
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
    /// The address of the same variable in the block whose rank is in `rank`, a word.
    MapRank {
        target: Slot,
        address: Slot,
        rank: u32,
    },
    /// The rank of the block in whose shared memory an address lies.
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
    /// `bar.warp.sync`. `mask` is a word.
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
    /// Writes the clock of the warp, shifted right by `shift`, to a register.
    Clock {
        target: Slot,
        shift: u32,
    },
    Nop,
}

impl Op {
    /// Whether the instruction may wait for others. It counts as run when its wait is over.
    #[inline(always)]
    pub(crate) const fn waits(&self) -> bool {
        matches!(
            self,
            Op::Barrier(_)
                | Op::Cluster { .. }
                | Op::TryWait(_)
                | Op::WarpSync { .. }
                | Op::Collective { .. }
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
