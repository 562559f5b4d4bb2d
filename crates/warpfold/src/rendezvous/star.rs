//! Rank 0 hears all other ranks, and answers them.

use std::time::{Duration, Instant};

use super::{
    RendezvousError, fields,
    frame::{Frame, Kind},
};

/// The most bytes that a rank can send at once.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// How long rank 0 still waits for ranks that have not come, if it has found out that the ranks
/// cannot meet. It tells all that have come.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Why a frame did not go or come.
#[derive(Debug)]
pub(super) enum Fault {
    Late,
    Closed,
    Foreign,
    Failed(RendezvousError),
}

/// How frames go from rank to rank.
pub(super) trait Wire {
    fn send(&mut self, to: u32, frame: &Frame, deadline: Instant) -> Result<(), Fault>;
    fn receive(&mut self, from: u32, deadline: Instant) -> Result<Frame, Fault>;
}

/// The ranks, of which rank 0 hears each one itself. So each rank depends on rank 0 alone, all
/// ranks get the same answer, and rank 0 sees for itself who is missing.
#[derive(Debug)]
pub(super) struct Star<W> {
    pub(super) wire: W,
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) timeout: Duration,
    pub(super) is_broken: bool,
}

impl<W: Wire> Star<W> {
    /// See [`Rendezvous::all_gather`](super::Rendezvous::all_gather).
    pub(super) fn all_gather(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError> {
        if self.is_broken {
            return Err(RendezvousError::Broken);
        }
        if bytes.len() > MOST_BYTES {
            return Err(RendezvousError::TooLong { bytes: bytes.len(), most: MOST_BYTES });
        }
        let gathered = if self.rank == 0 { self.collect(bytes) } else { self.ask(bytes) };
        self.is_broken = gathered.is_err();
        gathered
    }

    /// Rank 0 waits for what the other ranks send, and sends all of it to all.
    fn collect(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError> {
        let deadline = after(self.timeout);
        let mut all = vec![own.to_vec()];
        let mut failed = None;
        for rank in 1..self.ranks {
            match self.wire.receive(rank, deadline) {
                Ok(Frame { kind: Kind::Data, payload, .. }) => all.push(payload),
                Ok(_) => failed = Some(error(Fault::Foreign, rank, self.timeout)),
                Err(fault) => failed = Some(error(fault, rank, self.timeout)),
            }
            if failed.is_some() {
                break;
            }
        }
        let verdict = match &failed {
            None => Frame::data(fields::join(all.iter().map(Vec::as_slice))),
            Some(error) => Frame::error(error),
        };
        let deadline = after(self.timeout);
        for rank in 1..self.ranks {
            // If a rank does not get the answer, the next call finds that it has left.
            let _ = self.wire.send(rank, &verdict, deadline);
        }
        failed.map_or(Ok(all), Err)
    }

    /// Another rank sends what it has to rank 0, and waits for what all have sent.
    fn ask(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError> {
        // Rank 0 may begin to wait for the others when this rank has waited for it.
        let waited = self.timeout.saturating_mul(2);
        let deadline = after(waited);
        // If rank 0 has left, it may have said why before.
        let sent = self.wire.send(0, &Frame::data(own.to_vec()), deadline);
        let answer = self.wire.receive(0, deadline).map_err(|fault| error(fault, 0, waited));
        let all = answer?.verdict()?;
        sent.map_err(|fault| error(fault, 0, waited))?;
        let foreign = || RendezvousError::Foreign { from: "rank 0".to_owned() };
        let all = fields::split(&all).ok_or_else(foreign)?;
        if all.len() != self.ranks as usize {
            return Err(foreign());
        }
        Ok(all.into_iter().map(<[u8]>::to_vec).collect())
    }
}

/// The error of a fault of a rank.
pub(super) fn error(fault: Fault, rank: u32, waited: Duration) -> RendezvousError {
    match fault {
        Fault::Late => RendezvousError::Missing { rank, waited },
        Fault::Closed => RendezvousError::Closed { rank },
        Fault::Foreign => RendezvousError::Foreign { from: format!("rank {rank}") },
        Fault::Failed(error) => error,
    }
}

/// The time after this duration, which may be too long to be represented.
pub(super) fn after(duration: Duration) -> Instant {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(duration).unwrap_or_else(|| now + 365 * DAY)
}
