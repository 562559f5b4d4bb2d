//! What stops a launch: the faults a simulated kernel can raise, and where.

use std::fmt;

use thiserror::Error;

use crate::check::Place;
use crate::launch::Dim3;
use crate::ptx::ast::Frame;

/// A state space an access went to, after generic addresses were resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory, `.const` included.
    Global,
    /// The block's shared memory.
    Shared,
    /// The thread's local memory.
    Local,
    /// The kernel's parameters.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
        })
    }
}

/// What an access does to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// `ld`
    Read,
    /// `st`
    Write,
    /// `atom` and `red`
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        })
    }
}

/// The allocation that an out-of-bounds access came closest to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearest {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many bytes beyond the allocation the access reaches (past its end) or begins (before its start).
    pub missed_by: u64,
    /// Whether it missed past the end, not before the start.
    pub past_end: bool,
}

/// Threads of one warp that wait at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The warp's number in its block.
    pub warp: u32,
    /// The lanes, bit i for lane i.
    pub lanes: u32,
    /// The line they wait at in the PTX text, from 1.
    pub line: u32,
    /// The instruction they wait at, as written.
    pub instruction: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warp {} {} at line {} `{}`", self.warp, Lanes(self.lanes), self.line, self.instruction)
    }
}

/// Prints a lane mask as `lanes 0-3, 8`.
pub(crate) struct Lanes(pub(crate) u32);

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_power_of_two() { "lane " } else { "lanes " })?;
        let mut rest = self.0;
        let mut first = true;
        while rest != 0 {
            let start = rest.trailing_zeros();
            let length = (!(rest >> start)).trailing_zeros().min(32 - start);
            let separator = if first { "" } else { ", " };
            first = false;
            match length {
                1 => write!(f, "{separator}{start}")?,
                _ => write!(f, "{separator}{start}-{}", start + length - 1)?,
            }
            rest &= !((u32::MAX >> (32 - length)) << start);
        }
        Ok(())
    }
}

/// The reason of a [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside everything that is allocated.
    #[error("out-of-bounds {space} {access} of {bytes} bytes at {address:#x}, {}", describe(*nearest, *space))]
    OutOfBounds {
        /// Where.
        space: Space,
        /// What.
        access: Access,
        /// Bytes of one element of the access.
        bytes: u64,
        /// First address; for other spaces than global an offset into the space.
        address: u64,
        /// The allocation (for other spaces: the whole space) that it missed; `None` if there is none at all.
        nearest: Option<Nearest>,
    },
    /// An address that is no multiple of what the access needs.
    #[error("misaligned {space} {access} of {bytes} bytes at {address:#x}, which must be a multiple of {align}")]
    Misaligned {
        /// Where.
        space: Space,
        /// What.
        access: Access,
        /// Bytes of the whole access, all vector elements together.
        bytes: u64,
        /// First address.
        address: u64,
        /// What the address must be a multiple of.
        align: u64,
    },
    /// An access to freed memory.
    #[error(
        "{access} of {bytes} bytes at {address:#x} in freed memory: the allocation of {length} bytes at {base:#x} was freed"
    )]
    Freed {
        /// What.
        access: Access,
        /// Bytes of one element of the access.
        bytes: u64,
        /// First address.
        address: u64,
        /// Where the freed allocation began.
        base: u64,
        /// Its size in bytes.
        length: u64,
    },
    /// An access through a null pointer, or close to it.
    #[error("{access} of {bytes} bytes through a null pointer ({address:#x})")]
    Null {
        /// What.
        access: Access,
        /// Bytes of one element of the access.
        bytes: u64,
        /// First address.
        address: u64,
    },
    /// A write to a space that can only be read.
    #[error("{access} to the read-only {space} space at {address:#x}")]
    ReadOnly {
        /// Where.
        space: Space,
        /// What.
        access: Access,
        /// First address.
        address: u64,
    },
    /// An integer division or remainder by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// `trap` or `brkpt`.
    #[error("trap")]
    Trap,
    /// A call of `__assertfail`, which is what CUDA's `assert` does when it fails.
    #[error("assertion failed")]
    Assertion,
    /// `brx.idx` with an index outside its table.
    #[error("branch index {index} is outside the table of {targets} targets")]
    BranchIndex {
        /// The index.
        index: u32,
        /// How many targets there are.
        targets: usize,
    },
    /// A barrier operand that PTX does not allow.
    #[error("{what} {value}: {allowed}")]
    BarrierOperand {
        /// Which operand.
        what: &'static str,
        /// Its value.
        value: u32,
        /// What it may be.
        allowed: &'static str,
    },
    /// A warp-level `.sync` instruction executed by a lane that its own mask leaves out.
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
        /// Who waits, there and elsewhere.
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
        /// Arrivals that the phase waits for.
        arrivals: u32,
        /// Bytes that it waits for; below zero if more came than were announced.
        bytes: i32,
        /// Bytes of copies that will be told to it.
        in_flight: i64,
        /// Who waits, there and elsewhere.
        waiting: Vec<Waiting>,
        /// How many threads of the block have exited.
        exited: u32,
    },
    /// An mbarrier instruction where no mbarrier is.
    #[error("there is no mbarrier at {address:#x} of shared memory: it was not initialised, or overwritten")]
    NoMbarrier {
        /// Offset into shared memory.
        address: u64,
    },
    /// A generic address that should be one of shared memory.
    #[error("the address {address:#x} is not one of shared memory")]
    NotShared {
        /// The address.
        address: u64,
    },
    /// An arrival at the cluster's barrier without a wait since the last one, or a wait without an arrival.
    #[error("{}", if *arrives {
        "second arrival at the barrier of the cluster without a wait since the first"
    } else {
        "wait at the barrier of the cluster without an arrival before"
    })]
    ClusterBarrier {
        /// Whether it is an arrival.
        arrives: bool,
    },
    /// An access to shared memory of a block that the cluster does not have.
    #[error("there is no block of rank {rank} in a cluster of {size}")]
    ClusterRank {
        /// The rank asked for; 127 stands for all above.
        rank: u32,
        /// Blocks of the cluster.
        size: u32,
    },
    /// An access to shared memory of a block of the cluster that has exited.
    #[error("shared memory of the block of rank {rank} in the cluster is gone: the block has exited")]
    ExitedBlock {
        /// The block's rank.
        rank: u32,
    },
    /// A bulk copy of a size that PTX does not allow.
    #[error("bulk copy of {bytes} bytes: the size must be a multiple of 16")]
    CopySize {
        /// The size in bytes.
        bytes: u32,
    },
    /// A block that exits before a copy from or to its shared memory is over.
    #[error("the block exits while this copy of {bytes} bytes is in flight from or to its shared memory")]
    CopyInFlight {
        /// The size in bytes.
        bytes: u32,
    },
    /// The launch has run as many warp instructions as it may.
    #[error("the budget of {budget} warp instructions is spent; {}", stand(standing))]
    Budget {
        /// [`LaunchConfig::budget`](crate::LaunchConfig::budget).
        budget: u64,
        /// Where the block's warps stand.
        standing: Vec<Waiting>,
    },
    /// The launch was interrupted from outside.
    #[error("interrupted; {}", stand(standing))]
    Interrupted {
        /// Where the block's warps stand.
        standing: Vec<Waiting>,
    },
    /// All threads that have not exited repeat the same steps for ever: nothing that still runs changes what they wait for.
    #[error(
        "livelock: these threads repeat the same steps for ever, and nothing that still runs changes what they read; {}",
        stand(standing)
    )]
    Livelock {
        /// Where the block's warps stand.
        standing: Vec<Waiting>,
    },
    /// All threads wait for others that never come.
    #[error("deadlock: {}{}", join(waiting), exited_note(*exited))]
    Deadlock {
        /// Who waits where.
        waiting: Vec<Waiting>,
        /// How many threads of the block have exited.
        exited: u32,
    },
}

impl FaultKind {
    /// Its class, as reports name it.
    pub const fn name(&self) -> &'static str {
        match self {
            FaultKind::OutOfBounds { .. } => "out-of-bounds",
            FaultKind::Misaligned { .. } => "misaligned",
            FaultKind::Freed { .. } => "use-after-free",
            FaultKind::Null { .. } => "null-pointer",
            FaultKind::ReadOnly { .. } => "read-only",
            FaultKind::DivisionByZero => "division-by-zero",
            FaultKind::Trap => "trap",
            FaultKind::Assertion => "assertion",
            FaultKind::BranchIndex { .. } => "branch-index",
            FaultKind::BarrierOperand { .. } => "barrier-operand",
            FaultKind::NotInMask { .. } => "not-in-mask",
            FaultKind::Barrier { .. } => "divergent-barrier",
            FaultKind::Budget { .. } => "budget",
            FaultKind::Interrupted { .. } => "interrupted",
            FaultKind::Mbarrier { .. } => "mbarrier",
            FaultKind::NoMbarrier { .. } => "no-mbarrier",
            FaultKind::NotShared { .. } => "not-shared",
            FaultKind::ClusterBarrier { .. } => "cluster-barrier",
            FaultKind::ClusterRank { .. } => "cluster-rank",
            FaultKind::ExitedBlock { .. } => "exited-block",
            FaultKind::CopySize { .. } => "copy-size",
            FaultKind::CopyInFlight { .. } => "copy-in-flight",
            FaultKind::Livelock { .. } => "livelock",
            FaultKind::Deadlock { .. } => "deadlock",
        }
    }

    /// What to try next, where there is something to say.
    const fn help(&self) -> Option<&'static str> {
        match self {
            FaultKind::OutOfBounds { .. } => Some("compare the index with the length before the access"),
            FaultKind::Misaligned { .. } => Some("start wide and vector accesses at a multiple of their size"),
            FaultKind::Freed { .. } => Some("free the allocation after the last launch that uses it"),
            FaultKind::NotInMask { .. } => Some("let the mask name every lane that runs the instruction"),
            FaultKind::Barrier { .. } => Some(
                "let all threads of the block reach the barrier: move it out of the branch, and let none exit before",
            ),
            FaultKind::Mbarrier { .. } => {
                Some("let as many threads arrive as `mbarrier.init` says, and announce as many bytes as are copied")
            }
            FaultKind::NoMbarrier { .. } => {
                Some("let one thread initialise the mbarrier, with a barrier of the block before others use it")
            }
            FaultKind::ExitedBlock { .. } => {
                Some("put a barrier of the cluster before the exit: barrier.cluster.arrive and barrier.cluster.wait")
            }
            FaultKind::CopySize { .. } => Some("copy whole units of 16 bytes, and the rest by loads and stores"),
            FaultKind::CopyInFlight { .. } => Some(
                "wait before the exit: for the phase of the mbarrier (mbarrier.try_wait), or for the group (wait_group)",
            ),
            FaultKind::Livelock { .. } => Some(
                "let a thread that does not wait itself write what the others poll, and every launch begin with it unset",
            ),
            FaultKind::Deadlock { .. } => Some("let every lane that a mask names reach the instruction"),
            _ => None,
        }
    }
}

fn describe(nearest: Option<Nearest>, space: Space) -> String {
    match (nearest, space) {
        (None, _) => "where nothing is allocated".to_owned(),
        (Some(n), Space::Global) => {
            let side = if n.past_end { "past the end of" } else { "before the start of" };
            format!("{} bytes {side} the nearest allocation ({} bytes at {:#x})", n.missed_by, n.bytes, n.base)
        }
        (Some(n), space) => format!("{} bytes past the end of the {} {space} bytes", n.missed_by, n.bytes),
    }
}

fn join(waiting: &[Waiting]) -> String {
    list(waiting, ["waits", "wait"])
}

fn stand(standing: &[Waiting]) -> String {
    list(standing, ["stands", "stand"])
}

/// The first places, and the verb for one thread or several.
fn list(waiting: &[Waiting], [one, many]: [&str; 2]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = waiting.iter().take(SHOWN).map(ToString::to_string).collect();
    let verb = if matches!(waiting, [only] if only.lanes.is_power_of_two()) { one } else { many };
    let rest = match waiting.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" (and {more} groups more)"),
    };
    format!("{} {verb}{rest}", shown.join(", "))
}

fn exited_note(exited: u32) -> String {
    match exited {
        0 => String::new(),
        1 => "; 1 thread has exited".to_owned(),
        n => format!("; {n} threads have exited"),
    }
}

/// A fault of a simulated kernel: what went wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("kernel `{kernel}`, block {block}, thread {thread}, {module}:{line} `{instruction}`: {kind}")]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The module's name, usually its file.
    pub module: String,
    /// The block.
    pub block: Dim3,
    /// The thread in its block; the first one, where several faulted together.
    pub thread: Dim3,
    /// The line of the PTX text, from 1.
    pub line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// The source that it was compiled from, innermost first; empty where the PTX does not say.
    pub frames: Vec<Frame>,
    /// What went wrong.
    pub kind: FaultKind,
}

impl Fault {
    /// The fault as compilers print errors: class and sentence, the place in the source and in the PTX, and what to try
    /// next; in several lines, the last one without its end.
    ///
    /// ```
    /// use simt::{Arg, LaunchConfig, Memory, Module, check};
    ///
    /// let module = Module::from_ptx(
    ///     "null.ptx",
    ///     ".version 7.0
    ///      .target sm_75
    ///      .address_size 64
    ///      .visible .entry null(.param .u64 data) {
    ///          .reg .b64 %rd<2>;
    ///          ld.param.u64 %rd1, [data];
    ///          st.global.u32 [%rd1], 1;
    ///          ret;
    ///      }",
    /// )?;
    /// let kernel = module.kernel("null").ok_or("no such kernel")?;
    /// let checked = check(kernel, &LaunchConfig::new(1, 1), &[Arg::Pointer(0)], &Memory::new(1 << 20))?;
    /// let report = checked.fault.ok_or("no fault")?.report();
    /// assert!(report.starts_with("error[null-pointer]: thread (0,0,0) of block (0,0,0): write of 4 bytes"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn report(&self) -> String {
        let Fault { module, block, thread, line, instruction, frames, kind, .. } = self;
        let place = Place { module, frames, line: *line, instruction };
        let text = format!("error[{}]: thread {thread} of block {block}: {kind}\n{place}", kind.name());
        match kind.help() {
            Some(help) => text + "help: " + help,
            None => text.trim_end().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lanes;

    #[test]
    fn lanes_print_as_ranges() {
        assert_eq!(Lanes(1).to_string(), "lane 0");
        assert_eq!(Lanes(u32::MAX).to_string(), "lanes 0-31");
        assert_eq!(Lanes(0x8000_010f).to_string(), "lanes 0-3, 8, 31");
    }
}
