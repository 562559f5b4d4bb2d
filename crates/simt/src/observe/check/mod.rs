//! Checks: they find actions of a launch that its author cannot have intended.
//!
//! # Data races
//! The detector follows happens-before (Flanagan and Freund, "FastTrack", PLDI 2009), adapted to
//! blocks of threads and to the memory model of PTX (PTX ISA, "Memory Consistency Model"). Two
//! accesses to the same bytes conflict if at least one of them writes. There is one exception: they
//! do not conflict if both are strong (`.volatile`, `.relaxed` and stronger, atomics), their scopes
//! include each other, and they cover the same bytes. Each element of a vector is an access of its
//! own.
//!
//! If several launches are checked together, the scopes of blocks on different devices include each
//! other only if both are `.sys`. Launches with the same memory run on one device.
//!
//! The following order two accesses:
//! - program order;
//! - barriers of the block, including barriers with a number, with a thread count, or with a
//!   separate arrival;
//! - `bar.warp.sync`, for its members alone;
//! - the barrier of the cluster;
//! - mbarriers: a complete phase passes on the accesses that the arriving threads knew of;
//! - fences, and acquiring or releasing accesses, of sufficient scope around strong accesses to a
//!   third location;
//! - the end of a launch, which orders everything.
//!
//! Shuffles and votes order nothing.
//!
//! Time is not simulated. A report does not depend on the order in which the warps took turns, as
//! long as the accesses happen at all. One host thread runs all blocks.
//!
//! The detector accepts more than the PTX ISA guarantees in these cases, because programs rely on
//! them everywhere:
//! - An atomic that has seen a release needs no fence of its own if a barrier of the block follows
//!   ("the last block finishes").
//! - After a barrier of the block, any thread may publish the accesses that other threads had
//!   fenced before the barrier (grid-wide barriers rely on this).
//! - Threads that have exited count as arrived at later barriers.
//! - Lanes that store the same value to the same address in one instruction do not race.
//!
//! Three kinds of races are warnings, because no result depends on them: writes of the same value,
//! a compare-and-swap beside the plain load of the value that it expects, and a write by one lane
//! behind a shuffle or a vote of the whole warp that takes what another lane has read there. The
//! detector follows the value that was read through registers, without regard to the order of the
//! instructions. So it may take the shuffle of another value, which a register that is used twice
//! holds later, for a shuffle of the value that was read.
//!
//! # Missing fences
//! Strong accesses do not race, but without fences they order nothing between different words. The
//! module `handover` says which values that strong accesses hand over are reported as
//! [`ReportKind::MissingFence`], with which severity, and which are missed.
//!
//! # Barriers of whole warps
//! Lanes that exit while other lanes of their warp wait at a barrier are a warning. Lanes that run
//! on are an error: they execute an instruction that lies behind the barrier and from which the
//! barrier cannot be reached. Warps that meet at different barriers with the same number are an
//! error if a way leads from one barrier to the other. Otherwise each thread passes only one of the
//! two, and this is a warning, because PTX defines it and CUDA C++ does not.
//!
//! # Undefined values
//! Bytes that nothing has written are followed through registers and memory, as Valgrind's memcheck
//! does it. They are an error when a branch, a guard, an address, an atomic, a barrier, a mask or a
//! store to global memory uses them. A load whose value nothing uses is a warning. So is a store
//! that moves a value of which a part is undefined. The module `propagate` says how arithmetic
//! passes undefined bits on.
//!
//! # Limits
//! The detector may miss errors, because memory is limited and no report may be wrong:
//! - For each word, the detector remembers the last write and at most two reads since. If several
//!   blocks read the word, it remembers the first read only. An access to a part of a word replaces
//!   the record of accesses to the other parts.
//! - If a part of a warp arrives at a counted barrier, the whole warp counts as arrived.
//! - A weak write to a location does not end the location's log of releases.
//! - A cluster's scope counts as the device's scope, and an mbarrier orders the blocks of a cluster
//!   whatever its scope is.
//! - If the thread that began a copy does not wait for it, this is found only until another thread
//!   has waited for the copy.
//! - Fences between proxies are not required. Global memory is not watched while a copy writes to
//!   it.
//! - Registers that nothing writes count as defined.
//! - Of a kernel's memory instructions, only the first 4096 are watched.
//! - After 2^32 events that order something, nothing is watched any more.
//!
//! A lane that spins on a volatile flag in shared memory until another lane of its own warp sets
//! the flag is reported as [`ReportKind::WarpSynchronous`], although the program would work: use
//! `ld.relaxed` or an atomic instead.

mod code;
mod collectives;
mod copies;
mod detector;
mod events;
mod expected;
mod findings;
mod flights;
mod follow;
mod gathered;
mod handover;
mod influence;
mod known;
mod operands;
mod order;
mod propagate;
mod publish;
mod reads;
mod report;
mod row;
mod shadow;
mod shadows;
mod sites;
mod skipped;
mod threads;
mod together;
mod undefined;
mod uses;
mod watch;

pub(crate) use collectives::Warnings;
pub use collectives::launch_and_warn;
pub(crate) use report::Reports;
pub use report::{MemoryAccess, Party, Report, ReportKind, Severity};
pub use together::{CheckedTogether, check_together};

use crate::exec::config::LaunchConfig;
use crate::exec::launch::{Arg, LaunchError, Together, TogetherError};
use crate::exec::memory::Memory;
use crate::fault::Fault;
use crate::module::Kernel;

/// The findings of a checked launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// One report for each class and pair of places, in the order in which they were found. There
    /// are at most 100 reports.
    pub reports: Vec<Report>,
    /// The fault that stopped the launch, if there was one.
    pub fault: Option<Box<Fault>>,
}

/// Runs a kernel to its end on one host thread, and reports races and other mistakes.
///
/// Reads of global memory that nothing has written are found if the memory was made by
/// [`Memory::checked`].
///
/// # Errors
/// The errors of [`launch`](crate::launch()) except faults, which are part of the result.
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, ReportKind, check};
///
/// // Each thread adds 1 to the same word, without an atomic.
/// let module = Module::from_ptx(
///     "count.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry count(.param .u64 total) {
///          .reg .b32 %r<2>;
///          .reg .b64 %rd<2>;
///          ld.param.u64 %rd1, [total];
///          ld.global.u32 %r1, [%rd1];
///          add.u32 %r1, %r1, 1;
///          st.global.u32 [%rd1], %r1;
///          ret;
///      }",
/// )?;
/// let memory = Memory::new(1 << 20);
/// let total = memory.alloc(4)?;
/// let kernel = module.kernel("count").ok_or("no such kernel")?;
/// let checked = check(kernel, &LaunchConfig::new(2, 1), &[Arg::Pointer(total)], &memory)?;
/// assert_eq!(checked.reports[0].kind, ReportKind::Race);
/// let text = checked.reports[0].to_string();
/// assert!(text.starts_with(
///     "error[race]: thread (0,0,0) of block (1,0,0) reads 4 bytes of global memory"
/// ), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
) -> Result<Checked, LaunchError> {
    let checked = check_together(&[Together { kernel, config, args, memory }])
        .map_err(|TogetherError { error, .. }| error)?;
    let CheckedTogether { reports, fault } = checked;
    Ok(Checked { reports, fault: fault.map(|(_, fault)| fault) })
}
