//! The reasons why ranks cannot meet.

use std::{error, io, time::Duration};

/// The reason why ranks could not exchange bytes. After such an error a rendezvous is of no more
/// use, except after [`TooLong`](Self::TooLong).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RendezvousError {
    /// This rank has a number that the ranks do not have.
    #[error("{rank} is no rank: {ranks} ranks are counted from 0")]
    NoRank {
        /// The number that was given.
        rank: u32,
        /// The number of ranks that was given.
        ranks: u32,
    },
    /// A rank did not come in time.
    #[error("rank {rank} did not come within {} s", waited.as_secs_f64())]
    Missing {
        /// The rank, the least one if several are missing.
        rank: u32,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A rank has left: its connection is closed, or it has said so.
    #[error("rank {rank} has left")]
    Closed {
        /// The rank.
        rank: u32,
    },
    /// Two processes or threads say that they are the same rank.
    #[error("rank {rank} has come twice")]
    Twice {
        /// The rank.
        rank: u32,
    },
    /// A rank expects another number of ranks than rank 0.
    #[error("rank {rank} expects {theirs} ranks, and rank 0 expects {ours}")]
    Counts {
        /// The rank.
        rank: u32,
        /// How many ranks it expects.
        theirs: u32,
        /// How many ranks rank 0 expects.
        ours: u32,
    },
    /// Something that is no rank of the same version of this crate has connected, or has left a
    /// file.
    #[error("{from} has sent something else than a rank of this version of warpfold does")]
    Foreign {
        /// The address, the file or the rank.
        from: String,
    },
    /// A rank has more to say than one message holds.
    #[error("{bytes} bytes are more than the {most} that a rank can send at once")]
    TooLong {
        /// The number of bytes.
        bytes: usize,
        /// The most bytes of a message.
        most: usize,
    },
    /// An earlier call has failed.
    #[error("an earlier meeting of the ranks has failed, so that they cannot meet again")]
    Broken,
    /// The system has refused a call. The text of `action` completes the sentence "cannot …".
    #[error("cannot {action}: {cause}")]
    Io {
        /// What was tried.
        action: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The error of a rendezvous of another crate.
    #[error(transparent)]
    Other(Box<dyn error::Error + Send + Sync>),
}

impl RendezvousError {
    /// Makes the error of a refused call.
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { action: action.into(), cause }
    }
}
