//! One interface to the machine that runs the kernels, with two homes: a CUDA GPU, reached through `cust`, and the
//! built-in SIMT simulator.
//!
//! A [`Device`] allocates [`Buffer`]s, loads PTX into [`Module`]s, launches their [`Kernel`]s and times what it did.
//! Work is ordered as on one CUDA stream: each call sees the effects of all earlier ones, and a launch may return
//! before the kernel has ended. Copies to the host wait for it.
//!
//! ```no_run
//! use warpfold::device::{Arg, Device, DeviceChoice, LaunchShape};
//!
//! # fn main() -> Result<(), warpfold::device::DeviceError> {
//! # let ptx = "";
//! let device = Device::open(DeviceChoice::Auto)?;
//! let input = device.upload(&[1i32; 512])?;
//! let output = device.alloc::<i32>(1)?;
//! let kernel = device.load("reduce6_i32", ptx)?.kernel("reduce6_sum_i32_b256")?;
//! let shape = LaunchShape { grid: 1, block: 256, shared_bytes: 1024 };
//! device.launch(&kernel, shape, &[Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(512)])?;
//! assert_eq!(output.copy_to_host()?, [512]);
//! # Ok(())
//! # }
//! ```

use std::{fmt, marker::PhantomData, str::FromStr, time::Duration};

pub use bytemuck::Pod;

/// Which device to open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device, or the simulator where there is none.
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
    /// Multiprocessors; on the simulator, the cores of the host that run blocks.
    pub multiprocessors: u32,
    /// The largest block.
    pub max_threads_per_block: u32,
    /// Shared memory that a block gets without asking for more, in bytes.
    pub shared_bytes_per_block: u32,
    /// Memory clock (double data rate) times bus width. `None` where the driver does not tell, and on the simulator.
    pub peak_bytes_per_second: Option<f64>,
}

/// Why the device did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A CUDA device was demanded and there is none.
    #[error("no CUDA device: {0}")]
    NoCuda(cuda_driver::DriverError),
}

/// A GPU or the simulator, ready to work.
#[derive(Debug)]
pub struct Device {
    info: DeviceInfo,
    fallback_note: Option<String>,
}

/// Grid, block (both one-dimensional) and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks, at least 1.
    pub grid: u32,
    /// Threads of a block, at least 1.
    pub block: u32,
    /// Dynamic shared memory of each block, in bytes.
    pub shared_bytes: u32,
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

/// `len` values of type `T` in the device's global memory; freed on drop.
#[derive(Debug)]
pub struct Buffer<T> {
    len: usize,
    element: PhantomData<T>,
}

/// PTX that the device has accepted.
#[derive(Debug)]
pub struct Module {}

/// A kernel of a [`Module`], which it keeps loaded.
#[derive(Debug)]
pub struct Kernel {}

impl Device {
    /// Opens the chosen device. [`DeviceChoice::Auto`] never fails for lack of a GPU: it takes the simulator and leaves
    /// a [note](Self::fallback_note).
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoCuda`] if CUDA was demanded and there is no driver or device; the driver's error if the device
    /// cannot be set up.
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        unimplemented!("{choice}")
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
        unimplemented!()
    }

    /// Allocates `len` values and leaves their bytes as they are (whatever was there; `T: Pod`, so any bytes are
    /// valid). A length of 0 allocates nothing.
    ///
    /// # Errors
    ///
    /// Out of memory, with the bytes that were asked for and those that are free.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        unimplemented!("{len}")
    }

    /// Allocates and fills a buffer.
    ///
    /// # Errors
    ///
    /// As [`Device::alloc`], and the driver's for the copy.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>, DeviceError> {
        unimplemented!("{}", values.len())
    }

    /// Loads PTX: the driver compiles it, or the simulator parses and validates it. `name` is for messages.
    ///
    /// # Errors
    ///
    /// PTX that is refused, with the driver's JIT log or the simulator's diagnostic.
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module, DeviceError> {
        unimplemented!("{name} {ptx}")
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
        unimplemented!("{kernel:?} {shape:?} {args:?}")
    }

    /// Waits for all work.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        unimplemented!()
    }

    /// The time from the start to the end of the work that `work` gives to the device: by events on the GPU, by the
    /// wall clock on the simulator. It waits for the end. Nothing is warmed up here: that is the caller's.
    ///
    /// # Errors
    ///
    /// What `work` returns, and the driver's.
    pub fn time<E: From<DeviceError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
        work()?;
        unimplemented!()
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
        unimplemented!()
    }

    /// Waits for all earlier work and copies the values to the host.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; the driver's.
    pub fn copy_to_host(&self) -> Result<Vec<T>, DeviceError> {
        unimplemented!()
    }

    /// Overwrites the whole buffer with `values`.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; the driver's.
    pub fn copy_from_host(&mut self, values: &[T]) -> Result<(), DeviceError> {
        unimplemented!("{}", values.len())
    }

    /// Overwrites the whole buffer with the values of `source`, without passing through the host.
    ///
    /// # Errors
    ///
    /// A length that differs from this buffer's; a buffer of another device; the driver's.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        unimplemented!("{}", source.len())
    }

    /// Sets every byte of the buffer.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), DeviceError> {
        unimplemented!("{byte}")
    }
}

impl Module {
    /// The kernel of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        unimplemented!("{name}")
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        unimplemented!()
    }
}
