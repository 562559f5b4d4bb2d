//! An operation that ranks have agreed on.

use std::{fmt, sync::Arc, time::Duration};

use crate::{device::Stream, rendezvous::Rendezvous};

use super::{
    super::{
        super::{DeviceInput, DeviceOutput, Error, Item, Operation, Partial, Pending, Reducer},
        call::Shards,
        kernels::exchange_of,
    },
    RankError, RankTransport, Shared,
    carrier::{Carrier, Prepared},
    message::{call, together},
};

/// An operation over one type of elements, ready to run such that the device of each rank gets the
/// result. [`Ranks::all_reducer`](super::Ranks::all_reducer) makes one.
///
/// # How the ranks exchange results
///
/// As the devices of an [`AllReducer`](crate::AllReducer) do, if the
/// [transport](super::RankTransport) is the memory of peers or NCCL. In the memory of peers, one
/// kernel reduces the shard of this rank, and combines the raw results of all ranks in their order.
/// These are two kernels for [`ReproducibleSum`](crate::ReproducibleSum), and with NCCL. The host
/// takes no part. If the transport is the host, each call waits, and exchanges the raw results by
/// the rendezvous.
///
/// # If a rank does not come
///
/// A kernel that waits in the memory of peers for more than the [timeout](Self::with_timeout) gives
/// up, and leaves its output as it was. [`check`](Self::check) then says which rank did not come.
/// NCCL waits without a limit. So a program should call `check` before it waits in another way,
/// such as by [`Stream::synchronize`]: `check` and the drop of a reducer wait no longer than the
/// timeout, and then end what waits. The output may hold anything after that.
///
/// For rows and axes there is [`RankRowReducer`](super::RankRowReducer).
///
/// # Bits
///
/// All ranks get the same bits. They are those of [`AllReducer`](crate::AllReducer) for the same
/// shards, with the exceptions that its documentation names if the transport is the host, because
/// the host combines the raw results then.
pub struct RankReducer<T, O, R: Rendezvous> {
    // Declared before `shared`, so that its memory is no longer used when the ranks part.
    /// `None` if the results pass through the host.
    carrier: Option<Carrier>,
    reducer: Reducer<T, O>,
    /// What the ranks do in a call, as text.
    call: String,
    shards: Shards,
    shared: Arc<Shared<R>>,
}

impl<T: Item, O: Operation<T>, R: Rendezvous> fmt::Debug for RankReducer<T, O, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankReducer")
            .field("reducer", &self.reducer)
            .field("transport", &self.transport())
            .finish_non_exhaustive()
    }
}

impl<T, O, R: Rendezvous> RankReducer<T, O, R> {
    /// What carries the results of this reducer between the ranks.
    pub fn transport(&self) -> RankTransport {
        self.carrier.as_ref().map_or(RankTransport::Host, Carrier::transport)
    }
}

impl<T: Item, O: Operation<T>, R: Rendezvous> RankReducer<T, O, R> {
    pub(super) fn new(shared: &Arc<Shared<R>>, operation: O, len: u64) -> Result<Self, RankError> {
        let mut meeting = shared.meeting();
        let text = |what: &str| call::<T, O>(what, operation, size_of::<O::Raw>(), None);
        let prepared = prepare(shared, operation);
        let ((reducer, prepared), lengths) =
            shared.agree(&mut meeting, &text("all_reducer"), prepared, len)?;
        check_lengths::<T, O>(&lengths)?;
        let carrier = prepared.map(|prepared| prepared.share(shared, &mut meeting)).transpose()?;
        drop(meeting);
        Ok(Self {
            carrier,
            reducer,
            call: text("reduce_into"),
            shards: Shards::new(lengths),
            shared: Arc::clone(shared),
        })
    }

    /// Sets how long the kernel of this rank waits for the result of another one. Without this call
    /// it is the [timeout](Rendezvous::timeout) of the rendezvous. The time includes all work that
    /// the other rank has to do before. If the transport is the host, the timeout of the rendezvous
    /// applies in any case.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        if let Some(carrier) = &mut self.carrier {
            carrier.set_timeout(timeout);
        }
        self
    }

    /// Adds the reduction of the shard of this rank, and of those of the other ranks, to the work
    /// of `stream`. All ranks call this. `output` has the length 1, and receives the
    /// [raw result](Operation::Raw) of all shards together. After the caller has copied it to the
    /// host, [`Pending::finish`] turns it into the result.
    ///
    /// The call returns without waiting, unless the [transport](Self::transport) is the host. Two
    /// calls of one reducer must not overlap: give them to the same stream, or let the stream of
    /// the second call wait for that of the first. A graph can capture the call if the transport is
    /// the memory of peers. Each launch of the graph is then a call that all ranks make.
    ///
    /// # Errors
    ///
    /// An error leaves `output` as it was, unless it is that of the last copy if the transport is
    /// the host.
    ///
    /// - [`RankError::Length`] if the shard does not have the length for which the reducer was
    ///   made;
    /// - [`RankError::Reduction`] with an error of [`Reducer::reduce_into`];
    /// - [`RankError::Calls`], [`RankError::Rank`], [`RankError::Rendezvous`] and
    ///   [`RankError::Message`] if the transport is the host;
    /// - [`RankError::Broken`] if NCCL is the transport, and has not ended an earlier call in time.
    ///
    /// If the transport is the host, the other ranks learn of an error of this rank as
    /// [`RankError::Rank`]. Otherwise they wait for its result until their timeout, and
    /// [`check`](Self::check) tells them.
    pub fn reduce_into<I>(
        &mut self,
        shard: I,
        mut output: impl DeviceOutput<O::Raw>,
        stream: &Stream,
    ) -> Result<Pending<T, O>, RankError>
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let Some(carrier) = &mut self.carrier else {
            return self.reduce_on_host(shard, output, stream);
        };
        let (device, rank) = (&self.shared.device, self.shared.rank as usize);
        check_shard::<T, O, _>(&shard, self.shards.length(rank))?;
        let target = output.target();
        if target.len != 1 {
            return Err(Error::Output { len: target.len }.into());
        }
        target.lend(device, stream, |output| {
            let (reducer, shards) = (&self.reducer, &self.shards);
            let (first, second) = shard.places();
            let mailboxes = carrier.mailboxes().filter(|_| shards.has(rank));
            let fused = mailboxes.and_then(|mailboxes| Some((mailboxes, mailboxes.fused(shards)?)));
            if let Some((mailboxes, (engine, more))) = fused {
                let own = reducer.prepare(first, second, stream)?;
                let args = Reducer::<T, O>::args(
                    &own,
                    (first, second),
                    output,
                    stream,
                    [&more, &reducer.more],
                );
                let shape = own.shape.launch();
                // SAFETY: the arguments are those of a reduction to this output, which is borrowed
                // or vouched for and has the length 1, and those of the exchange.
                unsafe { mailboxes.launch_fused(engine, shape, &args, stream)? };
                #[cfg(feature = "cudarc")]
                own.give_back()?;
            } else {
                if shards.has(rank) {
                    reducer.launch(first, second, carrier.raws(), stream)?;
                }
                // SAFETY: the output is borrowed or vouched for, and has the length 1.
                unsafe { carrier.launch((rank, shards), (output, 1), stream)? };
            }
            Ok(Pending::new(self.shards.total()))
        })
    }

    /// Waits for all work of the device of this rank, and returns an error if it has waited in vain
    /// for another rank. The results of a call are valid if no error is returned after the call.
    ///
    /// # Errors
    ///
    /// - [`RankError::Absent`] with the rank that did not come;
    /// - [`RankError::Late`] if NCCL does not end in time;
    /// - [`RankError::Reduction`] with a fault of an earlier launch, or an error of the driver or
    ///   of NCCL.
    pub fn check(&self) -> Result<(), RankError> {
        match &self.carrier {
            Some(carrier) => carrier.check(&self.shared),
            // Each call has waited for all ranks.
            None => Ok(self.shared.device.synchronize()?),
        }
    }

    fn reduce_on_host<I>(
        &self,
        shard: I,
        output: impl DeviceOutput<O::Raw>,
        stream: &Stream,
    ) -> Result<Pending<T, O>, RankError>
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let mut is_told = false;
        let agreed = self.shards.length(self.shared.rank as usize);
        let reduced = check_shard::<T, O, _>(&shard, agreed).and_then(|()| {
            self.reducer.reduce_into_with(shard, output, stream, |own| {
                is_told = true;
                let raw = own.raw();
                self.put_together(raw.as_ref().map_or(&[][..], bytemuck::bytes_of))
            })
        });
        match reduced {
            Err(error) if !is_told => {
                // The error of this rank says more than what the others get to know.
                let _ = together(&mut self.shared.meeting().rendezvous, &self.call, Err(&error));
                Err(error)
            }
            reduced => reduced,
        }
    }

    /// Exchanges raw results by the rendezvous, and puts them together in the order of the ranks.
    fn put_together(&self, own: &[u8]) -> Result<Partial<T, O>, RankError> {
        let all = together(&mut self.shared.meeting().rendezvous, &self.call, Ok(own))?;
        let mut whole = Partial::EMPTY;
        for (rank, raw) in all.iter().enumerate() {
            let n = self.shards.length(rank);
            let raw = match n {
                0 if raw.is_empty() => Ok(None),
                0 => Err(()),
                _ => bytemuck::try_pod_read_unaligned(raw).map(Some).map_err(drop),
            };
            let raw = raw.map_err(|()| RankError::Message { rank: rank as u32 })?;
            whole = whole.append(Partial::from_raw(raw, n));
        }
        Ok(whole)
    }
}

/// Prepares the device of this rank.
fn prepare<T: Item, O: Operation<T>, R: Rendezvous>(
    shared: &Shared<R>,
    operation: O,
) -> Result<(Reducer<T, O>, Option<Prepared>), Error> {
    let bytes = size_of::<O::Raw>();
    let prepared = match exchange_of(O::KERNEL, bytes) {
        Some(exchange) => Prepared::new(shared, exchange, O::FUSED, (bytes, 1))?,
        None if shared.is_chosen && shared.transport != RankTransport::Host => {
            return Err(Error::NotExchanged { op: O::NAME, item: T::NAME });
        }
        None => None,
    };
    Ok((shared.device.reducer(operation)?, prepared))
}

/// Refuses a shard of another length than the ranks have agreed on.
fn check_shard<T, O, I>(shard: &I, agreed: u64) -> Result<(), RankError>
where
    T: Item,
    O: Operation<T>,
    I: DeviceInput<Item = T, Arity = O::Arity>,
{
    let (first, second) = shard.places();
    let given = Reducer::<T, O>::check_len(first.len, second.map(|second| second.len))?;
    if given == agreed { Ok(()) } else { Err(RankError::Length { given, agreed }) }
}

/// Refuses shards whose array has no result.
pub(super) fn check_lengths<T: Item, O: Operation<T>>(lengths: &[u64]) -> Result<(), Error> {
    let total = lengths.iter().try_fold(0u64, |total, &len| total.checked_add(len));
    // One more element than can be counted is too much, too.
    let (n, most) = (total.unwrap_or(u64::MAX), O::MOST.min(u64::MAX - 1));
    if n > most {
        return Err(Error::TooLong { op: O::NAME, item: T::NAME, n, most });
    }
    if n == 0 && O::identity().is_none() {
        return Err(Error::Empty { op: O::NAME });
    }
    Ok(())
}
