//! Why the device did not do what was asked.

use std::fmt;

#[cfg(feature = "simulator")]
use std::error;

/// Why the device did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A CUDA device was demanded, and this host has no CUDA driver or no such device; or this crate was
    /// built without the feature `cuda`.
    #[error("there is no CUDA device: {reason}")]
    NoCuda {
        /// What is missing.
        reason: String,
    },
    /// There is a CUDA driver, and it cannot be used: it is too old, incomplete, or refused its first calls.
    #[error("the CUDA driver cannot be used: {reason}")]
    DriverUnusable {
        /// Why not.
        reason: String,
    },
    /// The CUDA driver refused a call, or reports the fault of an earlier launch.
    #[error("cannot {action}: the CUDA driver returned {code}, {text}")]
    Driver {
        /// What was being done.
        action: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and text for it.
        text: ErrorText,
    },
    /// A fault has ended the device's context: no call of this [`Device`](super::Device), nor of anything that it made, works
    /// any more. The driver goes on saying so as long as the process lives, [`Device::cuda`](super::Device::cuda) included; another
    /// process is not concerned.
    #[error("cannot {action}: the device is lost, the CUDA driver returned {code}, {text}")]
    Lost {
        /// What was being done.
        action: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and text for it.
        text: ErrorText,
    },
    /// There is not enough free memory.
    #[error("cannot allocate {requested} bytes: {free} bytes are free on the device")]
    OutOfMemory {
        /// Bytes that were asked for.
        requested: u128,
        /// Bytes that are free, though perhaps not in one piece.
        free: u64,
    },
    /// The CUDA driver cannot load a module.
    #[error("module {module} cannot be loaded: the CUDA driver returned {code}, {text}{}", after_newline(.log))]
    ModuleRefused {
        /// The module's name, as given to [`Device::load`](super::Device::load).
        module: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and text for it.
        text: ErrorText,
        /// What its compiler said; may be empty.
        log: String,
    },
    /// The simulator cannot load a module.
    #[error("module {module} cannot be loaded: {reason}")]
    NotSimulated {
        /// The module's name, as given to [`Device::load`](super::Device::load).
        module: String,
        /// The place in the PTX and what is wrong with it.
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
    /// A launch shape that the device does not allow.
    #[error("cannot launch {kernel}: {what} is {value}, and {least} to {most} are allowed")]
    Shape {
        /// The kernel's name.
        kernel: String,
        /// `grid`, `block` or `dynamic shared memory in bytes`.
        what: &'static str,
        /// What was asked for.
        value: u32,
        /// The least that is allowed.
        least: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// The arguments do not fit the kernel's parameters.
    #[error("cannot launch {kernel}: its parameters take {} bytes, and the arguments take {}", sizes(.parameters), sizes(.arguments))]
    Arguments {
        /// The kernel's name.
        kernel: String,
        /// Size of each parameter in bytes.
        parameters: Vec<usize>,
        /// Size of each argument in bytes.
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
        /// What was being done.
        action: String,
        /// Why not.
        reason: String,
    },
    /// A copy between lengths that differ.
    #[error("cannot copy {source_len} values into a buffer of {buffer_len}")]
    Length {
        /// Number of values to copy.
        source_len: usize,
        /// Number of values in the buffer.
        buffer_len: usize,
    },
    /// A function that this driver lacks.
    #[error("cannot {action}: it needs {what}, and this CUDA driver has no function {function}")]
    DriverLacks {
        /// What was being done.
        action: String,
        /// What for.
        what: &'static str,
        /// The function's name.
        function: &'static str,
    },
    /// The host has not so much memory to lock.
    #[error("cannot allocate {requested} bytes of page-locked host memory")]
    OutOfHostMemory {
        /// Bytes that were asked for.
        requested: u128,
    },
    /// Something that cannot be part of a graph, asked for in the closure of [`Device::capture`](super::Device::capture).
    #[error("cannot {action} while a graph is captured: that would happen once, and not in each replay")]
    Capturing {
        /// What was being done.
        action: &'static str,
    },
    /// A class whose kernels the device cannot run.
    #[error(
        "this device cannot have that class: its compute capability is {}.{}, and {}.{} is the least",
        capability.0, capability.1, least.0, least.1
    )]
    ClassTooNew {
        /// The least compute capability that runs the kernels of the class.
        least: (u32, u32),
        /// The device's compute capability.
        capability: (u32, u32),
    },
    /// A stream of cudarc's that is another one in each thread, or memory that such a stream owns.
    #[cfg(feature = "cudarc")]
    #[error("cannot {action}: a per-thread stream is another one in each thread")]
    PerThread {
        /// What was being done.
        action: &'static str,
    },
    /// Something that the simulator does not have.
    #[error("cannot {0}: this device is the simulator")]
    NotCuda(&'static str),
    /// A buffer, kernel or other object that another device made.
    #[error("this {0} belongs to another device")]
    OtherDevice(&'static str),
}

/// How the driver calls and explains one of its error codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// Such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// Such as `out of memory`.
    pub text: String,
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.text)
    }
}

/// A fault that the simulator found in a kernel: its class, the place in the PTX, the thread, and what
/// to look at, in the text of `Display`.
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
