//! The ranks, and the operations that they run together.

use std::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    mem,
    time::{Duration, Instant},
};

use mpi::{
    Threading,
    environment::{Universe, threading_support},
    topology::SimpleCommunicator,
    traits::Communicator,
};
use warpfold::{Any, Device, DeviceError, Input, Item, Operation, Partial, Reducer};

use crate::{
    error::Error,
    exchange::{Sending, receive, wait_until},
    message::{Kind, Message},
};

/// How long ranks wait for one another, unless the program says otherwise. A rank may have much
/// more to read than another one.
const TIMEOUT: Duration = Duration::from_mins(10);

/// The rank that puts the partial results together.
const ROOT: u32 = 0;

/// The ranks of an MPI program, or some of them, each with a device. All ranks make the same calls
/// in the same order.
///
/// A communicator stays in the thread that has made it. Drop it before MPI is finalised.
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
    /// # Errors
    ///
    /// - [`Error::Initialised`] if the program has initialised MPI;
    /// - [`Error::Threads`] if MPI does not work in programs with several threads.
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
        let world = universe.world();
        let local = world.split_shared(world.rank()).rank() as u32;
        Self::new(&world, Some(universe), choose(local).map_err(warpfold::Error::from)?)
    }

    /// A communicator of the same ranks as `ranks`, all of which call this. It is a duplicate, so
    /// that the messages of the program and those of warpfold do not meet.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] if the program has initialised MPI for a single thread, as
    /// `mpi::initialize` does.
    pub fn over(ranks: &impl Communicator, device: &Device) -> Result<Self, Error> {
        Self::new(ranks, None, device.clone())
    }

    fn new(
        ranks: &impl Communicator,
        universe: Option<Universe>,
        device: Device,
    ) -> Result<Self, Error> {
        if threading_support() == Threading::Single {
            return Err(Error::Threads);
        }
        let mpi = Some(Mpi { ranks: ranks.duplicate(), _universe: universe });
        let is_poisoned = Cell::new(false);
        Ok(Self { mpi, device, timeout: TIMEOUT, is_poisoned, of_thread: PhantomData })
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
        self.together(partial, call::<I::Item, O>(operation))
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
        let call = "agree".to_owned();
        let own = match reason {
            None => message(&Partial::<u8, Any>::EMPTY, call),
            Some(reason) => self.failed(reason, call),
        };
        result::<u8, Any>(&self.exchange::<u8, Any>(own)?).map(drop)
    }

    /// Puts the partial results of all ranks together.
    fn together<T: Item, O: Operation<T>>(
        &self,
        partial: Result<Partial<T, O>, warpfold::Error>,
        call: String,
    ) -> Result<O::Output, Error> {
        let own = match &partial {
            Ok(partial) => message(partial, call),
            Err(error) => self.failed(error.to_string(), call),
        };
        let verdict = self.exchange::<T, O>(own);
        partial?;
        result::<T, O>(&verdict?)
    }

    fn failed(&self, reason: String, call: String) -> Message {
        let payload = reason.into_bytes();
        Message { kind: Kind::Failed, of: self.rank(), n: 0, call, payload }
    }

    /// Gives rank 0 this rank's message, and returns what rank 0 makes of all messages.
    fn exchange<T: Item, O: Operation<T>>(&self, own: Message) -> Result<Message, Error> {
        if self.is_poisoned.get() {
            Err(Error::Poisoned)
        } else if self.rank() == ROOT {
            Ok(self.judge::<T, O>(own))
        } else {
            self.ask(&own)
        }
    }

    /// Rank 0 waits for the other ranks, and tells them the result.
    fn judge<T: Item, O: Operation<T>>(&self, own: Message) -> Message {
        let mut messages = vec![Vec::new(); self.size() as usize];
        messages[ROOT as usize] = own.to_bytes();
        let mut missing: Vec<u32> = (ROOT + 1..self.size()).collect();
        let all_came = wait_until(Instant::now() + self.timeout, || {
            missing.retain(|&rank| match receive(self.ranks(), rank) {
                Some(bytes) => {
                    messages[rank as usize] = bytes;
                    false
                }
                None => true,
            });
            missing.is_empty()
        });
        let verdict = match missing.first() {
            Some(&of) => {
                let n = self.timeout.as_millis() as u64;
                Message { kind: Kind::Missing, of, n, payload: Vec::new(), ..own }
            }
            None => verdict::<T, O>(&messages, own),
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

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        if self.is_poisoned.get() {
            // To finalise MPI would be to wait for the rank that has not come.
            mem::forget(self.mpi.take());
        }
    }
}

/// An operation over one type of elements, ready to run on the device of each rank.
/// [`MpiCommunicator::reducer`] makes one.
pub struct MpiReducer<'a, T, O> {
    communicator: &'a MpiCommunicator,
    reducer: Reducer<T, O>,
    call: String,
}

impl<T: Item, O: Operation<T>> fmt::Debug for MpiReducer<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiReducer")
            .field("communicator", &self.communicator)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

impl<T: Item, O: Operation<T>> MpiReducer<'_, T, O> {
    /// Reduces the array whose parts the ranks have, in the order of the ranks, and returns the
    /// result on all of them. A part has any length, also 0. A part on the host that is larger than
    /// the memory of the device is copied in chunks.
    ///
    /// # Errors
    ///
    /// - [`Error::Warpfold`] if this rank cannot reduce its part (the other ranks get
    ///   [`Error::Rank`]), or if the whole array has no result, because it is empty or because a
    ///   checked sum overflows;
    /// - [`Error::Calls`] if a rank calls something else than rank 0;
    /// - [`Error::Missing`] if a rank does not come in time, and [`Error::Poisoned`] in later
    ///   calls;
    /// - [`Error::Message`] if a rank runs another version of this crate.
    pub fn reduce<I>(&self, part: I) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        self.communicator.together(self.reducer.partial(part), self.call.clone())
    }
}

/// What a rank calls, as text. It has all that must be the same on each rank.
fn call<T: Item, O: Operation<T>>(operation: O) -> String {
    let constants: Vec<_> = operation.more().iter().map(|arg| format!(" {arg:?}")).collect();
    let (name, item, bytes) = (O::NAME, T::NAME, size_of::<O::Raw>());
    format!("{name}{} of {item}, in {bytes} bytes", constants.concat())
}

fn message<T: Item, O: Operation<T>>(partial: &Partial<T, O>, call: String) -> Message {
    let raw = partial.raw();
    let payload = raw.as_ref().map_or(&[][..], bytemuck::bytes_of).to_vec();
    Message { kind: Kind::Result, of: 0, n: partial.n(), call, payload }
}

/// The partial result in a message. `None` if it has another length.
fn partial<T: Item, O: Operation<T>>(message: &Message) -> Option<Partial<T, O>> {
    let raw = match message.n {
        0 if message.payload.is_empty() => None,
        0 => return None,
        _ => Some(bytemuck::try_pod_read_unaligned(&message.payload).ok()?),
    };
    Some(Partial::from_raw(raw, message.n))
}

/// What rank 0 answers to the messages of all ranks, in their order. Its own is the first.
fn verdict<T: Item, O: Operation<T>>(messages: &[Vec<u8>], own: Message) -> Message {
    let mut whole = Partial::EMPTY;
    for (of, bytes) in (0..).zip(messages) {
        let wrong = |kind, payload| Message { kind, of, n: 0, payload, call: own.call.clone() };
        let Some(message) = Message::from_bytes(bytes) else {
            return wrong(Kind::NoMessage, Vec::new());
        };
        if message.call != own.call {
            return wrong(Kind::OtherCall, message.call.into_bytes());
        }
        if message.kind == Kind::Failed {
            return wrong(Kind::Failed, message.payload);
        }
        match partial::<T, O>(&message) {
            Some(partial) => whole = whole.append(partial),
            None => return wrong(Kind::NoMessage, Vec::new()),
        }
    }
    message(&whole, own.call)
}

/// The result that rank 0 has told.
fn result<T: Item, O: Operation<T>>(verdict: &Message) -> Result<O::Output, Error> {
    let rank = verdict.of;
    match verdict.kind {
        Kind::Result => {
            let whole = partial::<T, O>(verdict).ok_or(Error::Message { rank: ROOT })?;
            Ok(whole.finish()?)
        }
        Kind::Failed => Err(Error::Rank { rank, reason: verdict.text() }),
        Kind::OtherCall => {
            Err(Error::Calls { rank, theirs: verdict.text(), ours: verdict.call.clone() })
        }
        Kind::Missing => Err(Error::Missing { rank, waited: Duration::from_millis(verdict.n) }),
        Kind::NoMessage => Err(Error::Message { rank }),
    }
}
