//! The words that back device memory: how they are allocated, loaded, changed and stored.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::error::MemoryError;

#[expect(clippy::cast_ptr_alignment, reason = "the layout asks for the alignment of the words")]
pub(super) fn zeroed_words(bytes: u64) -> Result<Box<[AtomicU64]>, MemoryError> {
    let failed = MemoryError::HostOutOfMemory { asked: bytes };
    let words = usize::try_from(bytes.div_ceil(8)).map_err(|_| failed.clone())?;
    let layout = Layout::array::<AtomicU64>(words).map_err(|_| failed.clone())?;
    // SAFETY: the layout's size is above zero, because `Memory::alloc` refuses zero bytes.
    let start = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
    if start.is_null() {
        return Err(failed);
    }
    // SAFETY: the global allocator just returned `start` for the layout of `[AtomicU64; words]`, no
    // other pointer to that memory exists, and all-zero bytes are valid `AtomicU64`s.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, words)) })
}

/// Loads `width` (1, 2, 4 or 8) bytes at byte `offset`, which is a multiple of `width`. The value
/// is zero-extended.
#[inline(always)]
pub(crate) fn load(words: &[AtomicU64], offset: usize, width: u32) -> u64 {
    let word = words[offset / 8].load(Relaxed);
    if width == 8 { word } else { (word >> (offset % 8 * 8)) & ((1 << (width * 8)) - 1) }
}

/// Applies `change` atomically to `width` (1, 2, 4 or 8) bytes at byte `offset`, which is a
/// multiple of `width`. Returns the old value.
#[inline]
pub(crate) fn update(
    words: &[AtomicU64],
    offset: usize,
    width: u32,
    change: impl Fn(u64) -> u64,
) -> u64 {
    let shift = offset % 8 * 8;
    let mask = if width == 8 { u64::MAX } else { (1 << (width * 8)) - 1 };
    let word = &words[offset / 8];
    let mut seen = word.load(Relaxed);
    loop {
        let old = (seen >> shift) & mask;
        let new = (seen & !(mask << shift)) | ((change(old) & mask) << shift);
        match word.compare_exchange_weak(seen, new, Relaxed, Relaxed) {
            Ok(_) => return old,
            Err(now) => seen = now,
        }
    }
}

/// Collects the stores of one instruction, so that neighbouring stores that fill a word together
/// need one plain store. If several stores write the same bytes, the last one wins.
#[derive(Debug, Default)]
pub(crate) struct MergedStores {
    index: usize,
    value: u64,
    mask: u64,
}

impl MergedStores {
    /// Adds a store of the low `width` (1, 2, 4 or 8) bytes of `value` at byte `offset`, which is a
    /// multiple of `width`.
    #[inline(always)]
    pub(crate) fn push(&mut self, words: &[AtomicU64], offset: usize, value: u64, width: u32) {
        let index = offset / 8;
        if width == 8 {
            self.flush(words);
            words[index].store(value, Relaxed);
            return;
        }
        if index != self.index {
            self.flush(words);
            self.index = index;
        }
        let shift = offset % 8 * 8;
        let mask = ((1u64 << (width * 8)) - 1) << shift;
        self.value = (self.value & !mask) | ((value << shift) & mask);
        self.mask |= mask;
    }

    /// Writes the stores that have been collected.
    #[inline(always)]
    pub(crate) fn flush(&mut self, words: &[AtomicU64]) {
        if self.mask == u64::MAX {
            words[self.index].store(self.value, Relaxed);
        } else if self.mask != 0 {
            let (value, mask) = (self.value, self.mask);
            update(words, self.index * 8, 8, |old| (old & !mask) | value);
        }
        self.mask = 0;
        self.value = 0;
    }
}
