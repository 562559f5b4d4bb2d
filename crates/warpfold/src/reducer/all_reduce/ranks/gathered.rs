//! Raw results that NCCL gathers on the device of each rank.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    device::{
        Device, DeviceError, ErrorText, Event, Stream,
        nccl::{RankCommunicator, unique_id},
    },
    rendezvous::Rendezvous,
};

use super::{
    super::{call::Shards, gathered::gathered_bytes},
    RankError,
    combiner::Combiner,
    message::{Failed, outcomes},
};

/// A communicator that all reducers of a rank share.
pub(super) type Communicator = Arc<Mutex<RankCommunicator>>;

fn lock(communicator: &Communicator) -> MutexGuard<'_, RankCommunicator> {
    communicator.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a communicator of all ranks, and lets it gather something. All ranks call this.
pub(super) fn connect<R: Rendezvous>(
    device: &Device,
    meeting: &mut R,
) -> Result<Result<Communicator, Failed>, RankError> {
    let id = if meeting.rank() == 0 { unique_id() } else { Ok(Vec::new()) };
    let ids = match outcomes(meeting, "begin with NCCL", id.as_ref().map(Vec::as_slice))? {
        Ok(ids) => ids,
        Err(failed) => return Ok(Err(Failed::on_a_rank::<()>(Err(failed), id.err()))),
    };
    let (rank, ranks, timeout) = (meeting.rank(), meeting.ranks(), meeting.timeout());
    let made = RankCommunicator::new(device, &ids[0], rank, ranks, timeout)
        .and_then(|made| try_to_gather(device, made, ranks, timeout));
    Ok(match (outcomes(meeting, "try NCCL", made.as_ref().map(|_| &[][..]))?, made) {
        (Ok(_), Ok(made)) => Ok(Arc::new(Mutex::new(made))),
        (outcome, made) => Err(Failed::on_a_rank(outcome, made.err())),
    })
}

/// Gathers a few bytes, because NCCL connects the ranks when it first has to gather something.
fn try_to_gather(
    device: &Device,
    mut communicator: RankCommunicator,
    ranks: u32,
    timeout: Duration,
) -> Result<RankCommunicator, DeviceError> {
    let (bytes, stream) = (gathered_bytes(1, 1), device.stream()?);
    let from = device.alloc::<u8>(bytes)?;
    let to = device.alloc::<u8>(bytes * ranks as usize)?;
    // SAFETY: both buffers have so many bytes, and the work has ended, or was aborted, before they
    // are dropped.
    let gathered =
        unsafe { communicator.all_gather(from.address(), to.address(), bytes, &stream, timeout) };
    gathered.and_then(|()| stream.record()).and_then(|event| {
        let is_over = communicator.wait(&event, timeout)?;
        is_over.then_some(()).ok_or_else(|| late(timeout))
    })?;
    Ok(communicator)
}

/// The error of ranks that do not come.
fn late(timeout: Duration) -> DeviceError {
    let text = format!("other ranks did not come within {} s", timeout.as_secs_f64());
    let text = ErrorText { name: "late".to_owned(), text };
    DeviceError::Nccl { action: "gather results".to_owned(), text }
}

/// What combines the raw results of all ranks on this one.
#[derive(Debug)]
pub(super) struct Gathered {
    communicator: Communicator,
    combiner: Combiner,
    /// The end of the last call.
    last: Option<Event>,
    /// How long the results of other ranks are waited for.
    pub(super) timeout: Duration,
}

impl Gathered {
    pub(super) fn new(communicator: &Communicator, combiner: Combiner, timeout: Duration) -> Self {
        Self { communicator: Arc::clone(communicator), combiner, last: None, timeout }
    }

    /// The address of the raw results of this rank's shard.
    pub(super) fn raws(&self) -> u64 {
        self.combiner.raws()
    }

    /// Gathers and combines the raw results of all ranks. An earlier launch of the stream leaves
    /// those of this rank.
    ///
    /// # Safety
    ///
    /// That of [`Combiner::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        ranks: (usize, &Shards),
        results: (u64, u32),
        stream: &Stream,
    ) -> Result<(), RankError> {
        let Self { combiner, .. } = self;
        let (from, to, bytes) =
            (combiner.raws(), combiner.all_raws(), combiner.bytes_of(results.1));
        let mut communicator = lock(&self.communicator);
        if communicator.is_aborted() {
            return Err(RankError::Broken);
        }
        // SAFETY: the buffers have so many bytes, and dropping this waits for the work or aborts
        // it.
        unsafe { communicator.all_gather(from, to, bytes, stream, self.timeout)? };
        drop(communicator);
        // SAFETY: the caller's promise.
        unsafe { combiner.launch(ranks, results, stream)? };
        self.last = Some(stream.record()?);
        Ok(())
    }

    /// Waits for the last call.
    pub(super) fn check(&self) -> Result<(), RankError> {
        let mut communicator = lock(&self.communicator);
        if communicator.is_aborted() {
            return Err(RankError::Broken);
        }
        match &self.last {
            Some(event) if !communicator.wait(event, self.timeout)? => {
                Err(RankError::Late { waited: self.timeout })
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        // Freeing the memory would wait for the work without a limit.
        let _ = self.check();
    }
}
