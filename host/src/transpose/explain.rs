//! Pictures of the variants: the requests of a warp to the matrices and to the tile, from a trace.

use simt::{Access, Arg, LaunchConfig, Memory};

use super::{CompareError, Matrix, Moves, Plan, Problem, compare::verify, plan};
use crate::{
    device::{Device, DeviceError, Dim3},
    experiment::RunError,
    ptx::PtxLibrary,
    requests::{Picture, Shown, no_memory, traced},
};

/// The most rows or columns of a matrix in a picture. A trace has no room for many more.
pub const MOST_DRAWN: u64 = 256;

/// The memory of the simulator for a picture.
const MEMORY_BYTES: u64 = 1 << 28;

/// Runs a variant on the simulator, checks its result, and draws the requests of its first warp.
///
/// ```
/// use warpfold_lab::{ptx::PtxLibrary, transpose::{ElementType, Problem, Variant, explain}};
///
/// let library = PtxLibrary::embedded()?;
/// let element = ElementType::F32;
/// let problem = Problem { variant: Variant::NaiveStore, element, rows: 64, cols: 64 };
/// let picture = explain(&library, &problem, None)?;
/// let costs: Vec<u64> = picture.requests.iter().map(|request| request.cost).collect();
/// assert_eq!(costs, [4, 32]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// See [`CompareError`].
pub fn explain(
    library: &PtxLibrary,
    problem: &Problem,
    tile: Option<u64>,
) -> Result<Picture, CompareError> {
    let &Problem { variant, element, rows, cols } = problem;
    let plan = plan(problem, tile, MEMORY_BYTES)?;
    let Some(shape) = plan.shape else { return Err(CompareError::Nothing { rows, cols }) };
    let matrix = Matrix::generate(element, rows, cols, 1)?;
    let is_in_place = variant.facts().moves == Moves::TransposesInPlace;

    let memory = Memory::new(MEMORY_BYTES);
    let bytes = matrix.bytes();
    let allocate = || memory.alloc(bytes.len() as u64).map_err(no_memory("allocate the matrix"));
    let (input, output) = (allocate().map_err(failed)?, allocate().map_err(failed)?);
    let source = if is_in_place { output } else { input };
    memory.write(source, bytes).map_err(no_memory("write the matrix")).map_err(failed)?;
    let range = |start: u64| start..start + bytes.len() as u64;
    // `plan` has checked that both are below 2^31.
    let [rows, cols] = [rows, cols].map(|extent| Arg::U32(extent as u32));
    let (args, arrays) = if is_in_place {
        (vec![Arg::Pointer(output), rows], vec![("matrix", range(output))])
    } else {
        (
            vec![Arg::Pointer(input), Arg::Pointer(output), rows, cols],
            vec![("input", range(input)), ("output", range(output))],
        )
    };
    let of_simulator = |Dim3 { x, y, z }| simt::Dim3::new(x, y, z);
    let config = LaunchConfig::new(of_simulator(shape.grid), of_simulator(shape.block));
    let trace = traced::<RunError>(library, &plan.kernel, &config, &args, &memory)?;

    let mut found = vec![0; bytes.len()];
    memory.read(output, &mut found).map_err(no_memory("read the matrix")).map_err(failed)?;
    verify(Device::simulator().info(), &plan, &matrix, &found)?;
    let shown = Shown { arrays: &arrays, shared: &[Access::Read, Access::Write] };
    Ok(Picture {
        kernel: plan.kernel.clone(),
        name: format!("variant {variant}"),
        run: described(&plan, shape.grid, shape.block),
        requests: shown.requests(&trace),
    })
}

fn failed(error: DeviceError) -> CompareError {
    RunError::from(error).into()
}

/// The matrix, the grid and the block in a few words.
fn described(plan: &Plan, grid: Dim3, block: Dim3) -> String {
    let Problem { element, rows, cols, .. } = plan.problem;
    let blocks = crate::output::plural(grid.count() as u64, "block");
    format!("{rows} x {cols} {element} elements, {blocks} of {} x {} threads", block.x, block.y)
}
