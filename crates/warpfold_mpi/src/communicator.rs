//! The ranks, and the operations that they run together.

use std::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    mem, thread,
    time::{Duration, Instant},
};

use mpi::{
    Threading,
    environment::{Universe, threading_support},
    topology::SimpleCommunicator,
    traits::Communicator,
};
use warpfold::{
    Any, Device, DeviceError, Input, Item, Operation, Partial,
    device::Stream,
    reducer::{DeviceInput, DeviceOutput, Pending},
};

use crate::{
    error::Error,
    exchange::{Sending, receive, receive_any, wait_until},
    message::{Kind, Message},
    reducer::MpiReducer,
    verdict::{ROOT, all_bytes, call, gathered, message, verdict, whole},
};

/// How long ranks wait for one another, unless the program says otherwise. A rank may have much
/// more to read than another one.
const TIMEOUT: Duration = Duration::from_mins(10);

/// The ranks of an MPI program, or some of them, each with a device. All ranks make the same calls
/// in the same order.
///
/// A communicator stays in the thread that has made it. Drop it before MPI is finalised.
///
/// A reference to a communicator is a [`Rendezvous`](warpfold::Rendezvous), so that
/// [`Ranks::join`](warpfold::Ranks::join) takes one: the kernels of the ranks then exchange results
/// without the hosts, if their GPUs can. Calls of it count as calls of this.
pub struct MpiCommunicator {
    /// `None` only while this is dropped.
    mpi: Option<Mpi>,
    device: Device,
    timeout: Duration,
    is_poisoned: Cell<bool>,
    /// Keeps this in its thread, whatever MPI makes of a communicator.
    of_thread: PhantomData<*const ()>,
}

struct Mpi {
    ranks: SimpleCommunicator,
    /// Finalises MPI when it is dropped, after the communicator above.
    _universe: Option<Universe>,
}

impl fmt::Debug for MpiCommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiCommunicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl MpiCommunicator {
    /// Initialises MPI, and returns the communicator of all ranks. When it is dropped, MPI is
    /// finalised.
    ///
    /// MPI is asked for the level `MPI_THREAD_FUNNELED`: the program may have several threads, of
    /// which only this one calls MPI.
    ///
    /// # Errors
    ///
    /// - [`Error::Initialised`] if the program has initialised MPI;
    /// - [`Error::Threads`] if MPI grants only `MPI_THREAD_SINGLE`.
    pub fn world(device: &Device) -> Result<Self, Error> {
        Self::world_on(|_| Ok(device.clone()))
    }

    /// Like [`world`](Self::world), for programs with several ranks on a machine: `choose` gets the
    /// number of this rank among those of the same machine, counted from 0.
    ///
    /// ```no_run
    /// use warpfold::Device;
    /// use warpfold_mpi::MpiCommunicator;
    ///
    /// // Each rank has a GPU of its own.
    /// let ranks = MpiCommunicator::world_on(Device::cuda)?;
    /// # Ok::<(), warpfold_mpi::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`world`](Self::world), and the error of `choose`.
    pub fn world_on(
        choose: impl FnOnce(u32) -> Result<Device, DeviceError>,
    ) -> Result<Self, Error> {
        let (universe, _) =
            mpi::initialize_with_threading(Threading::Funneled).ok_or(Error::Initialised)?;
        check_threads()?;
        let world = universe.world();
        let local = world.split_shared(world.rank()).rank() as u32;
        let device = choose(local).map_err(warpfold::Error::from)?;
        Ok(Self::new(&world, Some(universe), device))
    }

    /// A communicator of the same ranks as `ranks`, all of which call this. It is a duplicate, so
    /// that the messages of the program and those of warpfold do not meet. If MPI was initialised
    /// at the level `MPI_THREAD_FUNNELED`, the thread that has initialised it must call this.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] if the program has initialised MPI for a single thread, as
    /// `mpi::initialize` does.
    pub fn over(ranks: &impl Communicator, device: &Device) -> Result<Self, Error> {
        check_threads()?;
        Ok(Self::new(ranks, None, device.clone()))
    }

    fn new(ranks: &impl Communicator, universe: Option<Universe>, device: Device) -> Self {
        let mpi = Some(Mpi { ranks: ranks.duplicate(), _universe: universe });
        let is_poisoned = Cell::new(false);
        Self { mpi, device, timeout: TIMEOUT, is_poisoned, of_thread: PhantomData }
    }

    /// Sets how long rank 0 waits for the partial results of the others. The others wait twice as
    /// long for its answer. Without this call it is 10 minutes. All ranks need the same timeout.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    fn ranks(&self) -> &SimpleCommunicator {
        &self.mpi.as_ref().expect("it is there until this is dropped").ranks
    }

    /// The number of this rank, counted from 0.
    pub fn rank(&self) -> u32 {
        self.ranks().rank() as u32
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.ranks().size() as u32
    }

    /// The device of this rank.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Prepares an operation over elements of type `T` for many calls. This is no call that ranks
    /// make together.
    ///
    /// # Errors
    ///
    /// Those of [`Device::reducer`].
    pub fn reducer<T: Item, O: Operation<T>>(
        &self,
        operation: O,
    ) -> Result<MpiReducer<'_, T, O>, Error> {
        let reducer = self.device.reducer(operation)?;
        Ok(MpiReducer { communicator: self, reducer, call: call::<T, O>(operation) })
    }

    /// Reduces the array whose parts the ranks have, in the order of the ranks, and returns the
    /// result on all of them. A part has any length, also 0.
    ///
    /// # Errors
    ///
    /// Those of [`MpiReducer::reduce`].
    pub fn reduce<I, O>(&self, part: I, operation: O) -> Result<O::Output, Error>
    where
        I: Input,
        O: Operation<I::Item, Arity = I::Arity>,
    {
        let partial = self.device.reducer(operation).and_then(|reducer| reducer.partial(part));
        Ok(self.together(partial, &call::<I::Item, O>(operation))?.finish()?)
    }

    /// Reduces the array whose parts the ranks have, in the order of the ranks, and leaves the
    /// [raw result](Operation::Raw) of the whole array in an output on the device of each rank. The
    /// call comes after all earlier work of `stream`, and waits until the raw result is there. See
    /// [`MpiReducer::reduce_into`].
    ///
    /// # Errors
    ///
    /// Those of [`reducer`](Self::reducer), which the other ranks get as [`Error::Rank`], and of
    /// [`MpiReducer::reduce_into`].
    pub fn reduce_into<I, O>(
        &self,
        part: I,
        operation: O,
        output: impl DeviceOutput<O::Raw>,
        stream: &Stream,
    ) -> Result<Pending<I::Item, O>, Error>
    where
        I: DeviceInput,
        O: Operation<I::Item, Arity = I::Arity>,
    {
        let call = call::<I::Item, O>(operation);
        match self.device.reducer(operation) {
            Ok(reducer) => {
                MpiReducer { communicator: self, reducer, call }.reduce_into(part, output, stream)
            }
            Err(error) => Err(self.tell::<I::Item, O>(error, &call)),
        }
    }

    /// Tells the other ranks whether this rank can go on, for example whether it has opened its
    /// file. If any rank has a reason why not, all ranks get the reason of the first of them. A
    /// rank that just returns instead lets the others wait until the timeout.
    ///
    /// ```no_run
    /// # use warpfold::Device;
    /// # use warpfold_mpi::{Error, MpiCommunicator};
    /// # let ranks = MpiCommunicator::world(&Device::auto().map_err(warpfold::Error::from)?)?;
    /// let file = std::fs::read("part");
    /// ranks.agree(file.as_ref().err().map(ToString::to_string))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Rank`] if a rank has a reason, on this rank too;
    /// - [`Error::Calls`], [`Error::Missing`], [`Error::Poisoned`] and [`Error::Message`] as in
    ///   [`MpiReducer::reduce`].
    pub fn agree(&self, reason: Option<String>) -> Result<(), Error> {
        const CALL: &str = "agree";
        let own = match reason {
            None => message(&Partial::<u8, Any>::EMPTY, CALL.to_owned()),
            Some(reason) => self.failed(reason, CALL),
        };
        whole::<u8, Any>(&self.exchange::<u8, Any>(own)?).map(drop)
    }

    /// Puts the partial results of all ranks together.
    pub(crate) fn together<T: Item, O: Operation<T>>(
        &self,
        partial: Result<Partial<T, O>, warpfold::Error>,
        call: &str,
    ) -> Result<Partial<T, O>, Error> {
        match partial {
            Ok(partial) => whole(&self.exchange::<T, O>(message(&partial, call.to_owned()))?),
            Err(error) => Err(self.tell::<T, O>(error, call)),
        }
    }

    /// Tells the other ranks that this one has no partial result, and returns its error.
    pub(crate) fn tell<T: Item, O: Operation<T>>(
        &self,
        error: warpfold::Error,
        call: &str,
    ) -> Error {
        // The error of this rank says more than what rank 0 makes of it.
        let _ = self.exchange::<T, O>(self.failed(error.to_string(), call));
        error.into()
    }

    fn failed(&self, reason: String, call: &str) -> Message {
        let (call, payload) = (call.to_owned(), reason.into_bytes());
        Message { kind: Kind::Failed, of: self.rank(), n: 0, call, payload }
    }

    /// Exchanges messages that hold partial results.
    fn exchange<T: Item, O: Operation<T>>(&self, own: Message) -> Result<Message, Error> {
        self.exchange_by(own, verdict::<T, O>)
    }

    /// Sends these bytes to all ranks, and returns those of all of them.
    pub(crate) fn gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let (call, payload) = ("all_gather".to_owned(), bytes.to_vec());
        let own = Message { kind: Kind::Bytes, of: self.rank(), n: 0, call, payload };
        all_bytes(&self.exchange_by(own, gathered)?, self.size())
    }

    /// How long rank 0 waits for the others.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Gives rank 0 this rank's message, and returns what rank 0 makes of all messages by
    /// `verdict`.
    fn exchange_by(
        &self,
        own: Message,
        verdict: impl FnOnce(&[Vec<u8>], Message) -> Message,
    ) -> Result<Message, Error> {
        if self.is_poisoned.get() {
            Err(Error::Poisoned)
        } else if self.rank() == ROOT {
            Ok(self.judge(own, verdict))
        } else {
            self.ask(&own)
        }
    }

    /// Rank 0 waits for the other ranks, and tells them the result.
    fn judge(&self, own: Message, verdict: impl FnOnce(&[Vec<u8>], Message) -> Message) -> Message {
        let mut messages = vec![Vec::new(); self.size() as usize];
        messages[ROOT as usize] = own.to_bytes();
        // A rank sends nothing more before it has the answer, so that each message is the only one
        // of its rank. No message is empty.
        let mut left = self.size() - 1;
        let all_came = wait_until(Instant::now() + self.timeout, || {
            while left > 0 {
                let Some((rank, bytes)) = receive_any(self.ranks()) else { break };
                messages[rank as usize] = bytes;
                left -= 1;
            }
            left == 0
        });
        let missing = (0..).zip(&messages).find(|(_, bytes)| bytes.is_empty());
        let verdict = match missing {
            Some((of, _)) => {
                let n = self.timeout.as_millis() as u64;
                Message { kind: Kind::Missing, of, n, payload: Vec::new(), ..own }
            }
            None => verdict(&messages, own),
        };
        let mut sending = Sending::start(self.ranks(), ROOT + 1..self.size(), verdict.to_bytes());
        let all_sent = wait_until(Instant::now() + self.timeout, || sending.is_done());
        self.is_poisoned.set(!all_came || !all_sent);
        verdict
    }

    /// Another rank sends its partial result to rank 0, and waits for the result.
    fn ask(&self, own: &Message) -> Result<Message, Error> {
        let mut sending = Sending::start(self.ranks(), std::iter::once(ROOT), own.to_bytes());
        let mut answer = None;
        let waited = 2 * self.timeout;
        let is_answered = wait_until(Instant::now() + waited, || {
            // MPI may need the sender's help to send.
            let is_sent = sending.is_done();
            answer = answer.take().or_else(|| receive(self.ranks(), ROOT));
            is_sent && answer.is_some()
        });
        let Some(bytes) = answer.filter(|_| is_answered) else {
            self.is_poisoned.set(true);
            return Err(Error::Missing { rank: ROOT, waited });
        };
        let verdict = Message::from_bytes(&bytes).ok_or(Error::Message { rank: ROOT })?;
        self.is_poisoned.set(verdict.kind == Kind::Missing);
        Ok(verdict)
    }
}

/// Refuses an MPI that knows of one thread only: the devices may have threads of their own.
fn check_threads() -> Result<(), Error> {
    if threading_support() == Threading::Single { Err(Error::Threads) } else { Ok(()) }
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        if self.is_poisoned.get() || thread::panicking() {
            // To finalise MPI would be to wait for the rank that has not come, or for those that
            // wait for this one. The launcher ends them when this one ends with an error status.
            mem::forget(self.mpi.take());
        }
    }
}
