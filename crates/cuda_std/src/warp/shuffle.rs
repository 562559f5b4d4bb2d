//! Shuffles: a lane reads a register of another lane.

use crate::gpu_only;

/// How the source lane is found: the four modes of PTX `shfl.sync`.
#[derive(Clone, Copy)]
enum Mode {
    Up,
    Down,
    Xor,
    Idx,
}

/// A value that can travel between lanes: any 32-bit or 64-bit number. A 64-bit number takes two
/// shuffles.
pub trait WarpShuffleValue: Copy {
    /// The value's 32-bit words, the low word first. If the value has 32 bits, the second word is
    /// 0.
    #[doc(hidden)]
    fn to_words(self) -> [u32; 2];
    /// The inverse of [`to_words`](Self::to_words).
    #[doc(hidden)]
    fn from_words(words: [u32; 2]) -> Self;
    /// How many of the words are used.
    #[doc(hidden)]
    const WORDS: usize;
}

macro_rules! shuffle_values {
    ($($t:ty, $words:literal, $to:expr, $from:expr;)*) => {$(
        impl WarpShuffleValue for $t {
            const WORDS: usize = $words;
            #[inline(always)]
            fn to_words(self) -> [u32; 2] {
                let bits: u64 = $to(self);
                [bits as u32, (bits >> 32) as u32]
            }
            #[inline(always)]
            fn from_words(words: [u32; 2]) -> Self {
                $from(u64::from(words[0]) | u64::from(words[1]) << 32)
            }
        }
    )*};
}

shuffle_values! {
    i32, 1, |v| u64::from(v as u32), |b| b as i32;
    u32, 1, u64::from, |b| b as u32;
    f32, 1, |v: f32| u64::from(v.to_bits()), |b| f32::from_bits(b as u32);
    i64, 2, |v| v as u64, |b| b as i64;
    u64, 2, |v| v, |b| b;
    f64, 2, f64::to_bits, f64::from_bits;
}

/// One `shfl.sync` for each word of `value`.
///
/// # Safety
/// The mask's contract.
#[inline(always)]
unsafe fn shuffle<T: WarpShuffleValue>(
    mode: Mode,
    mask: u32,
    value: T,
    operand: u32,
    width: u32,
) -> (T, bool) {
    // PTX ISA, shfl.sync: bits 8 to 12 of `c` split the warp into segments, bits 0 to 4 clamp the
    // source lane.
    let clamp = if matches!(mode, Mode::Up) { 0 } else { 31 };
    let control = (32 - width) << 8 | clamp;
    let mut words = value.to_words();
    let mut inside = false;
    for word in words.iter_mut().take(T::WORDS) {
        // SAFETY: the caller keeps the mask's contract.
        let shuffled = unsafe { shuffle_word(mode, mask, *word, operand, control) };
        *word = shuffled.value;
        inside = shuffled.inside;
    }
    (T::from_words(words), inside)
}

/// The result of `shfl.sync`: the word, and whether its source lane was inside the segment.
#[repr(C)]
#[derive(Clone, Copy)]
struct Shuffled {
    value: u32,
    inside: bool,
}

/// One `shfl.sync.b32` with its predicate.
///
/// # Safety
/// The mask's contract.
#[gpu_only]
#[inline(always)]
unsafe fn shuffle_word(mode: Mode, mask: u32, word: u32, operand: u32, control: u32) -> Shuffled {
    unsafe extern "C" {
        // `cuda_builder` defines these, because `llvm.nvvm.shfl.sync.*.i32p` returns { i32, i1 },
        // which no Rust signature can express.
        fn __cuda_std_shfl_up(mask: u32, word: u32, operand: u32, control: u32) -> u64;
        fn __cuda_std_shfl_down(mask: u32, word: u32, operand: u32, control: u32) -> u64;
        fn __cuda_std_shfl_bfly(mask: u32, word: u32, operand: u32, control: u32) -> u64;
        fn __cuda_std_shfl_idx(mask: u32, word: u32, operand: u32, control: u32) -> u64;
    }
    // SAFETY: the caller keeps the mask's contract.
    let both = unsafe {
        match mode {
            Mode::Up => __cuda_std_shfl_up(mask, word, operand, control),
            Mode::Down => __cuda_std_shfl_down(mask, word, operand, control),
            Mode::Xor => __cuda_std_shfl_bfly(mask, word, operand, control),
            Mode::Idx => __cuda_std_shfl_idx(mask, word, operand, control),
        }
    };
    Shuffled { value: both as u32, inside: both >> 32 != 0 }
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($operand:ident), $mode:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// `width` (a power of two up to 32) splits the warp into segments that shuffle among
        /// themselves. If the source lane lies outside the segment, the lane gets its own value
        /// back, and `false`.
        ///
        /// # Safety
        /// The mask's contract (see [`warp`](crate::warp)); `width` is 1, 2, 4, 8, 16 or 32; the
        /// source lane is in `mask`, or the value is not used.
        ///
        /// # Panics
        /// On the host, always.
        #[inline(always)]
        pub unsafe fn $name<T: WarpShuffleValue>(mask: u32, value: T, $operand: u32, width: u32) -> (T, bool) {
            // SAFETY: the caller keeps the mask's contract.
            unsafe { shuffle(Mode::$mode, mask, value, $operand, width) }
        }
    )*};
}

shuffles! {
    /// The value of the lane whose number is lower by `delta`: PTX `shfl.sync.up`.
    warp_shuffle_up(delta), Up;
    /// The value of the lane whose number is higher by `delta`: PTX `shfl.sync.down`.
    warp_shuffle_down(delta), Down;
    /// The value of the lane whose number is `idx`, counted within the segment: PTX
    /// `shfl.sync.idx`.
    warp_shuffle_idx(idx), Idx;
    /// The value of the lane whose number is this one's xor `lane_mask`: PTX `shfl.sync.bfly`.
    warp_shuffle_xor(lane_mask), Xor;
}
