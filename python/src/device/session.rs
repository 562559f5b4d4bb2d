//! What is kept for a stream: its workspace, memory for raw results, and a status.

use std::{
    ffi::c_void,
    mem::ManuallyDrop,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::ThreadId,
};

use warpfold::{
    Buffer, Stream,
    device::{DeviceError, PinnedBuffer},
};

use crate::array::RawStream;

use super::{Failure, context::beside_captures, finish::guard, gpu::Target};

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
    /// The status of calls, which is 0 between them, and that of calls that are not checked.
    statuses: Buffer<u64>,
    stream: ManuallyDrop<Stream>,
}

/// Memory for raw results. Work of one stream is in order, so the next call may overwrite what the
/// one before has read.
pub(super) struct Scratch {
    buffer: Buffer<u64>,
    /// What was too small. Graphs of the caller may still use it.
    old: Vec<Buffer<u64>>,
    /// Where a word of the device is copied to, so that the host waits once for work and copy.
    word: PinnedBuffer<u64>,
}

/// A session that no other thread uses meanwhile, so that nothing comes between its launches.
pub(crate) struct Locked<'a> {
    pub(super) stream: &'a Stream,
    pub(super) scratch: MutexGuard<'a, Scratch>,
    statuses: &'a Buffer<u64>,
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
        let (scratch, statuses) = beside_captures(|| {
            let device = &target.device;
            let (buffer, word) = (device.alloc(WORDS)?, device.alloc_pinned(1)?);
            Ok::<_, DeviceError>((
                Scratch { buffer, old: Vec::new(), word },
                device.upload(&[0; 2])?,
            ))
        })?;
        let scratch = Mutex::new(scratch);
        Ok(Self { scratch, statuses, stream: ManuallyDrop::new(stream) })
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { stream: &self.stream, scratch, statuses: &self.statuses }
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

    /// Waits for the stream, and returns the first word of the scratch memory.
    pub(super) fn read_first_word(&mut self) -> Result<u64, Failure> {
        let Scratch { buffer, word, .. } = &mut *self.scratch;
        Ok(read_word(self.stream, buffer, word)?)
    }

    /// The address of a status that is 0. A call that may change it reads it, or lets the
    /// [guard](super::finish::guard) follow.
    pub(super) fn status(&self) -> u64 {
        self.statuses.address()
    }

    /// The address of a status that may have any value, and that nobody reads.
    pub(super) fn ignored_status(&self) -> u64 {
        self.statuses.address() + 8
    }

    /// Waits for the stream, and returns the status. If it is not 0, the [guard] is called.
    ///
    /// [guard]: super::finish::guard
    pub(super) fn read_status(&mut self, target: &Target) -> Result<u64, Failure> {
        let status = read_word(self.stream, self.statuses, &mut self.scratch.word)?;
        if status != 0 {
            guard(target, self)?;
        }
        Ok(status)
    }
}

/// Waits for the stream, and returns the first word of a buffer.
fn read_word(
    stream: &Stream,
    buffer: &Buffer<u64>,
    word: &mut PinnedBuffer<u64>,
) -> Result<u64, DeviceError> {
    // SAFETY: the word is borrowed until the stream has come so far. If the wait fails, the word
    // stays where it is: a session is never dropped.
    unsafe { stream.copy_to_host(buffer.view(..1), word)? };
    stream.synchronize()?;
    Ok(word[0])
}
