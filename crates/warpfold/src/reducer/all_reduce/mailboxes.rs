//! Memory that the devices share, and the kernels that pass raw results through it.

use std::{sync::Arc, time::Duration};

use crate::device::{
    Arg, Device, DeviceError, DeviceKind, LaunchShape, Overlap, Stream,
    peers::{FailedAt, PeerMemory, Together, launch_together},
};

use super::{
    super::{
        Error,
        engine::{Cache, Engine},
        group::shard_error,
    },
    exchanger::{MOST_DEVICES, Shards},
    kernels::{Exchange, MOST_THREADS, fewest_multiprocessors, words},
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
const ALIGNMENT: u64 = 256;

/// The kernels of the devices, and their memory, of which each device has a part. A part is a
/// mailbox for the kernels that post results, a mailbox for those that combine results where they
/// lie, and the raw results of the device's shard.
#[derive(Debug)]
pub(super) struct Mailboxes {
    memory: PeerMemory,
    exchange: Exchange,
    /// The words of 32 bits of a result.
    words: u32,
    /// The most results of a call that pass through mailboxes.
    posted: u32,
    /// The kernel that posts results, on each device.
    posting: Vec<Arc<Engine>>,
    /// The kernel that combines results where they lie. There is none if no call has so many.
    direct: Vec<Arc<Engine>>,
    /// Where the second mailbox begins, in bytes.
    direct_at: u64,
    /// Where the raw results begin, in bytes.
    raws_at: u64,
    /// The multiprocessors of the device that has fewest.
    multiprocessors: u32,
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
        let (ranks, words) = (devices.len(), words(bytes));
        let (mut posting, mut direct) = (Vec::new(), Vec::new());
        let is_simulated = devices[0].info().kind == DeviceKind::Simulator;
        let most_posted = if is_simulated { MOST_POSTED_SIMULATED } else { MOST_POSTED };
        let posted = most.min(most_posted / words).max(1);
        for (shard, device) in devices.iter().enumerate() {
            let load = |kernel| {
                let engine = device.attached::<Cache>().engine(device, kernel, bytes);
                engine.map_err(|error| shard_error(shard, device, error))
            };
            posting.push(load(exchange.posts)?);
            if most > posted {
                direct.push(load(exchange.direct)?);
            }
        }
        let room = exchange.per_block * words;
        let direct_at = posted_bytes(posted.div_ceil(exchange.per_block), room, ranks);
        let multiprocessors = fewest_multiprocessors(devices);
        let blocks = if most > posted { exchange.direct_blocks(most, multiprocessors) } else { 0 };
        let raws_at = (direct_at + direct_bytes(blocks, ranks)).next_multiple_of(ALIGNMENT);
        let size = raws_at + bytes as u64 * u64::from(most);
        let memory = PeerMemory::zeroed(devices, size).map_err(|failed| {
            shard_error(failed.number, &devices[failed.number], (*failed.error).into())
        })?;
        let timeout = TIMEOUT;
        Ok(Self {
            memory,
            exchange,
            words,
            posted,
            posting,
            direct,
            direct_at,
            raws_at,
            multiprocessors,
            is_simulated,
            timeout,
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

    /// Launches the kernels that combine `count` raw results, which earlier launches of the streams
    /// leave, and write them to the addresses `outputs`.
    pub(super) fn launch(
        &self,
        count: u32,
        shards: &Shards,
        outputs: &[u64],
        streams: &[&Stream],
    ) -> Result<(), FailedAt> {
        let ranks = outputs.len();
        let is_direct = count > self.posted;
        let (engines, shape) = if is_direct {
            let shape =
                self.exchange.direct_shape(count, self.words, ranks as u32, self.multiprocessors);
            (&self.direct, shape)
        } else {
            let (blocks, room) =
                (count.div_ceil(self.exchange.per_block), self.exchange.per_block * self.words);
            // Along x there are the words of a rank, in whole warps, and along y the ranks.
            let most = (MOST_THREADS / ranks as u32 / WARP * WARP).max(WARP);
            let words = count.min(self.exchange.per_block) * self.words;
            let lanes = words.next_multiple_of(WARP).min(most);
            let shape = LaunchShape::linear(blocks, lanes, 4 * (ranks as u32 * room + 2));
            (&self.posting, LaunchShape { block: (lanes, ranks as u32).into(), ..shape })
        };
        let shape = LaunchShape { overlap: Overlap::InSequence, ..shape };
        let limit = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Without a limit the simulator finds out that nothing can change any more.
        let limit = Arg::U64(if self.is_simulated { 0 } else { limit });
        let (ranks_arg, present) = (Arg::U32(ranks as u32), Arg::U32(shards.present()));
        // The places of ranks that there are not are never used.
        let of_all = |address: &dyn Fn(usize) -> u64| -> Vec<Arg> {
            let addresses = (0..MOST_DEVICES).map(|rank| address(rank.min(ranks - 1)));
            addresses.map(Arg::Pointer).collect()
        };
        let bases: Vec<u64> = shards.bases().collect();
        let args_of = |rank: usize| {
            let (output, count, base) =
                (Arg::Pointer(outputs[rank]), Arg::U32(count), Arg::U64(bases[rank]));
            let rank_arg = Arg::U32(rank as u32);
            if is_direct {
                let all_bases = (0..MOST_DEVICES).map(|rank| bases[rank.min(ranks - 1)]);
                let args = [output, count, rank_arg, ranks_arg, present, limit];
                let mailbox = |rank| self.memory.address(rank) + self.direct_at;
                [
                    of_all(&|rank| self.raws(rank)),
                    all_bases.map(Arg::U64).collect(),
                    args.to_vec(),
                    of_all(&mailbox),
                ]
                .concat()
            } else {
                let raws = Arg::Pointer(self.raws(rank));
                let args = [raws, output, count, base, rank_arg, ranks_arg, present, limit];
                [args.to_vec(), of_all(&|rank| self.memory.address(rank))].concat()
            }
        };
        let args: Vec<_> = (0..ranks).map(args_of).collect();
        let launches: Vec<_> = (0..ranks)
            .map(|rank| {
                self.retain_by(streams[rank]);
                let (stream, kernel) = (streams[rank], engines[rank].kernel());
                Together { stream, kernel, shape, args: &args[rank] }
            })
            .collect();
        // SAFETY: each kernel reads raw results, which an earlier launch of its stream has left in
        // this memory, and writes as many to its output, which is borrowed or vouched for. The
        // mailboxes have as many words as so many blocks use, and dropping the exchanger waits for
        // all devices; a graph retains the memory. No kernel uses a workspace.
        unsafe { launch_together(&launches) }
    }
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
