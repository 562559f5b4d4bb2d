//! Reductions of arrays that the ranks of an MPI program share: each rank reduces its part on its
//! device, with [`warpfold`], and every rank gets the result of the whole.
//!
//! ```no_run
//! use warpfold::{Device, Sum};
//! use warpfold_mpi::MpiCommunicator;
//!
//! let ranks = MpiCommunicator::world(&Device::auto()?)?;
//! // Each rank has a part of the array. The parts are in the order of the ranks.
//! let part = vec![1.0f32; 1000];
//! let total = ranks.reduce(&part, Sum)?;
//! assert_eq!(total, 1000.0 * ranks.size() as f32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The partial results travel through the hosts, because they are a few bytes long. Rank 0 gets
//! those of all ranks, [appends](warpfold::Partial::append) them in the order of the ranks, and
//! sends the result to all. [`MpiReducer::reduce_into`] leaves the result on the device of each
//! rank, in the order of a stream. [`warpfold::Ranks`] does so without the hosts in between, if the
//! GPUs can reach each other. It takes `&MpiCommunicator` as its rendezvous.
//!
//! # Bits
//!
//! All ranks get the same bits. The result is the left fold of the ranks' partial results, in which
//! an empty part does not count. So results that do not depend on the order are those of one device
//! that has the whole array: integers, extremes, indices and
//! [`ReproducibleSum`](warpfold::ReproducibleSum)s, for any number of ranks and any lengths. All
//! other results are the same in each run with the same lengths and the same
//! [classes](warpfold::device::DeviceClass) of devices.
//!
//! # Faults
//!
//! A rank whose part cannot be reduced tells the others, and ranks that call different operations
//! are found out. Then each rank gets an error, and the next call works. If a rank does not come
//! within the [timeout](MpiCommunicator::with_timeout), the others get [`Error::Missing`], and
//! their communicators refuse later calls. A rank that ends with an error status, or is killed,
//! ends the whole program, because `mpirun` and the launchers of clusters do so.

mod communicator;
mod error;
mod exchange;
mod message;
mod reducer;
mod rendezvous;
mod verdict;

pub use communicator::MpiCommunicator;
pub use error::Error;
pub use reducer::MpiReducer;

/// The crate whose communicators [`MpiCommunicator::over`] takes.
pub use mpi;

/// Makes the example in the README a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
