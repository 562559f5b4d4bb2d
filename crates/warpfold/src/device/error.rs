//! The error type of devices.

use std::fmt;

#[cfg(feature = "simulator")]
use std::error;

/// The reason why a call of a device failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A CUDA device was requested, but this host has no CUDA driver or no such device, or this
    /// crate was built without the feature `cuda`.
    #[error("there is no CUDA device: {reason}")]
    NoCuda {
        /// The part that is missing, as a sentence for people.
        reason: String,
    },
    /// A CUDA driver exists, but it cannot be used: it is too old, incomplete, or refused its first
    /// calls.
    #[error("the CUDA driver cannot be used: {reason}")]
    DriverUnusable {
        /// The reason, as a sentence for people.
        reason: String,
    },
    /// The CUDA driver refused a call, or reports the fault of an earlier launch.
    #[error("cannot {action}: the CUDA driver returned {code}, {text}")]
    Driver {
        /// The action that failed. The text completes the sentence "cannot …".
        action: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and explanation of the code.
        text: ErrorText,
    },
    /// NCCL refused a call.
    #[error("cannot {action}: NCCL returned {text}")]
    Nccl {
        /// The action that failed. The text completes the sentence "cannot …".
        action: String,
        /// The error code, and NCCL's explanation of it.
        text: ErrorText,
    },
    /// A fault has destroyed the device's context. No call of this [`Device`](super::Device) or of
    /// its objects works any more. When all of them are dropped, it depends on the driver whether
    /// [`Device::cuda`](super::Device::cuda) can open the GPU again in this process or fails with
    /// this error. Other processes are not affected.
    #[error("cannot {action}: the device is lost, the CUDA driver returned {code}, {text}")]
    Lost {
        /// The action that failed. The text completes the sentence "cannot …".
        action: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and explanation of the code.
        text: ErrorText,
    },
    /// The device has not enough free memory.
    #[error("cannot allocate {requested} bytes: {free} bytes are free on the device")]
    OutOfMemory {
        /// The number of bytes that were requested.
        requested: u128,
        /// The number of bytes that are free, though perhaps not in one piece.
        free: u64,
    },
    /// The CUDA driver cannot load a module.
    #[error(
        "module {module} cannot be loaded: the CUDA driver returned {code}, {text}{}",
        after_newline(.log)
    )]
    ModuleRefused {
        /// The module's name, as given to [`Device::load`](super::Device::load).
        module: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and explanation of the code.
        text: ErrorText,
        /// The log of the driver's compiler. It may be empty.
        log: String,
    },
    /// The simulator cannot load a module.
    #[error("module {module} cannot be loaded: {reason}")]
    NotSimulated {
        /// The module's name, as given to [`Device::load`](super::Device::load).
        module: String,
        /// The place in the PTX, and the reason why the simulator refuses it.
        reason: String,
    },
    /// The simulator cannot launch a kernel, because the kernel uses something that the simulator
    /// does not support. The other kernels of its module can be launched.
    #[error(
        "kernel {kernel} uses an instruction or declaration that the simulator does not support: {reason}"
    )]
    KernelNotSimulated {
        /// The kernel's name.
        kernel: String,
        /// The place in the PTX, the reason, and the instruction or declaration as written.
        reason: String,
    },
    /// A module has no kernel of that name.
    #[error("module {module} has no kernel {kernel}")]
    NoKernel {
        /// The module's name, as given to [`Device::load`](super::Device::load).
        module: String,
        /// The kernel's name.
        kernel: String,
    },
    /// The device does not allow the launch shape.
    #[error("cannot launch {kernel}: {what} is {value}, and {least} to {most} are allowed")]
    Shape {
        /// The kernel's name.
        kernel: String,
        /// The part of the shape, such as `grid`, `block along z` or
        /// `dynamic shared memory in bytes`.
        what: &'static str,
        /// The value of that part.
        value: u32,
        /// The least value that is allowed.
        least: u32,
        /// The greatest value that is allowed.
        most: u32,
    },
    /// The arguments do not fit the kernel's parameters.
    #[error(
        "cannot launch {kernel}: its parameters take {} bytes, and the arguments take {}",
        sizes(.parameters), sizes(.arguments)
    )]
    Arguments {
        /// The kernel's name.
        kernel: String,
        /// The size of each parameter, in bytes.
        parameters: Vec<usize>,
        /// The size of each argument, in bytes.
        arguments: Vec<usize>,
    },
    /// The simulator was told to stop in the middle of a launch; see
    /// [`Device::interrupt_by`](super::Device::interrupt_by).
    #[error("{kernel} was interrupted")]
    Interrupted {
        /// The kernel's name.
        kernel: String,
    },
    /// The simulator found a fault in the kernel.
    #[cfg(feature = "simulator")]
    #[error(transparent)]
    Fault(SimulatorFault),
    /// The simulator's memory refused a copy.
    #[error("cannot {action}: {reason}")]
    SimulatedMemory {
        /// The action that failed. The text completes the sentence "cannot …".
        action: String,
        /// The reason, as a sentence for people.
        reason: String,
    },
    /// The source and the target of a copy have different lengths.
    #[error("cannot copy {source_len} values into a buffer of {buffer_len}")]
    Length {
        /// The number of values to copy.
        source_len: usize,
        /// The number of values in the buffer.
        buffer_len: usize,
    },
    /// The action needs a function of the driver that this driver lacks.
    #[error("cannot {action}: it needs {what}, and this CUDA driver has no function {function}")]
    DriverLacks {
        /// The action that failed. The text completes the sentence "cannot …".
        action: String,
        /// The feature that needs the function.
        what: &'static str,
        /// The function's name.
        function: &'static str,
    },
    /// The host cannot lock that much memory.
    #[error("cannot allocate {requested} bytes of page-locked host memory")]
    OutOfHostMemory {
        /// The number of bytes that were requested.
        requested: u128,
    },
    /// The closure of [`Device::capture`](super::Device::capture) asked for something that cannot
    /// be part of a graph.
    #[error(
        "cannot {action} while a graph is captured: that would happen once, and not in each replay"
    )]
    Capturing {
        /// The action that failed. The text completes the sentence "cannot …".
        action: &'static str,
    },
    /// The device cannot run the kernels of the class that
    /// [`Device::with_class`](super::Device::with_class) asked for.
    #[error(
        "this device cannot have that class: its compute capability is {}.{}, and {}.{} is the least",
        capability.0, capability.1, least.0, least.1
    )]
    ClassTooNew {
        /// The least compute capability that runs the kernels of the class, major and minor.
        least: (u32, u32),
        /// The device's compute capability, major and minor.
        capability: (u32, u32),
    },
    /// The call was given cudarc's per-thread default stream, or memory that belongs to it. The
    /// handle of this stream means a different stream in each thread, so no order of work can
    /// follow from it.
    #[cfg(feature = "cudarc")]
    #[error("cannot {action}: a per-thread stream is another one in each thread")]
    PerThread {
        /// The action that failed. The text completes the sentence "cannot …".
        action: &'static str,
    },
    /// The device is the simulator, which cannot do the action. The text completes the sentence
    /// "cannot …".
    #[error("cannot {0}: this device is the simulator")]
    NotCuda(&'static str),
    /// A buffer, a kernel or another object belongs to another device. The text names the kind of
    /// object.
    #[error("this {0} belongs to another device")]
    OtherDevice(&'static str),
}

/// The driver's name and explanation of one of its error codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// The name, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The explanation, such as `out of memory`.
    pub text: String,
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.text)
    }
}

/// A fault that the simulator found in a kernel. `Display` gives its class, the place in the PTX,
/// the thread, and the next thing to check.
#[cfg(feature = "simulator")]
#[derive(Debug)]
pub struct SimulatorFault(pub(super) Box<simt::LaunchError>);

#[cfg(feature = "simulator")]
impl SimulatorFault {
    /// The fault as the simulator's own crate describes it.
    #[cfg(feature = "testing")]
    pub fn launch_error(&self) -> &simt::LaunchError {
        &self.0
    }
}

#[cfg(feature = "simulator")]
impl From<simt::LaunchError> for DeviceError {
    fn from(error: simt::LaunchError) -> Self {
        match error {
            simt::LaunchError::Unsupported { module, kernel, first, others } => {
                let more = match others {
                    0 => String::new(),
                    others => format!(", and {others} more"),
                };
                Self::KernelNotSimulated { kernel, reason: format!("{module}:{first}{more}") }
            }
            error => Self::Fault(error.into()),
        }
    }
}

#[cfg(feature = "simulator")]
impl From<simt::LaunchError> for SimulatorFault {
    fn from(error: simt::LaunchError) -> Self {
        Self(Box::new(error))
    }
}

#[cfg(feature = "simulator")]
impl fmt::Display for SimulatorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "simulator")]
impl error::Error for SimulatorFault {}

fn after_newline(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

fn sizes(sizes: &[usize]) -> String {
    let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    format!("({})", sizes.join(", "))
}
