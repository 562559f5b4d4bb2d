//! The kernel that passes raw results through the mailboxes of all ranks.

use std::{sync::Arc, time::Duration};

use crate::{
    device::{Arg, Device, DeviceError, LaunchShape, Overlap, Stream},
    rendezvous::Rendezvous,
};

use super::{
    super::{
        super::{
            Error,
            engine::{Cache, Engine},
        },
        call::{MOST_DEVICES, Shards},
        kernels::{Exchange, MOST_THREADS, words},
        mailboxes::{ALIGNMENT, WARP, posted_bytes},
    },
    RankError,
    links::{Graves, Links},
    message::Failed,
};

/// The kernel of this rank, and the memory of all ranks: a mailbox, and the raw result of this
/// rank's shard behind it.
#[derive(Debug)]
pub(super) struct Mailboxes {
    /// A graph that has captured a call owns this too.
    links: Arc<Links>,
    engine: Arc<Engine>,
    /// The words of 32 bits of a result.
    words: u32,
    /// The words of 32 bits for which a block has room.
    room: u32,
    /// Where the raw result begins, in bytes.
    raw_at: u64,
    rank: usize,
    ranks: usize,
    /// How long the kernel waits for the results of another rank.
    pub(super) timeout: Duration,
}

/// The kernel on this rank's device, before there is memory for it.
#[derive(Debug)]
pub(super) struct Posting {
    engine: Arc<Engine>,
    bytes: usize,
    per_block: u32,
}

impl Posting {
    /// Loads the kernel for raw results of `bytes` bytes.
    pub(super) fn load(device: &Device, exchange: Exchange, bytes: usize) -> Result<Self, Error> {
        let engine = device.attached::<Cache>().engine(device, exchange.posts, bytes)?;
        Ok(Self { engine, bytes, per_block: exchange.per_block })
    }

    /// Shares the memory with the other ranks, all of which call this.
    pub(super) fn share<R: Rendezvous>(
        self,
        device: &Device,
        meeting: &mut R,
        graves: &Arc<Graves>,
        number: u64,
    ) -> Result<Result<Mailboxes, Failed>, RankError> {
        let (rank, ranks) = (meeting.rank() as usize, meeting.ranks() as usize);
        let (words, timeout) = (words(self.bytes), meeting.timeout());
        let room = self.per_block * words;
        let raw_at = posted_bytes(1, room, ranks).next_multiple_of(ALIGNMENT);
        let size = raw_at + self.bytes as u64;
        let links = match Links::share(device, meeting, graves, number, size)? {
            Ok(links) => Arc::new(links),
            Err(failed) => return Ok(Err(failed)),
        };
        let engine = self.engine;
        Ok(Ok(Mailboxes { links, engine, words, room, raw_at, rank, ranks, timeout }))
    }
}

impl Mailboxes {
    /// The address of the raw result of this rank's shard.
    pub(super) fn raw(&self) -> u64 {
        self.links.address(self.rank) + self.raw_at
    }

    /// The rank for which this one has waited in vain, after all earlier work of the device.
    pub(super) fn absent(&self, device: &Device) -> Result<Option<u32>, DeviceError> {
        // SAFETY: the memory begins with the status, and was zeroed.
        let status = unsafe { device.read_at::<u64>(self.links.address(self.rank), 1)? };
        Ok(status[0].checked_sub(1).map(|rank| rank as u32))
    }

    /// Launches the kernel, which combines the raw results of all ranks. An earlier launch of the
    /// stream leaves that of this rank.
    ///
    /// # Safety
    ///
    /// `output` is the address of a raw result on this rank's device, which nothing but the work of
    /// the stream uses meanwhile.
    pub(super) unsafe fn launch(
        &self,
        shards: &Shards,
        output: u64,
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        stream.retain_opened(Arc::clone(&self.links) as _);
        let ranks = self.ranks as u32;
        // Along x there are the words of a rank, in whole warps, and along y the ranks.
        let most = (MOST_THREADS / ranks / WARP * WARP).max(WARP);
        let lanes = self.words.next_multiple_of(WARP).min(most);
        let shape = LaunchShape {
            block: (lanes, ranks).into(),
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(1, lanes, 4 * (ranks * self.room + 2))
        };
        let limit = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut args = vec![
            Arg::Pointer(self.raw()),
            Arg::Pointer(output),
            Arg::U32(1),
            Arg::U64(shards.bases().nth(self.rank).unwrap_or(0)),
            Arg::U32(self.rank as u32),
            Arg::U32(ranks),
            Arg::U32(shards.present()),
            Arg::U64(limit),
        ];
        // The kernel has as many mailboxes as there can be ranks, and does not use those of ranks
        // that there are not.
        let mailbox = |rank: usize| Arg::Pointer(self.links.address(rank.min(self.ranks - 1)));
        args.extend((0..MOST_DEVICES).map(mailbox));
        // SAFETY: the kernel reads the raw result, which an earlier launch of the stream has left
        // in this memory, and writes one to the output. The mailboxes have as many words as one
        // block uses, and were zeroed. Dropping the links waits for the device, and the memory of
        // other ranks lives until all have closed it.
        unsafe { stream.launch(self.engine.kernel(), shape, &args) }
    }
}
