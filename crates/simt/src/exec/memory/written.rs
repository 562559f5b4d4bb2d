//! The record of the bytes in a range of memory that anything has written.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::error::MemoryError;
use super::words::zeroed_words;

/// One bit for each byte of a range of memory: whether anything has written the byte.
#[derive(Debug)]
pub(crate) struct Written(Box<[AtomicU64]>);

impl Written {
    /// A record of `bytes` bytes, none of which is written.
    pub(crate) fn none(bytes: u64) -> Result<Written, MemoryError> {
        zeroed_words(bytes.div_ceil(8)).map(Written)
    }

    /// A record of a block's shared memory, no byte of which is written.
    pub(crate) fn none_of_block(bytes: usize) -> Written {
        Written((0..bytes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// The bits of a range of bytes: the index of each word of bits, and the mask in it.
    fn words(start: usize, bytes: usize) -> impl Iterator<Item = (usize, u64)> {
        let end = start + bytes;
        (start / 64..end.div_ceil(64)).map(move |index| {
            let low = start.saturating_sub(index * 64);
            let high = (end - index * 64).min(64);
            (index, (u64::MAX >> (64 - (high - low))) << low)
        })
    }

    /// Marks a range of bytes as written.
    #[inline]
    pub(crate) fn set(&self, start: usize, bytes: usize) {
        for (index, mask) in Written::words(start, bytes) {
            if self.0[index].load(Relaxed) & mask != mask {
                self.0[index].fetch_or(mask, Relaxed);
            }
        }
    }

    /// Marks a range of bytes as not written, because a value without meaning was stored there.
    pub(crate) fn unset(&self, start: usize, bytes: usize) {
        for (index, mask) in Written::words(start, bytes) {
            self.0[index].fetch_and(!mask, Relaxed);
        }
    }

    /// How many bytes of a range are not written.
    #[inline]
    pub(crate) fn missing(&self, start: usize, bytes: usize) -> u32 {
        Written::words(start, bytes)
            .map(|(index, mask)| (!self.0[index].load(Relaxed) & mask).count_ones())
            .sum()
    }

    /// Marks all bytes as not written.
    pub(crate) fn clear(&mut self) {
        self.0.iter_mut().for_each(|word| *word.get_mut() = 0);
    }
}
