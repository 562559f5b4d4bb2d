//! The launches that combine raw results where they lie, in the memory of peers or gathered on each
//! device.

use crate::device::{Arg, LaunchShape, Overlap};

use super::{
    super::Args,
    call::{Shards, for_each},
    kernels::{Exchange, MOST_THREADS, words},
};

/// The most blocks for each multiprocessor. As many are resident on an H100, where the kernel of a
/// sum of f32 has 72 registers, so that blocks meet without waiting for others to end. With more
/// blocks, which meet for one tile each, 64 MiB of results take 470 us instead of 262 (two H100s,
/// attempt 88).
const BLOCKS: u32 = 3;

/// How such launches cut the results of a call into tiles, which is the same on all devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    /// The most results of a tile.
    per_tile: u32,
    /// The words of 32 bits of a result.
    words: u32,
    most_blocks: u32,
}

/// Where the raw results of all ranks are, and how the devices meet, as one of them sees it.
pub(super) struct Places<'a> {
    /// The address of the raw results of each rank.
    pub(super) raws: &'a dyn Fn(usize) -> u64,
    /// The mailbox of each rank. Nobody waits if there are none.
    pub(super) mailboxes: Option<&'a dyn Fn(usize) -> u64>,
    /// How long the kernel waits, in nanoseconds, or for ever if it is 0.
    pub(super) limit: u64,
}

impl Tiles {
    /// For raw results of `bytes` bytes, on devices of which each has at least so many
    /// multiprocessors.
    pub(super) fn new(exchange: Exchange, bytes: usize, multiprocessors: u32) -> Self {
        Self {
            per_tile: exchange.per_tile,
            words: words(bytes),
            most_blocks: BLOCKS * multiprocessors.max(1),
        }
    }

    /// How many blocks there are for so many results.
    pub(super) fn blocks(&self, count: u32) -> u32 {
        count.div_ceil(self.per_tile).min(self.most_blocks)
    }

    /// The shape and the arguments of the launch of a rank, whose results go to the address
    /// `output`. The launch does not begin early, because nothing is gained by that behind work
    /// that is not ours.
    pub(super) fn launch(
        &self,
        (rank, ranks): (usize, usize),
        shards: &Shards,
        (output, count): (u64, u32),
        places: &Places<'_>,
    ) -> (LaunchShape, Args) {
        // A block has shared memory for a part of a tile of each rank, and for a note.
        let part = self.per_tile.div_ceil(ranks as u32) * self.words;
        let shared_bytes = 4 * (ranks as u32 * part + 1);
        let meets = places.mailboxes.is_some();
        let shape = LaunchShape {
            overlap: if meets { Overlap::InSequence } else { Overlap::Never },
            ..LaunchShape::linear(self.blocks(count), MOST_THREADS, shared_bytes)
        };
        let bases: Vec<u64> = shards.bases().collect();
        let mailbox = |of| Arg::Pointer(places.mailboxes.map_or(0, |mailbox| mailbox(of)));
        let args = for_each(ranks, |of| Arg::Pointer((places.raws)(of)))
            .chain(for_each(ranks, |of| Arg::U64(bases[of])))
            .chain([
                Arg::Pointer(output),
                Arg::U32(count),
                Arg::U32(rank as u32),
                Arg::U32(ranks as u32),
                Arg::U32(shards.present()),
                Arg::U64(places.limit),
            ])
            .chain(for_each(ranks, mailbox));
        (shape, args.collect())
    }
}
