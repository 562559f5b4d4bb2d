//! Launching: what is checked before a kernel runs, and the workers that run its blocks.

use std::fmt;
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use crate::fault::Fault;
use crate::grid::{Grid, Workspace};
use crate::memory::{Memory, MemoryError};
use crate::module::{Kernel, Module};
use crate::observe::{Observer, Plain};
use crate::occupancy::{Gpu, occupancy};

/// Threads of a block, at most.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The shape of a block, at most.
pub const MAX_BLOCK: Dim3 = Dim3 { x: 1024, y: 1024, z: 64 };
/// The shape of a grid, at most.
pub const MAX_GRID: Dim3 = Dim3 { x: i32::MAX as u32, y: 65535, z: 65535 };
/// Blocks of a cluster, at most: what every GPU with clusters takes. (16 have to be asked for on some.)
pub const MAX_CLUSTER: u32 = 8;
/// Shared memory of a block in bytes, static and dynamic together, at most: that of compute capability 9.0.
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;

/// Three dimensions of a grid or a block, or a position in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim3 {
    /// Three dimensions.
    pub const fn new(x: u32, y: u32, z: u32) -> Dim3 {
        Dim3 { x, y, z }
    }

    /// How many points it spans.
    pub const fn count(self) -> u128 {
        self.x as u128 * self.y as u128 * self.z as u128
    }

    /// The position of linear index `index`, x fastest.
    pub(crate) const fn position(self, index: u64) -> Dim3 {
        let (x, y) = (self.x as u64, self.y as u64);
        Dim3 { x: (index % x) as u32, y: (index / x % y) as u32, z: (index / x / y) as u32 }
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Dim3 {
        Dim3 { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Dim3 {
        Dim3 { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Dim3 {
        Dim3 { x, y, z }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// The shape of a launch, and how to run it.
#[derive(Debug, Clone, Copy)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of each block.
    pub dynamic_shared_bytes: u32,
    /// Blocks of a thread-block cluster, along x; 1 for none, or for what the kernel's `.reqnctapercluster` says. At most
    /// [`MAX_CLUSTER`], which is what all GPUs with clusters take, and the grid's x must be a multiple.
    pub cluster: u32,
    /// A cooperative launch: all blocks are resident at once, so that any of them may wait for any other.
    pub cooperative: bool,
    /// Blocks that the device holds at once: a cooperative launch of more is refused, as a driver does
    /// (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`). `None` takes what an H100 holds by threads and shared memory; how
    /// many registers ptxas would give a thread is not known here.
    pub resident_blocks: Option<u32>,
    /// Host threads to run on; `None` takes one for each core. The result does not depend on it.
    pub workers: Option<usize>,
    /// `Some` varies the order in which the warps of a block advance, and how far blocks come before others have their turn: up
    /// to 8 of them advance side by side on a worker, and the last of these may end first. Each seed stands for one order.
    pub seed: Option<u64>,
    /// Warp instructions that the whole launch may run before it is stopped by [`FaultKind::Budget`](crate::FaultKind::Budget); `None` for no
    /// end. It is looked at between turns of a block, so that a launch may run some more.
    pub budget: Option<u64>,
    /// Stops the launch by [`FaultKind::Interrupted`](crate::FaultKind::Interrupted) once it is true: for a handler of Ctrl-C.
    pub interrupt: Option<&'static AtomicBool>,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads, without dynamic shared memory, on all cores, in the plain order.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into(),
            block: block.into(),
            dynamic_shared_bytes: 0,
            cluster: 1,
            cooperative: false,
            resident_blocks: None,
            workers: None,
            seed: None,
            budget: None,
            interrupt: None,
        }
    }
}

/// The value of a kernel's parameter.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Arg {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    /// A device address.
    Pointer(u64),
    /// A structure, as the bytes that the device sees.
    Bytes(Vec<u8>),
}

impl Arg {
    /// Its bytes as the device sees them, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Arg::U8(v) => v.to_le_bytes().to_vec(),
            Arg::U16(v) => v.to_le_bytes().to_vec(),
            Arg::U32(v) => v.to_le_bytes().to_vec(),
            Arg::U64(v) | Arg::Pointer(v) => v.to_le_bytes().to_vec(),
            Arg::I8(v) => v.to_le_bytes().to_vec(),
            Arg::I16(v) => v.to_le_bytes().to_vec(),
            Arg::I32(v) => v.to_le_bytes().to_vec(),
            Arg::I64(v) => v.to_le_bytes().to_vec(),
            Arg::F32(v) => v.to_le_bytes().to_vec(),
            Arg::F64(v) => v.to_le_bytes().to_vec(),
            Arg::Bytes(v) => v.clone(),
        }
    }
}

/// Why a launch was refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no kernel of this name.
    #[error("module `{module}` has no kernel `{kernel}`")]
    UnknownKernel {
        /// The module's name.
        module: String,
        /// The name asked for.
        kernel: String,
    },
    /// A grid with a zero dimension or beyond the limits.
    #[error("grid {grid} is not allowed: each dimension must be at least 1 and at most {MAX_GRID}")]
    Grid {
        /// The grid asked for.
        grid: Dim3,
    },
    /// A block with a zero dimension or beyond the limits.
    #[error(
        "block {block} is not allowed: each dimension must be at least 1 and at most {MAX_BLOCK}, with at most {MAX_THREADS_PER_BLOCK} threads in all"
    )]
    Block {
        /// The block asked for.
        block: Dim3,
    },
    /// A block that the kernel's `.maxntid` or `.reqntid` does not allow.
    #[error("block {block} is not allowed: kernel `{kernel}` was compiled for {rule}")]
    BlockForKernel {
        /// The block asked for.
        block: Dim3,
        /// The kernel.
        kernel: String,
        /// The kernel's directive, in words.
        rule: String,
    },
    /// The wrong number of arguments.
    #[error("kernel `{kernel}` takes {expected} arguments and got {given}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Its number of parameters.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument that is not as large as its parameter.
    #[error("argument {index} of kernel `{kernel}` has {given} bytes and its parameter `{param}` has {expected}")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Position of the argument, from 0.
        index: usize,
        /// The parameter's name.
        param: String,
        /// The parameter's size in bytes.
        expected: u64,
        /// The argument's size in bytes.
        given: usize,
    },
    /// More shared memory than a block can have.
    #[error(
        "kernel `{kernel}` would need {asked} bytes of shared memory in each block and at most {MAX_SHARED_BYTES} are allowed"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Static and dynamic bytes together.
        asked: u64,
    },
    /// A cluster of no blocks or of too many.
    #[error("a cluster of {cluster} blocks is not allowed: it must have 1 to {MAX_CLUSTER}")]
    ClusterSize {
        /// Blocks of the cluster asked for.
        cluster: u32,
    },
    /// A grid that does not consist of whole clusters.
    #[error("grid {grid} is not allowed: its x must be a multiple of the {cluster} blocks of a cluster")]
    ClusterGrid {
        /// The grid asked for.
        grid: Dim3,
        /// Blocks of a cluster.
        cluster: u32,
    },
    /// A cluster that the kernel's `.reqnctapercluster` or `.maxclusterrank` does not allow.
    #[error("a cluster of {cluster} blocks is not allowed: kernel `{kernel}` was compiled for {rule}")]
    ClusterForKernel {
        /// Blocks of the cluster asked for.
        cluster: u32,
        /// The kernel.
        kernel: String,
        /// The kernel's directive, in words.
        rule: String,
    },
    /// A cooperative launch whose blocks cannot all be resident at once.
    #[error("a cooperative launch of {blocks} blocks is too large: at most {resident} can be resident at once")]
    CooperativeTooLarge {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks that the device holds at once.
        resident: u32,
    },
    /// `workers: Some(0)`.
    #[error("a launch needs at least 1 worker")]
    NoWorkers,
    /// The module's own variables found no place in device memory.
    #[error("the variables of module `{module}` could not be placed: {source}")]
    Variables {
        /// The module's name.
        module: String,
        /// Why.
        source: MemoryError,
    },
    /// A range that [`trace`](crate::trace()) was to keep is not there.
    #[error("a range to trace cannot be read: {0}")]
    TraceRange(MemoryError),
    /// The kernel faulted. What its blocks wrote so far has been written.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// Runs a kernel to its end.
///
/// Blocks start in increasing linear order and run in parallel on the workers; the warps of a block take turns. A
/// block may wait for an earlier one, and for up to 255 later ones: a worker lays aside a block that seems to poll, and
/// starts the next. A kernel that can never end because all its threads poll what none of them writes is stopped by
/// [`FaultKind::Livelock`](crate::FaultKind::Livelock). The results do not depend on the number of workers unless the
/// kernel itself depends on the order of its blocks, as sums of floats by atomics do.
///
/// # Errors
/// Everything that is wrong with the launch is said before anything runs. A [`Fault`] stops the launch; if several
/// blocks fault, the first one's fault is reported.
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
pub fn launch(kernel: &Kernel, config: &LaunchConfig, args: &[Arg], memory: &Memory) -> Result<(), LaunchError> {
    let (_, fault) = run(kernel, config, args, memory, || Plain)?;
    fault.map_or(Ok(()), |fault| Err(fault.into()))
}

/// Runs a kernel under observation: each worker makes its own observer. Returns them with the first block's fault.
pub(crate) fn run<O: Observer + Send>(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
    observer: impl Fn() -> O + Sync,
) -> Result<(Vec<O>, Option<Box<Fault>>), LaunchError> {
    let params = check(kernel, config, args)?;
    let no_room = |source| LaunchError::Variables { module: kernel.module_name().to_owned(), source };
    let variables = kernel.variables(memory).map_err(no_room)?;
    if !O::NOTES_WRITES {
        memory.assume_written();
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let cluster = cluster_size(kernel, config)?;
    let clusters = config.grid.count() as u64 / u64::from(cluster);
    let workers = (config.workers.unwrap_or_else(cores) as u64).min(clusters) as usize;
    let workspace = Workspace::new(kernel, config, memory).map_err(no_room)?;
    let grid = Grid::new((kernel, config), params, &variables, memory.view(), (cluster, workspace.address()), workers);
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
    Ok((observers, grid.into_fault()))
}

/// [`launch`] of a kernel by its name.
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
    let unknown = || LaunchError::UnknownKernel { module: module.name().to_owned(), kernel: kernel.to_owned() };
    launch(module.kernel(kernel).ok_or_else(unknown)?, config, args, memory)
}

/// Checks the launch and lays out the parameters' bytes.
fn check(kernel: &Kernel, config: &LaunchConfig, args: &[Arg]) -> Result<Vec<u8>, LaunchError> {
    let within = |dim: Dim3, max: Dim3| {
        (1..=max.x).contains(&dim.x) && (1..=max.y).contains(&dim.y) && (1..=max.z).contains(&dim.z)
    };
    if !within(config.grid, MAX_GRID) {
        return Err(LaunchError::Grid { grid: config.grid });
    }
    let block = config.block;
    if !within(block, MAX_BLOCK) || block.count() > u128::from(MAX_THREADS_PER_BLOCK) {
        return Err(LaunchError::Block { block });
    }
    if let Some(rule) = kernel.refuses_block(block) {
        return Err(LaunchError::BlockForKernel { block, kernel: kernel.name().to_owned(), rule });
    }
    if config.workers == Some(0) {
        return Err(LaunchError::NoWorkers);
    }
    let asked = u64::from(kernel.program().dynamic_base) + u64::from(config.dynamic_shared_bytes);
    if asked > u64::from(MAX_SHARED_BYTES) {
        return Err(LaunchError::SharedMemory { kernel: kernel.name().to_owned(), asked });
    }
    let expected = kernel.params().len();
    if args.len() != expected {
        return Err(LaunchError::ArgumentCount { kernel: kernel.name().to_owned(), expected, given: args.len() });
    }
    if config.cooperative {
        check_cooperative(kernel, config)?;
    }
    let mut bytes = vec![0; kernel.program().params as usize];
    for (index, (arg, param)) in args.iter().zip(kernel.params()).enumerate() {
        let value = arg.to_bytes();
        if value.len() as u64 != param.size {
            return Err(LaunchError::ArgumentSize {
                kernel: kernel.name().to_owned(),
                index,
                param: param.name.clone(),
                expected: param.size,
                given: value.len(),
            });
        }
        bytes[param.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    Ok(bytes)
}

/// Blocks of a cluster of the launch, once it has been checked.
fn cluster_size(kernel: &Kernel, config: &LaunchConfig) -> Result<u32, LaunchError> {
    let limits = kernel.limits();
    let refuse =
        |rule| LaunchError::ClusterForKernel { cluster: config.cluster, kernel: kernel.name().to_owned(), rule };
    let cluster = match limits.required_cluster {
        Some([x, 1, 1]) if x == config.cluster || config.cluster == 1 => x,
        Some([x, 1, 1]) => return Err(refuse(format!("clusters of {x}"))),
        Some([x, y, z]) => {
            return Err(refuse(format!("clusters of {}, and only those along x are simulated", Dim3 { x, y, z })));
        }
        None => config.cluster,
    };
    if !(1..=MAX_CLUSTER).contains(&cluster) {
        return Err(LaunchError::ClusterSize { cluster });
    }
    if let Some(most) = limits.max_cluster_rank.filter(|most| cluster > *most) {
        return Err(refuse(format!("clusters of at most {most}")));
    }
    if !config.grid.x.is_multiple_of(cluster) {
        return Err(LaunchError::ClusterGrid { grid: config.grid, cluster });
    }
    Ok(cluster)
}

/// Refuses a cooperative launch that cannot be resident.
fn check_cooperative(kernel: &Kernel, config: &LaunchConfig) -> Result<(), LaunchError> {
    let on_h100 = || {
        let shared_bytes = kernel.program().dynamic_base + config.dynamic_shared_bytes;
        let gpu = Gpu::all().iter().find(|gpu| gpu.name == "h100").expect("the H100 is known");
        gpu.multiprocessors * occupancy(gpu, config.block.count() as u32, shared_bytes, None).blocks_per_sm
    };
    let resident = config.resident_blocks.unwrap_or_else(on_h100);
    let blocks = config.grid.count() as u64;
    if blocks > u64::from(resident) {
        return Err(LaunchError::CooperativeTooLarge { blocks, resident });
    }
    Ok(())
}
