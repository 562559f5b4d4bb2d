//! A simulator of PTX: parses, validates and runs the kernels that compilers print for NVIDIA GPUs, without one.
//!
//! [`Module::from_ptx`] loads a module and refuses whatever it does not know, with line and instruction; [`Memory`] is
//! the device's memory; [`launch()`] runs a kernel, whose faults come back as a [`Fault`] with block, thread, line and
//! address; [`count()`] also counts what it does, and [`check()`] finds its races, its reads of what nothing wrote, its
//! divergent barriers and wrong masks, each a [`Report`] that reads like a compiler's error. [`ptx`] is the parser by itself. The crate knows nothing of what kernels compute.
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
//! # What it does where PTX leaves a choice
//!
//! - Warps have 32 lanes. Lanes that diverge join again where their program counters meet; none is left waiting for
//!   good, so lanes may wait for each other, and blocks for earlier ones; and for later ones, as long as no worker has to
//!   keep more than 256 blocks in flight. All blocks of a cooperative launch or of a cluster may wait for each other. A loop that waits for what never comes runs without end, as on hardware.
//! - Integer division by zero is a fault. Shared and local memory, registers and fresh allocations begin as zero.
//! - A shuffle that reads a lane which does not take part yields the reading lane's own value. Members of a warp-level
//!   `.sync` that have exited, or never had a thread, are not waited for; members that stay away are a fault.
//! - `bar.sync` in divergent code waits for the whole warp, and is a fault if that can never come together.
//! - Float arithmetic with a rounding is exact to the bit; approximations (`ex2.approx` and the like) are closer to the
//!   true value than hardware's, not equal to them.
//! - Asynchronous copies end as late as they may, and `mbarrier.try_wait` waits without a limit of time.
//! - Clocks count the warp's instructions; there is one multiprocessor.
//! - Calls are inlined; recursion and indirect calls are refused.
//!
//! The result of a launch does not depend on the number of host threads it ran on, unless the kernel itself depends on
//! the order of its blocks.

#![allow(clippy::inline_always, reason = "loops over lanes vectorise only when all of their body is inlined")]
#![allow(clippy::needless_range_loop, reason = "a lane number indexes several arrays and masks at once")]

pub mod args;
pub mod occupancy;
pub mod ptx;

mod alu;
mod dim;
mod exec;
mod fault;
mod ir;
mod limits;
mod lower;
mod module;
mod observe;
mod random;
mod registers;

pub use dim::Dim3;
pub use exec::config::LaunchConfig;
pub use exec::launch::{Arg, LaunchError, launch, launch_named};
pub use exec::memory::{Memory, MemoryError};
pub use fault::{Access, Fault, FaultKind, Nearest, Space, Waiting};
pub use ir::param::Param;
pub use limits::{MAX_BLOCK, MAX_CLUSTER, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
pub use lower::LoadError;
pub use module::{Kernel, Module};
pub use observe::check::{Checked, MemoryAccess, Party, Report, ReportKind, check};
pub use observe::count::{
    Banks, Cluster, Copies, Counters, Global, InstructionCounters, Local, Mbarriers, Profile, Requests, Shared,
    Traffic, count,
};
pub use observe::trace::{
    BlockTrace, LaneAccess, Phase, PhaseEnd, Trace, TraceOptions, TracedAccess, TracedInstruction, trace,
};
pub use ptx::ast::Frame;
