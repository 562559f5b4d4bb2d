//! The kernels that combine raw results where they lie, in the memory of peers or gathered on each
//! device.

use std::sync::Arc;

use crate::device::{Arg, Device, LaunchShape, Overlap, peers::FailedAt};

use super::{
    super::{Error, engine::Engine},
    call::Call,
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
        let ranks = call.ranks() as u32;
        // A block has shared memory for a part of a tile of each rank, and for a note.
        let part = self.per_tile.div_ceil(ranks) * self.words;
        let shape = LaunchShape {
            // Behind work that is not ours, nothing is gained by beginning early.
            overlap: if mailboxes.is_some() { Overlap::InSequence } else { Overlap::Never },
            ..LaunchShape::linear(self.blocks(call.count), MOST_THREADS, 4 * (ranks * part + 1))
        };
        let bases: Vec<u64> = call.shards.bases().collect();
        let mailbox = |of| Arg::Pointer(mailboxes.map_or(0, |mailbox| mailbox(of)));
        let args = |rank: usize| {
            call.for_each(|of| Arg::Pointer(raws(rank, of)))
                .chain(call.for_each(|of| Arg::U64(bases[of])))
                .chain([
                    Arg::Pointer(call.outputs[rank]),
                    Arg::U32(call.count),
                    Arg::U32(rank as u32),
                    Arg::U32(ranks),
                    Arg::U32(call.shards.present()),
                    Arg::U64(limit),
                ])
                .chain(call.for_each(mailbox))
                .collect()
        };
        // SAFETY: the caller's promise.
        unsafe { call.launch(&self.engines, shape, args, &[]) }
    }
}
