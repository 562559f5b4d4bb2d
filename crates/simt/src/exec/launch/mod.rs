//! Launches: they are checked first, then workers run the blocks.

mod arg;
mod error;
mod together;
mod validate;

pub use arg::Arg;
pub use error::LaunchError;
pub(crate) use together::run_together;
pub use together::{Together, TogetherError, launch_together};

use crate::exec::config::LaunchConfig;
use crate::exec::memory::Memory;
use crate::exec::observer::{Observer, Plain};
use crate::fault::Fault;
use crate::module::{Kernel, Module};

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
    let (observers, fault) = run_together(&[Together { kernel, config, args, memory }], observer)
        .map_err(|TogetherError { error, .. }| error)?;
    Ok((observers, fault.map(|(_, fault)| fault)))
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
