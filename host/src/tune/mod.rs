//! The launch shape that suits a GPU best, found by trying and kept for later runs.
//!
//! [`candidates`] are the shapes of a rung that differ: block sizes, and blocks for each
//! multiprocessor where the rung leaves the grid open, and with it the elements of a thread.
//! [`search`] tries them with whatever measures, and a [`Cache`] keeps what it found, an [`Entry`]
//! for each GPU, rung, operation and type.
//!
//! ```
//! use std::time::Duration;
//! use warpfold_lab::{element::ElementType, launch::*, op::Op, tune::*, variant::Variant};
//!
//! let problem = Problem { variant: Variant::MultipleElements, op: Op::Sum, element: ElementType::I32, n: 1 << 24 };
//! let limits = DeviceLimits {
//!     multiprocessors: 132,
//!     max_threads_per_block: 1024,
//!     shared_bytes_per_block: 48 << 10,
//!     memory_bytes: 80 << 30,
//!     compute_capability: (9, 0),
//!     resident_blocks: None,
//! };
//! let candidates = candidates(&problem, &limits, |_| Some(limits))?;
//! // A GPU that likes small blocks.
//! let measure = |plan: &Plan, _: Round| Ok::<_, ()>(Trial::Took(Duration::from_micros(100 + u64::from(plan.block))));
//! let found = search(&candidates, measure).unwrap();
//! assert_eq!(found.winner().unwrap().plan.block, 64);
//! # Ok::<(), PlanError>(())
//! ```

mod cache;
mod search;

pub use cache::{Cache, CacheError, Entry, FILE_NAME, VERSION};
pub use search::{Candidate, Choice, Round, Search, Trial, candidates, search};
