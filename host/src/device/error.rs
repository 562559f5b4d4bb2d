//! Why the device did not do what was asked.

/// Why the device did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A CUDA device was demanded and there is none.
    #[error("there is no CUDA device: {0}")]
    NoCuda(cuda_driver::DriverError),
    /// The CUDA driver refused a call, or reports the fault of an earlier launch.
    #[error("cannot {action}: the CUDA driver returned {code}, {text}")]
    Driver {
        /// What was being done.
        action: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and text for it.
        text: cuda_driver::ErrorText,
    },
    /// A fault has ended the device's context: no call of this [`Device`](super::Device), nor of anything that it made, works
    /// any more. The driver goes on saying so as long as the process lives, [`Device::open`](super::Device::open) included; another
    /// process is not concerned.
    #[error("cannot {action}: the device is lost, the CUDA driver returned {code}, {text}")]
    Lost {
        /// What was being done.
        action: String,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The driver's name and text for it.
        text: cuda_driver::ErrorText,
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
        text: cuda_driver::ErrorText,
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
    #[error(transparent)]
    Fault(Box<simt::LaunchError>),
    /// The simulator's memory refused a copy.
    #[error("cannot {action}: {cause}")]
    SimulatedMemory {
        /// What was being done.
        action: String,
        /// Why not.
        cause: simt::MemoryError,
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
    /// Something that the simulator does not have.
    #[error("cannot {0}: this device is the simulator")]
    NotCuda(&'static str),
    /// A buffer, kernel or other object that another device made.
    #[error("this {0} belongs to another device")]
    OtherDevice(&'static str),
}

fn after_newline(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

fn sizes(sizes: &[usize]) -> String {
    let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    format!("({})", sizes.join(", "))
}
