//! The classes of faults, and the sentence that each prints.

use thiserror::Error;

use super::access::{Access, Nearest, Space};
use super::waiting::{Waiting, exited_note, join, stand};

/// The reason for a [`Fault`](crate::Fault).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside all allocated memory.
    #[error(
        "out-of-bounds {space} {access} of {bytes} bytes at {address:#x}, {}",
        describe(*nearest, *space)
    )]
    OutOfBounds {
        /// The space of the access.
        space: Space,
        /// The kind of the access.
        access: Access,
        /// How many bytes one element of the access has.
        bytes: u64,
        /// The first address; in a space other than global, an offset into the space.
        address: u64,
        /// The allocation that is nearest to the access (in a space other than global, the whole
        /// space); `None` if nothing is allocated.
        nearest: Option<Nearest>,
    },
    /// An address that is not aligned as the access requires.
    #[error(
        "misaligned {space} {access} of {bytes} bytes at {address:#x}, which must be a multiple of {align}"
    )]
    Misaligned {
        /// The space of the access.
        space: Space,
        /// The kind of the access.
        access: Access,
        /// How many bytes the whole access has, all vector elements together.
        bytes: u64,
        /// The first address of the access.
        address: u64,
        /// The address must be a multiple of this number.
        align: u64,
    },
    /// An access to freed memory.
    #[error(
        "{access} of {bytes} bytes at {address:#x} in freed memory: the allocation of {length} bytes at {base:#x} was freed"
    )]
    Freed {
        /// The kind of the access.
        access: Access,
        /// How many bytes one element of the access has.
        bytes: u64,
        /// The first address of the access.
        address: u64,
        /// The first address of the freed allocation.
        base: u64,
        /// The size of the freed allocation in bytes.
        length: u64,
    },
    /// An access through a null pointer, or through an address near null.
    #[error("{access} of {bytes} bytes through a null pointer ({address:#x})")]
    Null {
        /// The kind of the access.
        access: Access,
        /// How many bytes one element of the access has.
        bytes: u64,
        /// The first address of the access.
        address: u64,
    },
    /// A write to a space that can only be read.
    #[error("{access} to the read-only {space} space at {address:#x}")]
    ReadOnly {
        /// The space of the access.
        space: Space,
        /// The kind of the access.
        access: Access,
        /// The first address of the access.
        address: u64,
    },
    /// An integer division or remainder by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// The instruction `trap` or `brkpt`.
    #[error("trap")]
    Trap,
    /// A call of `__assertfail`, which CUDA's `assert` makes when it fails. A text that could not
    /// be read is empty.
    #[error("{}", assertion(condition, file, *line, function))]
    Assertion {
        /// The condition as written.
        condition: String,
        /// The source file, as the compiler wrote it.
        file: String,
        /// The line in the source file.
        line: u32,
        /// The function, as the compiler wrote it.
        function: String,
    },
    /// `brx.idx` with an index outside its table.
    #[error("branch index {index} is outside the table of {targets} targets")]
    BranchIndex {
        /// The index.
        index: u32,
        /// How many targets there are.
        targets: usize,
    },
    /// A call through an address that is not the address of a function with the call's prototype.
    #[error(
        "call through the address {address:#x}, which is not that of a function with the parameters and results of this call"
    )]
    CallTarget {
        /// The address.
        address: u64,
    },
    /// A call, through an address, of a function that the thread has not left yet.
    #[error("`{function}` calls itself{}, and recursion is not simulated", through_names(through))]
    Recursion {
        /// The function.
        function: String,
        /// The functions that were called through an address between the two calls, in order.
        through: Vec<String>,
    },
    /// An instruction that is not simulated, in a function that was called through an address.
    #[error("{reason}")]
    Unsupported {
        /// The reason.
        reason: String,
    },
    /// A barrier operand that PTX does not allow.
    #[error("{what} {value}: {allowed}")]
    BarrierOperand {
        /// The name of the operand.
        what: &'static str,
        /// The value of the operand.
        value: u32,
        /// The rule that the operand must obey.
        allowed: &'static str,
    },
    /// A lane executes a warp-level `.sync` instruction whose member mask does not contain the
    /// lane.
    #[error("the member mask {mask:#010x} leaves out the executing lane {lane}")]
    NotInMask {
        /// The mask.
        mask: u32,
        /// The lane.
        lane: u32,
    },
    /// A barrier of the block that not all threads can reach.
    #[error("barrier {id} that not all threads reach: {}{}", join(waiting), exited_note(*exited))]
    Barrier {
        /// The barrier's number.
        id: u32,
        /// All threads that wait, at this barrier and elsewhere.
        waiting: Vec<Waiting>,
        /// How many threads of the block have exited.
        exited: u32,
    },
    /// An mbarrier whose phase never ends.
    #[error(
        "mbarrier whose phase does not end, which waits for {arrivals} arrivals and {bytes} bytes while copies of {in_flight} bytes to it are in flight: {}{}",
        join(waiting),
        exited_note(*exited)
    )]
    Mbarrier {
        /// How many arrivals the phase waits for.
        arrivals: u32,
        /// How many bytes the phase waits for; negative if more bytes arrived than were announced.
        bytes: i32,
        /// How many bytes are in flight in copies that will signal the mbarrier.
        in_flight: i64,
        /// All threads that wait, at this barrier and elsewhere.
        waiting: Vec<Waiting>,
        /// How many threads of the block have exited.
        exited: u32,
    },
    /// An mbarrier instruction on memory that holds no mbarrier.
    #[error(
        "there is no mbarrier at {address:#x} of shared memory: it was not initialised, or overwritten"
    )]
    NoMbarrier {
        /// The offset into shared memory.
        address: u64,
    },
    /// A generic address that must name shared memory, and does not.
    #[error("the address {address:#x} is not one of shared memory")]
    NotShared {
        /// The address.
        address: u64,
    },
    /// A generic address that must name global memory, and does not.
    #[error("the address {address:#x} is not one of global memory")]
    NotGlobal {
        /// The address, or the offset in its own space.
        address: u64,
    },
    /// An arrival at the cluster's barrier without a wait since the last one, or a wait without an
    /// arrival.
    #[error("{}", if *arrives {
        "second arrival at the barrier of the cluster without a wait since the first"
    } else {
        "wait at the barrier of the cluster without an arrival before"
    })]
    ClusterBarrier {
        /// Whether the instruction is an arrival.
        arrives: bool,
    },
    /// An access to the shared memory of a block that the cluster does not have.
    #[error("there is no block of rank {rank} in a cluster of {size}")]
    ClusterRank {
        /// The rank that the address names; 127 stands for 127 and all larger ranks.
        rank: u32,
        /// How many blocks the cluster has.
        size: u32,
    },
    /// An access to the shared memory of a block of the cluster that has exited.
    #[error(
        "shared memory of the block of rank {rank} in the cluster is gone: the block has exited"
    )]
    ExitedBlock {
        /// The block's rank.
        rank: u32,
    },
    /// A bulk copy whose size PTX does not allow.
    #[error("bulk copy of {bytes} bytes: the size must be a multiple of 16")]
    CopySize {
        /// The size in bytes.
        bytes: u32,
    },
    /// A block exits before a copy from or to its shared memory has ended.
    #[error(
        "the block exits while this copy of {bytes} bytes is in flight from or to its shared memory"
    )]
    CopyInFlight {
        /// The size in bytes.
        bytes: u32,
    },
    /// The launch has run as many warp instructions as its budget allows.
    #[error("the budget of {budget} warp instructions is spent; {}", stand(standing))]
    Budget {
        /// The [`LaunchConfig::budget`](crate::LaunchConfig::budget).
        budget: u64,
        /// The places where the block's warps stand.
        standing: Vec<Waiting>,
    },
    /// The launch was interrupted from outside.
    #[error("interrupted; {}", stand(standing))]
    Interrupted {
        /// The places where the block's warps stand.
        standing: Vec<Waiting>,
    },
    /// All threads that have not exited repeat the same steps for ever, because nothing that still
    /// runs changes the memory that they read.
    #[error(
        "livelock: these threads repeat the same steps for ever, and nothing that still runs changes what they read; {}",
        stand(standing)
    )]
    Livelock {
        /// The places where the block's warps stand.
        standing: Vec<Waiting>,
    },
    /// All threads wait for others that never arrive.
    #[error("deadlock: {}{}", join(waiting), exited_note(*exited))]
    Deadlock {
        /// The places where threads wait.
        waiting: Vec<Waiting>,
        /// How many threads of the block have exited.
        exited: u32,
    },
}

impl FaultKind {
    /// The class of the fault, as reports name it.
    pub const fn name(&self) -> &'static str {
        match self {
            FaultKind::OutOfBounds { .. } => "out-of-bounds",
            FaultKind::Misaligned { .. } => "misaligned",
            FaultKind::Freed { .. } => "use-after-free",
            FaultKind::Null { .. } => "null-pointer",
            FaultKind::ReadOnly { .. } => "read-only",
            FaultKind::DivisionByZero => "division-by-zero",
            FaultKind::Trap => "trap",
            FaultKind::Assertion { .. } => "assertion",
            FaultKind::BranchIndex { .. } => "branch-index",
            FaultKind::CallTarget { .. } => "call-target",
            FaultKind::Recursion { .. } => "recursion",
            FaultKind::Unsupported { .. } => "unsupported",
            FaultKind::BarrierOperand { .. } => "barrier-operand",
            FaultKind::NotInMask { .. } => "not-in-mask",
            FaultKind::Barrier { .. } => "divergent-barrier",
            FaultKind::Budget { .. } => "budget",
            FaultKind::Interrupted { .. } => "interrupted",
            FaultKind::Mbarrier { .. } => "mbarrier",
            FaultKind::NoMbarrier { .. } => "no-mbarrier",
            FaultKind::NotShared { .. } => "not-shared",
            FaultKind::NotGlobal { .. } => "not-global",
            FaultKind::ClusterBarrier { .. } => "cluster-barrier",
            FaultKind::ClusterRank { .. } => "cluster-rank",
            FaultKind::ExitedBlock { .. } => "exited-block",
            FaultKind::CopySize { .. } => "copy-size",
            FaultKind::CopyInFlight { .. } => "copy-in-flight",
            FaultKind::Livelock { .. } => "livelock",
            FaultKind::Deadlock { .. } => "deadlock",
        }
    }

    /// The advice to the author of the kernel; `None` if there is no advice.
    pub(super) const fn help(&self) -> Option<&'static str> {
        match self {
            FaultKind::OutOfBounds { .. } => {
                Some("compare the index with the length before the access")
            }
            FaultKind::Misaligned { .. } => {
                Some("start wide and vector accesses at a multiple of their size")
            }
            FaultKind::Freed { .. } => {
                Some("free the allocation after the last launch that uses it")
            }
            FaultKind::NotInMask { .. } => {
                Some("let the mask name every lane that runs the instruction")
            }
            FaultKind::Barrier { .. } => Some(
                "let all threads of the block reach the barrier: move it out of the branch, and let none exit before",
            ),
            FaultKind::Mbarrier { .. } => Some(
                "let as many threads arrive as `mbarrier.init` says, and announce as many bytes as are copied",
            ),
            FaultKind::NoMbarrier { .. } => Some(
                "let one thread initialise the mbarrier, with a barrier of the block before others use it",
            ),
            FaultKind::ExitedBlock { .. } => Some(
                "put a barrier of the cluster before the exit: barrier.cluster.arrive and barrier.cluster.wait",
            ),
            FaultKind::CopySize { .. } => {
                Some("copy whole units of 16 bytes, and the rest by loads and stores")
            }
            FaultKind::CopyInFlight { .. } => Some(
                "wait before the exit: for the phase of the mbarrier (mbarrier.try_wait), or for the group (wait_group)",
            ),
            FaultKind::Livelock { .. } => Some(
                "let a thread that does not wait itself write what the others poll, and every launch begin with it unset",
            ),
            FaultKind::Deadlock { .. } => {
                Some("let every lane that a mask names reach the instruction")
            }
            _ => None,
        }
    }
}

fn assertion(condition: &str, file: &str, line: u32, function: &str) -> String {
    let condition = if condition.is_empty() { String::new() } else { format!(" `{condition}`") };
    let file = if file.is_empty() { String::new() } else { format!(" at {file}:{line}") };
    let function = if function.is_empty() { String::new() } else { format!(" in `{function}`") };
    format!("assertion{condition} failed{file}{function}")
}

/// The functions between two calls, as a part of a sentence.
fn through_names(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { " through ".to_owned() + &names.join(", ") }
}

fn describe(nearest: Option<Nearest>, space: Space) -> String {
    match (nearest, space) {
        (None, _) => "where nothing is allocated".to_owned(),
        (Some(n), Space::Global) => {
            let side = if n.past_end { "past the end of" } else { "before the start of" };
            format!(
                "{} bytes {side} the nearest allocation ({} bytes at {:#x})",
                n.missed_by, n.bytes, n.base
            )
        }
        (Some(n), space) => {
            format!("{} bytes past the end of the {} {space} bytes", n.missed_by, n.bytes)
        }
    }
}
