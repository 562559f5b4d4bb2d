//! Reductions of the rows or the columns of a matrix on a device, by kernels as a lecture would
//! show them: a thread, a warp or a block for each row, and a thread for each column.
//!
//! [`plan`] turns a matrix and a [`Variant`] into a launch, a
//! [`Runner`](crate::experiment::Runner) runs it, and [`check`] compares each result with the
//! CPU's. A [`Plane`] puts the variants side by side over matrices of many shapes, with their
//! counters on the simulator and their times on a GPU. [`explain()`] draws the requests of a warp.
//!
//! These kernels show what the shape of a matrix decides. For work, there are the library's own
//! reductions of rows and axes.
//!
//! ```
//! use warpfold_lab::{
//!     device::*, element::{ElementType, Values}, experiment::{Runner, Runs}, op::Op,
//!     ptx::PtxLibrary, rows::*,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::simulator();
//! let library = PtxLibrary::embedded()?;
//! let (op, element) = (Op::Sum, ElementType::I32);
//! let problem = Problem { variant: Variant::Warp, op, element, rows: 2, cols: 3 };
//! let plan = plan(&problem, device.free_memory()?)?;
//! let matrix = Values::I32(vec![1, 2, 3, 10, 20, 30]);
//! let outcome = Runner::new(&device, &library).reduce_rows(&plan, &matrix, Runs::ONCE, |_| ())?;
//! check(&plan, &matrix, &outcome.result)?;
//! assert!(matches!(outcome.result, Values::I32(sums) if sums == [6, 60]));
//! # Ok(())
//! # }
//! ```

mod document;
mod explain;
mod plan;
mod plane;
mod run;
mod variant;

pub use explain::{MOST_DRAWN, explain};
pub use plan::{BLOCK, Plan, PlanError, Problem, plan};
pub use plane::{Devices, Measured, Plane, Request, RowsError};
pub use run::{WrongRow, check};
pub use variant::{UnknownVariant, Variant};
