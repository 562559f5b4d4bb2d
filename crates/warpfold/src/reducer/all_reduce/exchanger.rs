//! The exchange of raw results, whatever they are.

use std::{sync::Arc, time::Duration};

use crate::{
    device::{
        Arg, Buffer, Device, DeviceKind, LaunchShape, Overlap, Stream,
        peers::{FailedAt, PeerMemory, Together, launch_together, reach_each_other},
    },
    ptx::EmbeddedKernel,
};

use super::{
    super::{
        Error,
        engine::{Cache, Engine},
        group::shard_error,
        output::Target,
    },
    kernels::{exchange_of, words},
};

/// The most devices that exchange results.
const MOST_DEVICES: usize = 8;

/// The most threads of a block.
const MOST_THREADS: u32 = 256;
/// The number of threads in a warp.
const WARP: u32 = 32;

/// How long a kernel waits for the result of another device, if the caller does not say it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The memory and the kernels with which devices exchange raw results of one kind.
#[derive(Debug)]
pub(super) struct Exchanger {
    devices: Vec<Device>,
    /// The kernel that exchanges results, on each device.
    engines: Vec<Arc<Engine>>,
    /// The raw results of each device's shard.
    partials: Vec<Buffer<u8>>,
    mailboxes: PeerMemory,
    /// The words of 32 bits of a result.
    words: u32,
    /// The most results of a block.
    per_block: u32,
    /// The most results of a call.
    most: u32,
    pub(super) timeout: Duration,
    /// Whether the mailboxes may hold the words of a call that did not reach all devices.
    is_torn: bool,
}

impl Drop for Exchanger {
    fn drop(&mut self) {
        // The kernels of a device write into the memory of others, which is freed now. An error
        // belongs to an earlier launch, and the next call of the device reports it too.
        for device in &self.devices {
            let _ = device.synchronize();
        }
    }
}

/// The shards of a call by their lengths, of which each device has one.
pub(super) struct Shards {
    lengths: Vec<u64>,
    total: u64,
}

impl Shards {
    pub(super) fn new(lengths: Vec<u64>) -> Self {
        Self { total: lengths.iter().sum(), lengths }
    }

    /// The length of all shards together.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether a device has a result to exchange: its shard has elements, or no shard has any,
    /// because each device then has the result of no elements.
    fn has(&self, shard: usize) -> bool {
        self.total == 0 || self.lengths[shard] > 0
    }

    /// For each device, the number of elements before its shard, which is added to indices.
    fn bases(&self) -> impl Iterator<Item = u64> {
        self.lengths.iter().scan(0, |before, length| {
            let base = *before;
            *before += length;
            Some(base)
        })
    }
}

impl Exchanger {
    /// Prepares the devices for calls with up to `most` raw results of `bytes` bytes, which the
    /// kernel `reduce` leaves. `op` and `item` are the names of the operation and of the type.
    pub(super) fn new(
        devices: &[Device],
        reduce: &EmbeddedKernel,
        bytes: usize,
        most: u32,
        (op, item): (&'static str, &'static str),
    ) -> Result<Self, Error> {
        if devices.len() > MOST_DEVICES {
            let (devices, most) = (devices.len(), MOST_DEVICES);
            return Err(Error::TooManyDevices { devices, most });
        }
        let exchange = exchange_of(reduce, bytes).ok_or(Error::NotExchanged { op, item })?;
        if let Some([from, to]) = reach_each_other(devices)? {
            return Err(Error::NotPeers { from, to });
        }
        let (words, per_block) = (words(bytes), exchange.per_block);
        let blocks = most.div_ceil(per_block).max(1);
        let mailbox = mailbox_bytes(blocks, per_block * words, devices.len());
        let mailboxes = PeerMemory::zeroed(devices, mailbox).map_err(|failed| {
            shard_error(failed.number, &devices[failed.number], (*failed.error).into())
        })?;
        let (mut engines, mut partials) = (Vec::new(), Vec::new());
        for (shard, device) in devices.iter().enumerate() {
            let prepare = || {
                let engine = device.attached::<Cache>().engine(device, exchange.kernel, bytes)?;
                Ok((engine, device.alloc(bytes * most as usize)?))
            };
            let (engine, partial) = prepare().map_err(|error| shard_error(shard, device, error))?;
            engines.push(engine);
            partials.push(partial);
        }
        let (devices, timeout, is_torn) = (devices.to_vec(), TIMEOUT, false);
        Ok(Self { devices, engines, partials, mailboxes, words, per_block, most, timeout, is_torn })
    }

    /// The most results of a call.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Refuses a call that does not have one shard, one output and one stream for each device.
    pub(super) fn check_counts(
        &self,
        shards: usize,
        outputs: usize,
        streams: usize,
    ) -> Result<(), Error> {
        let devices = self.devices.len();
        for (what, given) in [("shards", shards), ("outputs", outputs), ("streams", streams)] {
            if given != devices {
                return Err(Error::ShardCount { what, given, devices });
            }
        }
        Ok(())
    }

    /// Refuses an output that does not have so many places. `wrong` makes the error of an output
    /// from its length.
    pub(super) fn check_outputs<R>(
        &self,
        outputs: &[Target<'_, R>],
        places: u64,
        wrong: impl Fn(u64) -> Error,
    ) -> Result<(), Error> {
        match outputs.iter().position(|output| output.len != places) {
            None => Ok(()),
            Some(shard) => Err(self.shard_error(shard, wrong(outputs[shard].len))),
        }
    }

    /// Adds a call with so many results to the work of the streams. `reduce` adds the launch that
    /// leaves the raw results of one of `inputs` at an address. There is one input, one output and
    /// one stream for each device, and each output has room for all results.
    pub(super) fn call<I, R: bytemuck::Pod>(
        &mut self,
        count: u32,
        shards: &Shards,
        (inputs, outputs): (impl Iterator<Item = I>, Vec<Target<'_, R>>),
        streams: &[&Stream],
        reduce: impl Fn(usize, I, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.mend(streams)?;
        for (shard, input) in inputs.enumerate().filter(|&(shard, _)| shards.has(shard)) {
            let partials = &self.partials[shard];
            streams[shard].retain(partials.view(..));
            reduce(shard, input, partials.address())
                .map_err(|error| self.shard_error(shard, error))?;
        }
        self.exchange(count, shards, outputs, streams)
    }

    /// Empties the mailboxes if the last call has not reached all devices.
    fn mend(&mut self, streams: &[&Stream]) -> Result<(), Error> {
        if !self.is_torn {
            return Ok(());
        }
        for (shard, stream) in streams.iter().enumerate() {
            stream.synchronize().map_err(|error| self.shard_error(shard, error.into()))?;
        }
        self.mailboxes.clear().map_err(|failed| self.failed(failed))?;
        self.is_torn = false;
        Ok(())
    }

    /// Launches the kernels that exchange the raw results, which earlier launches of the streams
    /// leave.
    fn exchange<R: bytemuck::Pod>(
        &mut self,
        count: u32,
        shards: &Shards,
        outputs: Vec<Target<'_, R>>,
        streams: &[&Stream],
    ) -> Result<(), Error> {
        let mut is_torn = false;
        let launched = {
            let places = outputs.into_iter().zip(&self.devices).zip(streams);
            let mut places = places.map(|((target, device), &stream)| (target, device, stream));
            with_addresses(&mut places, &mut Vec::new(), &mut |outputs| {
                is_torn = true;
                self.launch(count, shards, outputs, streams)?;
                is_torn = false;
                Ok(())
            })
        };
        self.is_torn = is_torn;
        launched
    }

    fn launch(
        &self,
        count: u32,
        shards: &Shards,
        outputs: &[u64],
        streams: &[&Stream],
    ) -> Result<(), Error> {
        let ranks = self.devices.len();
        let room = self.per_block * self.words;
        // Along x there are the words of a rank, in whole warps, and along y the ranks.
        let most = (MOST_THREADS / ranks as u32 / WARP * WARP).max(WARP);
        let words = count.min(self.per_block) * self.words;
        let lanes = words.next_multiple_of(WARP).min(most);
        let blocks = count.div_ceil(self.per_block);
        let shape = LaunchShape {
            block: (lanes, ranks as u32).into(),
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(blocks, lanes, 4 * (ranks as u32 * room + 2))
        };
        let is_simulated = self.devices[0].info().kind == DeviceKind::Simulator;
        let limit = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Without a limit the simulator finds out that nothing can change any more.
        let limit = if is_simulated { 0 } else { limit };
        // The places of ranks that there are not are never used.
        let mailbox = |rank: usize| self.mailboxes.address(rank.min(ranks - 1));
        let present: u32 = (0..ranks).filter(|&rank| shards.has(rank)).map(|rank| 1 << rank).sum();
        let args: Vec<_> = shards
            .bases()
            .enumerate()
            .map(|(rank, base)| {
                let mut args = vec![
                    Arg::Pointer(self.partials[rank].address()),
                    Arg::Pointer(outputs[rank]),
                    Arg::U32(count),
                    Arg::U64(base),
                    Arg::U32(rank as u32),
                    Arg::U32(ranks as u32),
                    Arg::U32(present),
                    Arg::U64(limit),
                ];
                args.extend((0..MOST_DEVICES).map(|rank| Arg::Pointer(mailbox(rank))));
                args
            })
            .collect();
        let launches: Vec<_> = (0..ranks)
            .map(|rank| {
                self.mailboxes.retain_by(streams[rank]);
                let (stream, kernel) = (streams[rank], self.engines[rank].kernel());
                Together { stream, kernel, shape, args: &args[rank] }
            })
            .collect();
        // SAFETY: each kernel reads raw results, which an earlier launch of its stream has left in
        // a buffer of this exchanger, and writes as many to its output, which is borrowed or
        // vouched for. The mailboxes have as many words as so many blocks use, and dropping them
        // waits for all devices; a graph retains them and the buffer. No kernel uses a workspace.
        unsafe { launch_together(&launches) }.map_err(|failed| self.failed(failed))
    }

    /// Waits for all work of the devices, and returns an error if a device has waited in vain for
    /// another one.
    pub(super) fn check(&self) -> Result<(), Error> {
        for waited in 0..self.devices.len() {
            let status = self.mailboxes.first_word(waited);
            match status.map_err(|error| self.shard_error(waited, error.into()))? {
                0 => {}
                absent => return Err(Error::Absent { waited, absent: absent as usize - 1 }),
            }
        }
        Ok(())
    }

    fn failed(&self, FailedAt { number, error }: FailedAt) -> Error {
        self.shard_error(number, (*error).into())
    }

    pub(super) fn shard_error(&self, shard: usize, error: Error) -> Error {
        shard_error(shard, &self.devices[shard], error)
    }
}

/// How many bytes a mailbox has, as `warpfold_device::exchange` says.
fn mailbox_bytes(blocks: u32, room: u32, ranks: usize) -> u64 {
    8 * (1 + u64::from(blocks) * (1 + 2 * ranks as u64 * u64::from(room)))
}

/// Calls `launch` with the addresses of all outputs. Memory that is lent for the call is lent until
/// `launch` has returned. The lifetimes are two because memory of cudarc cannot shorten its own.
fn with_addresses<'a, 's, R: bytemuck::Pod + 'a>(
    places: &mut dyn Iterator<Item = (Target<'a, R>, &'s Device, &'s Stream)>,
    addresses: &mut Vec<u64>,
    launch: &mut dyn FnMut(&[u64]) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some((target, device, stream)) = places.next() else { return launch(addresses) };
    let shard = addresses.len();
    let mut inner = Ok(());
    let own = target.with_address(device, stream, |address| {
        addresses.push(address);
        inner = with_addresses(places, addresses, launch);
        Ok(())
    });
    own.map_err(|error| shard_error(shard, device, error)).and(inner)
}
