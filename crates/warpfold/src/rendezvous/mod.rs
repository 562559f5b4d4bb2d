//! Ranks meet on the host: each of several processes has a number, its *rank*, and all of them
//! exchange a few bytes.
//!
//! [`Ranks`](crate::Ranks) uses a [`Rendezvous`] to find out how the devices of the processes can
//! exchange results. There are two in this crate: over TCP ([`TcpRendezvous`]) and through files in
//! a folder that all ranks see ([`FileRendezvous`]). The crate `warpfold-mpi` has one over MPI, and
//! a program may write its own.
//!
//! All ranks make the same calls in the same order. Each call ends within a bounded time: with what
//! all ranks have sent, or with a [`RendezvousError`] that names a rank.

mod error;
pub(crate) mod fields;
mod files;
mod frame;
mod random;
mod star;
mod tcp;

use std::time::Duration;

pub use error::RendezvousError;
pub use files::FileRendezvous;
pub(crate) use random::unique;
pub use tcp::TcpRendezvous;

/// Exchanges bytes among ranks, on the host.
///
/// ```
/// use std::{net::TcpListener, thread, time::Duration};
/// use warpfold::{Rendezvous, TcpRendezvous};
///
/// // Two threads are the ranks here. Mostly they are processes.
/// let timeout = Duration::from_secs(10);
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let other = thread::spawn(move || {
///     let mut rank_1 = TcpRendezvous::new(address, 1, 2, timeout)?;
///     rank_1.all_gather(b"one")
/// });
/// let mut rank_0 = TcpRendezvous::listening(listener, 2, timeout)?;
/// assert_eq!(rank_0.all_gather(b"zero")?, [&b"zero"[..], b"one"]);
/// assert_eq!(other.join().unwrap()?, [&b"zero"[..], b"one"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Rendezvous {
    /// The number of this rank, counted from 0.
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn ranks(&self) -> u32;

    /// How long rank 0 waits for the other ranks in a call. The others may wait twice as long for
    /// its answer.
    fn timeout(&self) -> Duration;

    /// Sends these bytes, and returns what all ranks have sent, in the order of the ranks. All
    /// ranks call this, each with as many bytes as it likes, up to a mebibyte.
    ///
    /// # Errors
    ///
    /// The reason why the ranks did not meet.
    fn all_gather(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError>;
}

impl<R: Rendezvous + ?Sized> Rendezvous for Box<R> {
    fn rank(&self) -> u32 {
        (**self).rank()
    }

    fn ranks(&self) -> u32 {
        (**self).ranks()
    }

    fn timeout(&self) -> Duration {
        (**self).timeout()
    }

    fn all_gather(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError> {
        (**self).all_gather(bytes)
    }
}

/// Refuses a number that is no rank.
fn check_rank(rank: u32, ranks: u32) -> Result<(), RendezvousError> {
    if rank < ranks { Ok(()) } else { Err(RendezvousError::NoRank { rank, ranks }) }
}

/// Makes a star of a wire the rendezvous of the type that has it as its only field.
macro_rules! rendezvous {
    ($type:ident) => {
        impl $crate::rendezvous::Rendezvous for $type {
            fn rank(&self) -> u32 {
                self.0.rank
            }

            fn ranks(&self) -> u32 {
                self.0.ranks
            }

            fn timeout(&self) -> std::time::Duration {
                self.0.timeout
            }

            fn all_gather(
                &mut self,
                bytes: &[u8],
            ) -> Result<Vec<Vec<u8>>, $crate::rendezvous::RendezvousError> {
                self.0.all_gather(bytes)
            }
        }
    };
}
use rendezvous;
