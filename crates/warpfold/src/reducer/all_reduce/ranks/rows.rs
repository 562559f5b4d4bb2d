//! Reductions of rows and along axes that ranks have agreed on.

use std::{fmt, sync::Arc, time::Duration};

use crate::{device::Stream, rendezvous::Rendezvous};

use super::{
    super::{
        super::{
            ArraysOperation, DeviceArrays, DeviceOutput, Error, Item, PendingRows, RowReducer,
            rows::LaidOut,
        },
        call::Shards,
        kernels::exchange_of,
    },
    RankError, RankTransport, Ranks, Shared,
    carrier::{Carrier, Prepared},
    combiner::Combiner,
    message::{call, together},
    reducer::check_lengths,
    relay::Relay,
};

/// An operation over rows of which each rank has a part, ready to run such that the device of each
/// rank gets all results. [`Ranks::all_row_reducer`] makes one.
///
/// Each rank has an array, the shard. All shards have the same number of rows, and each result is
/// that of a row that consists of the rows of all shards, one behind the other. For example, the
/// shards may be matrices with the same columns, such as the gradients of a batch's parts, which
/// together are one matrix with more rows in each column. The sum along axis 0 of all of them is
/// then the sum of the columns of the whole matrix. An index counts the elements of the whole row.
///
/// The ranks exchange results as those of a [`RankReducer`](super::RankReducer) do, whose
/// documentation says what happens if a rank does not come. In the memory of peers, up to 2 MiB of
/// raw results are posted to all ranks. If there are more, each rank reads a part of them in the
/// memory of the others, combines it, and writes it to all.
///
/// # Bits
///
/// All ranks get the same bits, by each transport. They are those of
/// [`AllRowReducer`](crate::AllRowReducer) for the same shards.
///
/// ```
/// use std::{net::TcpListener, thread, time::Duration};
/// use warpfold::{Array, Device, RankError, Ranks, Sum, TcpRendezvous};
///
/// /// The sums of the columns of all ranks' rows of three numbers each.
/// fn rank(meeting: TcpRendezvous, rows: &[f32]) -> Result<Vec<f32>, RankError> {
///     let device = Device::simulator();
///     let ranks = Ranks::join(&device, meeting)?;
///     let (shard, mut sums) = (device.upload(rows)?, device.alloc(3)?);
///     let (stream, height) = (device.stream()?, rows.len() / 3);
///     let mut sum = ranks.all_row_reducer::<f32, _>(Sum, 3, height)?;
///     let matrix = Array::new(&shard, &[height as u64, 3])?;
///     sum.reduce_axes_into(&matrix, &[0], &mut sums, &stream)?;
///     sum.check()?;
///     Ok(sums.copy_to_host()?)
/// }
///
/// let timeout = Duration::from_secs(10);
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let other = thread::spawn(move || {
///     rank(TcpRendezvous::new(address, 1, 2, timeout)?, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
/// });
/// let sums = rank(TcpRendezvous::listening(listener, 2, timeout)?, &[10.0, 20.0, 30.0])?;
/// assert_eq!(sums, [15.0, 27.0, 39.0]);
/// assert_eq!(other.join().unwrap()?, sums);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RankRowReducer<T, O, R: Rendezvous> {
    // Declared before `shared`, so that its memory is no longer used when the ranks part.
    way: Way<Carrier>,
    reducer: RowReducer<T, O>,
    /// What the ranks do in a call, as text.
    call: String,
    /// The number of rows.
    rows: u32,
    /// The lengths of the rows of all ranks.
    shards: Shards,
    shared: Arc<Shared<R>>,
}

/// How the ranks exchange results: by a carrier, or on the host.
enum Way<C> {
    Carried(C),
    Relayed(Relay),
}

impl<T: Item, O: ArraysOperation<T>, R: Rendezvous> fmt::Debug for RankRowReducer<T, O, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankRowReducer")
            .field("reducer", &self.reducer)
            .field("rows", &self.rows)
            .field("transport", &self.transport())
            .finish_non_exhaustive()
    }
}

impl<R: Rendezvous> Ranks<R> {
    /// Prepares an operation over rows for many calls, in which each rank has `rows` rows, and
    /// those of this rank have `length` elements. All ranks call this with the same number of rows,
    /// each with its own length, also 0.
    ///
    /// # Errors
    ///
    /// If a rank gets an error, all of them do:
    ///
    /// - those of [`all_reducer`](Self::all_reducer), where another number of rows is another call;
    /// - [`RankError::Reduction`] with [`Error::NotExchanged`] if the operation is
    ///   [`TopK`](crate::TopK), [`BottomK`](crate::BottomK) or
    ///   [`ReproducibleSum`](crate::ReproducibleSum), whose raw result of a row is rounded.
    pub fn all_row_reducer<T: Item, O: ArraysOperation<T>>(
        &self,
        operation: O,
        rows: u32,
        length: usize,
    ) -> Result<RankRowReducer<T, O, R>, RankError> {
        RankRowReducer::new(&self.shared, operation, rows, length as u64)
    }
}

impl<T, O, R: Rendezvous> RankRowReducer<T, O, R> {
    /// What carries the results of this reducer between the ranks.
    pub fn transport(&self) -> RankTransport {
        match &self.way {
            Way::Carried(carrier) => carrier.transport(),
            Way::Relayed(_) => RankTransport::Host,
        }
    }
}

impl<T: Item, O: ArraysOperation<T>, R: Rendezvous> RankRowReducer<T, O, R> {
    fn new(
        shared: &Arc<Shared<R>>,
        operation: O,
        rows: u32,
        length: u64,
    ) -> Result<Self, RankError> {
        let mut meeting = shared.meeting();
        let text = |what: &str| call::<T, O>(what, operation, size_of::<O::RowRaw>(), Some(rows));
        let prepared = prepare(shared, operation, rows);
        let ((reducer, prepared), lengths) =
            shared.agree(&mut meeting, &text("all_row_reducer"), prepared, length)?;
        if rows > 0 {
            check_lengths::<T, O>(&lengths)?;
        }
        let way = match prepared {
            Way::Carried(prepared) => Way::Carried(prepared.share(shared, &mut meeting)?),
            Way::Relayed(relay) => Way::Relayed(relay),
        };
        drop(meeting);
        Ok(Self {
            way,
            reducer,
            call: text("reduce_axes_into"),
            rows,
            shards: Shards::new(lengths),
            shared: Arc::clone(shared),
        })
    }

    /// Sets how long the kernel of this rank waits for the results of another one, as
    /// [`RankReducer::with_timeout`](super::RankReducer::with_timeout) does.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        if let Way::Carried(carrier) = &mut self.way {
            carrier.set_timeout(timeout);
        }
        self
    }

    /// Adds the reduction of the shard of this rank along these axes, and of those of the other
    /// ranks, to the work of `stream`. All ranks call this. `output` has a place for each row, and
    /// receives the [raw results](ArraysOperation::RowRaw) of all shards together, of which
    /// [`PendingRows::finish`] makes the results.
    ///
    /// The call returns without waiting, unless the [transport](Self::transport) is the host. Two
    /// calls must not overlap, and a call must not overlap one of another reducer of this rank. A
    /// graph can capture the call as it can that of
    /// [`RankReducer::reduce_into`](super::RankReducer::reduce_into).
    ///
    /// # Errors
    ///
    /// An error leaves `output` as it was.
    ///
    /// - [`RankError::Rows`] and [`RankError::Length`] if the shard does not have the rows for
    ///   which the reducer was made;
    /// - [`RankError::Reduction`] with an error of [`RowReducer::reduce_axes_into`];
    /// - those of [`RankReducer::reduce_into`](super::RankReducer::reduce_into) that come from
    ///   other ranks, which learn of an error of this rank as they do there.
    #[expect(clippy::needless_pass_by_value, reason = "it is one reference or a pair of them")]
    pub fn reduce_axes_into<A>(
        &mut self,
        arrays: A,
        axes: &[isize],
        mut output: impl DeviceOutput<O::RowRaw>,
        stream: &Stream,
    ) -> Result<PendingRows<T, O>, RankError>
    where
        A: DeviceArrays<Item = T, Arity = O::Arity>,
    {
        let (device, rank) = (&self.shared.device, self.shared.rank as usize);
        let (reducer, shards, rows) = (&self.reducer, &self.shards, self.rows);
        let target = output.target();
        let places = target.len;
        let reduce = |raws: u64| -> Result<(), RankError> {
            let laid = RowReducer::<T, O>::lay_part_out(&arrays, axes)?;
            check_rows(&laid, rows, shards.length(rank))?;
            let results = u64::from(rows);
            if places != results {
                return Err(Error::Outputs { results, len: places }.into());
            }
            if rows > 0 && shards.has(rank) {
                reducer.launch_part(&arrays, laid, raws, stream)?;
            }
            Ok(())
        };
        match &mut self.way {
            Way::Carried(carrier) => target.lend(device, stream, |output| {
                reduce(carrier.raws())?;
                if rows > 0 {
                    // SAFETY: the output is borrowed or vouched for, and has so many places.
                    unsafe { carrier.launch((rank, shards), (output, rows), stream)? };
                }
                Ok::<_, RankError>(())
            })?,
            Way::Relayed(relay) => {
                let mut is_told = false;
                let done = target.lend(device, stream, |output| {
                    reduce(relay.combiner.raws())?;
                    // SAFETY: the reduction leaves the raw results there.
                    let own = unsafe { relay.read((rank, shards), rows, stream)? };
                    is_told = true;
                    let own = (&own[..], shards);
                    // SAFETY: the output is borrowed or vouched for, and has so many places.
                    unsafe { relay.exchange(&self.shared, &self.call, own, (output, rows), stream) }
                });
                if let Err(error) = &done
                    && !is_told
                {
                    // The error of this rank says more than what the others get to know.
                    let meeting = &mut self.shared.meeting().rendezvous;
                    let _ = together(meeting, &self.call, Err(error));
                }
                done?;
            }
        }
        Ok(PendingRows::new(shards.total()))
    }

    /// Waits for all work of the device of this rank, and returns an error if it has waited in vain
    /// for another rank. The results of a call are valid if no error is returned after the call.
    ///
    /// # Errors
    ///
    /// Those of [`RankReducer::check`](super::RankReducer::check).
    pub fn check(&self) -> Result<(), RankError> {
        match &self.way {
            Way::Carried(carrier) => carrier.check(&self.shared),
            Way::Relayed(_) => Ok(self.shared.device.synchronize()?),
        }
    }
}

/// Prepares the device of this rank.
fn prepare<T: Item, O: ArraysOperation<T>, R: Rendezvous>(
    shared: &Shared<R>,
    operation: O,
    rows: u32,
) -> Result<(RowReducer<T, O>, Way<Prepared>), Error> {
    let (bytes, device) = (size_of::<O::RowRaw>(), &shared.device);
    let exchange =
        exchange_of(O::ROWS, bytes).ok_or(Error::NotExchanged { op: O::NAME, item: T::NAME })?;
    let way = if let Some(prepared) = Prepared::new(shared, exchange, None, (bytes, rows))? {
        Way::Carried(prepared)
    } else {
        let ranks = shared.ranks as usize;
        let combiner = Combiner::new(device, exchange, (bytes, rows), ranks)?;
        Way::Relayed(Relay { combiner })
    };
    Ok((device.row_reducer(operation)?, way))
}

/// Refuses rows that are not those that the ranks have agreed on.
fn check_rows(laid: &LaidOut, rows: u32, length: u64) -> Result<(), RankError> {
    let (given, agreed) = (laid.rows(), u64::from(rows));
    if given != agreed {
        return Err(RankError::Rows { given, agreed });
    }
    match laid.length() {
        given if given != length => Err(RankError::Length { given, agreed: length }),
        _ => Ok(()),
    }
}
