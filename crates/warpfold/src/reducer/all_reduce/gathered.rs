//! Raw results that NCCL gathers on each device, and the kernels that combine them there.

use std::sync::Arc;

use crate::device::{
    Arg, Buffer, Device, Stream,
    nccl::SharedCommunicators,
    peers::{FailedAt, Together, launch_together},
};

use super::{
    super::{
        Error,
        engine::{Cache, Engine},
        group::shard_error,
    },
    exchanger::{MOST_DEVICES, Shards},
    kernels::{Exchange, fewest_multiprocessors, words},
};

/// The kernels and the memory of GPUs that cannot use each other's memory.
#[derive(Debug)]
pub(super) struct Gathered {
    communicators: SharedCommunicators,
    exchange: Exchange,
    /// The size of a raw result.
    bytes: usize,
    /// The multiprocessors of the device that has fewest.
    multiprocessors: u32,
    /// The kernel that combines results, on each device.
    engines: Vec<Arc<Engine>>,
    /// The raw results of each device's shard.
    raws: Vec<Buffer<u8>>,
    /// On each device, the raw results of all devices.
    all_raws: Vec<Buffer<u8>>,
}

impl Gathered {
    /// Prepares the devices for calls with up to `most` raw results of `bytes` bytes.
    pub(super) fn new(
        devices: &[Device],
        communicators: SharedCommunicators,
        exchange: Exchange,
        bytes: usize,
        most: u32,
    ) -> Result<Self, Error> {
        let size = gathered_bytes(bytes, most);
        let (mut engines, mut raws, mut all_raws) = (Vec::new(), Vec::new(), Vec::new());
        for (shard, device) in devices.iter().enumerate() {
            let mut prepare = || {
                engines.push(device.attached::<Cache>().engine(device, exchange.direct, bytes)?);
                raws.push(device.alloc(size)?);
                all_raws.push(device.alloc(size * devices.len())?);
                Ok(())
            };
            prepare().map_err(|error| shard_error(shard, device, error))?;
        }
        communicators.make(devices)?;
        let multiprocessors = fewest_multiprocessors(devices);
        Ok(Self { communicators, exchange, bytes, multiprocessors, engines, raws, all_raws })
    }

    /// The address of the raw results of a device's shard.
    pub(super) fn raws(&self, rank: usize) -> u64 {
        self.raws[rank].address()
    }

    /// Gathers and combines `count` raw results, which earlier launches of the streams leave, and
    /// writes them to the addresses `outputs`.
    pub(super) fn launch(
        &self,
        count: u32,
        shards: &Shards,
        outputs: &[u64],
        streams: &[&Stream],
    ) -> Result<(), FailedAt> {
        let ranks = outputs.len();
        let addresses =
            |buffers: &[Buffer<u8>]| -> Vec<u64> { buffers.iter().map(Buffer::address).collect() };
        let (raws, gathered) = (addresses(&self.raws), addresses(&self.all_raws));
        let bytes = gathered_bytes(self.bytes, count);
        // SAFETY: the buffers have so many bytes, and dropping the exchanger, which keeps them,
        // waits for all devices.
        unsafe { self.communicators.all_gather(&raws, &gathered, bytes, streams)? };

        let shape = self.exchange.direct_shape(
            count,
            words(self.bytes),
            ranks as u32,
            self.multiprocessors,
        );
        let bases: Vec<u64> = shards.bases().collect();
        // The places of ranks that there are not are never used.
        let last = |rank: usize| rank.min(ranks - 1);
        let args: Vec<Vec<Arg>> = (0..ranks)
            .map(|rank| {
                let place = |of: usize| gathered[rank] + (last(of) * bytes) as u64;
                let middle = [
                    Arg::Pointer(outputs[rank]),
                    Arg::U32(count),
                    Arg::U32(rank as u32),
                    Arg::U32(ranks as u32),
                    Arg::U32(shards.present()),
                    Arg::U64(0),
                ];
                (0..MOST_DEVICES)
                    .map(|of| Arg::Pointer(place(of)))
                    .chain((0..MOST_DEVICES).map(|of| Arg::U64(bases[last(of)])))
                    .chain(middle)
                    // Without mailboxes nobody waits.
                    .chain([Arg::Pointer(0); MOST_DEVICES])
                    .collect()
            })
            .collect();
        let launches: Vec<_> = (0..ranks)
            .map(|rank| {
                let (stream, kernel) = (streams[rank], self.engines[rank].kernel());
                Together { stream, kernel, shape, args: &args[rank] }
            })
            .collect();
        // SAFETY: each kernel reads and moves raw results that NCCL has left in a buffer of its
        // device, and writes as many to its output, which is borrowed or vouched for.
        unsafe { launch_together(&launches) }
    }
}

/// How many bytes of each device NCCL gathers for so many raw results of `bytes` bytes. They are
/// whole packs of 16 bytes, because NCCL reads whole words, also behind the last byte.
fn gathered_bytes(bytes: usize, count: u32) -> usize {
    (bytes * count as usize).next_multiple_of(16)
}
