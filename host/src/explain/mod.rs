//! Pictures of a rung at work, like those of the lectures. A picture is drawn from a run of the
//! rung's PTX on the simulator. It shows the values before the run and, for each step, which thread
//! reads and writes which cells, and the values after the step.
//!
//! The picture shows only what a trace of the launch (`simt::trace`) contains, and nothing of what
//! the rung is meant to do. So a wrong kernel gives a wrong picture.
//!
//! ```
//! use warpfold_lab::{element::Values, explain::{Request, explain}, op::Op};
//! use warpfold_lab::{ptx::PtxLibrary, variant::Variant};
//!
//! let values = Values::I32(vec![3, 1, 4, 1]);
//! let request = Request { variant: Variant::Sequential, op: Op::Sum, block: None };
//! let picture = explain(&PtxLibrary::embedded()?, &request, &values)?;
//! let steps = picture.steps.iter();
//! let rows: Vec<_> = steps.map(|step| format!("{:?}: {}", step.strides, step.after)).collect();
//! assert_eq!(rows, ["[]: 3 1 4 1", "[2]: 7 2 4 1", "[1]: 9 2 4 1", "[]: 9"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod json;
mod registers;
mod steps;
mod svg;
mod text;

pub use blocks::{BlockEvent, Deed};

use std::fmt;

use simt::{LaunchConfig, Memory, Module, PhaseEnd, TraceOptions};

use blocks::Places;

use crate::{
    device::Dim3,
    element::{Element, ElementType, Value, Values, with_slice},
    launch::{self, DeviceLimits, Finish, Plan, PlanError, Problem},
    op::Op,
    ptx::{PtxError, PtxLibrary},
    reference::Reference,
    variant::{Coverage, Variant},
};

/// The greatest number of values that a picture has room for. A picture of what blocks do for each
/// other does not show the values themselves, so it takes more.
pub fn max_values(variant: Variant) -> usize {
    if variant.blocks_shown().is_some() { 1 << 16 } else { 256 }
}

/// The sixteen values of the lecture (Hui Liu, Reduction #3: Sequential Accesses), whose sum is 41.
pub const LECTURE_VALUES: &str = "10 1 8 -1 0 -2 3 5 -2 -3 2 7 0 11 0 2";

/// The values that a picture of a rung begins with if nobody gives others: the lecture's
/// sixteen, or several times these where sixteen would not show what the rung is about. A warp
/// of rung 2 conflicts with itself from 64 values on. A thread of rung 7 takes several elements
/// if there are more than the 128 for which a block of 64 threads has room. And a picture of
/// several blocks needs elements for each of them.
///
/// ```
/// use warpfold_lab::{element::ElementType, explain::default_values, variant::Variant};
/// let count = |variant, banks| {
///     default_values(variant, ElementType::I32, banks).split(' ').count()
/// };
/// assert_eq!(count(Variant::Sequential, false), 16);
/// assert_eq!(count(Variant::InterleavedContiguous, true), 64);
/// assert_eq!(count(Variant::MultipleElements, false), 256);
/// assert_eq!(count(Variant::SinglePass, false), 4 * 32 * 4);
/// ```
pub fn default_values(variant: Variant, element: ElementType, banks: bool) -> String {
    let size = element.size() as usize;
    let times = match (variant.blocks_shown(), variant) {
        // Six tiles of 8 KiB for each block, so that each of the four stages is filled, and two of
        // them are filled again.
        (Some(blocks), Variant::Bulk) => blocks as usize * 6 * (8 << 10) / size / 16,
        // One load of 16 bytes for each thread of a warp.
        (Some(blocks), _) => blocks as usize * 32 * 16 / size / 16,
        (None, Variant::MultipleElements) => 16,
        _ if banks && !variant.facts().shuffles => 4,
        _ => 1,
    };
    vec![LECTURE_VALUES; times].join(" ")
}

/// The limits of the device that the launches are planned for. They are those of the simulator in
/// [`device`](crate::device).
const LIMITS: DeviceLimits = DeviceLimits {
    multiprocessors: 16,
    max_threads_per_block: 1024,
    shared_bytes_per_block: 48 << 10,
    memory_bytes: MEMORY_BYTES,
    compute_capability: COMPUTE_CAPABILITY,
    resident_blocks: None,
};
const COMPUTE_CAPABILITY: (u32, u32) = (9, 0);
const MEMORY_BYTES: u64 = 1 << 30;

/// The greatest number of warp instructions in one launch. There is a limit because a wrong kernel
/// may never end.
const BUDGET: u64 = 1 << 24;

/// The reduction to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The rung.
    pub variant: Variant,
    /// The operation.
    pub op: Op,
    /// The number of threads in a block. `None` stands for the fewest that the rung allows and that
    /// let one block take all values.
    pub block: Option<u64>,
}

/// The reasons why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// There is no value to reduce.
    #[error("no values: at least one is needed")]
    Nothing,
    /// A word that cannot be read as a value.
    #[error("value '{text}': it must be a number that {element} holds")]
    Value {
        /// The word.
        text: String,
        /// The type that the value must have.
        element: ElementType,
    },
    /// The request cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no PTX for the kernel.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The simulator cannot load the PTX.
    #[error(transparent)]
    Load(#[from] simt::LoadError),
    /// The module lacks the kernel that the manifest puts there.
    #[error("{file} has no kernel {kernel}")]
    NoKernel {
        /// The module's file.
        file: String,
        /// The kernel.
        kernel: String,
    },
    /// The simulated memory cannot be allocated, read or written.
    #[error(transparent)]
    Memory(#[from] simt::MemoryError),
    /// The launch was refused.
    #[error(transparent)]
    Launch(#[from] simt::LaunchError),
    /// The launch executes more than a trace can hold.
    #[error(
        "{n} values: the launch executes more steps than a trace can hold, so give fewer values"
    )]
    TooLong {
        /// Number of values.
        n: usize,
    },
}

/// An array that holds values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Array {
    /// The array that the launch reduces, in global memory.
    Input,
    /// The registers of the lanes, one element for each thread.
    Registers,
    /// The block's shared memory.
    Shared,
    /// The array of the launch's results, in global memory.
    Output,
}

impl Array {
    /// The name of the array, in one lowercase word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Registers => "registers",
            Self::Shared => "shared",
            Self::Output => "output",
        }
    }
}

/// One element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The array.
    pub array: Array,
    /// The position in the array, in elements.
    pub index: u64,
}

/// The values of an array at one time, from its beginning on. A row may be shorter than its array,
/// because cells that hold nothing but the identity may be left out.
#[derive(Clone, Debug)]
pub struct Row {
    /// The array.
    pub array: Array,
    /// Its values.
    pub values: Vec<Value>,
}

impl fmt::Display for Row {
    /// The values with spaces between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.values.iter().enumerate() {
            write!(f, "{}{value}", if index > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

/// The work of one thread in a step: it reads some cells and then writes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The thread's number in its block.
    pub thread: u32,
    /// The cells that the thread has read since its last write, each once, in the order of the
    /// reads.
    pub reads: Vec<Cell>,
    /// The cell that the thread wrote.
    pub writes: Cell,
}

impl Work {
    /// Whether the thread read the cell that it then wrote.
    pub fn reads_own(&self) -> bool {
        self.reads.contains(&self.writes)
    }

    /// The cells that the thread read, without the one that it wrote.
    pub fn others(&self) -> impl Iterator<Item = Cell> + '_ {
        self.reads.iter().copied().filter(|cell| *cell != self.writes)
    }
}

/// A request of a warp to shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankUse {
    /// `ld`, `st` or `atom`.
    pub kind: &'static str,
    /// The warp's number in the block.
    pub warp: u32,
    /// How many wavefronts the request takes, as an H100 counts them.
    pub wavefronts: u64,
    /// How many of these wavefronts it would not take without conflicts.
    pub conflicts: u64,
    /// The cells that conflict: their bank is asked for several words at a time, or for several
    /// atomic operations on one word.
    pub clashing: Vec<u64>,
}

/// The changes of one array between two synchronisations.
#[derive(Clone, Debug)]
pub struct Step {
    /// The number of the launch, from 0.
    pub launch: usize,
    /// The number of the step, from 1. `None` if values are copied but not combined.
    pub number: Option<u32>,
    /// The array that the values come from. It is the written array if values are combined where
    /// they lie.
    pub from: Array,
    /// The values of that array, unless the picture shows them already as its last row.
    pub before: Option<Row>,
    /// The distances, in cells, between neighbouring cells of one array that a thread reads or
    /// writes.
    pub strides: Vec<u64>,
    /// The work of the threads, in the order of the cells that they write. Work on cells beyond
    /// those shown is left out.
    pub work: Vec<Work>,
    /// The threads whose work is left out. They read or write cells beyond those shown, which hold
    /// the identity.
    pub beyond: Vec<u32>,
    /// The threads that exchanged registers too, but nobody reads what they got. Their cells are
    /// shown as they were before.
    pub unread: Vec<u32>,
    /// The written array at the end of the step.
    pub after: Row,
    /// Requests to shared memory since the step before.
    pub banks: Vec<BankUse>,
    /// The event that ended the step. `None` after an exchange of registers, because the next one
    /// needs no other order.
    pub end: Option<PhaseEnd>,
}

/// A rung at work on a few values. The picture follows the first block.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The plan that was launched.
    pub plan: Plan,
    /// How many launches are shown, from the first on. Threads, cells and values are those of block
    /// 0 in each of them.
    pub launches_shown: usize,
    /// The values to reduce.
    pub input: Row,
    /// The steps, in the order of time.
    pub steps: Vec<Step>,
    /// What the blocks of the first launch did for each other, in the order of time. A rung with
    /// such events has no steps, because its threads work as those of rung 9.
    pub events: Vec<BlockEvent>,
    /// The number of elements in the shared memory of the block.
    pub shared_cells: u64,
    /// How many of them are shown; the others never hold anything but the identity.
    pub shared_shown: u64,
    /// The operation's identity.
    pub identity: Value,
    /// The results that the other blocks of the first launch left. Empty if each launch has one
    /// block.
    pub others: Vec<Value>,
    /// The result, or the fault that stopped a launch.
    pub result: Result<Value, Box<simt::Fault>>,
    /// The result that the CPU computes.
    pub reference: Value,
    /// Whether the result agrees with the CPU's.
    pub agrees: bool,
}

/// Parses values that have spaces or commas between them.
///
/// ```
/// use warpfold_lab::{element::ElementType, explain::parse_values};
/// assert_eq!(parse_values("1, -2 3", ElementType::I32)?.len(), 3);
/// let error = parse_values("1.5", ElementType::I32).unwrap_err();
/// assert_eq!(error.to_string(), "value '1.5': it must be a number that i32 holds");
/// # Ok::<(), warpfold_lab::explain::ExplainError>(())
/// ```
///
/// # Errors
///
/// [`ExplainError::Value`], and [`ExplainError::Nothing`].
pub fn parse_values(text: &str, element: ElementType) -> Result<Values, ExplainError> {
    fn parse<T: Element + std::str::FromStr>(text: &str) -> Result<Values, ExplainError> {
        let words =
            text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        let refuse = |word: &str| ExplainError::Value { text: word.to_owned(), element: T::TYPE };
        let values: Vec<T> =
            words.map(|word| word.parse().map_err(|_| refuse(word))).collect::<Result<_, _>>()?;
        if values.is_empty() { Err(ExplainError::Nothing) } else { Ok(T::values(values)) }
    }
    match element {
        ElementType::I32 => parse::<i32>(text),
        ElementType::U32 => parse::<u32>(text),
        ElementType::I64 => parse::<i64>(text),
        ElementType::U64 => parse::<u64>(text),
        ElementType::F32 => parse::<f32>(text),
        ElementType::F64 => parse::<f64>(text),
    }
}

/// Runs a rung on the simulator and follows its first block.
///
/// If each launch has one block, all launches are followed; otherwise only the first is.
///
/// # Errors
///
/// See [`ExplainError`]. A kernel that faults is no error: the picture ends at the fault and says
/// so.
pub fn explain(
    library: &PtxLibrary,
    request: &Request,
    values: &Values,
) -> Result<Picture, ExplainError> {
    with_slice!(values, slice => explain_slice(library, request, slice, values))
}

fn explain_slice<T: Element>(
    library: &PtxLibrary,
    request: &Request,
    slice: &[T],
    values: &Values,
) -> Result<Picture, ExplainError> {
    let plan = plan::<T>(request, slice.len())?;
    let ptx = library.find(&plan.kernel, COMPUTE_CAPABILITY)?;
    let module = Module::from_ptx(&ptx.file, &ptx.text)?;
    let kernel = module.kernel(&plan.kernel).ok_or_else(|| ExplainError::NoKernel {
        file: ptx.file.clone(),
        kernel: plan.kernel.clone(),
    })?;

    let size = u64::from(T::TYPE.size());
    let memory = Memory::new(MEMORY_BYTES);
    let read = |start: u64, count: u64| -> Result<Vec<T>, ExplainError> {
        let mut values = vec![T::zeroed(); count as usize];
        memory.read(start, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    };
    let identity = T::identity(request.op);
    let mut source = memory.alloc(slice.len() as u64 * size)?;
    memory.write(source, bytemuck::cast_slice(slice))?;

    let blocks = request.variant.blocks_shown();
    let follow_all =
        blocks.is_none() && plan.stages.iter().all(|stage| stage.shape.grid.count() == 1);
    let launches_shown = if follow_all { plan.stages.len() } else { 1 };
    let mut story = steps::Story::new(identity);
    let mut events = Vec::new();
    let mut others = Vec::new();
    let mut fault = None;
    for (launch, stage) in plan.stages.iter().enumerate() {
        let target = memory.alloc(stage.outputs * size)?;
        // Atomic operations combine with what the output holds.
        memory.write(target, bytemuck::cast_slice(&vec![identity; stage.outputs as usize]))?;
        let room = (stage.workspace * size).max(1);
        let (partials, counter) = (memory.alloc(room)?, memory.alloc(4)?);
        memory.write(counter, &[0; 4])?;
        let places = Places {
            input: source..source + stage.inputs * size,
            output: target..target + stage.outputs * size,
            partials: partials..partials + room,
            counter: counter..counter + 4,
        };
        let options = TraceOptions {
            ranges: vec![places.input.clone(), places.output.clone()],
            ..TraceOptions::default()
        };
        let config = LaunchConfig {
            dynamic_shared_bytes: stage.shape.shared_bytes,
            cluster: stage.shape.cluster,
            cooperative: stage.shape.cooperative,
            // The blocks advance side by side, as on a GPU, if that is what the picture is about.
            seed: blocks.map(|_| 1),
            budget: Some(BUDGET),
            ..LaunchConfig::new(of_simulator(stage.shape.grid), of_simulator(stage.shape.block))
        };
        let parameters = request.variant.parameters().iter();
        let args: Vec<simt::Arg> =
            parameters.map(|parameter| places.argument(*parameter, stage.inputs)).collect();
        let before = read(source, stage.inputs)?;
        let trace = simt::trace(kernel, &config, &args, &memory, &options)?;
        if trace.truncated && launch < launches_shown {
            return Err(ExplainError::TooLong { n: slice.len() });
        }
        if blocks.is_some() && launch == 0 {
            events = blocks::tell::<T>(&trace, &places);
        }
        let first = trace.blocks.first().filter(|_| blocks.is_none() && launch < launches_shown);
        if let Some(block) = first {
            story.tell(launch, &before, block, &options.ranges);
        }
        fault = trace.fault;
        if fault.is_some() {
            break;
        }
        if launch == 0 && !follow_all && blocks.is_none() {
            others = read(target, stage.outputs)?.into_iter().skip(1).map(T::value).collect();
        }
        source = target;
    }
    let result = match fault {
        Some(fault) => Err(fault),
        None => Ok(read(source, 1)?[0].value()),
    };
    let reference = Reference::new(values, request.op, plan.depth());
    let agrees = result.as_ref().is_ok_and(|result| reference.agrees(*result));
    Ok(Picture {
        launches_shown,
        input: Row {
            array: Array::Input,
            values: slice.iter().map(|value| value.value()).collect(),
        },
        shared_cells: story.shared_cells(),
        shared_shown: story.shared_shown(),
        steps: story.steps,
        events,
        identity: identity.value(),
        others,
        result,
        reference: reference.value(),
        agrees,
        plan,
    })
}

/// Plans the launches. The block is that of the request, or else the smallest that takes all values
/// at once.
fn plan<T: Element>(request: &Request, n: usize) -> Result<Plan, ExplainError> {
    let Request { variant, op, block } = *request;
    let problem = Problem { variant, op, element: T::TYPE, n: n as u64 };
    if n == 0 {
        return Err(ExplainError::Nothing);
    }
    let blocks = variant.facts().blocks;
    let per_thread = match variant.facts().coverage {
        Coverage::PerThread(elements) => elements,
        Coverage::Pairs => 2,
        Coverage::GridStride(_) => u64::MAX,
    };
    // A thread of a grid-stride rung takes as many elements as are needed, so the smallest block
    // that the rung allows can take all values.
    let needed = (n as u64).div_ceil(per_thread).next_power_of_two();
    let block = block.unwrap_or_else(|| needed.clamp(blocks.min.into(), blocks.max.into()));
    // One block takes all values, unless the picture is about several.
    let grid = variant.facts().coverage.takes_any_grid();
    let grid = grid.then(|| variant.blocks_shown().unwrap_or(1));
    let request = launch::Request { block: Some(block), grid, finish: Finish::Relaunch };
    Ok(launch::plan(&problem, &request, &LIMITS)?)
}

/// An extent as the type that the simulator's crate uses.
fn of_simulator(Dim3 { x, y, z }: Dim3) -> simt::Dim3 {
    simt::Dim3::new(x, y, z)
}
