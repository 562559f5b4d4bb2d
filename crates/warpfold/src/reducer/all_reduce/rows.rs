//! Reductions of rows and along axes whose results every device of a group gets.

use std::{fmt, time::Duration};

use crate::device::Stream;

use super::{
    super::{
        ArraysOperation, DeviceArrays, DeviceOutput, Error, Group, Item, PendingRows, RowReducer,
        group::shard_error, output::private::Output as _, partial::check_most, rows::LaidOut,
    },
    call::Shards,
    exchanger::Exchanger,
};

/// An operation over rows of which each device of a [`Group`] has a part, ready to run such that
/// each device gets all results. [`Group::all_row_reducer`] makes one.
///
/// Each device has an array, the shard. All shards have the same number of rows, and each result is
/// that of a row that consists of the rows of all shards, one behind the other. For example, the
/// shards may be matrices with the same columns, which together are one matrix with more rows in
/// each column. The sum along axis 0 of all of them is then the sum of the columns of the whole
/// matrix. An index counts the elements of the whole row.
///
/// The devices exchange results as those of an [`AllReducer`](super::AllReducer) do, whose
/// documentation says what that needs, and what happens if a device does not come. The kernel that
/// exchanges results has as many blocks as they need. Up to 2 MiB of raw results pass through
/// mailboxes. If there are more, each device reads a part of them in the memory of the others,
/// combines it, and writes it to all. The devices have memory for the raw results of `most_rows`
/// rows.
///
/// All devices get the same bits. They are those of [`RowReducer`] for each shard, combined from
/// the first shard to the last.
///
/// ```
/// use warpfold::{Array, Device, Group, Max};
///
/// let group = Group::of(&[Device::simulator(), Device::simulator()])?;
/// let [first, second] = [&group.devices()[0], &group.devices()[1]];
/// let upper = first.upload(&[1.0f32, 8.0, 3.0])?;
/// let lower = second.upload(&[4.0, 5.0, 6.0, 7.0, 2.0, 9.0])?;
/// let mut results = [first.alloc(3)?, second.alloc(3)?];
/// let streams = group.streams()?;
///
/// let mut max = group.all_row_reducer::<f32, _>(Max, 3)?;
/// let arrays = [Array::new(&upper, &[1, 3])?, Array::new(&lower, &[2, 3])?];
/// let pending = max.reduce_axes_into(&arrays, &[0], &mut results, &streams)?;
/// max.check()?;
/// for result in &results {
///     let greatest: Result<Vec<f32>, _> =
///         result.copy_to_host()?.into_iter().map(|raw| pending.finish(raw)).collect();
///     assert_eq!(greatest?, [7.0, 8.0, 9.0]);
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct AllRowReducer<T, O> {
    reducers: Vec<RowReducer<T, O>>,
    exchanger: Exchanger,
}

impl<T: Item, O: ArraysOperation<T>> fmt::Debug for AllRowReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllRowReducer").field("reducers", &self.reducers).finish_non_exhaustive()
    }
}

impl Group {
    /// Prepares an operation over rows, of which there are at most `most_rows` in each call, such
    /// that each device gets the results.
    ///
    /// # Errors
    ///
    /// - those of [`all_reducer`](Self::all_reducer);
    /// - [`Error::NotExchanged`] also for [`ReproducibleSum`](super::super::ReproducibleSum), whose
    ///   raw result of a row is rounded.
    pub fn all_row_reducer<T: Item, O: ArraysOperation<T>>(
        &self,
        operation: O,
        most_rows: u32,
    ) -> Result<AllRowReducer<T, O>, Error> {
        let (bytes, names) = (size_of::<O::RowRaw>(), (O::NAME, T::NAME));
        let exchanger = Exchanger::new(self, O::ROWS, bytes, most_rows, names)?;
        let devices = self.devices().iter().enumerate();
        let reducers = devices.map(|(shard, device)| {
            device.row_reducer(operation).map_err(|error| shard_error(shard, device, error))
        });
        Ok(AllRowReducer { reducers: reducers.collect::<Result<_, _>>()?, exchanger })
    }
}

impl<T: Item, O: ArraysOperation<T>> AllRowReducer<T, O> {
    /// Sets how long a kernel waits for the results of another device, as
    /// [`AllReducer::with_timeout`](super::AllReducer::with_timeout) does.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.exchanger.set_timeout(timeout);
        self
    }

    /// Adds the reduction of the shards along these axes to the work of the streams, and returns
    /// without waiting. There is one shard, one output and one stream for each device, in the order
    /// of the devices. Each output has a place for each row, and receives the [raw
    /// results](ArraysOperation::RowRaw) of all shards together, of which [`PendingRows::finish`]
    /// makes the results. The call allocates nothing on the devices. Two calls must not
    /// overlap, and a call must not overlap one of another reducer of these devices.
    ///
    /// # Errors
    ///
    /// - [`Error::ShardCount`] if there are more or fewer shards, outputs or streams than devices;
    /// - [`Error::ShardRows`] if shards have different numbers of rows, and [`Error::MostRows`] if
    ///   there are more than the reducer was made for;
    /// - [`Error::Empty`] if the rows of all shards are empty and the operation has no result for
    ///   that, and [`Error::TooLong`] as for one array of all elements;
    /// - [`Error::Shard`] with an error of [`RowReducer::reduce_axes_into`] and the position of the
    ///   device. No result comes on any device then, and devices that have begun wait until their
    ///   timeout. Simulated streams that capture are refused so.
    pub fn reduce_axes_into<'s, S, D>(
        &mut self,
        shards: S,
        axes: &[isize],
        outputs: D,
        streams: impl IntoIterator<Item = &'s Stream>,
    ) -> Result<PendingRows<T, O>, Error>
    where
        S: IntoIterator<Item: DeviceArrays<Item = T, Arity = O::Arity>>,
        D: IntoIterator<Item: DeviceOutput<O::RowRaw>>,
    {
        let shards: Vec<_> = shards.into_iter().collect();
        let mut outputs: Vec<_> = outputs.into_iter().collect();
        let streams: Vec<_> = streams.into_iter().collect();
        self.exchanger.check_counts(shards.len(), outputs.len(), streams.len())?;

        let mut laid: Vec<LaidOut> = Vec::new();
        for (shard, arrays) in shards.iter().enumerate() {
            let own = RowReducer::<T, O>::lay_part_out(arrays, axes)
                .map_err(|error| self.exchanger.shard_error(shard, error))?;
            let (results, first) = (own.rows(), laid.first().map_or(own.rows(), LaidOut::rows));
            if results != first {
                return Err(Error::ShardRows { shard, results, first });
            }
            laid.push(own);
        }
        let rows = laid.first().map_or(0, LaidOut::rows);
        let most = self.exchanger.most();
        let count = u32::try_from(rows).ok().filter(|&count| count <= most);
        let count = count.ok_or(Error::MostRows { rows, most: most.into() })?;
        let lengths = Shards::new(laid.iter().map(LaidOut::length).collect());
        let length = lengths.total();
        check_most::<T, O>(length)?;
        if length == 0 && rows > 0 && O::identity().is_none() {
            return Err(Error::Empty { op: O::NAME });
        }
        let targets: Vec<_> = outputs.iter_mut().map(|output| output.target()).collect();
        self.exchanger
            .check_outputs(&targets, rows, |len| Error::Outputs { results: rows, len })?;
        if rows == 0 {
            return Ok(PendingRows::new(length));
        }

        let call = (shards.iter().zip(laid), targets);
        self.exchanger.call(count, &lengths, call, &streams, |shard, (arrays, laid), out| {
            self.reducers[shard].launch_part(arrays, laid, out, streams[shard])
        })?;
        Ok(PendingRows::new(length))
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
