//! One allocation of device memory.

use std::sync::atomic::AtomicU64;

use super::written::Written;

/// One live range of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) words: Box<[AtomicU64]>,
    /// The record of the bytes that have been written, if the memory keeps this record.
    pub(crate) written: Option<Written>,
}

impl Allocation {
    pub(super) fn assume_written(&self) {
        if let Some(written) = &self.written {
            written.set(0, self.bytes as usize);
        }
    }
}
