//! Turns a problem into launches: the grid, block and shared memory of each stage. The functions
//! are pure and need no device.

mod error;
mod plan;
mod request;
mod shape;

use self::shape::{blocks_needed, default_grid, one_block_takes, stage};
use crate::variant::Together;

pub(crate) use error::bytes;
pub use error::{MAX_GRID, PlanError};
pub use plan::Plan;
pub use request::{DeviceLimits, Finish, Problem, Request, UnknownFinish};
pub use shape::Stage;
pub(crate) use shape::{choose_block, shared_bytes};

/// Refuses a request that no device could run. It finds those errors of [`plan`] that can be found
/// without a device.
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

/// Plans a reduction, or says why there is none. Refuses a problem that the device has no memory
/// for, so that the caller need not allocate anything to find out.
///
/// ```
/// use warpfold_lab::{element::ElementType, launch::*, op::Op, variant::Variant};
///
/// let variant = Variant::CompletelyUnrolled;
/// let problem = Problem { variant, op: Op::Sum, element: ElementType::I32, n: 1 << 22 };
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
pub fn plan(
    problem: &Problem,
    request: &Request,
    limits: &DeviceLimits,
) -> Result<Plan, PlanError> {
    let Problem { variant, op, element, n } = *problem;
    check(problem, request)?;
    let (needed, device) = (variant.facts().capability, limits.compute_capability);
    if device < needed {
        return Err(PlanError::Capability { variant, needed, device });
    }
    let block = choose_block(problem, request, limits)?;
    let fits = |needed: u128| {
        let available = limits.memory_bytes;
        if needed > u128::from(available) {
            Err(PlanError::Memory { n, element, needed, available })
        } else {
            Ok(())
        }
    };
    // The input alone is checked first: if n is absurdly large, the error about memory is clearer
    // than the error about the grid.
    fits(u128::from(n) * u128::from(element.size()))?;
    let stages = plan_stages(problem, request, limits, block)?;
    let kernel = variant.kernel(op, element, block);
    let plan = Plan { problem: *problem, kernel, block, finish: request.finish, stages };
    fits(plan.device_bytes())?;
    Ok(plan)
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
        Some(grid)
            if facts.together == Together::Grid && grid > limits.largest_cooperative_grid() =>
        {
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
        // The loop ends because each stage leaves fewer values than it reads. A block takes at
        // least two elements. The caller may choose the first grid of a grid-stride rung, but its
        // later stages never get more blocks than they need.
        Finish::Relaunch => {
            while partials > 1 {
                let next =
                    stage(partials, default_grid(variant, element, block, partials, limits))?;
                partials = next.outputs;
                stages.push(next);
            }
        }
    }
    Ok(stages)
}

#[cfg(test)]
mod tests;
