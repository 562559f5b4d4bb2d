//! Raw results that NCCL gathers on each device, and the kernels that combine them there.

use std::sync::Arc;

use crate::device::{Buffer, Device, nccl::SharedCommunicators, peers::FailedAt};

use super::{
    super::{Error, engine::Engine, group::shard_error},
    call::Call,
    direct::{Places, Tiles},
    kernels::{Exchange, load},
    mailboxes::least_multiprocessors,
};

/// The kernels and the memory of GPUs that cannot use each other's memory.
#[derive(Debug)]
pub(super) struct Gathered {
    communicators: SharedCommunicators,
    engines: Vec<Arc<Engine>>,
    tiles: Tiles,
    /// The size of a raw result.
    bytes: usize,
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
        let engines = load(devices, exchange.direct, bytes)?;
        let tiles = Tiles::new(exchange, bytes, least_multiprocessors(devices));
        let size = gathered_bytes(bytes, most);
        let alloc = |size: usize| -> Result<Vec<_>, Error> {
            let buffer = |(shard, device): (usize, &Device)| {
                device.alloc(size).map_err(|error| shard_error(shard, device, error.into()))
            };
            devices.iter().enumerate().map(buffer).collect()
        };
        let (raws, all_raws) = (alloc(size)?, alloc(size * devices.len())?);
        communicators.make(devices)?;
        Ok(Self { communicators, engines, tiles, bytes, raws, all_raws })
    }

    /// The address of the raw results of a device's shard.
    pub(super) fn raws(&self, rank: usize) -> u64 {
        self.raws[rank].address()
    }

    /// Gathers and combines the raw results of a call, which earlier launches of the streams leave,
    /// and writes them to the outputs.
    pub(super) fn launch(&self, call: &Call<'_>) -> Result<(), FailedAt> {
        let addresses =
            |buffers: &[Buffer<u8>]| -> Vec<u64> { buffers.iter().map(Buffer::address).collect() };
        let (raws, all_raws) = (addresses(&self.raws), addresses(&self.all_raws));
        let bytes = gathered_bytes(self.bytes, call.count);
        // SAFETY: the buffers have so many bytes, and dropping the exchanger, which keeps them,
        // waits for all devices.
        unsafe { self.communicators.all_gather(&raws, &all_raws, bytes, call.streams)? };
        let launch = |rank: usize| {
            let (ranks, results) = ((rank, call.ranks()), (call.outputs[rank], call.count));
            let raws = |of: usize| all_raws[rank] + (of * bytes) as u64;
            let places = Places { raws: &raws, mailboxes: None, limit: 0 };
            self.tiles.launch(ranks, call.shards, results, &places)
        };
        // SAFETY: each kernel reads raw results that NCCL has left in a buffer of its device, and
        // writes as many to its output, which is borrowed or vouched for. Without mailboxes nobody
        // waits.
        unsafe { call.launch(&self.engines, launch, Vec::new()) }
    }
}

/// How many bytes of each device NCCL gathers for so many raw results of `bytes` bytes. They are
/// whole packs of 16 bytes, because NCCL reads whole words, also behind the last byte.
pub(super) fn gathered_bytes(bytes: usize, count: u32) -> usize {
    (bytes * count as usize).next_multiple_of(16)
}
