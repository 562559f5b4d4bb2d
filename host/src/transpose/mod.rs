//! Matrix transposition on a device, in the variants of the lecture. Each of them teaches which
//! accesses suit the memory.
//!
//! [`Variant`] lists the kernels, [`plan`] turns a matrix and a variant into a launch, and a
//! [`Runner`](crate::experiment::Runner) runs it. [`Matrix::difference`] compares the result with
//! the right one, bit for bit. [`Comparison`] puts all variants side by side, with their times on a
//! GPU and their counters on the simulator. [`explain()`] draws the requests of a warp.
//!
//! A transposition moves elements and computes nothing, so it depends only on their width, which is
//! 1, 2, 4, 8 or 16 bytes.
//!
//! ```
//! use warpfold_lab::{
//!     device::*, experiment::{Runner, Runs}, ptx::PtxLibrary, transpose::*,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::simulator();
//! let library = PtxLibrary::embedded()?;
//! let element = ElementType::U16;
//! let problem = Problem { variant: Variant::Padded, element, rows: 2, cols: 3 };
//! let plan = plan(&problem, None, device.free_memory()?)?;
//! let bytes = bytemuck::cast_slice(&[1u16, 2, 3, 4, 5, 6]).to_vec();
//! let matrix = Matrix::new(element, 2, 3, bytes);
//! let outcome = Runner::new(&device, &library).transpose(&plan, &matrix, Runs::ONCE, |_| ())?;
//! assert_eq!(bytemuck::cast_slice::<u8, u16>(&outcome.result), [1, 4, 2, 5, 3, 6]);
//! # Ok(())
//! # }
//! ```

mod compare;
mod counted;
mod element;
mod explain;
mod file;
mod matrix;
mod plan;
mod report;
mod run;
mod variant;

pub use compare::{CompareError, Comparison, Competitor};
pub use counted::Counted;
pub use element::{ElementType, UnknownType};
pub use explain::{MOST_DRAWN, explain};
pub use file::{FileError, MatrixFile};
pub use matrix::{Difference, Matrix, MatrixError};
pub use plan::{MAX_EXTENT, Plan, PlanError, Problem, check, plan};
pub use report::{Report, write_list};
pub use variant::{BLOCK_ROWS, Facts, Grid, Moves, Tiles, UnknownVariant, Variant};
