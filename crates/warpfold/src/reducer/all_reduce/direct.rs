//! The kernels that combine raw results where they lie, in the memory of peers or gathered on each
//! device.

use std::sync::Arc;

use crate::device::{Arg, Device, LaunchShape, Overlap, peers::FailedAt};

use super::{
    super::{Args, Error, engine::Engine},
    call::{Call, Shards, for_each},
    kernels::{Exchange, MOST_THREADS, load, words},
};

/// The most blocks for each multiprocessor. As many are resident on an H100, where the kernel of a
/// sum of f32 has 72 registers, so that blocks meet without waiting for others to end. With more
/// blocks, which meet for one tile each, 64 MiB of results take 470 us instead of 262 (two H100s,
/// attempt 88).
const BLOCKS: u32 = 3;

/// The kernel of raw results of one kind, on each device.
#[derive(Debug)]
pub(super) struct Direct {
    engines: Vec<Arc<Engine>>,
    per_tile: u32,
    /// The words of 32 bits of a result.
    words: u32,
    /// The most blocks, which are the same on all devices.
    most_blocks: u32,
}

impl Direct {
    pub(super) fn new(devices: &[Device], exchange: Exchange, bytes: usize) -> Result<Self, Error> {
        let multiprocessors = devices.iter().map(|device| device.info().multiprocessors).min();
        Ok(Self {
            engines: load(devices, exchange.direct, bytes)?,
            per_tile: exchange.per_tile,
            words: words(bytes),
            most_blocks: BLOCKS * multiprocessors.unwrap_or(1).max(1),
        })
    }

    /// How many blocks there are for so many results.
    pub(super) fn blocks(&self, count: u32) -> u32 {
        count.div_ceil(self.per_tile).min(self.most_blocks)
    }

    /// Launches the kernels of a call. The raw results of each rank `of` are at `raws(rank, of)` on
    /// device `rank`. If there are mailboxes, it is by them that the devices meet, and they wait
    /// for `limit` nanoseconds.
    ///
    /// # Safety
    ///
    /// The launches keep the contract of `warpfold_device::exchange::direct`.
    pub(super) unsafe fn launch(
        &self,
        call: &Call<'_>,
        raws: impl Fn(usize, usize) -> u64,
        mailboxes: Option<&dyn Fn(usize) -> u64>,
        limit: u64,
    ) -> Result<(), FailedAt> {
        let ranks = call.ranks();
        let shape = LaunchShape {
            overlap: if mailboxes.is_some() { Overlap::InSequence } else { Overlap::Never },
            ..shape(self.blocks(call.count), (self.per_tile, self.words), ranks)
        };
        let args = |rank: usize| {
            let results = (call.outputs[rank], call.count);
            args((rank, ranks), call.shards, results, |of| raws(rank, of), mailboxes, limit)
        };
        // SAFETY: the caller's promise.
        unsafe { call.launch(&self.engines, shape, args, &[]) }
    }
}

/// The shape of a launch that combines results where they lie. A tile has `per_tile` results of
/// `words` words of 32 bits. The launch does not begin early, because nothing is gained by that
/// behind work that is not ours.
pub(super) fn shape(blocks: u32, (per_tile, words): (u32, u32), ranks: usize) -> LaunchShape {
    // A block has shared memory for a part of a tile of each rank, and for a note.
    let ranks = ranks as u32;
    let part = per_tile.div_ceil(ranks) * words;
    LaunchShape::linear(blocks, MOST_THREADS, 4 * (ranks * part + 1))
}

/// The arguments of such a launch, whose results go to the address `output`. The raw results of
/// each rank are at the address that `raws` gives. Nobody waits if there are no mailboxes.
pub(super) fn args(
    (rank, ranks): (usize, usize),
    shards: &Shards,
    (output, count): (u64, u32),
    raws: impl Fn(usize) -> u64,
    mailboxes: Option<&dyn Fn(usize) -> u64>,
    limit: u64,
) -> Args {
    let bases: Vec<u64> = shards.bases().collect();
    let mailbox = |of| Arg::Pointer(mailboxes.map_or(0, |mailbox| mailbox(of)));
    for_each(ranks, |of| Arg::Pointer(raws(of)))
        .chain(for_each(ranks, |of| Arg::U64(bases[of])))
        .chain([
            Arg::Pointer(output),
            Arg::U32(count),
            Arg::U32(rank as u32),
            Arg::U32(ranks as u32),
            Arg::U32(shards.present()),
            Arg::U64(limit),
        ])
        .chain(for_each(ranks, mailbox))
        .collect()
}
