//! Communicators of NCCL, for GPUs that cannot use each other's memory.

mod rank;

pub(crate) use rank::{RankCommunicator, unique_id};

use std::{
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use cuda_driver::nccl::{NCCL_SUCCESS, NCCL_UINT8, Nccl, ncclComm_t, ncclResult_t};

use super::{Device, DeviceError, DeviceKind, ErrorText, Stream, peers::FailedAt};

/// Why there is no communicator for some devices, as a sentence for people.
pub(crate) fn unavailable(devices: &[Device]) -> Option<String> {
    if devices.iter().any(|device| device.info().kind != DeviceKind::Cuda) {
        return Some("a device is simulated".to_owned());
    }
    cuda_driver::nccl::load().err().map(|error| error.to_string())
}

/// The communicators of a group of devices. They are made when they are needed first, and all
/// reducers of the group share them, because NCCL connects the devices each time it makes some.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedCommunicators(Arc<Mutex<Option<Communicators>>>);

impl SharedCommunicators {
    /// Makes the communicators of these GPUs, for which NCCL is [available](unavailable), unless
    /// they are there.
    pub(crate) fn make(&self, devices: &[Device]) -> Result<(), DeviceError> {
        let mut made = self.lock();
        if made.is_none() {
            *made = Some(Communicators::new(devices)?);
        }
        Ok(())
    }

    /// See [`Communicators::all_gather`].
    ///
    /// # Safety
    ///
    /// That of [`Communicators::all_gather`].
    ///
    /// # Panics
    ///
    /// If nobody has called [`make`](Self::make).
    pub(crate) unsafe fn all_gather(
        &self,
        from: &[u64],
        to: &[u64],
        bytes: usize,
        streams: &[&Stream],
    ) -> Result<(), FailedAt> {
        let mut made = self.lock();
        let communicators = made.as_mut().expect("the communicators were made");
        // SAFETY: the caller's promise.
        unsafe { communicators.all_gather(from, to, bytes, streams) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Communicators>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One communicator for each GPU.
#[derive(Debug)]
struct Communicators {
    nccl: &'static Nccl,
    devices: Vec<Device>,
    comms: Vec<ncclComm_t>,
}

// SAFETY: NCCL lets any thread use a communicator, one at a time, and `all_gather` and the drop
// borrow all of them mutably.
unsafe impl Send for Communicators {}

impl Communicators {
    fn new(devices: &[Device]) -> Result<Self, DeviceError> {
        let nccl = cuda_driver::nccl::load()
            .map_err(|error| DeviceError::NoCuda { reason: error.to_string() })?;
        let ordinals: Vec<i32> = devices
            .iter()
            .map(|device| device.info().ordinal.map_or(-1, |ordinal| ordinal as i32))
            .collect();
        let mut comms = vec![ptr::null_mut(); devices.len()];
        let count = devices.len() as i32;
        // SAFETY: both lists have `count` places. NCCL uses the primary contexts of the GPUs, as
        // this crate does.
        let code = unsafe { nccl.ncclCommInitAll(comms.as_mut_ptr(), count, ordinals.as_ptr()) };
        check(nccl, code, "make communicators")?;
        Ok(Self { nccl, devices: devices.to_vec(), comms })
    }

    /// Adds a copy to the work of each stream: the `bytes` bytes at each of `from`, one behind the
    /// other, come to each of `to`.
    ///
    /// # Safety
    ///
    /// There is an address in `from` and `to` and a stream for each GPU, in their order. Each
    /// address of `from` is that of `bytes` bytes of this GPU, and of `to` that of as many for each
    /// GPU. The memory lives until the work has ended.
    unsafe fn all_gather(
        &mut self,
        from: &[u64],
        to: &[u64],
        bytes: usize,
        streams: &[&Stream],
    ) -> Result<(), FailedAt> {
        // NCCL may deadlock if one thread launches the graphs of several GPUs ("Using NCCL with
        // CUDA Graphs" in its user guide).
        for (number, stream) in streams.iter().enumerate() {
            let action = "gather results by NCCL";
            let refused = stream.queue.refuse_if_captured(action);
            #[cfg(feature = "cudarc")]
            let refused = refused.and_then(|()| stream.queue.refuse_foreign_capture(action));
            refused.map_err(FailedAt::number(number))?;
        }
        // SAFETY: the caller's promise.
        unsafe { self.add(from, to, bytes, streams) }.map_err(FailedAt::number(0))
    }

    /// Adds the copies to the streams, none of which captures.
    ///
    /// # Safety
    ///
    /// That of [`all_gather`](Self::all_gather).
    unsafe fn add(
        &mut self,
        from: &[u64],
        to: &[u64],
        bytes: usize,
        streams: &[&Stream],
    ) -> Result<(), DeviceError> {
        let nccl = self.nccl;
        // SAFETY: the function has no precondition.
        check(nccl, unsafe { nccl.ncclGroupStart() }, "begin to gather results")?;
        let mut gathered = NCCL_SUCCESS;
        for (rank, &comm) in self.comms.iter().enumerate() {
            let [from, to] =
                [from, to].map(|places| ptr::with_exposed_provenance_mut(places[rank] as usize));
            let stream = streams[rank].raw().unwrap_or(ptr::null_mut());
            // SAFETY: the caller's promise; the communicator is that of the stream's GPU.
            let code = unsafe { nccl.ncclAllGather(from, to, bytes, NCCL_UINT8, comm, stream) };
            gathered = if gathered == NCCL_SUCCESS { code } else { gathered };
        }
        // SAFETY: this ends the group that has begun above, also after an error.
        let ended = unsafe { nccl.ncclGroupEnd() };
        check(nccl, gathered, "gather results")?;
        check(nccl, ended, "gather results")
    }
}

impl Drop for Communicators {
    fn drop(&mut self) {
        for device in &self.devices {
            // An error belongs to an earlier launch, and the next call of the device reports it.
            let _ = device.synchronize();
        }
        for &comm in &self.comms {
            // SAFETY: the communicator is dropped once, and no work uses it any more. Unlike
            // `ncclCommDestroy`, this waits for no other GPU, of which one may have failed.
            let _ = unsafe { self.nccl.ncclCommAbort(comm) };
        }
    }
}

fn check(nccl: &Nccl, code: ncclResult_t, action: &str) -> Result<(), DeviceError> {
    if code == NCCL_SUCCESS {
        return Ok(());
    }
    let text = ErrorText { name: format!("ncclResult_t {code}"), text: nccl.error_text(code) };
    Err(DeviceError::Nccl { action: action.to_owned(), text })
}
