//! One allocation of device memory.

use std::sync::atomic::AtomicU64;

use super::error::MemoryError;
use super::words::zeroed_words;
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
    /// A range of zeros, with a record of the written bytes if `notes_writes` is true.
    pub(super) fn new(
        base: u64,
        bytes: u64,
        notes_writes: bool,
    ) -> Result<Allocation, MemoryError> {
        let words = zeroed_words(bytes)?;
        let written = if notes_writes { Some(Written::none(bytes)?) } else { None };
        Ok(Allocation { base, bytes, words, written })
    }

    pub(super) fn assume_written(&self) {
        if let Some(written) = &self.written {
            written.set(0, self.bytes as usize);
        }
    }
}
