//! Raw results that NCCL gathers on the device of each rank, and the kernel that combines them
//! there.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    device::{
        Buffer, Device, DeviceError, ErrorText, Event, LaunchShape, Stream,
        nccl::{RankCommunicator, unique_id},
    },
    rendezvous::Rendezvous,
};

use super::{
    super::{
        super::{
            Args, Error,
            engine::{Cache, Engine},
        },
        call::Shards,
        direct,
        gathered::gathered_bytes,
        kernels::{Exchange, words},
    },
    RankError,
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

/// The kernel and the memory of this rank.
#[derive(Debug)]
pub(super) struct Gathered {
    communicator: Communicator,
    engine: Arc<Engine>,
    exchange: Exchange,
    /// The size of a raw result.
    bytes: usize,
    raw: Buffer<u8>,
    /// The raw results of all ranks.
    all_raws: Buffer<u8>,
    ranks: usize,
    /// The end of the last call.
    last: Option<Event>,
    /// How long the results of other ranks are waited for.
    pub(super) timeout: Duration,
}

impl Gathered {
    /// Prepares this rank's device for raw results of `bytes` bytes.
    pub(super) fn new(
        device: &Device,
        communicator: &Communicator,
        exchange: Exchange,
        bytes: usize,
        (ranks, timeout): (u32, Duration),
    ) -> Result<Self, Error> {
        let (ranks, size) = (ranks as usize, gathered_bytes(bytes, 1));
        Ok(Self {
            communicator: Arc::clone(communicator),
            engine: device.attached::<Cache>().engine(device, exchange.direct, bytes)?,
            exchange,
            bytes,
            raw: device.alloc(size)?,
            all_raws: device.alloc(size * ranks)?,
            ranks,
            last: None,
            timeout,
        })
    }

    /// The address of the raw result of this rank's shard.
    pub(super) fn raw(&self) -> u64 {
        self.raw.address()
    }

    /// Gathers and combines the raw results of all ranks. An earlier launch of the stream leaves
    /// that of this rank.
    ///
    /// # Safety
    ///
    /// `output` is the address of a raw result on this rank's device, which nothing but the work of
    /// the stream uses meanwhile.
    pub(super) unsafe fn launch(
        &mut self,
        (rank, shards): (u32, &Shards),
        output: u64,
        stream: &Stream,
    ) -> Result<(), RankError> {
        let (from, to, bytes) =
            (self.raw.address(), self.all_raws.address(), gathered_bytes(self.bytes, 1));
        let mut communicator = lock(&self.communicator);
        if communicator.is_aborted() {
            return Err(RankError::Broken);
        }
        // SAFETY: the buffers have so many bytes, and dropping this waits for the work or aborts
        // it.
        unsafe { communicator.all_gather(from, to, bytes, stream, self.timeout)? };
        drop(communicator);
        let (exchange, ranks) = (self.exchange, self.ranks);
        let (shape, args) =
            combine(exchange, self.bytes, (rank as usize, ranks), shards, to, output);
        // SAFETY: the kernel reads the raw results that NCCL has left in a buffer of this device,
        // and writes one to the output.
        unsafe { stream.launch(self.engine.kernel(), shape, &args)? };
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

/// The shape and the arguments of the launch that combines the raw results of `bytes` bytes of so
/// many ranks, which are at `raws`, and writes the result to `output`.
fn combine(
    exchange: Exchange,
    bytes: usize,
    (rank, ranks): (usize, usize),
    shards: &Shards,
    raws: u64,
    output: u64,
) -> (LaunchShape, Args) {
    let raws = |of: usize| raws + (of * gathered_bytes(bytes, 1)) as u64;
    let shape = direct::shape(1, (exchange.per_tile, words(bytes)), ranks);
    let args = direct::args((rank, ranks), shards, (output, 1), raws, None, 0);
    (shape, args)
}

impl Drop for Gathered {
    fn drop(&mut self) {
        // Freeing the memory would wait for the work without a limit.
        let _ = self.check();
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::{
        ptx::{EmbeddedKernel, reduce},
        reducer::{Indexed, all_reduce::kernels::exchange_of},
    };

    use super::*;

    /// Combines raw results that lie where NCCL leaves them.
    fn combined<R: bytemuck::Pod>(kernel: &EmbeddedKernel, shards: &[(u64, R)]) -> R {
        let (device, bytes, ranks) = (Device::simulator(), size_of::<R>(), shards.len());
        let exchange = exchange_of(kernel, bytes).unwrap();
        let mut gathered = vec![0u8; gathered_bytes(bytes, 1) * ranks];
        for ((_, raw), place) in shards.iter().zip(gathered.chunks_mut(gathered_bytes(bytes, 1))) {
            place[..bytes].copy_from_slice(bytemuck::bytes_of(raw));
        }
        let (gathered, output) = (device.upload(&gathered).unwrap(), device.alloc(1).unwrap());
        let lengths = Shards::new(shards.iter().map(|shard| shard.0).collect());
        let (raws, out) = (gathered.address(), output.address());
        let (shape, args) = combine(exchange, bytes, (ranks - 1, ranks), &lengths, raws, out);
        let engine = device.attached::<Cache>().engine(&device, exchange.direct, bytes).unwrap();
        // SAFETY: as in `Gathered::launch`.
        unsafe { device.launch(engine.kernel(), shape, &args).unwrap() };
        output.copy_to_host().unwrap()[0]
    }

    #[test]
    fn gathered_results_are_combined_in_the_order_of_the_ranks() {
        for ranks in 1..=8u64 {
            let shards: Vec<_> = (0..ranks).map(|rank| (10, 1.5f32 * rank as f32)).collect();
            let expected = 1.5 * (ranks * (ranks - 1) / 2) as f32;
            assert_eq!(combined(&reduce::sum::f32, &shards).to_bits(), f32::to_bits(expected));
            let shards: Vec<_> = (0..ranks).map(|rank| (10, 40 - rank as u8)).collect();
            assert_eq!(combined(&reduce::min::u8, &shards), 41 - ranks as u8);
        }
        let shards = [
            (3, Indexed::new(5.0f64, 2)),
            (0, Indexed::new(9.0, 0)),
            (7, Indexed::new(6.0, 4)),
            (2, Indexed::new(6.0, 0)),
        ];
        let found = combined(&reduce::argmax::f64, &shards);
        assert_eq!((found.value, found.index), (6.0, 7));
    }
}
