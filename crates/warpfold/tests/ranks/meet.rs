//! Ranks that are threads of this process.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    thread,
    time::Duration,
};

use tempfile::TempDir;
use warpfold::{FileRendezvous, Rendezvous, RendezvousError, TcpRendezvous};

/// No test waits as long as that, unless something does not end.
pub(crate) const LONG: Duration = Duration::from_mins(1);
/// How long tests wait for a rank that does not come.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// A rendezvous of either kind.
pub(crate) type Any = Box<dyn Rendezvous + Send>;

/// Where ranks meet.
pub(crate) enum Place {
    Tcp(TcpListener, SocketAddr),
    Folder(TempDir),
}

impl Place {
    pub(crate) fn tcp() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        Self::Tcp(listener, address)
    }

    pub(crate) fn folder() -> Self {
        Self::Folder(tempfile::tempdir().unwrap())
    }

    /// A new place of each kind.
    pub(crate) fn both() -> [Self; 2] {
        [Self::tcp(), Self::folder()]
    }

    /// The folder, if it is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Tcp(..) => None,
            Self::Folder(folder) => Some(folder.path().to_owned()),
        }
    }

    /// Comes as one of the ranks.
    pub(crate) fn come(
        &self,
        rank: u32,
        ranks: u32,
        timeout: Duration,
    ) -> Result<Any, RendezvousError> {
        Ok(match self {
            Self::Tcp(listener, _) if rank == 0 => {
                let listener = listener.try_clone().unwrap();
                Box::new(TcpRendezvous::listening(listener, ranks, timeout)?)
            }
            Self::Tcp(_, address) => Box::new(TcpRendezvous::new(address, rank, ranks, timeout)?),
            Self::Folder(folder) => {
                Box::new(FileRendezvous::new(folder.path(), rank, ranks, timeout)?)
            }
        })
    }

    /// What each of several threads returns, which come as ranks, where they are `ranks` in number.
    pub(crate) fn each<R: Send>(
        &self,
        come: impl IntoIterator<Item = u32>,
        ranks: u32,
        timeout: Duration,
        work: impl Fn(u32, Result<Any, RendezvousError>) -> R + Sync,
    ) -> Vec<R> {
        let work = &work;
        thread::scope(|scope| {
            let threads: Vec<_> = come
                .into_iter()
                .map(|rank| scope.spawn(move || work(rank, self.come(rank, ranks, timeout))))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// What all ranks return.
    pub(crate) fn all<R: Send>(&self, ranks: u32, work: impl Fn(u32, Any) -> R + Sync) -> Vec<R> {
        self.each(0..ranks, ranks, LONG, |rank, come| work(rank, come.unwrap()))
    }

    /// Whether the ranks have left nothing behind.
    pub(crate) fn is_clean(&self) -> bool {
        self.path().is_none_or(|path| fs::read_dir(path).unwrap().next().is_none())
    }
}
