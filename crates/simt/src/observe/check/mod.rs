//! Checking: what a launch does that its author cannot have meant.
//!
//! # Data races
//! The detector follows happens-before (Flanagan and Freund, "FastTrack", PLDI 2009), adapted to blocks of threads and to
//! the memory model of PTX (PTX ISA, "Memory Consistency Model"). Two accesses to the same bytes conflict if at least one
//! writes, unless both are strong (`.volatile`, `.relaxed` and stronger, atomics) with scopes that include each other, and
//! cover the same bytes; each element of a vector is an access of its own.
//! They are ordered by program order; barriers of the block, named, counted or split ones included; `bar.warp.sync`,
//! for its members alone; the barrier of the cluster; mbarriers, whose complete phases hand on what those who arrived
//! knew; and by fences and acquiring or releasing accesses of sufficient scope around strong accesses to
//! a third location. Shuffles and votes order nothing. The end of a launch orders everything.
//!
//! Time is not simulated: what is reported does not hang on how the warps happened to take turns, as long as the
//! accesses happen at all. One host thread runs all blocks.
//!
//! What goes beyond the letter of PTX, so that what everybody relies on is not reported:
//! - An atomic that saw a release needs no fence of its own if a barrier of the block follows ("the last block finishes").
//! - What threads have fenced before a barrier of the block, any of them may publish after it (grid-wide barriers).
//! - Threads that have exited count as arrived at later barriers.
//! - Lanes that store the same value to the same address in one instruction do not race.
//!
//! What may be missed, since memory is limited and no report may be wrong:
//! - Of each word, the last write and at most two reads since are remembered; of reads by several blocks, the first.
//!   Accesses to parts of a word replace what was known of its other parts.
//! - Where a part of a warp arrives at a counted barrier, all of the warp counts as having arrived.
//! - A weak write does not end the log of releases of its location.
//! - Scopes of clusters reach as far as those of the device, and mbarriers of clusters order by any scope.
//! - A thread that began a copy, and does not wait for it, is found only until another thread has waited.
//! - Fences between proxies are not asked for. Global memory is not watched while a copy writes to it.
//! - Local memory is not watched, and no more than 4096 memory instructions of a kernel.
//! - After 2^32 events that order something, nothing more is watched.
//!
//! A lane that spins on a volatile flag in shared memory until another lane of its own warp sets it is reported as
//! [`ReportKind::WarpSynchronous`] though it would work: use `ld.relaxed` or an atomic.

mod copies;
mod detector;
mod events;
mod findings;
mod flights;
mod known;
mod order;
mod publish;
mod report;
mod row;
mod shadow;
mod sites;
mod threads;
mod watch;

pub use report::{MemoryAccess, Party, Report, ReportKind};

use crate::exec::config::LaunchConfig;
use crate::exec::launch::{Arg, LaunchError, run};
use crate::exec::memory::Memory;
use crate::fault::Fault;
use crate::module::Kernel;
use detector::Check;

/// What was found in a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// One for each class and pair of places, in the order in which they were found; the first 100.
    pub reports: Vec<Report>,
    /// What stopped the launch, if anything did.
    pub fault: Option<Box<Fault>>,
}

/// Runs a kernel to its end and watches what it does, on one host thread.
///
/// Reads of global memory that nothing wrote are found in memory made by [`Memory::checked`].
///
/// # Errors
/// Those of [`launch`](crate::launch()), but for faults, which are part of the result.
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
/// assert!(text.starts_with("error[race]: thread (0,0,0) of block (1,0,0) reads 4 bytes of global memory"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(kernel: &Kernel, config: &LaunchConfig, args: &[Arg], memory: &Memory) -> Result<Checked, LaunchError> {
    let workers = config.workers.map(|workers| workers.min(1)).or(Some(1));
    let config = LaunchConfig { workers, ..*config };
    let clusters = config.cluster > 1 || kernel.wants_cluster();
    let (checks, fault) = run(kernel, &config, args, memory, || Check::new(kernel, clusters))?;
    let reports = checks.into_iter().flat_map(|check| check.reports.all).collect();
    Ok(Checked { reports, fault })
}
