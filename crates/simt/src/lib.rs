//! A simulator of PTX. It parses, validates and runs the kernels that compilers emit for NVIDIA
//! GPUs, on a machine without a GPU.
//!
//! [`Module::from_ptx`] loads a module. A kernel with an instruction that is not known cannot be
//! launched, and the error names the line and the instruction. [`Memory`] is the device's memory.
//! [`launch()`] runs a kernel; it returns a fault as a [`Fault`] with block, thread, line and
//! address. [`count()`] also counts the kernel's instructions and accesses. [`check()`] finds
//! races, reads of bytes that nothing has written, divergent barriers and wrong masks; each is a
//! [`Report`] that reads like a compiler's error. [`trace()`] records each access of a small
//! launch. [`launch_together`] runs the kernels of several devices side by side, and
//! [`check_together`] checks them; [`Memory::alloc_shared`] is the memory through which they reach
//! each other. [`ptx`] is the parser alone. The crate does not know the purpose of the kernels.
//!
//! ```
//! use simt::{Arg, LaunchConfig, Memory, Module, launch};
//!
//! let module = Module::from_ptx(
//!     "lanes.ptx",
//!     ".version 7.0
//!      .target sm_75
//!      .address_size 64
//!      .visible .entry count(.param .u64 result) {
//!          .reg .b32 %r<2>;
//!          .reg .b64 %rd<2>;
//!          ld.param.u64 %rd1, [result];
//!          red.global.add.u32 [%rd1], 1;
//!          ret;
//!      }",
//! )?;
//! let memory = Memory::new(1 << 20);
//! let result = memory.alloc(4)?;
//! let kernel = module.kernel("count").ok_or("no such kernel")?;
//! launch(kernel, &LaunchConfig::new(10, 100), &[Arg::Pointer(result)], &memory)?;
//! let mut bytes = [0; 4];
//! memory.read(result, &mut bytes)?;
//! assert_eq!(u32::from_le_bytes(bytes), 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The behaviour where PTX leaves a choice
//!
//! - A warp has 32 lanes. Lanes that diverge join again where their program counters meet. No lane
//!   waits for ever while it could run, so lanes of a warp may wait for each other. A block may
//!   wait for earlier blocks, and for later ones as long as no worker has to keep more than 256
//!   blocks in flight. All blocks of a cooperative launch or of a cluster may wait for each other.
//!   A loop that waits for an event that never happens runs without end, as on hardware, unless the
//!   simulator can detect this (see [`FaultKind::Livelock`]).
//! - Integer division by zero is a fault. Shared and local memory, registers and fresh allocations
//!   begin as zero.
//! - A shuffle that reads from a lane that does not take part yields the reading lane's own value.
//!   A warp-level `.sync` does not wait for members that have exited or never had a thread; members
//!   that run and never arrive are a fault. Lanes meet at different instructions too, if these have
//!   the same qualifiers and member masks.
//! - `bar.sync` in divergent code waits for the whole warp, and is a fault if the warp can never
//!   come together.
//! - Float arithmetic with a rounding is exact to the bit. Approximations (such as `ex2.approx`)
//!   are closer to the true value than hardware's results, and not bit-equal to them.
//! - Asynchronous copies end as late as PTX allows, and `mbarrier.try_wait` waits without a time
//!   limit.
//! - Clocks count the warp's instructions; there is one multiprocessor.
//! - Recursion is refused, and the message names the cycle. If it happens through addresses, it is
//!   a fault ([`FaultKind::Recursion`]).
//!
//! The result of a launch does not depend on the number of host threads that run it, unless the
//! kernel itself depends on the order of its blocks.

#![allow(
    clippy::inline_always,
    reason = "loops over lanes vectorise only when all of their body is inlined"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "a lane number indexes several arrays and masks at once"
)]

pub mod args;
pub mod occupancy;
pub mod ptx;

mod alu;
mod dim;
mod exec;
mod fault;
#[cfg(feature = "formats")]
mod formats;
mod ir;
mod limits;
mod lower;
mod module;
mod observe;
mod random;
mod registers;

pub use dim::Dim3;
pub use exec::config::LaunchConfig;
pub use exec::launch::{
    Arg, LaunchError, Together, TogetherError, launch, launch_named, launch_together,
};
pub use exec::memory::{Memory, MemoryError};
pub use fault::{Access, Fault, FaultKind, Nearest, Space, Waiting};
#[cfg(feature = "formats")]
pub use formats::{FailOn, UnknownSeverity, sarif, suppress};
pub use ir::param::Param;
pub use limits::{MAX_BLOCK, MAX_CLUSTER, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
pub use lower::{LoadError, Refusal};
pub use module::{Kernel, Module, ModuleVariable};
pub use observe::check::{
    Checked, CheckedTogether, MemoryAccess, Party, Report, ReportKind, Severity, check,
    check_together, launch_and_warn,
};
pub use observe::count::{
    Banks, Cluster, Copies, Counters, Global, InstructionCounters, Local, Mbarriers, Profile,
    Requests, Shared, Traffic, count,
};
pub use observe::trace::{
    BlockTrace, CopiedBytes, EventKind, ExchangeKind, LaneAccess, LaneExchange, Phase, PhaseEnd,
    Trace, TraceOptions, TracedAccess, TracedEvent, TracedExchange, TracedInstruction, trace,
};
pub use ptx::ast::Frame;
