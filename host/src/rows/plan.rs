//! Turns a matrix and a variant into a launch. The functions are pure and need no device.

use super::Variant;
use crate::{
    device::LaunchShape,
    element::ElementType,
    launch::{MAX_GRID, bytes},
    op::Op,
};

/// The number of threads in one block.
pub const BLOCK: u32 = 256;

/// The number of lanes in a warp.
const WARP: u32 = 32;

/// What to reduce, by which operation, and by which variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The variant.
    pub variant: Variant,
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// The number of rows of the matrix.
    pub rows: u64,
    /// The number of columns of the matrix, which is the length of a row.
    pub cols: u64,
}

impl Problem {
    /// The number of results: of rows, or of columns if these are reduced.
    pub const fn results(&self) -> u64 {
        match self.variant {
            Variant::Column => self.cols,
            _ => self.rows,
        }
    }

    /// The number of elements of which one result is made.
    pub const fn length(&self) -> u64 {
        match self.variant {
            Variant::Column => self.rows,
            _ => self.cols,
        }
    }

    /// The number of elements of the matrix.
    pub const fn elements(&self) -> u64 {
        self.rows * self.cols
    }

    /// The number of bytes of the matrix.
    pub fn bytes(&self) -> u64 {
        self.elements() * u64::from(self.element.size())
    }

    /// The greatest number of operations that an element passes through on its way to its result.
    /// It is the depth in the error bound of a sum of floats.
    ///
    /// ```
    /// use warpfold_lab::{element::ElementType, op::Op, rows::{Problem, Variant}};
    ///
    /// let depth = |variant| {
    ///     let (op, element) = (Op::Sum, ElementType::F32);
    ///     Problem { variant, op, element, rows: 8, cols: 1024 }.depth()
    /// };
    /// // A thread adds 1024 elements one after the other, and a lane of a warp only 32.
    /// assert_eq!([Variant::Thread, Variant::Warp].map(depth), [1024, 32 + 5]);
    /// ```
    pub const fn depth(&self) -> u64 {
        let of_thread = self.length().div_ceil(self.variant.threads() as u64);
        let of_warp = WARP.ilog2() as u64;
        match self.variant {
            Variant::Thread | Variant::Column => of_thread,
            Variant::Warp => of_thread + of_warp,
            // The warps of a block combine their values as the lanes of one warp do.
            Variant::Block => of_thread + 2 * of_warp,
        }
    }
}

/// The plan of one reduction, which is a single launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The problem that the plan solves.
    pub problem: Problem,
    /// The name of the kernel.
    pub kernel: String,
    /// The grid, the block and the shared memory.
    pub shape: LaunchShape,
}

/// Why a reduction of rows or columns cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no kernel for this operation on this type.
    #[error("there is no {op} of rows of {element}: there are sum, min and max of i32 and f32")]
    Operands {
        /// The operation.
        op: Op,
        /// The type of the elements.
        element: ElementType,
    },
    /// The matrix has no rows or no columns, or more than a grid can have blocks.
    #[error("{rows} x {cols}: a matrix has 1 to {MAX_GRID} rows and columns")]
    Extent {
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
    },
    /// The matrix and the results do not fit in the device's memory.
    #[error(
        "{rows} x {cols} {element} elements need {} of device memory; the device has {} free",
        bytes(*.needed),
        bytes((*.available).into())
    )]
    Memory {
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
        /// The type of the elements.
        element: ElementType,
        /// The bytes that the matrix and the results take.
        needed: u128,
        /// The bytes that are free on the device.
        available: u64,
    },
}

/// Plans a reduction on a device with `memory` bytes of free memory.
///
/// ```
/// use warpfold_lab::{element::ElementType, op::Op, rows::{Problem, Variant, plan}};
///
/// let problem = Problem {
///     variant: Variant::Warp,
///     op: Op::Sum,
///     element: ElementType::I32,
///     rows: 1000,
///     cols: 50,
/// };
/// // A block of 256 threads has eight warps, so 125 blocks have one for each of 1000 rows.
/// assert_eq!(plan(&problem, 1 << 30)?.shape.grid.x, 125);
/// # Ok::<(), warpfold_lab::rows::PlanError>(())
/// ```
///
/// # Errors
///
/// See [`PlanError`].
pub fn plan(problem: &Problem, memory: u64) -> Result<Plan, PlanError> {
    let &Problem { variant, op, element, rows, cols } = problem;
    if op == Op::Prod || !matches!(element, ElementType::I32 | ElementType::F32) {
        return Err(PlanError::Operands { op, element });
    }
    if !(1..=MAX_GRID).contains(&rows) || !(1..=MAX_GRID).contains(&cols) {
        return Err(PlanError::Extent { rows, cols });
    }
    let needed = u128::from(problem.elements() + problem.results()) * u128::from(element.size());
    if needed > memory.into() {
        return Err(PlanError::Memory { rows, cols, element, needed, available: memory });
    }
    // There are at most `MAX_GRID` results, so there are not more blocks.
    let blocks = problem.results().div_ceil(u64::from(BLOCK / variant.threads())) as u32;
    let shared_bytes = match variant {
        Variant::Block => BLOCK / WARP * element.size(),
        _ => 0,
    };
    let shape = LaunchShape::linear(blocks, BLOCK, shared_bytes);
    Ok(Plan { problem: *problem, kernel: variant.kernel(op, element), shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(variant: Variant, rows: u64, cols: u64) -> Problem {
        Problem { variant, op: Op::Sum, element: ElementType::F32, rows, cols }
    }

    #[test]
    fn a_grid_has_the_threads_of_each_result() {
        for (variant, rows, cols, blocks) in [
            (Variant::Thread, 1, 9, 1),
            (Variant::Thread, 256, 9, 1),
            (Variant::Thread, 257, 9, 2),
            (Variant::Warp, 8, 9, 1),
            (Variant::Warp, 9, 9, 2),
            (Variant::Block, 9, 1, 9),
            (Variant::Block, MAX_GRID, 1, i32::MAX as u32),
            (Variant::Column, 9, 256, 1),
            (Variant::Column, 9, 257, 2),
        ] {
            let plan = plan(&problem(variant, rows, cols), u64::MAX).unwrap();
            assert_eq!(plan.shape.grid.x, blocks, "{variant} {rows} x {cols}");
            let shared_bytes = if variant == Variant::Block { 32 } else { 0 };
            assert_eq!(plan.shape.shared_bytes, shared_bytes, "{variant}");
        }
    }

    #[test]
    fn what_has_no_plan_is_refused() {
        let error = |problem: Problem, memory| plan(&problem, memory).unwrap_err().to_string();
        let of = |rows, cols| problem(Variant::Thread, rows, cols);
        for (rows, cols) in [(0, 1), (1, 0), (MAX_GRID + 1, 1), (1, u64::MAX)] {
            let expected =
                format!("{rows} x {cols}: a matrix has 1 to 2147483647 rows and columns");
            assert_eq!(error(of(rows, cols), u64::MAX), expected);
        }
        assert_eq!(
            error(of(10, 10), 439),
            "10 x 10 f32 elements need 440 bytes of device memory; the device has 439 bytes free"
        );
        assert!(plan(&of(10, 10), 440).is_ok());
        let allowed = "there are sum, min and max of i32 and f32";
        for (op, element, what) in [
            (Op::Prod, ElementType::F32, "prod of rows of f32"),
            (Op::Sum, ElementType::F64, "sum of rows of f64"),
        ] {
            let problem = Problem { op, element, ..of(2, 2) };
            assert_eq!(error(problem, u64::MAX), format!("there is no {what}: {allowed}"));
        }
    }
}
