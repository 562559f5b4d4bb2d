//! The block, the grid and the shared memory of a single launch.

use super::{
    error::{MAX_GRID, PlanError},
    request::{DeviceLimits, Problem, Request},
};
use crate::{
    device::LaunchShape,
    element::ElementType,
    variant::{Coverage, LOAD_BYTES, Results, Shared, Step, Together, Variant},
};

/// The number of threads in one warp.
const WARP: u32 = 32;

/// One launch of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The number of elements that it reads.
    pub inputs: u64,
    /// The number of elements that it leaves.
    pub outputs: u64,
    /// The number of elements in its workspace, which holds the partial results that it combines
    /// itself.
    pub workspace: u64,
    /// The grid, the block and the shared memory.
    pub shape: LaunchShape,
    /// The longest chain of operations between an element that it reads and a result that it
    /// writes.
    pub depth: u64,
}

/// The number of threads in one block: the requested number or the rung's default, if the rung and
/// the device allow it.
pub(crate) fn choose_block(
    problem: &Problem,
    request: &Request,
    limits: &DeviceLimits,
) -> Result<u32, PlanError> {
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
        return Err(PlanError::Shared {
            block,
            element,
            bytes,
            available: limits.shared_bytes_per_block,
        });
    }
    Ok(block)
}

/// The dynamic shared memory of one block, in bytes.
pub(crate) fn shared_bytes(variant: Variant, element: ElementType, block: u32) -> u32 {
    match variant.facts().shared {
        Shared::None => 0,
        Shared::PerThread => block * element.size(),
        Shared::PerWarp => block / WARP * element.size(),
        Shared::AndPerWarp(bytes) => bytes + block / WARP * element.size(),
    }
}

/// The number of blocks that take `n` elements at once. In a grid-stride loop of so many blocks, no
/// thread repeats the loop.
pub(super) fn blocks_needed(variant: Variant, element: ElementType, block: u32, n: u64) -> u64 {
    match variant.facts().coverage {
        Coverage::Pairs => n.div_ceil(2).div_ceil(block.into()),
        Coverage::PerThread(elements) => n.div_ceil(elements * u64::from(block)),
        Coverage::GridStride(step) => n.div_ceil(step.elements_of_block(element, block)),
    }
}

pub(super) fn default_grid(
    variant: Variant,
    element: ElementType,
    block: u32,
    n: u64,
    limits: &DeviceLimits,
) -> u64 {
    let needed = blocks_needed(variant, element, block, n);
    let facts = variant.facts();
    if !facts.coverage.takes_any_grid() {
        return needed;
    }
    let full =
        u64::from(facts.blocks_per_multiprocessor) * u64::from(limits.multiprocessors.max(1));
    let grid = needed.min(full);
    match facts.together {
        Together::Apart => grid,
        Together::Grid => grid.min(limits.largest_cooperative_grid()),
        // The grid is a whole number of clusters. If there is enough to do, the clusters are as
        // large as they may be.
        Together::Clusters(most) => {
            grid.next_multiple_of(grid.next_power_of_two().min(most.into()))
        }
    }
}

/// The most elements from which one block makes one result.
pub(super) fn one_block_takes(variant: Variant, block: u32) -> u64 {
    match variant.facts().coverage {
        Coverage::Pairs => 2,
        Coverage::PerThread(elements) => elements * u64::from(block),
        Coverage::GridStride(_) => u64::MAX,
    }
}

pub(super) fn stage(
    variant: Variant,
    element: ElementType,
    block: u32,
    inputs: u64,
    grid: u64,
) -> Result<Stage, PlanError> {
    if grid > MAX_GRID {
        return Err(PlanError::GridTooLarge { grid });
    }
    let facts = variant.facts();
    let mut shape = LaunchShape::linear(grid as u32, block, shared_bytes(variant, element, block));
    match facts.together {
        Together::Apart => {}
        Together::Grid => shape.cooperative = true,
        Together::Clusters(most) => {
            shape.cluster = 1 << shape.grid.x.trailing_zeros().min(most.ilog2());
        }
    }
    let tree = u64::from(block.ilog2());
    let (partials, depth) = match facts.coverage {
        Coverage::Pairs => (inputs.div_ceil(2), 1),
        Coverage::PerThread(elements) => (grid, elements - 1 + tree),
        // One more warp combines the results of the blocks of a cluster.
        Coverage::GridStride(step) => {
            let cluster = u64::from(shape.cluster);
            (
                grid / cluster,
                chain(step, element, block, grid, inputs) + tree + u64::from(cluster.ilog2()),
            )
        }
    };
    let (outputs, workspace, depth) = match facts.results {
        Results::Partials => (partials, 0, depth),
        // The threads of one block share the partial results: each combines its part one by one,
        // and the block then reduces once more.
        Results::Combined => (1, partials, depth + partials.div_ceil(block.into()) + tree),
        // In the worst order, the atomic operations form one chain.
        Results::Atomic => (1, 0, depth + partials * u64::from(atomics(variant, block))),
    };
    Ok(Stage { inputs, outputs, workspace, shape, depth })
}

/// The length of the longest chain of operations in one thread of a grid of this size. The chain
/// begins with the identity.
fn chain(step: Step, element: ElementType, block: u32, grid: u64, inputs: u64) -> u64 {
    let threads = u64::from(block) * grid;
    let lanes = LOAD_BYTES / u64::from(element.size());
    match step {
        Step::Elements(elements) => elements * inputs.div_ceil(elements * threads),
        // A thread takes whole packs, and perhaps one element before the first 16-byte boundary and
        // one behind the last.
        Step::Loads(_) => lanes * (inputs / lanes).div_ceil(threads) + 2,
        // A thread takes packs of whole tiles, and its part of the elements outside of the whole
        // tiles. Those are fewer than one tile and one pack.
        Step::Tile(bytes) => {
            let tile = bytes / u64::from(element.size());
            let packs = (bytes / LOAD_BYTES).div_ceil(block.into());
            lanes * packs * (inputs / tile).div_ceil(grid) + (tile + lanes).div_ceil(threads)
        }
    }
}

/// The number of atomic operations that one block makes.
pub(super) fn atomics(variant: Variant, block: u32) -> u32 {
    if variant == Variant::AtomicWarp { block / WARP } else { 1 }
}
