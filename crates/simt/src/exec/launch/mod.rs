//! Launches: they are checked first, then workers run the blocks.

mod arg;
mod error;
mod validate;

pub use arg::Arg;
pub use error::LaunchError;

use crate::exec::config::LaunchConfig;
use crate::exec::grid::Grid;
use crate::exec::job::Job;
use crate::exec::memory::Memory;
use crate::exec::observer::{Observer, Plain};
use crate::exec::print::Printed;
use crate::exec::variables;
use crate::exec::workspace::Workspace;
use crate::fault::Fault;
use crate::module::{Kernel, Module};
use validate::{check, cluster_size};

/// Runs a kernel to its end.
///
/// Blocks start in increasing linear order and run in parallel on the workers; the warps of a block
/// take turns. A block may wait for an earlier block, and for up to 255 later blocks, because a
/// worker that finds a block polling starts the next one beside it. If a kernel can never end
/// because all its threads poll memory that none of them writes,
/// [`FaultKind::Livelock`](crate::FaultKind::Livelock) stops it. The results do not depend on the
/// number of workers, unless the kernel itself depends on the order of its blocks, as float sums by
/// atomics do.
///
/// # Errors
/// A launch that is not allowed is refused before any block runs. A [`Fault`] stops the launch. If
/// several blocks fault, the fault of the block with the lowest index is returned.
///
/// ```
/// use simt::{Arg, LaunchConfig, Memory, Module, launch};
///
/// let module = Module::from_ptx(
///     "double.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry double(.param .u64 data) {
///          .reg .b32 %r<3>;
///          .reg .b64 %rd<4>;
///          ld.param.u64 %rd1, [data];
///          mov.u32 %r1, %tid.x;
///          mul.wide.u32 %rd2, %r1, 4;
///          add.s64 %rd3, %rd1, %rd2;
///          ld.global.u32 %r2, [%rd3];
///          shl.b32 %r2, %r2, 1;
///          st.global.u32 [%rd3], %r2;
///          ret;
///      }",
/// )?;
/// let memory = Memory::new(1 << 20);
/// let data = memory.alloc(8)?;
/// memory.write(data, &[1, 0, 0, 0, 20, 0, 0, 0])?;
/// let kernel = module.kernel("double").ok_or("no such kernel")?;
/// launch(kernel, &LaunchConfig::new(1, 2), &[Arg::Pointer(data)], &memory)?;
/// let mut result = [0; 8];
/// memory.read(data, &mut result)?;
/// assert_eq!(result, [2, 0, 0, 0, 40, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn launch(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
) -> Result<(), LaunchError> {
    let (_, fault) = run(kernel, config, args, memory, || Plain)?;
    fault.map_or(Ok(()), |fault| Err(fault.into()))
}

/// Runs a kernel under observation. Each worker makes its own observer; the observers are returned
/// together with the fault of the lowest block that faulted.
pub(crate) fn run<O: Observer + Send>(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
    observer: impl Fn() -> O + Sync,
) -> Result<(Vec<O>, Option<Box<Fault>>), LaunchError> {
    let params = check(kernel, config, args)?;
    let no_room =
        |source| LaunchError::Variables { module: kernel.module_name().to_owned(), source };
    let variables = variables::place(kernel.module(), memory).map_err(no_room)?;
    if !O::NOTES_WRITES {
        memory.assume_written();
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let cluster = cluster_size(kernel, config)?;
    let clusters = config.grid.count() as u64 / u64::from(cluster);
    let workers = (config.workers.unwrap_or_else(cores) as u64).min(clusters) as usize;
    let workspace = Workspace::new(kernel, config, memory).map_err(no_room)?;
    let job = Job {
        kernel,
        config,
        params,
        variables: &variables,
        memory: memory.view(),
        cluster,
        has_clusters: cluster > 1 || kernel.wants_cluster(),
        workspace: workspace.address(),
        printed: Printed::default(),
    };
    let grid = Grid::new(&job, workers as u64);
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
    memory.print(&job.printed.into_text());
    Ok((observers, fault))
}

/// Runs the kernel of this name, as [`launch`] does.
///
/// # Errors
/// [`LaunchError::UnknownKernel`], and those of [`launch`].
pub fn launch_named(
    module: &Module,
    kernel: &str,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
) -> Result<(), LaunchError> {
    let unknown = || LaunchError::UnknownKernel {
        module: module.name().to_owned(),
        kernel: kernel.to_owned(),
    };
    launch(module.kernel(kernel).ok_or_else(unknown)?, config, args, memory)
}
