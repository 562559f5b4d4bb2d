//! The reasons why ranks have no result.

use std::time::Duration;

/// The reason why a call has no result. If one rank gets an error from a call, all ranks do, except
/// if a device fails when [`reduce_into`](crate::MpiReducer::reduce_into) copies the raw result of
/// the whole array to it: the exchange is over then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// MPI is initialised already, so [`MpiCommunicator::world`](crate::MpiCommunicator::world)
    /// cannot do it. [`MpiCommunicator::over`](crate::MpiCommunicator::over) takes a communicator
    /// of the program.
    #[error("MPI is initialised already: take one of the program's communicators")]
    Initialised,
    /// MPI was initialised for programs of one thread, and warpfold has several.
    #[error("MPI was initialised for a single thread: it must be at least `Funneled`")]
    Threads,
    /// This rank cannot reduce its part, or the result of the whole array is an error, such as an
    /// overflow.
    #[error(transparent)]
    Warpfold(#[from] warpfold::Error),
    /// Another rank cannot reduce its part.
    #[error("rank {rank} has failed: {reason}")]
    Rank {
        /// The rank, the least one if several have failed.
        rank: u32,
        /// The message of that rank's error.
        reason: String,
    },
    /// A rank calls another operation than rank 0, or has elements of another type.
    #[error("rank {rank} calls '{theirs}', and rank 0 '{ours}'")]
    Calls {
        /// The rank, the least one if several differ.
        rank: u32,
        /// What that rank calls.
        theirs: String,
        /// What rank 0 calls.
        ours: String,
    },
    /// A rank did not come in time, so that the communicator cannot be used any more.
    #[error("rank {rank} did not come within {} s", waited.as_secs_f64())]
    Missing {
        /// The rank, the least one if several are missing.
        rank: u32,
        /// How long its message was waited for.
        waited: Duration,
    },
    /// An earlier call has ended with [`Error::Missing`].
    #[error("a rank did not come in an earlier call, so that this communicator is of no more use")]
    Poisoned,
    /// A rank has sent something that this version does not understand.
    #[error("rank {rank} has sent no message of warpfold {}", env!("CARGO_PKG_VERSION"))]
    Message {
        /// The rank.
        rank: u32,
    },
}
