//! Devices of several processes whose results each of them gets.

mod carrier;
mod choose;
mod combiner;
mod error;
mod gathered;
mod links;
mod message;
mod peers;
mod reducer;
mod relay;
mod rows;

pub use error::RankError;
pub use reducer::RankReducer;
pub use rows::RankRowReducer;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::{device::Device, rendezvous::Rendezvous};

use super::super::{Error, Item, Operation};

use choose::Card;
use gathered::Communicator;
use links::{Graves, Links};
use message::together;

/// What carries results from the device of one rank to those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RankTransport {
    /// The kernels use the memory of the GPUs of the other ranks, which the processes open to each
    /// other. All ranks are processes on one machine, and their GPUs reach each other. This is the
    /// fastest way.
    Peers,
    /// NCCL gathers the results on each GPU, and a kernel combines them there. The ranks may be on
    /// several machines. The library `libnccl.so.2`, of version 2.18 or later, is looked for when
    /// the process needs it first.
    Nccl,
    /// The ranks exchange the results on the host, by their [`Rendezvous`]. It needs nothing else,
    /// and each call waits.
    Host,
}

impl fmt::Display for RankTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Peers => "memory of peers",
            Self::Nccl => "NCCL",
            Self::Host => "the host",
        })
    }
}

/// Several processes, each with a device, that reduce one array together. Each *rank*, which is one
/// of the processes, has one shard of the array on its device, and gets the result of the whole.
/// Threads can be ranks, too.
///
/// For several devices of one process there is [`Group`](crate::Group).
///
/// # Transports
///
/// The ranks find out together how their devices can exchange results ([`RankTransport`]): by the
/// memory of peers if they can, or else by NCCL, or else through the host. [`transport`] says what
/// they have found, and [`note`] why it is not a better one. [`join_with`] takes a given one, or
/// fails.
///
/// # Calls that all ranks make
///
/// All ranks make the same calls of `join`, `all_reducer` and
/// [`RankReducer::reduce_into`] in the same order. [`RankReducer::check`] and drops are no such
/// calls. If a rank calls something else, or cannot make a call, all ranks get an error that names
/// it, and the next call works. If a rank does not come or leaves, the others get an error after
/// the timeout of the rendezvous at the latest.
///
/// # The end
///
/// If the transport is the memory of peers, ranks that drop the last of `Ranks` and of its reducers
/// wait for each other, because memory that another process uses must not be freed. Rank 0 waits
/// for the timeout of the rendezvous at most, and the others for twice as long. They leak the
/// memory then. A thread that panics does not wait.
///
/// [`transport`]: Self::transport
/// [`note`]: Self::note
/// [`join_with`]: Self::join_with
///
/// ```
/// use std::{net::TcpListener, thread, time::Duration};
/// use warpfold::{Device, RankError, Ranks, ReproducibleSum, TcpRendezvous};
///
/// /// What each rank does.
/// fn rank(meeting: TcpRendezvous, shard: &[f32]) -> Result<f32, RankError> {
///     let device = Device::simulator();
///     let ranks = Ranks::join(&device, meeting)?;
///     let (shard, mut total, stream) =
///         (device.upload(shard)?, device.alloc(1)?, device.stream()?);
///     let mut sum = ranks.all_reducer::<f32, _>(ReproducibleSum, shard.len())?;
///     let pending = sum.reduce_into(&shard, &mut total, &stream)?;
///     // Work that is added to the stream here can use the raw result on the device.
///     sum.check()?;
///     Ok(pending.finish(total.copy_to_host()?[0])?)
/// }
///
/// // Two threads are the ranks here. Mostly they are processes, whose rank 0 is at an address that
/// // all of them know: `TcpRendezvous::new("node7:29500", rank, ranks, timeout)`.
/// let timeout = Duration::from_secs(10);
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let other = thread::spawn(move || {
///     rank(TcpRendezvous::new(address, 1, 2, timeout)?, &[4.0, 8.0])
/// });
/// assert_eq!(rank(TcpRendezvous::listening(listener, 2, timeout)?, &[1.0, 2.0])?, 15.0);
/// assert_eq!(other.join().unwrap()?, 15.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ranks<R: Rendezvous> {
    shared: Arc<Shared<R>>,
}

/// What all reducers of a rank share.
struct Shared<R: Rendezvous> {
    device: Device,
    rank: u32,
    ranks: u32,
    /// The least number of multiprocessors that the device of a rank has.
    multiprocessors: u32,
    /// How long ranks wait for each other.
    timeout: Duration,
    transport: RankTransport,
    /// Whether the user has chosen the transport.
    is_chosen: bool,
    note: Option<String>,
    /// That of NCCL, if it is the transport.
    communicator: Option<Communicator>,
    graves: Arc<Graves>,
    meeting: Mutex<Meeting<R>>,
}

/// Where ranks meet. All ranks that use it are in the same step.
struct Meeting<R> {
    rendezvous: R,
    /// How often the ranks have shared memory.
    memories: u64,
}

impl<R: Rendezvous> Meeting<R> {
    /// A number for memory that the ranks share.
    fn next_memory(&mut self) -> u64 {
        self.memories += 1;
        self.memories
    }
}

impl<R: Rendezvous> fmt::Debug for Ranks<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranks")
            .field("rank", &self.shared.rank)
            .field("ranks", &self.shared.ranks)
            .field("device", &self.shared.device)
            .field("transport", &self.shared.transport)
            .finish_non_exhaustive()
    }
}

impl<R: Rendezvous> Ranks<R> {
    /// Joins the ranks of the rendezvous with this device. All ranks call this.
    ///
    /// # Errors
    ///
    /// - [`RankError::Rendezvous`] if the ranks cannot exchange bytes;
    /// - [`RankError::Transports`] if some ranks want a transport of their own;
    /// - [`RankError::Calls`], [`RankError::Rank`] and [`RankError::Message`] if a rank does
    ///   something else, cannot join, or is of another version;
    /// - [`RankError::Reduction`] with an error of the device.
    pub fn join(device: &Device, rendezvous: R) -> Result<Self, RankError> {
        Self::join_by(device, rendezvous, None)
    }

    /// Joins the ranks as [`join`](Self::join) does, and takes this transport. All ranks take the
    /// same.
    ///
    /// # Errors
    ///
    /// Those of [`join`](Self::join), and [`RankError::NoTransport`] if the transport does not work
    /// here.
    pub fn join_with(
        device: &Device,
        rendezvous: R,
        transport: RankTransport,
    ) -> Result<Self, RankError> {
        Self::join_by(device, rendezvous, Some(transport))
    }

    fn join_by(
        device: &Device,
        mut rendezvous: R,
        wanted: Option<RankTransport>,
    ) -> Result<Self, RankError> {
        let card = Card::of(device, wanted).to_bytes();
        let cards = together(&mut rendezvous, "join", Ok(&card))?;
        let cards: Vec<_> = (0..)
            .zip(&cards)
            .map(|(rank, card)| Card::from_bytes(card).ok_or(RankError::Message { rank }))
            .collect::<Result<_, _>>()?;
        let wanted = choose::wanted(&cards)?;
        let (rank, ranks, timeout) = (rendezvous.rank(), rendezvous.ranks(), rendezvous.timeout());
        let mut meeting = Meeting { rendezvous, memories: 0 };
        let graves = Arc::default();
        let mut notes = Vec::new();
        let mut transport = RankTransport::Host;
        let mut communicator = None;
        for candidate in [RankTransport::Peers, RankTransport::Nccl] {
            if wanted.is_some_and(|wanted| wanted != candidate) {
                continue;
            }
            let tried = if candidate == RankTransport::Peers {
                match choose::no_peers(&cards) {
                    Some(reason) => Err(reason),
                    None => try_peers(device, &mut meeting, &graves)?,
                }
            } else {
                match choose::no_nccl(&cards) {
                    Some(reason) => Err(reason),
                    None => gathered::connect(device, &mut meeting.rendezvous)?
                        .map(|made| communicator = Some(made))
                        .map_err(|failed| failed.to_string()),
                }
            };
            match tried {
                Ok(()) => {
                    transport = candidate;
                    break;
                }
                Err(reason) if wanted.is_some() => {
                    return Err(RankError::NoTransport { transport: candidate, reason });
                }
                Err(reason) => notes.push(format!("not {candidate}, because {reason}")),
            }
        }
        Ok(Self {
            shared: Arc::new(Shared {
                device: device.clone(),
                rank,
                ranks,
                multiprocessors: cards.iter().map(|card| card.multiprocessors).min().unwrap_or(1),
                timeout,
                transport,
                is_chosen: wanted.is_some(),
                note: (!notes.is_empty()).then(|| notes.join("; ")),
                communicator,
                graves,
                meeting: Mutex::new(meeting),
            }),
        })
    }

    /// Prepares an operation over elements of type `T` for many calls, in which the shard of this
    /// rank has `len` elements. All ranks call this, each with the length of its own shard, also 0.
    ///
    /// [`TopK`](crate::TopK) and [`BottomK`](crate::BottomK) pass through the host, because there
    /// are no kernels that combine them.
    ///
    /// # Errors
    ///
    /// If a rank gets an error, all of them do:
    ///
    /// - [`RankError::Calls`] if a rank has another operation, another constant of it, or another
    ///   type of elements, or calls something else;
    /// - [`RankError::Reduction`] with [`Error::Empty`](crate::Error::Empty) if all shards are
    ///   empty and the operation has no result for that, and with
    ///   [`Error::TooLong`](crate::Error::TooLong) as for one array of all elements;
    /// - [`RankError::Reduction`] with the error of this rank's device, which the others get as
    ///   [`RankError::Rank`]. [`Error::NotExchanged`](crate::Error::NotExchanged) is one if the
    ///   transport was [given](Self::join_with);
    /// - [`RankError::Rendezvous`] and [`RankError::Message`].
    pub fn all_reducer<T: Item, O: Operation<T>>(
        &self,
        operation: O,
        len: usize,
    ) -> Result<RankReducer<T, O, R>, RankError> {
        RankReducer::new(&self.shared, operation, len as u64)
    }
}

impl<R: Rendezvous> Ranks<R> {
    /// The number of this rank, counted from 0.
    pub fn rank(&self) -> u32 {
        self.shared.rank
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.shared.ranks
    }

    /// The device of this rank.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// What carries results between the ranks. It is the same on all of them.
    pub fn transport(&self) -> RankTransport {
        self.shared.transport
    }

    /// The reason why the [transport](Self::transport) is not a better one, in one line. `None` if
    /// it is the best one, or the one that was given.
    pub fn note(&self) -> Option<&str> {
        self.shared.note.as_deref()
    }
}

/// Finds out whether the ranks can share memory, by sharing some.
fn try_peers<R: Rendezvous>(
    device: &Device,
    meeting: &mut Meeting<R>,
    graves: &Arc<Graves>,
) -> Result<Result<(), String>, RankError> {
    let number = meeting.next_memory();
    let links = Links::share(device, &mut meeting.rendezvous, graves, number, 1)?;
    Ok(links.map(drop).map_err(|failed| failed.to_string()))
}

impl<R: Rendezvous> Shared<R> {
    fn meeting(&self) -> MutexGuard<'_, Meeting<R>> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the other ranks the length of this rank's shard, or why this rank cannot go on, and
    /// returns the lengths of all. All ranks call this, with the same `call`.
    fn agree<P>(
        &self,
        meeting: &mut Meeting<R>,
        call: &str,
        prepared: Result<P, Error>,
        length: u64,
    ) -> Result<(P, Vec<u64>), RankError> {
        // Each rank also tells which memory it needs no longer.
        let own = [&length.to_le_bytes()[..], &self.graves.to_bytes()].concat();
        let own = match &prepared {
            Ok(_) => Ok(&own[..]),
            Err(error) => Err(error as &dyn fmt::Display),
        };
        let all = together(&mut meeting.rendezvous, call, own);
        // The error of this rank says more than what the others get to know.
        let (prepared, all) = (prepared?, all?);
        let all: Vec<_> = (0..)
            .zip(&all)
            .map(|(rank, told)| told.split_first_chunk().ok_or(RankError::Message { rank }))
            .collect::<Result<_, _>>()?;
        self.graves.free(&all.iter().map(|&(_, closed)| closed).collect::<Vec<_>>());
        let lengths = all.iter().map(|&(length, _)| u64::from_le_bytes(*length));
        Ok((prepared, lengths.collect()))
    }
}

impl<R: Rendezvous> Drop for Shared<R> {
    fn drop(&mut self) {
        if self.transport != RankTransport::Peers || thread::panicking() {
            return;
        }
        // Without the other ranks the memory is leaked.
        let numbers = self.graves.to_bytes();
        let meeting = self.meeting.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Ok(all) = together(&mut meeting.rendezvous, "leave", Ok(&numbers)) {
            self.graves.free(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
    }
}
