//! Reductions whose result every device of a group gets, without the host in between.

mod call;
mod carrier;
mod direct;
mod exchanger;
mod gathered;
mod graph;
mod kernels;
mod layout;
mod mailboxes;
mod ranks;
mod rows;

pub use carrier::Transport;
pub use graph::GroupGraph;
pub use ranks::{RankError, RankReducer, RankRowReducer, RankTransport, Ranks};
pub use rows::AllRowReducer;

use std::{fmt, sync::Arc, time::Duration};

use crate::device::Stream;

use super::{
    DeviceInput, DeviceOutput, Error, Group, Item, Operation, Pending, Reducer, engine::Engine,
    group::shard_error, input::private::Places as _, output::private::Output as _,
    partial::check_most,
};

use call::{Launch, Shards};
use exchanger::Exchanger;

/// An operation over one type of elements, ready to run on all devices of a [`Group`] such that
/// each device gets the result. [`Group::all_reducer`] makes one.
///
/// # How the devices exchange results
///
/// A kernel reduces the shard of a device. Its last block writes the raw result into the memory of
/// all other devices, waits until theirs have come, and combines all of them in the order of the
/// shards. So there is one launch on each device. For [`ReproducibleSum`](super::ReproducibleSum)
/// there are two, which overlap on devices that can do so. The host takes no part, so that graphs
/// can capture a call ([`Group::capture`]), and each launch of such graphs is a new reduction.
///
/// The kernels need access to the memory of the other devices, as GPUs have that are connected by
/// NVLink, and as simulators have always. Between other GPUs, NCCL gathers the raw results
/// ([`Transport`]). Eight devices at most can exchange results. [`TopK`](super::TopK) and
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
/// devices only, or two calls overlap, because they were given to different streams. If a kernel of
/// a GPU dies, the driver may take all GPUs of the process whose memory is open to each other to be
/// lost; it did so on two H200s. A kernel that
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
    reducers: Arc<[Reducer<T, O>]>,
    /// On each device, the kernel that reduces a shard and exchanges the result at once. It is
    /// empty if there is none, or if results do not pass through mailboxes.
    fused: Vec<Arc<Engine>>,
    exchanger: Exchanger,
}

impl<T: Item, O: Operation<T>> fmt::Debug for AllReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllReducer").field("reducers", &self.reducers).finish_non_exhaustive()
    }
}

impl Group {
    /// Prepares an operation over elements of type `T` such that each device gets the result.
    ///
    /// # Errors
    ///
    /// - those of [`transport`](Self::transport), if the devices cannot use each other's memory and
    ///   there is no NCCL;
    /// - [`Error::TooManyDevices`] if there are more than 8;
    /// - [`Error::NotExchanged`] if the operation is [`TopK`](super::TopK) or
    ///   [`BottomK`](super::BottomK);
    /// - [`Error::Shard`] with the error of a device and its position.
    pub fn all_reducer<T: Item, O: Operation<T>>(
        &self,
        operation: O,
    ) -> Result<AllReducer<T, O>, Error> {
        let bytes = size_of::<O::Raw>();
        let exchanger = Exchanger::new(self, O::KERNEL, bytes, 1, (O::NAME, T::NAME))?;
        let fused = match O::FUSED {
            Some(fused) if exchanger.is_at_once() => kernels::load(self.devices(), fused, bytes)?,
            _ => Vec::new(),
        };
        Ok(AllReducer { reducers: self.reducer(operation)?.reducers, fused, exchanger })
    }

    /// A new stream of each device, in the order of the devices.
    ///
    /// # Errors
    ///
    /// [`Error::Shard`] with the error of [`Device::stream`](crate::Device::stream) and the
    /// position of the device.
    pub fn streams(&self) -> Result<Vec<Stream>, Error> {
        let devices = self.devices().iter().enumerate();
        devices
            .map(|(shard, device)| {
                device.stream().map_err(|error| shard_error(shard, device, error.into()))
            })
            .collect()
    }
}

impl<T: Item, O: Operation<T>> AllReducer<T, O> {
    /// Sets how long a kernel waits for the result of another device; the default is a minute. The
    /// time includes all work that the other device has to do before. On the simulator a kernel
    /// waits until it is known that nothing can change any more.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.exchanger.set_timeout(timeout);
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
    /// of the first. The same is true of calls of two reducers of which one is an
    /// [`AllRowReducer`], because their many blocks may fill two devices in different orders. On
    /// the simulator the call returns when all kernels have ended.
    ///
    /// # Errors
    ///
    /// - [`Error::ShardCount`] if there are more or fewer shards, outputs or streams than devices;
    /// - [`Error::Empty`] if all shards are empty and the operation has no result for that;
    /// - [`Error::TooLong`] as for one array of all elements;
    /// - [`Error::Shard`] with an error of [`Reducer::reduce_into`] and the position of the device.
    ///   No result comes on any device then, and devices that have begun wait until their timeout.
    ///   Simulated streams that capture are refused so.
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
        self.exchanger.check_counts(shards.len(), outputs.len(), streams.len())?;

        let places: Vec<_> = shards.iter().map(|input| input.places()).collect();
        let lengths = places.iter().enumerate().map(|(shard, (first, second))| {
            Reducer::<T, O>::check_len(first.len, second.as_ref().map(|second| second.len))
                .map_err(|error| self.exchanger.shard_error(shard, error))
        });
        let shards = Shards::new(lengths.collect::<Result<_, _>>()?);
        let n = shards.total();
        check_most::<T, O>(n)?;
        if n == 0 && O::identity().is_none() {
            return Err(Error::Empty { op: O::NAME });
        }
        let targets: Vec<_> = outputs.iter_mut().map(|output| output.target()).collect();
        self.exchanger.check_outputs(&targets, 1, |len| Error::Output { len })?;

        let (reducers, fused) = (&self.reducers, &self.fused);
        if fused.is_empty() {
            let call = (places.into_iter(), targets);
            self.exchanger.call(1, &shards, call, &streams, |shard, (first, second), out| {
                reducers[shard].launch(first, second, out, streams[shard])
            })?;
        } else {
            #[cfg(feature = "cudarc")]
            let mut prepared = Vec::new();
            self.exchanger.call_at_once(&shards, targets, &streams, |shard, out, exchange| {
                let (places, stream) = (places[shard], streams[shard]);
                let own = reducers[shard].prepare(places.0, places.1, stream)?;
                let args = Reducer::<T, O>::args(
                    &own,
                    places,
                    out,
                    stream,
                    [exchange, &reducers[shard].more],
                );
                let shape = own.shape.launch();
                #[cfg(feature = "cudarc")]
                prepared.push(own);
                // SAFETY: the kernel reads the elements of the shard as that of `Reducer::launch`
                // does, and writes one raw result at `out`. The rest is that of the exchanger's own
                // kernels.
                Ok(unsafe { Launch::new(fused[shard].kernel(), shape, args) })
            })?;
            #[cfg(feature = "cudarc")]
            prepared.into_iter().try_for_each(super::Prepared::give_back)?;
        }
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
        self.exchanger.check()
    }
}
