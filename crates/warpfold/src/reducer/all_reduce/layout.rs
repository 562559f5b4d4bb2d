//! What is where in the memory that devices share, and the launches that pass raw results through
//! it.

use std::time::Duration;

use crate::device::{Arg, LaunchShape, Overlap};

use super::{
    super::Args,
    call::{Shards, for_each},
    direct::{Places, Tiles},
    kernels::{Exchange, MOST_THREADS, words},
};

/// The most words of 32 bits that all results of a call take, if they pass through mailboxes. More
/// are combined where they lie. On two H100s, 2 MiB of results add 16 us to a call through
/// mailboxes, and 25 us where they lie (attempt 88). Twice as many would be about as fast either
/// way, and a mailbox between two devices has 8 bytes for each byte of the results.
const MOST_POSTED: u32 = 1 << 19;
/// The same on simulators, so that small examples go both ways.
const MOST_POSTED_SIMULATED: u32 = 1 << 10;

/// The number of threads in a warp.
const WARP: u32 = 32;
/// The alignment of raw results, in bytes, which is that of an allocation.
const ALIGNMENT: u64 = 256;

/// What each device has in its part of the memory, which is the same for all: a mailbox for the
/// kernels that post results, a mailbox for those that combine results where they lie, and the raw
/// results of the device's shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    ranks: usize,
    /// The most results of a block that posts results.
    per_block: u32,
    /// The words of 32 bits of a result.
    words: u32,
    /// The most results of a call that pass through mailboxes.
    posted: u32,
    /// How results are combined where they lie, if a call may have more.
    tiles: Option<Tiles>,
    /// Where the second mailbox begins, in bytes.
    direct_at: u64,
    /// Where the raw results begin, in bytes.
    raws_at: u64,
    /// The size of a part, in bytes.
    size: u64,
}

/// The devices of a [`Layout`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Devices {
    pub(super) ranks: usize,
    /// The least number of multiprocessors that one of them has.
    pub(super) multiprocessors: u32,
    pub(super) are_simulated: bool,
}

impl Layout {
    /// For calls with up to `most` raw results of `bytes` bytes.
    pub(super) fn new(devices: Devices, exchange: Exchange, bytes: usize, most: u32) -> Self {
        let Devices { ranks, multiprocessors, are_simulated } = devices;
        let (words, per_block) = (words(bytes), exchange.per_block);
        let most_posted = if are_simulated { MOST_POSTED_SIMULATED } else { MOST_POSTED };
        let posted = most.min(most_posted / words).max(1);
        let tiles = (most > posted).then(|| Tiles::new(exchange, bytes, multiprocessors));

        let direct_at = posted_bytes(posted.div_ceil(per_block), per_block * words, ranks);
        let direct_blocks = tiles.map_or(0, |tiles| tiles.blocks(most));
        let raws_at = (direct_at + direct_bytes(direct_blocks, ranks)).next_multiple_of(ALIGNMENT);
        let size = raws_at + bytes as u64 * u64::from(most);
        Self { ranks, per_block, words, posted, tiles, direct_at, raws_at, size }
    }

    /// The size of a device's part, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Where the raw results of a device's shard begin in its part, in bytes.
    pub(super) fn raws_at(&self) -> u64 {
        self.raws_at
    }

    /// Where the words are, in bytes, that say for which device this one has waited in vain, if
    /// they are not 0.
    pub(super) fn statuses(&self) -> impl Iterator<Item = u64> + use<> {
        [0].into_iter().chain(self.tiles.map(|_| self.direct_at))
    }

    /// Whether the kernel for results that are combined where they lie is needed at all.
    pub(super) fn has_direct(&self) -> bool {
        self.tiles.is_some()
    }

    /// Whether a call with so many results combines them where they lie.
    pub(super) fn is_direct(&self, count: u32) -> bool {
        count > self.posted
    }

    /// The shape and the arguments of the launch of a rank in a call with `count` results, which go
    /// to the address `output`. The part of each rank is at the address that `memory` gives. The
    /// kernel waits for `limit` nanoseconds, or for ever if that is 0.
    pub(super) fn launch(
        &self,
        rank: usize,
        shards: &Shards,
        (output, count): (u64, u32),
        limit: u64,
        memory: impl Fn(usize) -> u64,
    ) -> (LaunchShape, Args) {
        if let Some(tiles) = self.tiles.as_ref().filter(|_| self.is_direct(count)) {
            let places = Places {
                raws: &|of| memory(of) + self.raws_at,
                mailboxes: Some(&|of| memory(of) + self.direct_at),
                limit,
            };
            return tiles.launch((rank, self.ranks), shards, (output, count), &places);
        }
        let results =
            [Arg::Pointer(memory(rank) + self.raws_at), Arg::Pointer(output), Arg::U32(count)];
        let more = self.exchange_args(rank, shards, limit, memory);
        (self.posting_shape(count), results.into_iter().chain(more).collect())
    }

    /// The shape of a launch that posts so many results.
    fn posting_shape(&self, count: u32) -> LaunchShape {
        let ranks = self.ranks as u32;
        // Along x there are the words of a rank, in whole warps, and along y the ranks.
        let most = (MOST_THREADS / ranks / WARP * WARP).max(WARP);
        let lanes = (count.min(self.per_block) * self.words).next_multiple_of(WARP).min(most);
        let (blocks, room) = (count.div_ceil(self.per_block), self.per_block * self.words);
        LaunchShape {
            block: (lanes, ranks).into(),
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(blocks, lanes, 4 * (ranks * room + 2))
        }
    }

    /// The arguments of a kernel that exchanges results through mailboxes, from the number of
    /// elements in front of the shard of `rank` on.
    pub(super) fn exchange_args(
        &self,
        rank: usize,
        shards: &Shards,
        limit: u64,
        memory: impl Fn(usize) -> u64,
    ) -> impl Iterator<Item = Arg> {
        let own = [
            Arg::U64(shards.bases().nth(rank).unwrap_or_default()),
            Arg::U32(rank as u32),
            Arg::U32(self.ranks as u32),
            Arg::U32(shards.present()),
            Arg::U64(limit),
        ];
        own.into_iter().chain(for_each(self.ranks, move |of| Arg::Pointer(memory(of))))
    }
}

/// How long a kernel on a GPU waits, in nanoseconds. 0 would be for ever.
pub(super) fn limit(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// How many bytes a mailbox for posted results has, as `warpfold_device::exchange` says.
fn posted_bytes(blocks: u32, room: u32, ranks: usize) -> u64 {
    8 * (1 + u64::from(blocks) * (1 + 2 * ranks as u64 * u64::from(room)))
}

/// How many bytes a mailbox for results that are combined where they lie has, as
/// `warpfold_device::exchange::direct` says.
fn direct_bytes(blocks: u32, ranks: usize) -> u64 {
    8 * (1 + u64::from(blocks) * (1 + 2 * ranks as u64))
}
