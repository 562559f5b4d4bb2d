//! Memory that the devices share, and the kernels that pass raw results through it.

use std::{sync::Arc, time::Duration};

use crate::device::{
    Arg, Device, DeviceError, DeviceKind, Stream,
    peers::{FailedAt, PeerMemory},
};

use super::{
    super::{Error, engine::Engine, group::shard_error},
    call::{Call, Launch},
    kernels::{Exchange, load},
    layout::{Devices, Layout, limit},
};

/// How long a kernel waits for the results of another device, if the caller does not say it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The kernels of the devices, and their memory, of which each device has a part.
#[derive(Debug)]
pub(super) struct Mailboxes {
    memory: PeerMemory,
    layout: Layout,
    /// The kernel that posts results, on each device.
    posting: Vec<Arc<Engine>>,
    /// The kernel that combines results where they lie. It is empty if no call has so many.
    direct: Vec<Arc<Engine>>,
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
        let is_simulated = devices[0].info().kind == DeviceKind::Simulator;
        let shape = Devices {
            ranks: devices.len(),
            multiprocessors: least_multiprocessors(devices),
            are_simulated: is_simulated,
        };
        let layout = Layout::new(shape, exchange, bytes, most);
        let posting = load(devices, exchange.posts, bytes)?;
        let direct =
            if layout.has_direct() { load(devices, exchange.direct, bytes)? } else { Vec::new() };
        let memory = PeerMemory::zeroed(devices, layout.size()).map_err(|failed| {
            shard_error(failed.number, &devices[failed.number], (*failed.error).into())
        })?;
        Ok(Self { memory, layout, posting, direct, is_simulated, timeout: TIMEOUT })
    }

    /// The address of the raw results of a device's shard.
    pub(super) fn raws(&self, rank: usize) -> u64 {
        self.memory.address(rank) + self.layout.raws_at()
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
        for at in self.layout.statuses() {
            if let status @ 1.. = self.memory.word(rank, at)? {
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
        own: Vec<Option<Launch<'_>>>,
    ) -> Result<(), FailedAt> {
        for stream in call.streams {
            self.retain_by(stream);
        }
        let engines = if self.layout.is_direct(call.count) { &self.direct } else { &self.posting };
        let launch = |rank: usize| {
            let (results, memory) =
                ((call.outputs[rank], call.count), |of| self.memory.address(of));
            self.layout.launch(rank, call.shards, results, self.limit(), memory)
        };
        // SAFETY: each kernel reads raw results, which an earlier launch of its stream has left in
        // this memory, and writes as many to its output, which is borrowed or vouched for. The
        // mailboxes have as many words as so many blocks use, and dropping the exchanger waits for
        // all devices; a graph retains the memory. Whoever has made the other launches vouches for
        // them.
        unsafe { call.launch(engines, launch, own) }
    }

    /// How long a kernel waits, in nanoseconds.
    fn limit(&self) -> u64 {
        // Without a limit the simulator finds out that nothing can change any more.
        if self.is_simulated { 0 } else { limit(self.timeout) }
    }

    /// The arguments of a kernel that exchanges results through mailboxes, from the number of
    /// elements in front of the device's shard on.
    pub(super) fn exchange_args(&self, call: &Call<'_>, rank: usize) -> impl Iterator<Item = Arg> {
        let memory = |of| self.memory.address(of);
        self.layout.exchange_args(rank, call.shards, self.limit(), memory)
    }
}

/// The least number of multiprocessors that one of the devices has.
pub(super) fn least_multiprocessors(devices: &[Device]) -> u32 {
    devices.iter().map(|device| device.info().multiprocessors).min().unwrap_or(1)
}
