//! The exchange of raw results, whatever they are.

use std::time::Duration;

use crate::{
    device::{Arg, Device, Stream, peers::FailedAt},
    ptx::EmbeddedKernel,
};

use super::{
    super::{Args, Error, Group, group::shard_error, output::Target},
    call::{Call, Launch, MOST_DEVICES, Shards},
    carrier::Carrier,
    kernels::exchange_of,
};

/// Makes the launch of a device ([`Exchanger::call_at_once`]).
type MakeLaunch<'f, 'a> = &'f mut dyn FnMut(usize, u64, &[Arg]) -> Result<Launch<'a>, Error>;

/// The memory and the kernels with which devices exchange raw results of one kind.
#[derive(Debug)]
pub(super) struct Exchanger {
    devices: Vec<Device>,
    carrier: Carrier,
    /// The most results of a call.
    most: u32,
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

impl Exchanger {
    /// Prepares the devices of the group for calls with up to `most` raw results of `bytes` bytes,
    /// which the kernel `reduce` leaves. `op` and `item` are the names of the operation and of the
    /// type.
    pub(super) fn new(
        group: &Group,
        reduce: &EmbeddedKernel,
        bytes: usize,
        most: u32,
        (op, item): (&'static str, &'static str),
    ) -> Result<Self, Error> {
        let devices = group.devices();
        if devices.len() > MOST_DEVICES {
            let (devices, most) = (devices.len(), MOST_DEVICES);
            return Err(Error::TooManyDevices { devices, most });
        }
        let exchange = exchange_of(reduce, bytes).ok_or(Error::NotExchanged { op, item })?;
        let carrier = Carrier::new(group, exchange, bytes, most)?;
        Ok(Self { devices: devices.to_vec(), carrier, most, is_torn: false })
    }

    /// Sets how long a kernel waits for the results of another device.
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        self.carrier.set_timeout(timeout);
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
            self.carrier.retain_by(streams[shard]);
            reduce(shard, input, self.carrier.raws(shard))
                .map_err(|error| self.shard_error(shard, error))?;
        }
        self.exchange(count, shards, outputs, streams, None)
    }

    /// Whether devices can reduce and exchange in one launch, which needs mailboxes.
    pub(super) fn is_at_once(&self) -> bool {
        self.carrier.mailboxes().is_some()
    }

    /// Like [`call`](Self::call), for one result, if devices [can](Self::is_at_once) reduce and
    /// exchange in one launch. `own` makes the launch of a device of the address of its output and
    /// the arguments that say how it exchanges the result.
    pub(super) fn call_at_once<'a, R: bytemuck::Pod>(
        &mut self,
        shards: &Shards,
        outputs: Vec<Target<'_, R>>,
        streams: &[&Stream],
        mut own: impl FnMut(usize, u64, &[Arg]) -> Result<Launch<'a>, Error>,
    ) -> Result<(), Error> {
        self.mend(streams)?;
        self.exchange(1, shards, outputs, streams, Some(&mut own))
    }

    /// Empties the mailboxes if the last call has not reached all devices.
    fn mend(&mut self, streams: &[&Stream]) -> Result<(), Error> {
        if !self.is_torn {
            return Ok(());
        }
        for (shard, stream) in streams.iter().enumerate() {
            stream.synchronize().map_err(|error| self.shard_error(shard, error.into()))?;
        }
        self.carrier.clear().map_err(|failed| failed_at(&self.devices, failed))?;
        self.is_torn = false;
        Ok(())
    }

    /// Launches the kernels that exchange the raw results. Earlier launches of the streams leave
    /// them, unless `own` gives launches that reduce, too.
    fn exchange<R: bytemuck::Pod>(
        &mut self,
        count: u32,
        shards: &Shards,
        outputs: Vec<Target<'_, R>>,
        streams: &[&Stream],
        mut own: Option<MakeLaunch<'_, '_>>,
    ) -> Result<(), Error> {
        let devices = &self.devices;
        let mut is_torn = false;
        let launched = {
            let places = outputs.into_iter().zip(devices).zip(streams);
            let mut places = places.map(|((target, device), &stream)| (target, device, stream));
            with_addresses(&mut places, &mut Vec::new(), &mut |outputs| {
                let call = Call { count, shards, outputs, streams };
                let own = match (&mut own, self.carrier.mailboxes()) {
                    (Some(own), Some(mailboxes)) => {
                        let launch = |(rank, &output): (usize, &u64)| {
                            let args: Args = mailboxes.exchange_args(&call, rank).collect();
                            let made = shards.has(rank).then(|| own(rank, output, &args));
                            made.transpose().map_err(|error| self.shard_error(rank, error))
                        };
                        outputs.iter().enumerate().map(launch).collect::<Result<Vec<_>, _>>()?
                    }
                    _ => Vec::new(),
                };
                is_torn = true;
                let launched = self.carrier.launch(&call, own);
                launched.map_err(|failed| failed_at(devices, failed))?;
                is_torn = false;
                Ok(())
            })
        };
        self.is_torn = is_torn;
        launched
    }

    /// Waits for all work of the devices, and returns an error if a device has waited in vain for
    /// another one.
    pub(super) fn check(&self) -> Result<(), Error> {
        for waited in 0..self.devices.len() {
            let absent = self.carrier.absent(&self.devices[waited], waited);
            if let Some(absent) = absent.map_err(|error| self.shard_error(waited, error.into()))? {
                return Err(Error::Absent { waited, absent });
            }
        }
        Ok(())
    }

    pub(super) fn shard_error(&self, shard: usize, error: Error) -> Error {
        shard_error(shard, &self.devices[shard], error)
    }
}

/// The error of one of the devices.
fn failed_at(devices: &[Device], FailedAt { number, error }: FailedAt) -> Error {
    shard_error(number, &devices[number], (*error).into())
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
