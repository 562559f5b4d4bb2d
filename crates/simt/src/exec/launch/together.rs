//! Launches that run together, as those of several devices do.

use std::num::NonZeroUsize;
use std::sync::Arc;

use thiserror::Error;

use super::validate::{check, cluster_size};
use super::{Arg, LaunchError};
use crate::exec::config::LaunchConfig;
use crate::exec::grid::Grid;
use crate::exec::job::Job;
use crate::exec::memory::Memory;
use crate::exec::observer::{Observer, Plain};
use crate::exec::print::Printed;
use crate::exec::variables;
use crate::exec::workspace::Workspace;
use crate::fault::Fault;
use crate::module::Kernel;

/// One of the launches of [`launch_together`].
#[derive(Debug, Clone, Copy)]
pub struct Together<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The shape of the launch, and the way in which it is run.
    pub config: &'a LaunchConfig,
    /// The values of the kernel's parameters.
    pub args: &'a [Arg],
    /// The memory of the device on which the launch runs. Launches with the same memory run on one
    /// device.
    pub memory: &'a Memory,
}

/// The reason for which launches that run together were refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("launch {launch}: {error}")]
#[non_exhaustive]
pub struct TogetherError {
    /// The position of the launch in the list, from 0.
    pub launch: usize,
    /// The reason.
    pub error: LaunchError,
}

/// Runs several kernels side by side, each on its own simulated device, until all have ended.
///
/// All launches are checked before a block of any of them runs. The blocks start in turn: block 0
/// of each launch, then block 1 of each, and so on. A block may wait for blocks of another launch
/// as [`launch`](crate::launch()) says it for blocks of its own, and each launch has 255 later
/// blocks to wait for. Kernels reach each other's memory by [`Memory::alloc_shared`]. The list may
/// be empty.
///
/// The launches share the host threads: as many as the largest
/// [`LaunchConfig::workers`] says. The results do not depend on their number, under the conditions
/// that [`launch`](crate::launch()) states. If a launch has a [`LaunchConfig::seed`], random
/// numbers decide which launch starts a block and how far each block comes before another one has
/// its turn; launches without a seed take the first that there is. The numbers depend on all seeds
/// and on the positions in the list. Each launch has a [`LaunchConfig::budget`] and a
/// [`LaunchConfig::interrupt`] of its own.
///
/// # Errors
/// A launch that is not allowed is refused before any block of any launch runs. A fault in one
/// launch stops all. If several blocks fault, the fault of the first launch in the list is
/// returned, and of its faults that of the block with the lowest index. If no block of any launch
/// can make progress, this is a [`FaultKind::Livelock`](crate::FaultKind::Livelock) of the first
/// launch that has not ended.
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, Together, launch_together};
///
/// // Each device posts a tagged word to the other, and waits for the word of the other.
/// let module = Module::from_ptx(
///     "swap.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry swap(.param .u64 own, .param .u64 peer, .param .u64 word) {
///          .reg .pred %p<2>;
///          .reg .b64 %rd<6>;
///          ld.param.u64 %rd1, [own];
///          ld.param.u64 %rd2, [peer];
///          ld.param.u64 %rd3, [word];
///          st.relaxed.sys.global.u64 [%rd2], %rd3;
///      poll:
///          ld.relaxed.sys.global.u64 %rd4, [%rd1];
///          setp.eq.u64 %p1, %rd4, 0;
///          @%p1 bra poll;
///          st.global.u64 [%rd1+8], %rd4;
///          ret;
///      }",
/// )?;
/// let kernel = module.kernel("swap").ok_or("no such kernel")?;
/// let memories = [Memory::new(1 << 20), Memory::new(1 << 20)];
/// let own = [
///     Memory::alloc_shared(&[&memories[0], &memories[1]], 16)?,
///     Memory::alloc_shared(&[&memories[1], &memories[0]], 16)?,
/// ];
/// let args = [0, 1].map(|device| {
///     let word = Arg::U64(1 << 32 | device as u64);
///     [Arg::Pointer(own[device]), Arg::Pointer(own[1 - device]), word]
/// });
/// let config = LaunchConfig::new(1, 1);
/// launch_together(&[0, 1].map(|device| Together {
///     kernel,
///     config: &config,
///     args: &args[device],
///     memory: &memories[device],
/// }))?;
/// let mut words = [[0; 8]; 2];
/// for (memory, (address, word)) in memories.iter().zip(own.iter().zip(&mut words)) {
///     memory.read(address + 8, word)?;
/// }
/// assert_eq!(words.map(u64::from_le_bytes), [1 << 32 | 1, 1 << 32]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn launch_together(launches: &[Together<'_>]) -> Result<(), TogetherError> {
    let (_, fault) = run_together(launches, || Plain)?;
    fault.map_or(Ok(()), |(launch, fault)| Err(TogetherError { launch, error: fault.into() }))
}

/// The observers of a run, and the fault that ended it with the number of its launch.
pub(crate) type Observed<O> = (Vec<O>, Option<(usize, Box<Fault>)>);

/// Runs launches under observation. Each worker makes its own observer.
pub(crate) fn run_together<O: Observer + Send>(
    launches: &[Together<'_>],
    observer: impl Fn() -> O + Sync,
) -> Result<Observed<O>, TogetherError> {
    let checked = each(launches, |of| {
        let Together { kernel, config, args, .. } = *of;
        Ok((check(kernel, config, args)?, cluster_size(kernel, config)?))
    })?;
    let placed = each(launches, place)?;
    if !O::NOTES_WRITES {
        for of in launches {
            of.memory.assume_written();
        }
    }
    let first_seed = launches.iter().find_map(|of| of.config.seed);
    let jobs: Vec<Job<'_>> = launches
        .iter()
        .zip(checked.into_iter().zip(&placed))
        .enumerate()
        .map(|(launch, (of, ((params, cluster), (variables, workspace))))| Job {
            launches,
            launch,
            device: device_of(launches, launch),
            kernel: of.kernel,
            config: of.config,
            params,
            seed: of.config.seed.or(first_seed).map(|seed| seed_of(seed, launch)),
            variables: Arc::clone(variables),
            memory: of.memory.view(),
            cluster,
            has_clusters: cluster > 1 || of.kernel.wants_cluster(),
            workspace: workspace.address(),
            printed: Printed::default(),
        })
        .collect();
    let workers = workers(&jobs);
    let grid = Grid::new(&jobs, workers as u64);
    let observers = std::thread::scope(|scope| {
        let work = || {
            let mut observer = observer();
            grid.work(&mut observer);
            observer
        };
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut observers = vec![work()];
        for other in others {
            observers.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        observers
    });
    let fault = grid.into_fault();
    for (of, job) in launches.iter().zip(jobs) {
        of.memory.print(&job.printed.into_text());
    }
    Ok((observers, fault))
}

/// The results of `of` for all launches.
fn each<'a, T>(
    launches: &[Together<'a>],
    of: impl Fn(&Together<'a>) -> Result<T, LaunchError>,
) -> Result<Vec<T>, TogetherError> {
    let numbered = launches.iter().enumerate();
    numbered.map(|(launch, it)| of(it).map_err(|error| TogetherError { launch, error })).collect()
}

/// Places what a launch needs in the memory: the variables of its module, and its workspace.
fn place<'a>(of: &Together<'a>) -> Result<(Arc<[u64]>, Workspace<'a>), LaunchError> {
    let no_room =
        |source| LaunchError::Variables { module: of.kernel.module_name().to_owned(), source };
    let variables = variables::place(of.kernel.module(), of.memory).map_err(no_room)?;
    let workspace = Workspace::new(of.kernel, of.config, of.memory).map_err(no_room)?;
    Ok((variables, workspace))
}

/// The number of the first launch whose memory is the memory of launch number `launch`.
fn device_of(launches: &[Together<'_>], launch: usize) -> u32 {
    let same = |of: &Together<'_>| std::ptr::eq(of.memory, launches[launch].memory);
    launches.iter().position(same).unwrap_or(launch) as u32
}

/// The seed of launch number `launch`. The first launch has the seed that was given, so that a
/// launch which runs alone keeps its order.
const fn seed_of(seed: u64, launch: usize) -> u64 {
    seed ^ (launch as u64).wrapping_mul(0xd1b5_4a32_d192_ed03)
}

/// How many host threads run the launches: at least one, and no more than there are clusters.
fn workers(jobs: &[Job<'_>]) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let asked = jobs.iter().map(|job| job.config.workers.unwrap_or_else(cores)).max();
    let clusters = jobs.iter().fold(0_u64, |all, job| all.saturating_add(job.clusters()));
    (asked.unwrap_or(1) as u64).min(clusters).max(1) as usize
}
