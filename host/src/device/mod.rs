//! One interface to the machine that runs the kernels, with two homes: a CUDA GPU, reached through `cust`, and the
//! built-in SIMT simulator.
//!
//! A [`Device`] allocates [`Buffer`]s, loads PTX into [`Module`]s, launches their [`Kernel`]s and times what it did.
//! Work is ordered as on one CUDA stream: each call sees the effects of all earlier ones, and a launch may return
//! before the kernel has ended. Copies to the host wait for it.
//!
//! ```
//! use warpfold::device::{Arg, Device, DeviceChoice, LaunchShape};
//! use warpfold::ptx::PtxLibrary;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DeviceChoice::Auto)?;
//! let input = device.upload(&[1i32; 512])?;
//! let output = device.alloc::<i32>(1)?;
//! let ptx = PtxLibrary::open(None)?.find("reduce6_sum_i32_b256", device.info().compute_capability)?;
//! let kernel = device.load(&ptx.file, &ptx.text)?.kernel("reduce6_sum_i32_b256")?;
//! let shape = LaunchShape::linear(1, 256, 1024);
//! device.launch(&kernel, shape, &[Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(512)])?;
//! assert_eq!(output.copy_to_host()?, [512]);
//! # Ok(())
//! # }
//! ```

use std::{
    any::Any,
    fmt,
    marker::PhantomData,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use simulator::Simulator;

pub use bytemuck::Pod;
pub use simt::Dim3;

#[cfg_attr(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))), path = "no_cuda.rs")]
mod cuda;
mod simulator;
mod streams;

pub use streams::{PinnedBuffer, Streams};

/// Which device to open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device, or the simulator where there is none that works.
    #[default]
    Auto,
    /// The first CUDA device, or an error.
    Cuda,
    /// The simulator.
    Simulator,
}

/// Neither `auto`, nor `cuda`, nor `sim`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device '{0}': it is one of auto, cuda, sim")]
pub struct UnknownDevice(pub String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda),
            "sim" => Ok(Self::Simulator),
            _ => Err(UnknownDevice(text.to_owned())),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Simulator => "sim",
        })
    }
}

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// An NVIDIA GPU.
    Cuda,
    /// The SIMT simulator, on the cores of the host.
    Simulator,
}

impl DeviceKind {
    /// What a time measured there is: `"gpu"` or `"simulation"`.
    pub fn time_kind(self) -> &'static str {
        match self {
            Self::Cuda => "gpu",
            Self::Simulator => "simulation",
        }
    }
}

/// The facts about a device that planning and reports need.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// As the driver spells it, or `simulator (…)`.
    pub name: String,
    /// GPU or simulator.
    pub kind: DeviceKind,
    /// Major and minor; PTX for a higher target is refused.
    pub compute_capability: (u32, u32),
    /// Total global memory in bytes.
    pub memory_bytes: u64,
    /// Multiprocessors; on the simulator a fixed number, so that the same command is the same launch on every host.
    pub multiprocessors: u32,
    /// The largest block.
    pub max_threads_per_block: u32,
    /// Shared memory that a block gets without asking for more, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that a block gets if it asks for it, in bytes; [`Device::launch`] asks.
    pub most_shared_bytes_per_block: u32,
    /// Memory clock (double data rate) times bus width. `None` where the driver does not tell, and on the simulator.
    pub peak_bytes_per_second: Option<f64>,
}

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
        /// The module's name, as given to [`Device::load`].
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
        /// The module's name, as given to [`Device::load`].
        module: String,
        /// The place in the PTX and what is wrong with it.
        reason: String,
    },
    /// A module has no kernel of that name.
    #[error("module {module} has no kernel {kernel}")]
    NoKernel {
        /// The module's name, as given to [`Device::load`].
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
    /// The simulator was told to stop in the middle of a launch; see [`Device::interrupt_by`].
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
    #[error("cannot launch {kernel}: it needs {what}, and this CUDA driver has no function {function}")]
    DriverLacks {
        /// The kernel's name.
        kernel: String,
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
    /// A buffer or kernel that another device made.
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

/// A GPU or the simulator, ready to work.
///
/// Buffers, modules and kernels keep what they need of it alive.
#[derive(Debug)]
pub struct Device {
    info: DeviceInfo,
    fallback_note: Option<String>,
    interrupt: Option<&'static AtomicBool>,
    home: Arc<dyn Home>,
}

/// Grid, block and dynamic shared memory of a launch, and what binds its blocks together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks along each dimension, at least 1.
    pub grid: Dim3,
    /// Threads of a block along each dimension, at least 1.
    pub block: Dim3,
    /// Dynamic shared memory of each block, in bytes.
    pub shared_bytes: u32,
    /// Blocks of a thread-block cluster, along x; 1 is a launch without clusters.
    pub cluster: u32,
    /// Whether all blocks are to be resident at once, so that they can wait for each other.
    pub cooperative: bool,
}

impl LaunchShape {
    /// `grid` blocks of `block` threads in one dimension, without clusters, not cooperative.
    pub fn linear(grid: u32, block: u32, shared_bytes: u32) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes, cluster: 1, cooperative: false }
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A device address, such as [`Buffer::address`].
    Pointer(u64),
    /// A 64-bit integer, such as a `usize` of the kernel.
    U64(u64),
    /// A 32-bit integer.
    U32(u32),
}

impl Arg {
    /// Its size in bytes.
    fn size(self) -> usize {
        match self {
            Self::Pointer(_) | Self::U64(_) => 8,
            Self::U32(_) => 4,
        }
    }
}

/// What the simulator does with each launch beside running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// Counts what the kernel does.
    Count,
    /// Watches for data races, reads of what nobody wrote, and barriers and warp-level instructions that threads miss.
    Check,
}

/// What an instrument saw of one launch.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Name of the kernel.
    pub kernel: String,
    /// The launch.
    pub shape: LaunchShape,
    /// What was seen.
    pub seen: Seen,
}

/// What was seen, by instrument.
#[derive(Clone, Debug)]
pub enum Seen {
    /// By [`Instrument::Count`].
    Counted(Box<simt::Profile>),
    /// By [`Instrument::Check`].
    Checked(simt::Checked),
}

/// What a kind of device does, in bytes and addresses. Addresses come from `alloc`, and ranges lie within one
/// allocation: [`Buffer`] sees to that.
trait Home: fmt::Debug + Send + Sync {
    fn info(&self) -> DeviceInfo;
    fn free_memory(&self) -> Result<u64, DeviceError>;
    /// `bytes` is at least 1; `None` if there is not that much memory.
    fn alloc(&self, bytes: u64) -> Result<Option<u64>, DeviceError>;
    fn free(&self, address: u64);
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;
    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError>;
    fn load(self: Arc<Self>, name: &str, image: &[u8]) -> Result<Arc<dyn LoadedModule>, DeviceError>;
    fn synchronize(&self) -> Result<(), DeviceError>;
    /// What is to end a launch once it is true; a device that cannot end one goes on.
    fn interrupt_by(&self, _interrupt: &'static AtomicBool) {}
    fn start_clock(self: Arc<Self>) -> Result<Box<dyn Clock>, DeviceError>;
    /// `bytes` is at least 1. All of them are 0.
    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError>;
    /// What `alloc_pinned` gave for so many bytes.
    fn free_pinned(&self, memory: *mut u8, bytes: usize);
    fn open_stream(self: Arc<Self>) -> Result<Box<dyn HomeStream>, DeviceError>;
    /// What instruments saw since the last call; a device without instruments saw nothing.
    fn take_observations(&self) -> Vec<Observation> {
        Vec::new()
    }
}

/// Work in order, beside that of other streams.
trait HomeStream: fmt::Debug {
    /// # Safety
    ///
    /// Until the next `synchronize` has returned, the bytes stay where they are and are not written.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    /// # Safety
    ///
    /// Until the next `synchronize` has returned, the bytes stay where they are and nobody reads or writes them.
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    /// As [`LoadedKernel::launch`].
    fn launch(&self, kernel: &dyn LoadedKernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError>;
    fn synchronize(&self) -> Result<(), DeviceError>;
}

trait LoadedModule: fmt::Debug + Send + Sync {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn LoadedKernel>, DeviceError>;
}

trait LoadedKernel: fmt::Debug + Send + Sync {
    /// Size of each parameter, in bytes.
    fn parameters(&self) -> &[usize];
    /// Blocks of so many threads and bytes of dynamic shared memory that one multiprocessor holds at once.
    fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError>;
    /// Whether launches of such a shape are possible at all, whatever their size.
    fn check_launch(&self, shape: LaunchShape) -> Result<(), DeviceError>;
    /// The shape is one that the device allows, the arguments fit the parameters.
    fn launch(&self, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError>;
    /// The same on a stream of this device, which knows what `stream` is.
    fn launch_on(&self, stream: &dyn Any, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError>;
}

/// Time since it was started, on the device.
trait Clock {
    /// Waits for all work.
    fn stop(self: Box<Self>) -> Result<Duration, DeviceError>;
}

/// `len` values of type `T` in the device's global memory; freed on drop.
#[derive(Debug)]
pub struct Buffer<T> {
    home: Arc<dyn Home>,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

/// PTX that the device has accepted.
#[derive(Clone, Debug)]
pub struct Module {
    home: Arc<dyn Home>,
    loaded: Arc<dyn LoadedModule>,
}

/// A kernel of a [`Module`], which it keeps loaded.
#[derive(Clone, Debug)]
pub struct Kernel {
    home: Arc<dyn Home>,
    name: String,
    loaded: Arc<dyn LoadedKernel>,
}

impl Device {
    /// Opens the chosen device. [`DeviceChoice::Auto`] never fails: without a GPU that works it takes the simulator and
    /// leaves a [note](Self::fallback_note).
    ///
    /// # Errors
    ///
    /// CUDA was demanded: [`DeviceError::NoCuda`] if there is no driver or device, the driver's error if the device cannot
    /// be set up.
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        let (home, fallback_note): (Arc<dyn Home>, _) = match choice {
            DeviceChoice::Simulator => (Arc::new(Simulator::new(None)), None),
            DeviceChoice::Cuda => (cuda::open()?, None),
            DeviceChoice::Auto => match cuda::open() {
                Ok(home) => (home, None),
                Err(error) => {
                    let why = match &error {
                        DeviceError::NoCuda(why) => why.to_string(),
                        error => error.to_string(),
                    };
                    (Arc::new(Simulator::new(None)), Some(format!("using the simulator, because {why}")))
                }
            },
        };
        Ok(Self { info: home.info(), fallback_note, interrupt: None, home })
    }

    /// The simulator, with an instrument that watches every launch; see [`Device::take_observations`]. GPUs have none.
    ///
    /// ```
    /// use warpfold::device::{Arg, Device, Instrument, LaunchShape, Seen};
    /// use warpfold::ptx::PtxLibrary;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::simulator_with(Instrument::Count);
    /// let (input, output) = (device.upload(&[1i32; 512])?, device.alloc::<i32>(1)?);
    /// let ptx = PtxLibrary::embedded()?.find("reduce6_sum_i32_b256", device.info().compute_capability)?;
    /// let kernel = device.load(&ptx.file, &ptx.text)?.kernel("reduce6_sum_i32_b256")?;
    /// let shape = LaunchShape::linear(1, 256, 1024);
    /// device.launch(&kernel, shape, &[Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(512)])?;
    /// let observations = device.take_observations();
    /// let Seen::Counted(profile) = &observations[0].seen else { panic!("it counts") };
    /// assert_eq!(profile.counters.global.load.sectors, 512 * 4 / 32);
    /// # Ok(())
    /// # }
    /// ```
    pub fn simulator_with(instrument: Instrument) -> Self {
        let home: Arc<dyn Home> = Arc::new(Simulator::new(Some(instrument)));
        Self { info: home.info(), fallback_note: None, interrupt: None, home }
    }

    /// What the instrument saw of each launch since the last call, in the order of the launches; nothing if there is no
    /// instrument.
    pub fn take_observations(&self) -> Vec<Observation> {
        self.home.take_observations()
    }

    /// Lets a flag end the work on this device, such as one that Ctrl-C sets: once it is true, the simulator stops in the
    /// middle of a launch ([`DeviceError::Interrupted`]), and a [`Runner`](crate::reduce::Runner) begins no run more. A GPU
    /// ends what it has begun.
    ///
    /// The first flag stays.
    pub fn interrupt_by(&mut self, interrupt: &'static AtomicBool) {
        self.home.interrupt_by(self.interrupt.get_or_insert(interrupt));
    }

    /// Whether its flag is set; see [`Device::interrupt_by`].
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }

    /// Why [`DeviceChoice::Auto`] took the simulator, in one line; `None` if it did not.
    pub fn fallback_note(&self) -> Option<&str> {
        self.fallback_note.as_deref()
    }

    /// The facts about this device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Free global memory, in bytes.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        self.home.free_memory()
    }

    /// Allocates `len` values and leaves their bytes as they are (whatever was there; `T: Pod`, so any bytes are
    /// valid). A length of 0 allocates nothing.
    ///
    /// # Errors
    ///
    /// Out of memory, with the bytes that were asked for and those that are free.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        let requested = len as u128 * size_of::<T>() as u128;
        let address = match u64::try_from(requested) {
            Ok(0) => Some(0),
            Ok(bytes) => self.home.alloc(bytes)?,
            Err(_) => None,
        };
        let Some(address) = address else {
            return Err(DeviceError::OutOfMemory { requested, free: self.home.free_memory()? });
        };
        Ok(Buffer { home: Arc::clone(&self.home), address, len, element: PhantomData })
    }

    /// Allocates and fills a buffer.
    ///
    /// # Errors
    ///
    /// As [`Device::alloc`], and the driver's for the copy.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.alloc(values.len())?;
        buffer.copy_from_host(values)?;
        Ok(buffer)
    }

    /// Loads PTX: the driver compiles it, or the simulator parses and validates it. `name` is for messages.
    ///
    /// # Errors
    ///
    /// PTX that is refused, with the driver's JIT log or the simulator's diagnostic.
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module, DeviceError> {
        self.load_image(name, ptx.as_bytes())
    }

    /// Loads machine code (a cubin made for this GPU), as another compiler writes it; or PTX. The simulator knows only PTX.
    ///
    /// # Errors
    ///
    /// As [`Device::load`].
    pub fn load_image(&self, name: &str, image: &[u8]) -> Result<Module, DeviceError> {
        let loaded = Arc::clone(&self.home).load(name, image)?;
        Ok(Module { home: Arc::clone(&self.home), loaded })
    }

    /// Starts a kernel after all earlier work. On a GPU it may return before the kernel ends, and a fault in the kernel
    /// then shows in a later call, at the latest in [`Device::synchronize`].
    ///
    /// `args` must fit the kernel's parameters in number and width. Pointers must be addresses of live [`Buffer`]s of
    /// this device, large enough for what the kernel does with them: the simulator reports an access outside as an
    /// error; the GPU may report it, or overwrite another buffer of this process.
    ///
    /// # Errors
    ///
    /// A shape that the device does not allow, arguments that do not fit, a fault of the kernel.
    pub fn launch(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        self.check_launchable(kernel, shape, args)?;
        kernel.loaded.launch(shape, args)
    }

    /// Refuses a shape that the device does not allow, and arguments that do not fit.
    fn check_launchable(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        self.check_own(&kernel.home, "kernel")?;
        let check = |what, value, least, most| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(DeviceError::Shape { kernel: kernel.name.clone(), what, value, least, most })
        };
        // CUDA C++ Programming Guide, Technical Specifications per Compute Capability: "Maximum x-dimension of a grid of
        // thread blocks" and the rows that follow it.
        check("grid", shape.grid.x, 1, i32::MAX as u32)?;
        check("grid along y", shape.grid.y, 1, 65_535)?;
        check("grid along z", shape.grid.z, 1, 65_535)?;
        check("block along z", shape.block.z, 1, 64)?;
        let threads = shape.block.count().try_into().unwrap_or(u32::MAX);
        check("block", threads, 1, self.info.max_threads_per_block)?;
        check("dynamic shared memory in bytes", shape.shared_bytes, 0, self.info.most_shared_bytes_per_block)?;
        let parameters = kernel.loaded.parameters();
        if !parameters.iter().copied().eq(args.iter().map(|arg| arg.size())) {
            return Err(DeviceError::Arguments {
                kernel: kernel.name.clone(),
                parameters: parameters.to_vec(),
                arguments: args.iter().map(|arg| arg.size()).collect(),
            });
        }
        kernel.loaded.check_launch(shape)
    }

    /// How many blocks of `threads` threads, with so much dynamic shared memory each, a multiprocessor holds at once; times
    /// the multiprocessors, that is the largest grid of a cooperative launch. On the simulator, as an H100 would with 32
    /// registers for each thread.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn resident_blocks(&self, kernel: &Kernel, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.check_own(&kernel.home, "kernel")?;
        kernel.loaded.resident_blocks(threads, shared_bytes)
    }

    /// Whether the device can launch a kernel in this way at all: clusters and cooperative launches are not everywhere.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverLacks`].
    pub fn check_launch(&self, kernel: &Kernel, shape: LaunchShape) -> Result<(), DeviceError> {
        self.check_own(&kernel.home, "kernel")?;
        kernel.loaded.check_launch(shape)
    }

    /// Waits for all work.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.home.synchronize()
    }

    /// The time from the start to the end of the work that `work` gives to the device: by events on the GPU, by the
    /// wall clock on the simulator. It waits for the end. Nothing is warmed up here: that is the caller's.
    ///
    /// # Errors
    ///
    /// What `work` returns, and the driver's.
    pub fn time<E: From<DeviceError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
        let clock = Arc::clone(&self.home).start_clock()?;
        work()?;
        Ok(clock.stop()?)
    }

    fn check_own(&self, home: &Arc<dyn Home>, what: &'static str) -> Result<(), DeviceError> {
        if same_home(&self.home, home) { Ok(()) } else { Err(DeviceError::OtherDevice(what)) }
    }
}

impl<T: Pod> Buffer<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Device address of the first value, for [`Arg::Pointer`]; 0 for an empty buffer.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Waits for all earlier work and copies the values to the host.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; the driver's.
    pub fn copy_to_host(&self) -> Result<Vec<T>, DeviceError> {
        let mut values = vec![T::zeroed(); self.len];
        if !self.is_empty() {
            self.home.read(self.address, bytemuck::cast_slice_mut(&mut values))?;
        }
        Ok(values)
    }

    /// Waits for all earlier work and copies the values into `values`, page-locked or not.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; a fault of an earlier launch; the driver's.
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<(), DeviceError> {
        self.check_len(values.len())?;
        if self.is_empty() {
            return Ok(());
        }
        self.home.read(self.address, bytemuck::cast_slice_mut(values))
    }

    /// Overwrites the whole buffer with `values`.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; the driver's.
    pub fn copy_from_host(&mut self, values: &[T]) -> Result<(), DeviceError> {
        self.check_len(values.len())?;
        if self.is_empty() {
            return Ok(());
        }
        self.home.write(self.address, bytemuck::cast_slice(values))
    }

    /// Overwrites the whole buffer with the values of `source`, without passing through the host.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; a buffer of another device; the driver's.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.check_len(source.len)?;
        if !same_home(&self.home, &source.home) {
            return Err(DeviceError::OtherDevice("buffer"));
        }
        if self.is_empty() {
            return Ok(());
        }
        self.home.copy(source.address, self.address, self.bytes())
    }

    /// Sets every byte of the buffer.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), DeviceError> {
        if self.is_empty() {
            return Ok(());
        }
        self.home.fill(self.address, self.bytes(), byte)
    }

    fn bytes(&self) -> u64 {
        self.len as u64 * size_of::<T>() as u64
    }

    fn check_len(&self, source_len: usize) -> Result<(), DeviceError> {
        if source_len == self.len {
            return Ok(());
        }
        Err(DeviceError::Length { source_len, buffer_len: self.len })
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.address != 0 {
            self.home.free(self.address);
        }
    }
}

impl Module {
    /// The kernel of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        let loaded = Arc::clone(&self.loaded).kernel(name)?;
        Ok(Kernel { home: Arc::clone(&self.home), name: name.to_owned(), loaded })
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn same_home(one: &Arc<dyn Home>, other: &Arc<dyn Home>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}
