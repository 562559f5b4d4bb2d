//! Reductions whose result every device of a group gets, without the host in between.

mod graph;
mod kernels;

pub use graph::GroupGraph;

use std::{fmt, sync::Arc, time::Duration};

use crate::device::{
    Arg, Buffer, Device, DeviceKind, LaunchShape, Overlap, Stream,
    peers::{FailedAt, PeerMemory, Together, launch_together, reach_each_other},
};

use super::{
    DeviceInput, DeviceOutput, Error, Group, Item, Operation, Pending, Reducer,
    engine::{Cache, Engine},
    group::shard_error,
    input::private::Places as _,
    output::{Target, private::Output as _},
    partial::check_most,
};

use kernels::{Exchange, exchange_of, words};

/// The most devices that exchange results.
const MOST_DEVICES: usize = 8;

/// How long a kernel waits for the result of another device, if the caller does not say it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An operation over one type of elements, ready to run on all devices of a [`Group`] such that
/// each device gets the result. [`Group::all_reducer`] makes one.
///
/// # How the devices exchange results
///
/// A first kernel reduces the shard of a device. A second kernel, which has one block, writes the
/// raw result into the memory of all other devices, waits until theirs have come, and combines all
/// of them in the order of the shards. Both kernels overlap on devices that can do so. The host
/// takes no part, so that graphs can capture a call ([`Group::capture`]), and each launch of such
/// graphs is a new reduction.
///
/// The devices need access to each other's memory, as GPUs have that are connected by NVLink, and
/// as simulators have always. Eight devices at most can exchange results. [`TopK`](super::TopK) and
/// [`BottomK`](super::BottomK) are not exchanged. Where one of this is in the way,
/// [`Group::reduce`] serves, which combines results on the host.
///
/// # Bits
///
/// All devices get the same bits. They are those of [`Group::reduce`], with three exceptions. The
/// sum of [`LogSumExp`](super::LogSumExp) and [`SoftmaxStats`](super::SoftmaxStats) is combined
/// with the exponential function of the kernels here and with that of the host there. The mean and
/// the deviation of [`Moments`](super::Moments) may differ by their last bits. And a NaN may have
/// other bits.
///
/// # If a device does not come
///
/// All devices must make the same calls in the same order. A call gives work to all of them, so
/// this can go wrong only in three ways: a device fails, graphs of a call are launched on some
/// devices only, or two calls overlap, because they were given to different streams. A kernel that
/// waits for more than the [timeout](Self::with_timeout) gives up. It leaves its output as it was,
/// and [`check`](Self::check) says which device did not come.
///
/// ```
/// use warpfold::{Device, Group, ReproducibleSum};
///
/// let group = Group::of(&[Device::simulator(), Device::simulator()])?;
/// let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
/// let shards = group.shard(&values)?;
/// let streams = group.streams()?;
/// let mut totals = Vec::new();
/// for device in group.devices() {
///     totals.push(device.alloc(1)?);
/// }
///
/// let mut sum = group.all_reducer::<f32, _>(ReproducibleSum)?;
/// let pending = sum.reduce_into(&shards, &mut totals, &streams)?;
/// // Work that is added to the streams here can use the raw results on the devices.
/// sum.check()?;
/// for total in &totals {
///     assert_eq!(pending.finish(total.copy_to_host()?[0])?, 499_500.0);
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct AllReducer<T, O> {
    reducers: Vec<Reducer<T, O>>,
    exchange: Exchange,
    /// The kernel that exchanges results, on each device.
    engines: Vec<Arc<Engine>>,
    /// The raw result of each device's shard.
    partials: Vec<Buffer<u8>>,
    mailboxes: PeerMemory,
    timeout: Duration,
    /// Whether the mailboxes may hold the words of a call that did not reach all devices.
    is_torn: bool,
}

impl<T: Item, O: Operation<T>> fmt::Debug for AllReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllReducer")
            .field("reducers", &self.reducers)
            .field("exchange", &self.exchange.kernel.name())
            .finish_non_exhaustive()
    }
}

impl<T, O> Drop for AllReducer<T, O> {
    fn drop(&mut self) {
        // The kernels of a device write into the memory of others, which is freed now. An error
        // belongs to an earlier launch, and the next call of the device reports it too.
        for reducer in &self.reducers {
            let _ = reducer.device.synchronize();
        }
    }
}

impl Group {
    /// Prepares an operation over elements of type `T` such that each device gets the result.
    ///
    /// # Errors
    ///
    /// - [`Error::NotPeers`] if the devices cannot use each other's memory;
    /// - [`Error::TooManyDevices`] if there are more than 8;
    /// - [`Error::NotExchanged`] if the operation is [`TopK`](super::TopK) or
    ///   [`BottomK`](super::BottomK);
    /// - [`Error::Shard`] with the error of a device and its position.
    pub fn all_reducer<T: Item, O: Operation<T>>(
        &self,
        operation: O,
    ) -> Result<AllReducer<T, O>, Error> {
        let devices = self.devices();
        if devices.len() > MOST_DEVICES {
            let (devices, most) = (devices.len(), MOST_DEVICES);
            return Err(Error::TooManyDevices { devices, most });
        }
        let bytes = size_of::<O::Raw>();
        let exchange = exchange_of(O::KERNEL, bytes)
            .ok_or(Error::NotExchanged { op: O::NAME, item: T::NAME })?;
        if let Some([from, to]) = reach_each_other(devices)? {
            return Err(Error::NotPeers { from, to });
        }
        let room = exchange.per_block * words(bytes);
        let mailbox = mailbox_bytes(1, room, devices.len());
        let mailboxes = PeerMemory::zeroed(devices, mailbox).map_err(|failed| {
            shard_error(failed.number, &devices[failed.number], (*failed.error).into())
        })?;
        let (mut engines, mut partials) = (Vec::new(), Vec::new());
        for (shard, device) in devices.iter().enumerate() {
            let prepare = || {
                let engine = device.attached::<Cache>().engine(device, exchange.kernel, bytes)?;
                Ok((engine, device.alloc(bytes)?))
            };
            let (engine, partial) = prepare().map_err(|error| shard_error(shard, device, error))?;
            engines.push(engine);
            partials.push(partial);
        }
        let reducers = self.reducer(operation)?.into_reducers();
        let (timeout, is_torn) = (TIMEOUT, false);
        Ok(AllReducer { reducers, exchange, engines, partials, mailboxes, timeout, is_torn })
    }

    /// A new stream of each device, in the order of the devices.
    ///
    /// # Errors
    ///
    /// [`Error::Shard`] with the error of [`Device::stream`] and the position of the device.
    pub fn streams(&self) -> Result<Vec<Stream>, Error> {
        let devices = self.devices().iter().enumerate();
        devices
            .map(|(shard, device)| {
                device.stream().map_err(|error| shard_error(shard, device, error.into()))
            })
            .collect()
    }
}

/// How many bytes a mailbox has, as `warpfold_device::exchange` says.
fn mailbox_bytes(blocks: u64, room: u32, ranks: usize) -> u64 {
    8 * (1 + blocks * (1 + 2 * ranks as u64 * u64::from(room)))
}

impl<T: Item, O: Operation<T>> AllReducer<T, O> {
    /// Sets how long a kernel waits for the result of another device; the default is a minute. The
    /// time includes all work that the other device has to do before. On the simulator a kernel
    /// waits until it is known that nothing can change any more.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Adds the reduction of the shards of one array to the work of the streams, and returns
    /// without waiting. There is one shard, one output and one stream for each device, in the order
    /// of the devices. Each output has the length 1, and receives the [raw result](Operation::Raw)
    /// of all shards together. After the caller has copied one of them to the host,
    /// [`Pending::finish`] turns it into the result.
    ///
    /// The call allocates nothing and copies nothing. Two calls of one `AllReducer` must not
    /// overlap: give them to the same streams, or let the streams of the second call wait for those
    /// of the first. On the simulator the call returns when all kernels have ended.
    ///
    /// # Errors
    ///
    /// - [`Error::ShardCount`] if there are more or fewer shards, outputs or streams than devices;
    /// - [`Error::Empty`] if all shards are empty and the operation has no result for that;
    /// - [`Error::TooLong`] as for one array of all elements;
    /// - [`Error::Shard`] with an error of [`Reducer::reduce_into`] and the position of the device;
    ///   no result comes on any device then. Simulated streams that capture are refused so.
    pub fn reduce_into<'s, S, D>(
        &mut self,
        shards: S,
        outputs: D,
        streams: impl IntoIterator<Item = &'s Stream>,
    ) -> Result<Pending<T, O>, Error>
    where
        S: IntoIterator<Item: DeviceInput<Item = T, Arity = O::Arity>>,
        D: IntoIterator<Item: DeviceOutput<O::Raw>>,
    {
        let shards: Vec<_> = shards.into_iter().collect();
        let mut outputs: Vec<_> = outputs.into_iter().collect();
        let streams: Vec<_> = streams.into_iter().collect();
        self.check_count("shards", shards.len())?;
        self.check_count("outputs", outputs.len())?;
        self.check_count("streams", streams.len())?;

        // For each shard, the number of elements before it.
        let (mut n, mut bases) = (0, Vec::new());
        for (shard, input) in shards.iter().enumerate() {
            let (first, second) = input.places();
            bases.push(n);
            n += Reducer::<T, O>::check_len(first.len, second.map(|second| second.len))
                .map_err(|error| self.shard_error(shard, error))?;
        }
        check_most::<T, O>(n)?;
        if n == 0 && O::identity().is_none() {
            return Err(Error::Empty { op: O::NAME });
        }
        // If all shards are empty, each device has the result of no elements.
        let is_there = |shard: usize| n == 0 || shards[shard].places().0.len > 0;
        let present =
            (0..shards.len()).filter(|&shard| is_there(shard)).map(|shard| 1 << shard).sum();

        self.mend(&streams)?;
        for (shard, input) in shards.iter().enumerate().filter(|&(shard, _)| is_there(shard)) {
            let (first, second) = input.places();
            let (reducer, partial, stream) =
                (&self.reducers[shard], &self.partials[shard], streams[shard]);
            stream.retain(partial.view(..));
            reducer
                .launch(first, second, partial.address(), stream)
                .map_err(|error| self.shard_error(shard, error))?;
        }
        let targets: Vec<_> = outputs.iter_mut().map(|output| output.target()).collect();
        if let Some((shard, target)) =
            targets.iter().enumerate().find(|(_, target)| target.len != 1)
        {
            return Err(self.shard_error(shard, Error::Output { len: target.len }));
        }
        let devices: Vec<_> = self.reducers.iter().map(|reducer| &reducer.device).collect();
        let places = targets.into_iter().zip(devices).zip(&streams);
        let mut places = places.map(|((target, device), &stream)| (target, device, stream));
        let is_torn = &mut false;
        let launched = with_addresses(&mut places, &mut Vec::new(), &mut |outputs| {
            self.exchange(present, &bases, outputs, &streams, is_torn)
        });
        self.is_torn = *is_torn;
        launched?;
        Ok(Pending::new(n))
    }

    /// Waits for all work of the devices, and returns an error if a device has waited in vain for
    /// another one. The results of a call are valid if no error is returned after the call.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`]; [`Error::Shard`] with a fault of an earlier launch, or an error of the
    /// driver.
    pub fn check(&self) -> Result<(), Error> {
        for waited in 0..self.reducers.len() {
            let status = self.mailboxes.first_word(waited);
            match status.map_err(|error| self.shard_error(waited, error.into()))? {
                0 => {}
                absent => return Err(Error::Absent { waited, absent: absent as usize - 1 }),
            }
        }
        Ok(())
    }

    fn check_count(&self, what: &'static str, given: usize) -> Result<(), Error> {
        let devices = self.reducers.len();
        if given == devices { Ok(()) } else { Err(Error::ShardCount { what, given, devices }) }
    }

    /// Empties the mailboxes if the last call has not reached all devices.
    fn mend(&mut self, streams: &[&Stream]) -> Result<(), Error> {
        if !self.is_torn {
            return Ok(());
        }
        for (shard, stream) in streams.iter().enumerate() {
            let wait = || stream.synchronize();
            wait().map_err(|error| self.shard_error(shard, error.into()))?;
        }
        self.mailboxes.clear().map_err(|failed| self.failed(failed))?;
        self.is_torn = false;
        Ok(())
    }

    /// Launches the kernels that exchange the raw results. `is_torn` becomes true if some of them
    /// may have been launched and others not.
    fn exchange(
        &self,
        present: u32,
        bases: &[u64],
        outputs: &[u64],
        streams: &[&Stream],
        is_torn: &mut bool,
    ) -> Result<(), Error> {
        let ranks = self.reducers.len();
        let words = words(size_of::<O::Raw>());
        let room = self.exchange.per_block * words;
        let threads = (words * ranks as u32).clamp(1, 256).next_multiple_of(32);
        let shape = LaunchShape {
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(1, threads, 4 * (ranks as u32 * room + 2))
        };
        let is_simulated = self.reducers[0].device.info().kind == DeviceKind::Simulator;
        let limit = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Without a limit the simulator finds out that nothing can change any more.
        let limit = if is_simulated { 0 } else { limit };
        // The places of ranks that there are not are never used.
        let mailbox = |rank: usize| self.mailboxes.address(rank.min(ranks - 1));
        let args: Vec<_> = (0..ranks)
            .map(|rank| {
                let mut args = vec![
                    Arg::Pointer(self.partials[rank].address()),
                    Arg::Pointer(outputs[rank]),
                    Arg::U32(1),
                    Arg::U64(bases[rank]),
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
        *is_torn = true;
        // SAFETY: each kernel reads one raw result, which an earlier launch of its stream has left
        // in a buffer of this reducer, and writes one at `outputs`, which is borrowed or vouched
        // for. The mailboxes have as many words as the kernel uses, and dropping them waits for all
        // devices; a graph retains them and the buffer. No kernel uses a workspace.
        let launched = unsafe { launch_together(&launches) };
        launched.map_err(|failed| self.failed(failed))?;
        *is_torn = false;
        Ok(())
    }

    fn failed(&self, FailedAt { number, error }: FailedAt) -> Error {
        self.shard_error(number, (*error).into())
    }

    fn shard_error(&self, shard: usize, error: Error) -> Error {
        shard_error(shard, &self.reducers[shard].device, error)
    }
}

/// Calls `launch` with the addresses of all outputs. Memory that is lent for the call is lent until
/// `launch` has returned.
fn with_addresses<'a, R: bytemuck::Pod + 'a>(
    places: &mut dyn Iterator<Item = (Target<'a, R>, &'a Device, &'a Stream)>,
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
