//! The launch shape that suits a GPU best, found by trying and kept for later runs.
//!
//! [`candidates`] gives the shapes of a rung that differ. They have different block sizes and, if
//! the rung leaves the grid open, different numbers of blocks for each multiprocessor, so that a
//! thread takes more or fewer elements. [`search`] measures them with a function of the caller. A
//! [`Cache`] keeps the results, with one [`Entry`] for each GPU, rung, operation and type.
//!
//! ```
//! use std::time::Duration;
//! use warpfold_lab::{element::ElementType, launch::*, op::Op, tune::*, variant::Variant};
//!
//! let (variant, element) = (Variant::MultipleElements, ElementType::I32);
//! let problem = Problem { variant, op: Op::Sum, element, n: 1 << 24 };
//! let limits = DeviceLimits {
//!     multiprocessors: 132,
//!     max_threads_per_block: 1024,
//!     shared_bytes_per_block: 48 << 10,
//!     memory_bytes: 80 << 30,
//!     compute_capability: (9, 0),
//!     resident_blocks: None,
//! };
//! let candidates = candidates(&problem, &limits, |_| Some(limits))?;
//! // This GPU is imaginary: it runs small blocks faster.
//! let time = |plan: &Plan| Duration::from_micros(100 + u64::from(plan.block));
//! let measure = |plan: &Plan, _: Round| Ok::<_, ()>(Trial::Took(time(plan)));
//! let found = search(&candidates, measure).unwrap();
//! assert_eq!(found.winner().unwrap().plan.block, 64);
//! # Ok::<(), PlanError>(())
//! ```

mod cache;
mod describe;
mod search;

pub use cache::{Cache, CacheError, Entry, FILE_NAME, VERSION};
pub(crate) use describe::tuned_note;
pub use search::{Candidate, Choice, Round, Search, Trial, candidates, search};
