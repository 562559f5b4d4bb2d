//! The trace of one kernel of the library.

use simt::{Arg, LaunchConfig, LaunchError, Memory, Module, Trace, TraceOptions};

use crate::{
    device::DeviceError,
    ptx::{PtxError, PtxLibrary},
};

/// The compute capability of the simulator, for which the PTX is chosen.
const COMPUTE_CAPABILITY: (u32, u32) = (9, 0);

/// The trace of a launch on the simulator. A fault of the kernel is an error.
pub(crate) fn traced<E: From<PtxError> + From<DeviceError>>(
    library: &PtxLibrary,
    kernel: &str,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
) -> Result<Trace, E> {
    let ptx = library.find(kernel, COMPUTE_CAPABILITY)?;
    let module = Module::from_ptx(&ptx.file, &ptx.text).map_err(|error| {
        DeviceError::NotSimulated { module: ptx.file.clone(), reason: error.to_string() }
    })?;
    let kernel = module.kernel(kernel).ok_or_else(|| DeviceError::NoKernel {
        module: ptx.file.clone(),
        kernel: kernel.to_owned(),
    })?;
    let trace = simt::trace(kernel, config, args, memory, &TraceOptions::default())
        .map_err(DeviceError::from)?;
    match trace.fault {
        Some(fault) => Err(DeviceError::from(LaunchError::from(fault)).into()),
        None => Ok(trace),
    }
}

/// The error for simulated memory that cannot be allocated, written or read.
pub(crate) fn no_memory(action: &str) -> impl Fn(simt::MemoryError) -> DeviceError {
    move |cause| DeviceError::SimulatedMemory {
        action: action.to_owned(),
        reason: cause.to_string(),
    }
}
