//! Pictures of the variants: the requests of a warp to the matrix and to the results, from a trace.

use simt::{Access, Arg, LaunchConfig, Memory};

use super::{Problem, RowsError, check, plan};
use crate::{
    device::{DeviceError, Dim3},
    element::{Element, Values, with_slice},
    experiment::RunError,
    input::generate,
    ptx::PtxLibrary,
    requests::{Picture, Shown, no_memory, traced},
};

/// The most rows or columns of a matrix in a picture. A trace has no room for many more.
pub const MOST_DRAWN: u64 = 256;

/// The memory of the simulator for a picture.
const MEMORY_BYTES: u64 = 1 << 28;

/// Runs a variant on the simulator, checks its results, and draws the requests of its first warp.
///
/// ```
/// use warpfold_lab::{
///     element::ElementType, op::Op, ptx::PtxLibrary, rows::{Problem, Variant, explain},
/// };
///
/// let library = PtxLibrary::embedded()?;
/// let loads = |variant| {
///     let (op, element) = (Op::Sum, ElementType::F32);
///     let problem = Problem { variant, op, element, rows: 64, cols: 64 };
///     explain(&library, &problem).map(|picture| picture.requests[0].cost)
/// };
/// // The lanes of a warp read words that are a row apart, or neighbouring words of one row.
/// assert_eq!((loads(Variant::Thread)?, loads(Variant::Warp)?), (32, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// See [`RowsError`].
pub fn explain(library: &PtxLibrary, problem: &Problem) -> Result<Picture, RowsError> {
    let &Problem { variant, op, element, rows, cols } = problem;
    let plan = plan(problem, MEMORY_BYTES)?;
    let elements = generate(element, op, problem.elements(), 1)?;

    let memory = Memory::new(MEMORY_BYTES);
    let bytes: Vec<u8> = with_slice!(&elements, slice => bytemuck::cast_slice(slice).to_vec());
    let mut found = vec![0; (problem.results() * u64::from(element.size())) as usize];
    let allocate = |bytes: &[u8], what| memory.alloc(bytes.len() as u64).map_err(no_memory(what));
    let input = allocate(&bytes, "allocate the matrix").map_err(failed)?;
    let output = allocate(&found, "allocate the results").map_err(failed)?;
    memory.write(input, &bytes).map_err(no_memory("write the matrix")).map_err(failed)?;

    let of_simulator = |Dim3 { x, y, z }| simt::Dim3::new(x, y, z);
    let (grid, block) = (plan.shape.grid, plan.shape.block);
    let mut config = LaunchConfig::new(of_simulator(grid), of_simulator(block));
    config.dynamic_shared_bytes = plan.shape.shared_bytes;
    let args = [Arg::Pointer(input), Arg::Pointer(output), Arg::U64(rows), Arg::U64(cols)];
    let trace = traced::<RunError>(library, &plan.kernel, &config, &args, &memory)?;

    memory.read(output, &mut found).map_err(no_memory("read the results")).map_err(failed)?;
    let results = with_slice!(&elements, slice => same_type(slice, &found));
    check(&plan, &elements, &results)?;
    let arrays = [
        ("matrix", input..input + bytes.len() as u64),
        ("results", output..output + found.len() as u64),
    ];
    let blocks = crate::output::plural(u64::from(grid.x), "block");
    Ok(Picture {
        requests: Shown { arrays: &arrays, shared: &[Access::Read, Access::Write] }
            .requests(&trace),
        kernel: plan.kernel,
        name: format!("variant {variant}"),
        run: format!("{rows} x {cols} {element} elements, {blocks} of {} threads", block.x),
    })
}

/// The elements of these bytes, which have the type of the others.
fn same_type<T: Element>(_: &[T], bytes: &[u8]) -> Values {
    T::values(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
}

fn failed(error: DeviceError) -> RowsError {
    RunError::from(error).into()
}
