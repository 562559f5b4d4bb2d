//! Wide access: 4, 8 or 16 bytes a thread.
//!
//! Filipovič, "Spojitý přístup do paměti": transfers are of 32, 64 or 128 bytes, and large words
//! fill them.
//!
//! What it teaches: a warp that asks for 16 bytes a thread moves 512 bytes with one instruction, so
//! that fewer instructions and fewer requests keep the memory busy.

use super::{thread_index, threads};

/// The words that a thread reads at once.
pub trait Wide: Copy {
    /// The sum of the words, which wraps.
    fn sum(self) -> u32;
    /// The same value, put together from its words, because otherwise LLVM would copy it 8 bytes at
    /// a time.
    #[must_use]
    fn by_words(self) -> Self;
}

/// 8 bytes, aligned to 8 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Two([u32; 2]);

/// 16 bytes, aligned to 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Four([u32; 4]);

impl Wide for u32 {
    #[inline(always)]
    fn sum(self) -> u32 {
        self
    }
    #[inline(always)]
    fn by_words(self) -> Self {
        self
    }
}

impl Wide for Two {
    #[inline(always)]
    fn sum(self) -> u32 {
        let [a, b] = self.0;
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn by_words(self) -> Self {
        let [a, b] = self.0;
        Self([a, b])
    }
}

impl Wide for Four {
    #[inline(always)]
    fn sum(self) -> u32 {
        let [a, b, c, d] = self.0;
        a.wrapping_add(b).wrapping_add(c).wrapping_add(d)
    }
    #[inline(always)]
    fn by_words(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([a, b, c, d])
    }
}

/// Each thread sums the words of `input[i]` over its `i` below `n`, and leaves the sum in
/// `output[thread]`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `input` holds `n` elements, `output` a word for
/// each thread.
#[inline(always)]
pub unsafe fn width_read<T: Wide>(input: *const T, output: *mut u32, n: usize) {
    let mut sum = 0_u32;
    let mut i = thread_index();
    // SAFETY: `i` is below `n`; a thread writes its own word.
    unsafe {
        while i < n {
            sum = sum.wrapping_add((*input.add(i)).sum());
            i += threads();
        }
        *output.add(thread_index()) = sum;
    }
}

/// `output[i] = input[i]`, for each `i` below `n`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); both arrays hold `n` elements.
#[inline(always)]
pub unsafe fn width_copy<T: Wide>(input: *const T, output: *mut T, n: usize) {
    let mut i = thread_index();
    while i < n {
        // SAFETY: `i` is below `n`.
        unsafe { *output.add(i) = (*input.add(i)).by_words() };
        i += threads();
    }
}
