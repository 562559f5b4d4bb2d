//! What carries raw results from rank to rank without the host.

use std::time::Duration;

use crate::{device::Stream, ptx::EmbeddedKernel, rendezvous::Rendezvous};

use super::{
    super::{super::Error, call::Shards, kernels::Exchange, layout::Devices},
    Meeting, RankError, RankTransport, Shared,
    combiner::Combiner,
    gathered::Gathered,
    peers::{Kernels, Mailboxes},
};

/// The transport of a reducer, with its memory and its kernels.
pub(super) enum Carrier {
    Peers(Mailboxes),
    Nccl(Gathered),
}

/// The transport of a reducer, as far as it concerns this rank alone.
pub(super) enum Prepared {
    Peers(Kernels),
    Nccl(Gathered),
}

impl Prepared {
    /// Prepares the device of this rank for calls with up to `most` raw results of `bytes` bytes.
    /// `None` if they pass through the host.
    pub(super) fn new<R: Rendezvous>(
        shared: &Shared<R>,
        exchange: Exchange,
        fused: Option<&'static EmbeddedKernel>,
        (bytes, most): (usize, u32),
    ) -> Result<Option<Self>, Error> {
        let Shared { device, multiprocessors, communicator, timeout, .. } = shared;
        let (ranks, results) = (shared.ranks as usize, (bytes, most));
        Ok(match (shared.transport, communicator) {
            (RankTransport::Peers, _) => {
                let devices =
                    Devices { ranks, multiprocessors: *multiprocessors, are_simulated: false };
                Some(Self::Peers(Kernels::load(device, devices, exchange, fused, results)?))
            }
            (RankTransport::Nccl, Some(communicator)) => {
                let combiner = Combiner::new(device, exchange, results, ranks)?;
                Some(Self::Nccl(Gathered::new(communicator, combiner, *timeout)))
            }
            _ => None,
        })
    }

    /// Shares memory with the other ranks, if that is needed. All ranks call this.
    pub(super) fn share<R: Rendezvous>(
        self,
        shared: &Shared<R>,
        meeting: &mut Meeting<R>,
    ) -> Result<Carrier, RankError> {
        Ok(match self {
            Self::Peers(kernels) => Carrier::Peers(kernels.share(shared, meeting)??),
            Self::Nccl(gathered) => Carrier::Nccl(gathered),
        })
    }
}

impl Carrier {
    pub(super) fn transport(&self) -> RankTransport {
        match self {
            Self::Peers(_) => RankTransport::Peers,
            Self::Nccl(_) => RankTransport::Nccl,
        }
    }

    /// Sets how long the kernel of this rank waits for the results of another one.
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        match self {
            Self::Peers(mailboxes) => mailboxes.timeout = timeout,
            Self::Nccl(gathered) => gathered.timeout = timeout,
        }
    }

    /// The address of the raw results of this rank's shard.
    pub(super) fn raws(&self) -> u64 {
        match self {
            Self::Peers(mailboxes) => mailboxes.raws(),
            Self::Nccl(gathered) => gathered.raws(),
        }
    }

    /// Combines the raw results of all ranks. An earlier launch of the stream leaves those of this
    /// one.
    ///
    /// # Safety
    ///
    /// That of [`Mailboxes::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        (rank, shards): (usize, &Shards),
        results: (u64, u32),
        stream: &Stream,
    ) -> Result<(), RankError> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Peers(mailboxes) => Ok(mailboxes.launch(shards, results, stream)?),
                Self::Nccl(gathered) => gathered.launch((rank, shards), results, stream),
            }
        }
    }

    /// The memory of all ranks, if it carries the results.
    pub(super) fn mailboxes(&self) -> Option<&Mailboxes> {
        match self {
            Self::Peers(mailboxes) => Some(mailboxes),
            Self::Nccl(_) => None,
        }
    }

    /// Waits for the work of this rank's device, and returns an error if it has waited in vain for
    /// another rank.
    pub(super) fn check<R: Rendezvous>(&self, shared: &Shared<R>) -> Result<(), RankError> {
        match self {
            Self::Peers(mailboxes) => match mailboxes.absent(&shared.device)? {
                None => Ok(()),
                Some(rank) => Err(RankError::Absent { rank }),
            },
            Self::Nccl(gathered) => gathered.check(),
        }
    }
}
