//! Copies between the host and an address, in the order of one stream, which the host waits for.
//!
//! The plain copies of [`Buffer`](super::Buffer)s wait for the work of all streams, and have no
//! order with the work of a stream that other code has made with `CU_STREAM_NON_BLOCKING`.

use super::{Device, DeviceError, Stream, stream::Queue};

impl Stream {
    /// Refuses this stream if `device` has not made it, or if the host cannot wait for it because
    /// it captures a graph, or because this thread does so on another stream of the device.
    pub(crate) fn check_waitable(
        &self,
        device: &Device,
        action: &'static str,
    ) -> Result<(), DeviceError> {
        device.shared.core.check_own(&self.queue.core, "stream")?;
        self.queue.refuse_if_captured(action)?;
        self.queue.core.refuse_in_capture(action)
    }

    /// Copies from `address` to `bytes` after all earlier work of this stream, and waits.
    ///
    /// # Safety
    ///
    /// `address` is that of at least as many bytes of this stream's device, which the earlier work
    /// of the stream initialises.
    pub(crate) unsafe fn read_waiting(
        &self,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        // SAFETY: the bytes are borrowed until `wait_after` has waited; the address is right by the
        // caller's promise.
        wait_after(&self.queue, |queue| unsafe { queue.read(address, bytes) })
    }

    /// Copies `bytes` to `address` after all earlier work of this stream, and waits.
    ///
    /// # Safety
    ///
    /// `address` is that of at least as many bytes of this stream's device, which nothing but the
    /// work of this stream uses meanwhile.
    pub(crate) unsafe fn write_waiting(
        &self,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        // SAFETY: as in `read_waiting`.
        wait_after(&self.queue, |queue| unsafe { queue.write(address, bytes) })
    }
}

/// Gives a copy to the queue and waits for it, even if giving it was an error.
fn wait_after(
    queue: &Queue,
    copy: impl FnOnce(&Queue) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let copied = copy(queue);
    // The backend is called directly, so that neither a planned fault nor a capture can skip the
    // wait.
    copied.and(queue.stream.synchronize())
}
