//! From a problem to launches: grid, block and shared memory of each stage. Pure functions; no device needed.

use std::{fmt, str::FromStr};

use crate::{
    device::{DeviceInfo, LaunchShape},
    element::ElementType,
    op::Op,
    variant::{Coverage, LOAD_BYTES, Results, Shared, Step, Together, Variant},
};

/// The largest grid that CUDA allows in the first dimension.
pub const MAX_GRID: u64 = i32::MAX as u64;

/// The counter of a rung that combines its partial results itself.
const COUNTER_BYTES: u128 = 4;

/// Threads of a warp.
const WARP: u32 = 32;

/// What is to be reduced, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rung.
    pub variant: Variant,
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// Number of elements.
    pub n: u64,
}

/// How the partial results of the blocks become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The same kernel again and again until one value is left.
    #[default]
    Relaunch,
    /// The host combines them from the first to the last, in the order of the blocks.
    Host,
    /// One more block, which must be able to take them all.
    Single,
}

impl Finish {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Relaunch, Self::Host, Self::Single];

    /// As the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relaunch => "relaunch",
            Self::Host => "host",
            Self::Single => "single",
        }
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not the name of a way to finish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown finish '{0}': it is one of relaunch, host, single")]
pub struct UnknownFinish(pub String);

impl FromStr for Finish {
    type Err = UnknownFinish;

    fn from_str(text: &str) -> Result<Self, UnknownFinish> {
        Self::ALL.into_iter().find(|finish| finish.name() == text).ok_or_else(|| UnknownFinish(text.to_owned()))
    }
}

/// What the caller wants to choose; the rest is chosen for him.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Threads of a block.
    pub block: Option<u64>,
    /// Blocks of the first stage.
    pub grid: Option<u64>,
    /// How the partial results become one.
    pub finish: Finish,
}

/// What the device allows, as far as plans depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Largest block.
    pub max_threads_per_block: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes_per_block: u32,
    /// Global memory that is free, in bytes.
    pub memory_bytes: u64,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// Blocks of the kernel in question that a multiprocessor holds at once, which bounds a cooperative grid: see
    /// [`Runner::limits`](crate::reduce::Runner::limits). Where nobody asked, one of any kernel fits.
    pub resident_blocks: Option<u32>,
}

impl DeviceLimits {
    /// The limits of a device with so much free memory.
    pub fn new(info: &DeviceInfo, free_memory: u64) -> Self {
        Self {
            multiprocessors: info.multiprocessors,
            max_threads_per_block: info.max_threads_per_block,
            shared_bytes_per_block: info.shared_bytes_per_block,
            memory_bytes: free_memory,
            compute_capability: info.compute_capability,
            resident_blocks: None,
        }
    }

    /// The largest cooperative grid.
    fn largest_cooperative_grid(&self) -> u64 {
        u64::from(self.resident_blocks.unwrap_or(1)) * u64::from(self.multiprocessors.max(1))
    }
}

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Elements it reads.
    pub inputs: u64,
    /// Elements it leaves.
    pub outputs: u64,
    /// Elements of its workspace: the partial results that it combines itself.
    pub workspace: u64,
    /// Grid, block, shared memory.
    pub shape: LaunchShape,
    /// The longest chain of operations between an element that it reads and a result that it writes.
    pub depth: u64,
}

/// All launches of one reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is reduced.
    pub problem: Problem,
    /// Name of the kernel, the same for all stages.
    pub kernel: String,
    /// Threads of a block.
    pub block: u32,
    /// How the partial results become one.
    pub finish: Finish,
    /// The launches in order; none if there is nothing to reduce.
    pub stages: Vec<Stage>,
}

impl Plan {
    /// Values that the stages leave: one, or as many as the host then combines.
    pub fn partials(&self) -> u64 {
        self.stages.last().map_or(0, |stage| stage.outputs)
    }

    /// Depth of the whole tree: the longest chain of operations from an element to the result, those of the host
    /// included.
    pub fn depth(&self) -> u64 {
        self.stages.iter().map(|stage| stage.depth).sum::<u64>() + self.partials().saturating_sub(1)
    }

    /// Atomic operations by which results are combined.
    pub fn atomics(&self) -> u64 {
        let Problem { variant, .. } = self.problem;
        let blocks = self.stages.iter().map(|stage| stage.shape.grid.count() as u64).sum::<u64>();
        if variant.facts().results == Results::Atomic { blocks * u64::from(atomics(variant, self.block)) } else { 0 }
    }

    /// Bytes of device memory: the input, a second copy of it if the kernel overwrites it, the partial results of the
    /// first two stages (later stages use these two in turn), and what the first stage works with beside them.
    pub fn device_bytes(&self) -> u128 {
        let facts = self.problem.variant.facts();
        let copies = if facts.destroys_input { 2 } else { 1 };
        let (workspace, counter) = match (facts.results, self.stages.first()) {
            (Results::Combined, Some(stage)) => (stage.workspace, COUNTER_BYTES),
            // A copy of the identity.
            (Results::Atomic, Some(_)) => (1, 0),
            _ => (0, 0),
        };
        let elements = copies * u128::from(self.problem.n)
            + self.stages.iter().take(2).map(|stage| u128::from(stage.outputs)).sum::<u128>()
            + u128::from(workspace);
        elements * u128::from(self.problem.element.size()) + counter
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The least or greatest of nothing.
    #[error("n = 0: there is no {op} of no elements")]
    Nothing {
        /// The operation.
        op: Op,
    },
    /// An operation or type that the rung has no kernel for.
    #[error("variant {variant} has no {op} of {element}: {}", .variant.facts().operands.reason())]
    Operands {
        /// The rung.
        variant: Variant,
        /// The operation.
        op: Op,
        /// The type of the elements.
        element: ElementType,
    },
    /// Instructions that the device lacks.
    #[error("variant {variant} needs compute capability {}.{}; the device has {}.{}", .needed.0, .needed.1, .device.0, .device.1)]
    Capability {
        /// The rung.
        variant: Variant,
        /// What it needs.
        needed: (u32, u32),
        /// What the device has.
        device: (u32, u32),
    },
    /// More blocks than can wait for each other.
    #[error(
        "grid {grid}: the blocks of variant {variant} wait for each other, and the device holds {most} of {block} threads at once"
    )]
    Resident {
        /// What was asked for.
        grid: u64,
        /// The rung.
        variant: Variant,
        /// The most that are resident.
        most: u64,
        /// Threads of a block.
        block: u32,
    },
    /// A block size that the kernel is not made for.
    #[error("block {block}: variant {variant} works with blocks of a power of two from {min} to {max} threads")]
    Block {
        /// What was asked for.
        block: u64,
        /// The rung.
        variant: Variant,
        /// Its smallest block.
        min: u32,
        /// Its largest block, or the device's.
        max: u32,
    },
    /// More shared memory than a block gets.
    #[error("block {block}: {element} needs {bytes} bytes of shared memory, and the device gives a block {available}")]
    Shared {
        /// Threads of a block.
        block: u32,
        /// The type of the elements.
        element: ElementType,
        /// What a block needs.
        bytes: u32,
        /// What it gets.
        available: u32,
    },
    /// A grid of nothing.
    #[error("grid 0: a launch needs at least one block")]
    EmptyGrid,
    /// More blocks than can be launched.
    #[error("a grid of {grid} blocks is too large: CUDA allows {MAX_GRID}")]
    GridTooLarge {
        /// Blocks.
        grid: u64,
    },
    /// A grid that does not cover the input exactly, for a rung whose blocks take a fixed part of it.
    #[error("grid {grid}: variant {variant} needs exactly {needed} blocks of {block} threads for n = {n}")]
    Grid {
        /// What was asked for.
        grid: u64,
        /// The rung.
        variant: Variant,
        /// What it needs.
        needed: u64,
        /// Threads of a block.
        block: u32,
        /// Number of elements.
        n: u64,
    },
    /// The partial results do not fit in one block.
    #[error(
        "finish single: {partials} partial results are left, and one block of {block} threads of variant {variant} takes {takes}"
    )]
    Single {
        /// How many there are.
        partials: u64,
        /// Threads of a block.
        block: u32,
        /// The rung.
        variant: Variant,
        /// How many one block takes.
        takes: u64,
    },
    /// More than the device's memory.
    #[error("n = {n} {element} elements need {} of device memory; the device has {} free", bytes(*.needed), bytes((*.available).into()))]
    Memory {
        /// Number of elements.
        n: u64,
        /// Their type.
        element: ElementType,
        /// Bytes for input and partial results.
        needed: u128,
        /// Bytes that are free.
        available: u64,
    },
}

impl PlanError {
    /// Whether another device would do as it is asked: no fault of the request's.
    pub const fn blames_device(&self) -> bool {
        matches!(self, Self::Capability { .. })
    }
}

/// A number of bytes as people read it, in powers of ten.
pub(crate) fn bytes(count: u128) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if count < 1000 {
        return format!("{count} bytes");
    }
    let mut value = count as f64 / 1e3;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Refuses what no device could run: what [`plan`] would refuse on any of them, as far as that can be told without one.
///
/// # Errors
///
/// [`PlanError::Operands`], [`PlanError::Block`], [`PlanError::EmptyGrid`], [`PlanError::Nothing`].
pub fn check(problem: &Problem, request: &Request) -> Result<(), PlanError> {
    let Problem { variant, op, element, .. } = *problem;
    if !variant.allows(op, element) {
        return Err(PlanError::Operands { variant, op, element });
    }
    let any = DeviceLimits {
        multiprocessors: 1,
        max_threads_per_block: variant.facts().blocks.max,
        shared_bytes_per_block: u32::MAX,
        memory_bytes: u64::MAX,
        compute_capability: variant.facts().capability,
        resident_blocks: None,
    };
    choose_block(problem, request, &any)?;
    if request.grid == Some(0) {
        return Err(PlanError::EmptyGrid);
    }
    if problem.n == 0 && !problem.op.is_defined_for_nothing() {
        return Err(PlanError::Nothing { op: problem.op });
    }
    Ok(())
}

/// Plans a reduction, or says why there is none. Refuses what the device has no memory for, so that nothing need be
/// allocated to find out.
///
/// ```
/// use warpfold_lab::{element::ElementType, launch::*, op::Op, variant::Variant};
///
/// let problem = Problem { variant: Variant::CompletelyUnrolled, op: Op::Sum, element: ElementType::I32, n: 1 << 22 };
/// let limits = DeviceLimits {
///     multiprocessors: 132,
///     max_threads_per_block: 1024,
///     shared_bytes_per_block: 48 << 10,
///     memory_bytes: 80 << 30,
///     compute_capability: (9, 0),
///     resident_blocks: None,
/// };
/// let plan = plan(&problem, &Request::default(), &limits)?;
/// let grids: Vec<u32> = plan.stages.iter().map(|stage| stage.shape.grid.x).collect();
/// assert_eq!((plan.block, grids), (256, vec![8192, 16, 1]));
/// # Ok::<(), PlanError>(())
/// ```
///
/// # Errors
///
/// See [`PlanError`].
pub fn plan(problem: &Problem, request: &Request, limits: &DeviceLimits) -> Result<Plan, PlanError> {
    let Problem { variant, op, element, n } = *problem;
    check(problem, request)?;
    let (needed, device) = (variant.facts().capability, limits.compute_capability);
    if device < needed {
        return Err(PlanError::Capability { variant, needed, device });
    }
    let block = choose_block(problem, request, limits)?;
    let fits = |needed: u128| {
        let available = limits.memory_bytes;
        if needed > u128::from(available) { Err(PlanError::Memory { n, element, needed, available }) } else { Ok(()) }
    };
    // The input alone comes first: of an absurd n, the memory is the better sentence than the grid.
    fits(u128::from(n) * u128::from(element.size()))?;
    let stages = plan_stages(problem, request, limits, block)?;
    let kernel = variant.kernel(op, element, block);
    let plan = Plan { problem: *problem, kernel, block, finish: request.finish, stages };
    fits(plan.device_bytes())?;
    Ok(plan)
}

/// Threads of a block: what was asked for, if the rung and the device allow it.
pub(crate) fn choose_block(problem: &Problem, request: &Request, limits: &DeviceLimits) -> Result<u32, PlanError> {
    let Problem { variant, element, .. } = *problem;
    let facts = variant.facts();
    let (min, max) = (facts.blocks.min, facts.blocks.max.min(limits.max_threads_per_block));
    let asked = request.block.unwrap_or(facts.default_block.min(max).into());
    let block = u32::try_from(asked)
        .ok()
        .filter(|block| block.is_power_of_two() && (min..=max).contains(block))
        .ok_or(PlanError::Block { block: asked, variant, min, max })?;
    let bytes = shared_bytes(variant, element, block);
    if bytes > limits.shared_bytes_per_block {
        return Err(PlanError::Shared { block, element, bytes, available: limits.shared_bytes_per_block });
    }
    Ok(block)
}

/// Dynamic shared memory of a block, in bytes.
pub(crate) fn shared_bytes(variant: Variant, element: ElementType, block: u32) -> u32 {
    match variant.facts().shared {
        Shared::None => 0,
        Shared::PerThread => block * element.size(),
        Shared::PerWarp => block / WARP * element.size(),
        Shared::AndPerWarp(bytes) => bytes + block / WARP * element.size(),
    }
}

fn plan_stages(
    problem: &Problem,
    request: &Request,
    limits: &DeviceLimits,
    block: u32,
) -> Result<Vec<Stage>, PlanError> {
    let Problem { variant, element, n, .. } = *problem;
    if n == 0 {
        return Ok(Vec::new());
    }
    let stage = |inputs, grid| stage(variant, element, block, inputs, grid);

    let facts = variant.facts();
    let needed = blocks_needed(variant, element, block, n);
    let grid = match request.grid {
        Some(grid) if !facts.coverage.takes_any_grid() && grid != needed => {
            return Err(PlanError::Grid { grid, variant, needed, block, n });
        }
        Some(grid) if facts.together == Together::Grid && grid > limits.largest_cooperative_grid() => {
            let most = limits.largest_cooperative_grid();
            return Err(PlanError::Resident { grid, variant, most, block });
        }
        Some(grid) => grid,
        None => default_grid(variant, element, block, n, limits),
    };
    let mut stages = vec![stage(n, grid)?];
    let mut partials = stages[0].outputs;
    match request.finish {
        Finish::Host => {}
        Finish::Single if partials == 1 => {}
        Finish::Single => {
            let takes = one_block_takes(variant, block);
            if partials > takes {
                return Err(PlanError::Single { partials, block, variant, takes });
            }
            stages.push(stage(partials, 1)?);
        }
        // Each stage leaves fewer than it reads, as a block takes at least two elements; a grid-stride rung, whose first
        // grid is the caller's, never gets more blocks than it needs in the later ones.
        Finish::Relaunch => {
            while partials > 1 {
                let next = stage(partials, default_grid(variant, element, block, partials, limits))?;
                partials = next.outputs;
                stages.push(next);
            }
        }
    }
    Ok(stages)
}

/// Blocks that take `n` elements with no step of a grid-stride loop taken twice.
fn blocks_needed(variant: Variant, element: ElementType, block: u32, n: u64) -> u64 {
    match variant.facts().coverage {
        Coverage::Pairs => n.div_ceil(2).div_ceil(block.into()),
        Coverage::PerThread(elements) => n.div_ceil(elements * u64::from(block)),
        Coverage::GridStride(step) => n.div_ceil(step.elements_of_block(element, block)),
    }
}

fn default_grid(variant: Variant, element: ElementType, block: u32, n: u64, limits: &DeviceLimits) -> u64 {
    let needed = blocks_needed(variant, element, block, n);
    let facts = variant.facts();
    if !facts.coverage.takes_any_grid() {
        return needed;
    }
    let full = u64::from(facts.blocks_per_multiprocessor) * u64::from(limits.multiprocessors.max(1));
    let grid = needed.min(full);
    match facts.together {
        Together::Apart => grid,
        Together::Grid => grid.min(limits.largest_cooperative_grid()),
        // Whole clusters, and full ones if there is enough to do.
        Together::Clusters(most) => grid.next_multiple_of(grid.next_power_of_two().min(most.into())),
    }
}

/// The most elements from which one block makes one result.
fn one_block_takes(variant: Variant, block: u32) -> u64 {
    match variant.facts().coverage {
        Coverage::Pairs => 2,
        Coverage::PerThread(elements) => elements * u64::from(block),
        Coverage::GridStride(_) => u64::MAX,
    }
}

fn stage(variant: Variant, element: ElementType, block: u32, inputs: u64, grid: u64) -> Result<Stage, PlanError> {
    if grid > MAX_GRID {
        return Err(PlanError::GridTooLarge { grid });
    }
    let facts = variant.facts();
    let mut shape = LaunchShape::linear(grid as u32, block, shared_bytes(variant, element, block));
    match facts.together {
        Together::Apart => {}
        Together::Grid => shape.cooperative = true,
        Together::Clusters(most) => shape.cluster = 1 << shape.grid.x.trailing_zeros().min(most.ilog2()),
    }
    let tree = u64::from(block.ilog2());
    let (partials, depth) = match facts.coverage {
        Coverage::Pairs => (inputs.div_ceil(2), 1),
        Coverage::PerThread(elements) => (grid, elements - 1 + tree),
        // The blocks of a cluster are combined by one more warp.
        Coverage::GridStride(step) => {
            let cluster = u64::from(shape.cluster);
            (grid / cluster, chain(step, element, block, grid, inputs) + tree + u64::from(cluster.ilog2()))
        }
    };
    let (outputs, workspace, depth) = match facts.results {
        Results::Partials => (partials, 0, depth),
        // The threads of one block take turns at the partial results, and then reduce once more.
        Results::Combined => (1, partials, depth + partials.div_ceil(block.into()) + tree),
        // In the worst order, each atomic adds to what all others have added to.
        Results::Atomic => (1, 0, depth + partials * u64::from(atomics(variant, block))),
    };
    Ok(Stage { inputs, outputs, workspace, shape, depth })
}

/// The most elements that one thread of so large a grid combines in a chain, beginning with the identity.
fn chain(step: Step, element: ElementType, block: u32, grid: u64, inputs: u64) -> u64 {
    let threads = u64::from(block) * grid;
    let lanes = LOAD_BYTES / u64::from(element.size());
    match step {
        Step::Elements(elements) => elements * inputs.div_ceil(elements * threads),
        // Whole packs, and an element before the first boundary and behind the last.
        Step::Loads(_) => lanes * (inputs / lanes).div_ceil(threads) + 2,
        // Packs of whole tiles, and of what is outside of them less than a tile and a pack.
        Step::Tile(bytes) => {
            let tile = bytes / u64::from(element.size());
            let packs = (bytes / LOAD_BYTES).div_ceil(block.into());
            lanes * packs * (inputs / tile).div_ceil(grid) + (tile + lanes).div_ceil(threads)
        }
    }
}

/// Atomic operations of a block.
fn atomics(variant: Variant, block: u32) -> u32 {
    if variant == Variant::AtomicWarp { block / WARP } else { 1 }
}

#[cfg(test)]
mod tests;
