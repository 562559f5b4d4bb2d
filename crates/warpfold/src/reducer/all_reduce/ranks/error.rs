//! The reasons why ranks have no result.

use std::time::Duration;

use crate::{DeviceError, RendezvousError};

use super::{super::super::Error, RankTransport};

/// The reason why ranks have no result together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// The ranks could not exchange bytes on the host. They cannot meet again then.
    #[error(transparent)]
    Rendezvous(#[from] RendezvousError),
    /// This rank cannot reduce its shard, or the whole array has no result, because it is empty or
    /// too long.
    #[error(transparent)]
    Reduction(#[from] Error),
    /// Another rank cannot go on.
    #[error("rank {rank} has failed: {reason}")]
    Rank {
        /// The rank, the least one if several have failed.
        rank: u32,
        /// The message of that rank's error.
        reason: String,
    },
    /// A rank calls something else than rank 0: another function, another operation, another
    /// constant, or another type of elements.
    #[error("rank {rank} calls '{theirs}', and rank 0 '{ours}'")]
    Calls {
        /// The rank, the least one if several differ.
        rank: u32,
        /// What that rank calls.
        theirs: String,
        /// What rank 0 calls.
        ours: String,
    },
    /// A rank has sent something else than a message of this version of this crate.
    #[error("rank {rank} has sent something else than a message of this version of warpfold")]
    Message {
        /// The rank.
        rank: u32,
    },
    /// A rank was told to use another transport than rank 0.
    #[error(
        "rank {rank} wants {}, and rank 0 wants {}: all ranks need the same transport",
        wanted(*theirs), wanted(*ours)
    )]
    Transports {
        /// The rank, the least one if several differ.
        rank: u32,
        /// What it was told to use.
        theirs: Option<RankTransport>,
        /// What rank 0 was told to use.
        ours: Option<RankTransport>,
    },
    /// The transport that the ranks were told to use does not work here.
    #[error("the ranks cannot exchange results by {transport}: {reason}")]
    NoTransport {
        /// The transport.
        transport: RankTransport,
        /// The reason, as a sentence for people.
        reason: String,
    },
    /// A shard, or a row of it, has another length than the one that the ranks have agreed on.
    #[error("the shard has {given} elements, and this reducer was made for {agreed}")]
    Length {
        /// The length of the shard, or of its rows.
        given: u64,
        /// The length for which the reducer was made.
        agreed: u64,
    },
    /// A shard has another number of rows than the one that the ranks have agreed on.
    #[error("the shard has {given} rows, and this reducer was made for {agreed}")]
    Rows {
        /// The number of rows of the shard.
        given: u64,
        /// The number for which [`Ranks::all_row_reducer`](super::Ranks::all_row_reducer) was
        /// called.
        agreed: u64,
    },
    /// The device of this rank has waited in vain for the result of another rank. The reducer does
    /// not work any more.
    #[error("the result of rank {rank} did not come in time")]
    Absent {
        /// The rank whose result did not come, the least one if several did not.
        rank: u32,
    },
    /// NCCL has not gathered the results in time. It does not say whose result did not come. The
    /// ranks cannot use NCCL any more.
    #[error("NCCL did not gather the results of all ranks within {} s", waited.as_secs_f64())]
    Late {
        /// How long they were waited for.
        waited: Duration,
    },
    /// An earlier call has failed in such a way that the ranks cannot exchange results any more.
    #[error("an earlier call has failed, so that the ranks cannot exchange results any more")]
    Broken,
}

impl From<DeviceError> for RankError {
    fn from(error: DeviceError) -> Self {
        Self::Reduction(error.into())
    }
}

fn wanted(transport: Option<RankTransport>) -> String {
    transport.map_or_else(|| "any transport".to_owned(), |transport| transport.to_string())
}
