//! What is kept for a stream: its workspace, and memory for raw results.

use std::{
    ffi::c_void,
    mem::ManuallyDrop,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::ThreadId,
};

use warpfold::{Buffer, Stream, device::DeviceError};

use crate::array::RawStream;

use super::{Failure, context::beside_captures, gpu::Target};

/// Words of the memory for raw results that a stream has at first.
const WORDS: usize = 1 << 13;

/// A stream, by its handle. The per-thread default stream is another one in each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    stream: RawStream,
    thread: Option<ThreadId>,
}

impl Key {
    pub(super) fn new(stream: RawStream) -> Self {
        // The numbers 0 and 1 are both the legacy default stream.
        let stream = if stream.0 == 1 { RawStream::LEGACY } else { stream };
        let thread = (stream == RawStream::PER_THREAD).then(|| std::thread::current().id());
        Self { stream, thread }
    }
}

/// A stream of the caller. It is never dropped, because its library may have destroyed the stream
/// by then; a new stream with the same handle finds the workspace as the old one has left it.
pub(crate) struct Session {
    scratch: Mutex<Scratch>,
    stream: ManuallyDrop<Stream>,
}

/// Memory for raw results. Work of one stream is in order, so the next call may overwrite what the
/// one before has read.
pub(super) struct Scratch {
    buffer: Buffer<u64>,
    /// What was too small. Graphs of the caller may still use it.
    old: Vec<Buffer<u64>>,
}

/// A session that no other thread uses meanwhile, so that nothing comes between its launches.
pub(crate) struct Locked<'a> {
    pub(super) stream: &'a Stream,
    pub(super) scratch: MutexGuard<'a, Scratch>,
}

impl Session {
    pub(super) fn new(target: &Target, key: Key) -> Result<Self, Failure> {
        let raw: *mut c_void = ptr::with_exposed_provenance_mut(key.stream.0);
        let stream = if target.ordinal.is_none() || key.stream.0 == usize::MAX {
            target.own_stream()?
        } else {
            // SAFETY: the caller's library has named the stream as its current one, so it is a
            // stream of the GPU's primary context, and lives. It is never dropped here, and nor is
            // its workspace, which a graph of the caller may use.
            beside_captures(|| unsafe { target.device.adopt_stream(raw) })?
        };
        let buffer = beside_captures(|| target.device.alloc(WORDS))?;
        let scratch = Mutex::new(Scratch { buffer, old: Vec::new() });
        Ok(Self { scratch, stream: ManuallyDrop::new(stream) })
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { stream: &self.stream, scratch }
    }

    /// Lets all later work of this stream wait for all earlier work of another one.
    pub(super) fn wait_for(&self, other: &Self) -> Result<(), DeviceError> {
        self.stream.wait_for(&other.stream)
    }
}

impl Locked<'_> {
    /// The handle of the stream.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.stream.raw().unwrap_or(ptr::null_mut())
    }

    /// The address of memory for so many bytes of raw results, at a multiple of 256 bytes.
    pub(super) fn scratch(&mut self, target: &Target, bytes: u64) -> Result<u64, Failure> {
        let words = usize::try_from(bytes.div_ceil(8)).unwrap_or(usize::MAX);
        let scratch = &mut *self.scratch;
        if scratch.buffer.len() < words {
            let grown = beside_captures(|| target.device.alloc(words.next_power_of_two()))?;
            scratch.old.push(std::mem::replace(&mut scratch.buffer, grown));
        }
        Ok(scratch.buffer.address())
    }

    /// Waits for the stream, and copies words from the beginning of the scratch memory to the host.
    pub(super) fn read_scratch(&self, words: usize) -> Result<Vec<u64>, Failure> {
        self.stream.synchronize()?;
        Ok(self.scratch.buffer.view(..words).copy_to_host()?)
    }
}
