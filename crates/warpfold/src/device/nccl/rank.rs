//! A communicator of NCCL of which this process has one GPU, and other processes have the others.
//!
//! NCCL has no time limit. So no call of it waits here: a call that has to wait for other ranks
//! goes on in the background, and this side asks for its end until a deadline. Then the
//! communicator is aborted, which also ends its kernels.

use std::{
    ffi::c_char,
    ptr, thread,
    time::{Duration, Instant},
};

use cuda_driver::nccl::{
    NCCL_IN_PROGRESS, NCCL_SUCCESS, NCCL_UINT8, Nccl, ncclComm_t, ncclConfig_t, ncclResult_t,
    ncclUniqueId,
};

use super::super::{Device, DeviceError, ErrorText, Event, Stream};

/// How many bytes tell a rank how to find the others.
const ID_BYTES: usize = 128;

/// For so long the host looks all the time whether something has ended, and later now and then.
const EAGER: Duration = Duration::from_millis(2);
/// How long the host waits before it looks again.
const PAUSE: Duration = Duration::from_micros(50);

/// What tells the ranks of a new communicator how to find each other. One of them makes it.
pub(crate) fn unique_id() -> Result<Vec<u8>, DeviceError> {
    let nccl = library()?;
    let mut id = ncclUniqueId { internal: [0; ID_BYTES] };
    // SAFETY: the pointer is to a live variable.
    super::check(nccl, unsafe { nccl.ncclGetUniqueId(&raw mut id) }, "begin a communicator")?;
    Ok(id.internal.map(|byte| byte as u8).to_vec())
}

fn library() -> Result<&'static Nccl, DeviceError> {
    cuda_driver::nccl::load().map_err(|error| DeviceError::NoCuda { reason: error.to_string() })
}

/// This rank's part of a communicator.
#[derive(Debug)]
pub(crate) struct RankCommunicator {
    nccl: &'static Nccl,
    device: Device,
    /// Null after it was aborted.
    comm: ncclComm_t,
}

// SAFETY: NCCL lets any thread use a communicator, one at a time, and each use borrows it mutably.
unsafe impl Send for RankCommunicator {}

impl RankCommunicator {
    /// Makes a communicator of so many ranks, all of which call this with the same `id`.
    pub(crate) fn new(
        device: &Device,
        id: &[u8],
        rank: u32,
        ranks: u32,
        timeout: Duration,
    ) -> Result<Self, DeviceError> {
        const ACTION: &str = "make a communicator";
        let nccl = library()?;
        let Ok(id) = <[u8; ID_BYTES]>::try_from(id) else {
            return Err(error("no id", "rank 0 has sent something else", ACTION));
        };
        let id = ncclUniqueId { internal: id.map(|byte| byte as c_char) };
        let mut config = ncclConfig_t::new(false);
        let mut made = Self { nccl, device: device.clone(), comm: ptr::null_mut() };
        // NCCL takes the GPU whose context is current in this thread.
        made.make_current()?;
        // SAFETY: the pointers are to live variables. NCCL uses the primary context of the GPU, as
        // this crate does.
        let code = unsafe {
            nccl.ncclCommInitRankConfig(
                &raw mut made.comm,
                ranks as i32,
                id,
                rank as i32,
                &raw mut config,
            )
        };
        made.settle(code, ACTION, Instant::now(), timeout)?;
        Ok(made)
    }

    /// Adds a copy to the work of the stream: the `bytes` bytes at `from` of each rank, one behind
    /// the other, come to `to` of each rank. All ranks call this. The host may have to wait for the
    /// other ranks in the first call.
    ///
    /// # Safety
    ///
    /// `from` is the address of `bytes` bytes of the GPU, and `to` of as many for each rank. The
    /// memory lives until the work has ended.
    pub(crate) unsafe fn all_gather(
        &mut self,
        from: u64,
        to: u64,
        bytes: usize,
        stream: &Stream,
        timeout: Duration,
    ) -> Result<(), DeviceError> {
        const ACTION: &str = "gather results";
        stream.queue.refuse_if_captured("gather results by NCCL")?;
        self.check_alive(ACTION)?;
        self.make_current()?;
        let [from, to] =
            [from, to].map(|address| ptr::with_exposed_provenance_mut(address as usize));
        let stream = stream.raw().unwrap_or(ptr::null_mut());
        // SAFETY: the caller's promise; the communicator is that of the stream's GPU.
        let code =
            unsafe { self.nccl.ncclAllGather(from, to, bytes, NCCL_UINT8, self.comm, stream) };
        self.settle(code, ACTION, Instant::now(), timeout)
    }

    /// Waits until the work before an event has ended, which was recorded on a stream of this GPU.
    /// False if it does not end in time; then the communicator is aborted, and the work ends.
    pub(crate) fn wait(&mut self, event: &Event, timeout: Duration) -> Result<bool, DeviceError> {
        const ACTION: &str = "gather results";
        let begin = Instant::now();
        loop {
            if event.is_over()? {
                return Ok(true);
            }
            self.check_alive(ACTION)?;
            let mut code = NCCL_SUCCESS;
            // SAFETY: the communicator is alive, and the pointer is to a live variable.
            let asked = unsafe { self.nccl.ncclCommGetAsyncError(self.comm, &raw mut code) };
            let code = if asked == NCCL_SUCCESS { code } else { asked };
            if code != NCCL_SUCCESS && code != NCCL_IN_PROGRESS {
                self.abort();
                super::check(self.nccl, code, ACTION)?;
            }
            if begin.elapsed() >= timeout {
                self.abort();
                return Ok(false);
            }
            pause(begin);
        }
    }

    /// Whether the communicator was aborted, so that it is of no more use.
    pub(crate) fn is_aborted(&self) -> bool {
        self.comm.is_null()
    }

    /// Waits until a call that goes on in the background has ended. The communicator is aborted if
    /// the call fails or does not end in time.
    fn settle(
        &mut self,
        mut code: ncclResult_t,
        action: &'static str,
        begin: Instant,
        timeout: Duration,
    ) -> Result<(), DeviceError> {
        while code == NCCL_IN_PROGRESS && !self.comm.is_null() {
            if begin.elapsed() >= timeout {
                self.abort();
                let text = format!("other ranks did not come within {} s", timeout.as_secs_f64());
                return Err(error("ncclInProgress", &text, action));
            }
            pause(begin);
            let mut state = NCCL_SUCCESS;
            // SAFETY: the communicator is alive, and the pointer is to a live variable.
            let asked = unsafe { self.nccl.ncclCommGetAsyncError(self.comm, &raw mut state) };
            code = if asked == NCCL_SUCCESS { state } else { asked };
        }
        if code != NCCL_SUCCESS {
            self.abort();
        }
        super::check(self.nccl, code, action)
    }

    fn check_alive(&self, action: &'static str) -> Result<(), DeviceError> {
        if self.comm.is_null() {
            return Err(error("aborted", "an earlier call has failed", action));
        }
        Ok(())
    }

    fn make_current(&self) -> Result<(), DeviceError> {
        self.device.shared.core.backend.make_current()
    }

    fn abort(&mut self) {
        let comm = std::mem::replace(&mut self.comm, ptr::null_mut());
        if !comm.is_null() && self.make_current().is_ok() {
            // SAFETY: the communicator is alive, and nobody uses it any more. Unlike
            // `ncclCommDestroy`, this waits for no other rank.
            let _ = unsafe { self.nccl.ncclCommAbort(comm) };
        }
    }
}

impl Drop for RankCommunicator {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Waits a little. At the beginning the host does not sleep, because most waits are short.
fn pause(begin: Instant) {
    if begin.elapsed() < EAGER { thread::yield_now() } else { thread::sleep(PAUSE) }
}

fn error(name: &str, text: &str, action: &str) -> DeviceError {
    let text = ErrorText { name: name.to_owned(), text: text.to_owned() };
    DeviceError::Nccl { action: action.to_owned(), text }
}
