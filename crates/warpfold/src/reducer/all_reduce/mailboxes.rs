//! Memory that the devices share, and the kernels that pass raw results through it.

use std::{sync::Arc, time::Duration};

use crate::device::{
    Arg, Device, DeviceError, DeviceKind, LaunchShape, Overlap, Stream,
    peers::{FailedAt, PeerMemory},
};

use super::{
    super::{Error, engine::Engine, group::shard_error},
    call::{Call, OwnLaunch, Shards, for_each},
    direct::Direct,
    kernels::{Exchange, MOST_THREADS, load, words},
};

/// The most words of 32 bits that all results of a call take, if they pass through mailboxes. More
/// are combined where they lie. On two H100s, 2 MiB of results add 16 us to a call through
/// mailboxes, and 25 us where they lie (attempt 88). Twice as many would be about as fast either
/// way, and a mailbox between two devices has 8 bytes for each byte of the results.
const MOST_POSTED: u32 = 1 << 19;
/// The same on simulators, so that small examples go both ways.
const MOST_POSTED_SIMULATED: u32 = 1 << 10;

/// How long a kernel waits for the results of another device, if the caller does not say it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of threads in a warp.
const WARP: u32 = 32;
/// The alignment of raw results, in bytes, which is that of an allocation.
pub(super) const ALIGNMENT: u64 = 256;

/// The kernels of the devices, and their memory, of which each device has a part. A part is a
/// mailbox for the kernels that post results, a mailbox for those that combine results where they
/// lie, and the raw results of the device's shard.
#[derive(Debug)]
pub(super) struct Mailboxes {
    memory: PeerMemory,
    /// The kernel that posts results, on each device.
    posting: Vec<Arc<Engine>>,
    /// The most results of a block of this kernel.
    per_block: u32,
    /// The words of 32 bits of a result.
    words: u32,
    /// The most results of a call that pass through mailboxes.
    posted: u32,
    /// The kernel that combines results where they lie, if a call may have more.
    direct: Option<Direct>,
    /// Where the second mailbox begins, in bytes.
    direct_at: u64,
    /// Where the raw results begin, in bytes.
    raws_at: u64,
    is_simulated: bool,
    /// How long a kernel waits for the results of another device.
    pub(super) timeout: Duration,
}

impl Mailboxes {
    /// Prepares the devices, which reach each other, for calls with up to `most` raw results of
    /// `bytes` bytes.
    pub(super) fn new(
        devices: &[Device],
        exchange: Exchange,
        bytes: usize,
        most: u32,
    ) -> Result<Self, Error> {
        let (ranks, words, per_block) = (devices.len(), words(bytes), exchange.per_block);
        let is_simulated = devices[0].info().kind == DeviceKind::Simulator;
        let most_posted = if is_simulated { MOST_POSTED_SIMULATED } else { MOST_POSTED };
        let posted = most.min(most_posted / words).max(1);
        let posting = load(devices, exchange.posts, bytes)?;
        let direct = (most > posted).then(|| Direct::new(devices, exchange, bytes)).transpose()?;

        let direct_at = posted_bytes(posted.div_ceil(per_block), per_block * words, ranks);
        let direct_blocks = direct.as_ref().map_or(0, |direct| direct.blocks(most));
        let raws_at = (direct_at + direct_bytes(direct_blocks, ranks)).next_multiple_of(ALIGNMENT);
        let size = raws_at + bytes as u64 * u64::from(most);
        let memory = PeerMemory::zeroed(devices, size).map_err(|failed| {
            shard_error(failed.number, &devices[failed.number], (*failed.error).into())
        })?;
        Ok(Self {
            memory,
            posting,
            per_block,
            words,
            posted,
            direct,
            direct_at,
            raws_at,
            is_simulated,
            timeout: TIMEOUT,
        })
    }

    /// The address of the raw results of a device's shard.
    pub(super) fn raws(&self, rank: usize) -> u64 {
        self.memory.address(rank) + self.raws_at
    }

    /// Lets the graph that the stream records, if any, keep the memory alive.
    pub(super) fn retain_by(&self, stream: &Stream) {
        self.memory.retain_by(stream);
    }

    /// Makes the mailboxes those of devices that have made no call, after all earlier work of the
    /// devices.
    pub(super) fn clear(&self) -> Result<(), FailedAt> {
        self.memory.clear()
    }

    /// The device for which this device has waited in vain, after all earlier work of this one.
    pub(super) fn absent(&self, rank: usize) -> Result<Option<usize>, DeviceError> {
        for mailbox in [0, self.direct_at] {
            if let status @ 1.. = self.memory.word(rank, mailbox)? {
                return Ok(Some(status as usize - 1));
            }
        }
        Ok(None)
    }

    /// Launches the kernels that combine the raw results of a call, which earlier launches of the
    /// streams leave, and write them to the outputs. If there is one result, a device may have a
    /// launch of its `own`, and then no earlier launch has left its raw result.
    pub(super) fn launch(
        &self,
        call: &Call<'_>,
        own: &[Option<OwnLaunch<'_>>],
    ) -> Result<(), FailedAt> {
        for stream in call.streams {
            self.retain_by(stream);
        }
        if let Some(direct) = self.direct.as_ref().filter(|_| call.count > self.posted) {
            let mailbox = |of: usize| self.memory.address(of) + self.direct_at;
            // SAFETY: as below.
            return unsafe {
                direct.launch(call, |_, of| self.raws(of), Some(&mailbox), self.limit())
            };
        }
        let words = call.count.min(self.per_block) * self.words;
        let room = self.per_block * self.words;
        let shape = shape(call.count.div_ceil(self.per_block), (words, room), call.ranks());
        let args = |rank: usize| {
            let results = [
                Arg::Pointer(self.raws(rank)),
                Arg::Pointer(call.outputs[rank]),
                Arg::U32(call.count),
            ];
            results.into_iter().chain(self.exchange_args(call, rank)).collect()
        };
        // SAFETY: each kernel reads raw results, which an earlier launch of its stream has left in
        // this memory, and writes as many to its output, which is borrowed or vouched for. The
        // mailboxes have as many words as so many blocks use, and dropping the exchanger waits for
        // all devices; a graph retains the memory. Whoever has made the other launches vouches for
        // them.
        unsafe { call.launch(&self.posting, shape, args, own) }
    }

    /// How long a kernel waits, in nanoseconds.
    fn limit(&self) -> u64 {
        // Without a limit the simulator finds out that nothing can change any more.
        if self.is_simulated { 0 } else { limit(self.timeout) }
    }

    /// The arguments of a kernel that exchanges results through mailboxes, from the number of
    /// elements in front of the device's shard on.
    pub(super) fn exchange_args(&self, call: &Call<'_>, rank: usize) -> impl Iterator<Item = Arg> {
        let mailbox = |of| self.memory.address(of);
        exchange_args(call.shards, (rank, call.ranks()), self.limit(), mailbox)
    }
}

/// The shape of a launch that posts results. A block posts `words` words of 32 bits at most, and
/// has room for `room`.
pub(super) fn shape(blocks: u32, (words, room): (u32, u32), ranks: usize) -> LaunchShape {
    let ranks = ranks as u32;
    // Along x there are the words of a rank, in whole warps, and along y the ranks.
    let most = (MOST_THREADS / ranks / WARP * WARP).max(WARP);
    let lanes = words.next_multiple_of(WARP).min(most);
    LaunchShape {
        block: (lanes, ranks).into(),
        overlap: Overlap::InSequence,
        ..LaunchShape::linear(blocks, lanes, 4 * (ranks * room + 2))
    }
}

/// The arguments of a kernel that exchanges results through mailboxes, from the number of elements
/// in front of the shard of `rank` on.
pub(super) fn exchange_args(
    shards: &Shards,
    (rank, ranks): (usize, usize),
    limit: u64,
    mailbox: impl Fn(usize) -> u64,
) -> impl Iterator<Item = Arg> {
    let own = [
        Arg::U64(shards.bases().nth(rank).unwrap_or_default()),
        Arg::U32(rank as u32),
        Arg::U32(ranks as u32),
        Arg::U32(shards.present()),
        Arg::U64(limit),
    ];
    own.into_iter().chain(for_each(ranks, move |of| Arg::Pointer(mailbox(of))))
}

/// How long a kernel on a GPU waits, in nanoseconds. 0 would be for ever.
pub(super) fn limit(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// How many bytes a mailbox for posted results has, as `warpfold_device::exchange` says.
pub(super) fn posted_bytes(blocks: u32, room: u32, ranks: usize) -> u64 {
    8 * (1 + u64::from(blocks) * (1 + 2 * ranks as u64 * u64::from(room)))
}

/// How many bytes a mailbox for results that are combined where they lie has, as
/// `warpfold_device::exchange::direct` says.
fn direct_bytes(blocks: u32, ranks: usize) -> u64 {
    8 * (1 + u64::from(blocks) * (1 + 2 * ranks as u64))
}
