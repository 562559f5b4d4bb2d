//! The streams and the page-locked memory that copies from the host use.

use super::Error;
use crate::device::{Device, DeviceError, PinnedBuffer, Stream};

/// The most bytes of one part that is copied from the host. If both operands of a pair are on the
/// host, they share this number.
pub(super) const PART_BYTES: u64 = 8 << 20;

/// Two queues that take turns: while one queue copies to the device, the host fills the page-locked
/// memory of the other queue.
#[derive(Debug)]
pub(super) struct Staging {
    pub(super) queues: [Queue; 2],
}

/// A stream, and the page-locked memory from which it copies.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: Stream,
    pub(super) pinned: PinnedBuffer<u8>,
}

impl Staging {
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        let queue = || {
            Ok::<_, DeviceError>(Queue {
                stream: device.stream()?,
                pinned: device.alloc_pinned(PART_BYTES as usize)?,
            })
        };
        Ok(Self { queues: [queue()?, queue()?] })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // After an error or a panic the stream may still copy from `pinned` or from the caller's
        // memory, so this waits for the stream. An error here belongs to an earlier call, which has
        // reported it.
        let _ = self.stream.synchronize();
    }
}
