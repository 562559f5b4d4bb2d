//! Vectors of elements, as wide as one instruction loads, and the transposition of small squares of them in registers.

use cuda_std::ext;

/// What one instruction loads and stores.
pub trait Words: Copy {
    /// All bits 0.
    const ZERO: Self;

    /// Loads it, word by word: of a copy as a whole, LLVM 22 makes two halves.
    ///
    /// # Safety
    /// `from` is valid and aligned.
    unsafe fn load(from: *const Self) -> Self;

    /// Stores it, word by word.
    ///
    /// # Safety
    /// `to` is valid and aligned.
    unsafe fn store(self, to: *mut Self);

    /// Stores it as what will not be read again soon.
    ///
    /// # Safety
    /// `to` is valid and aligned, in global memory.
    unsafe fn store_streaming(self, to: *mut Self);
}

/// A vector of `W` elements.
pub trait Vector<const W: usize>: Words {
    /// Element `j` of vector `i` becomes element `i` of vector `j`.
    fn transpose(square: [Self; W]) -> [Self; W];
}

/// The vector of so many words.
macro_rules! words_of {
    ($vector:ident, $words:literal, $store:ident) => {
        impl Words for $vector {
            const ZERO: Self = Self([0; $words]);

            #[inline(always)]
            unsafe fn load(from: *const Self) -> Self {
                let mut vector = Self::ZERO;
                let mut i = 0;
                while i < $words {
                    // SAFETY: one of its words.
                    vector.0[i] = unsafe { *from.cast::<u32>().add(i) };
                    i += 1;
                }
                vector
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut Self) {
                let mut i = 0;
                while i < $words {
                    // SAFETY: one of its words.
                    unsafe { *to.cast::<u32>().add(i) = self.0[i] };
                    i += 1;
                }
            }

            #[inline(always)]
            unsafe fn store_streaming(self, to: *mut Self) {
                // SAFETY: the caller's contract is the callee's.
                unsafe { ext::$store(to.cast(), self.0) }
            }
        }
    };
}

/// Elements of 1 byte: squares of 4 x 4 are exchanged between words, and transposed by themselves.
macro_rules! bytes {
    ($vector:ident, $words:literal) => {
        impl Vector<{ 4 * $words }> for $vector {
            #[inline(always)]
            fn transpose(square: [Self; 4 * $words]) -> [Self; 4 * $words] {
                let mut transposed = [Self::ZERO; 4 * $words];
                let mut r = 0;
                while r < $words {
                    let mut c = 0;
                    while c < $words {
                        let rows = [
                            square[4 * r].0[c],
                            square[4 * r + 1].0[c],
                            square[4 * r + 2].0[c],
                            square[4 * r + 3].0[c],
                        ];
                        let [first, second, third, fourth] = transpose_bytes(rows);
                        transposed[4 * c].0[r] = first;
                        transposed[4 * c + 1].0[r] = second;
                        transposed[4 * c + 2].0[r] = third;
                        transposed[4 * c + 3].0[r] = fourth;
                        c += 1;
                    }
                    r += 1;
                }
                transposed
            }
        }
    };
}

/// Elements of 2 bytes: squares of 2 x 2 are exchanged between words, and transposed by themselves.
macro_rules! halves {
    ($vector:ident, $words:literal) => {
        impl Vector<{ 2 * $words }> for $vector {
            #[inline(always)]
            fn transpose(square: [Self; 2 * $words]) -> [Self; 2 * $words] {
                let mut transposed = [Self::ZERO; 2 * $words];
                let mut r = 0;
                while r < $words {
                    let mut c = 0;
                    while c < $words {
                        let (upper, lower) = (square[2 * r].0[c], square[2 * r + 1].0[c]);
                        transposed[2 * c].0[r] = low_halves(upper, lower);
                        transposed[2 * c + 1].0[r] = high_halves(upper, lower);
                        c += 1;
                    }
                    r += 1;
                }
                transposed
            }
        }
    };
}

/// Elements of whole words, which only change their places.
macro_rules! words {
    ($vector:ident, $words:literal, $of_element:literal) => {
        impl Vector<{ $words / $of_element }> for $vector {
            #[inline(always)]
            fn transpose(square: [Self; $words / $of_element]) -> [Self; $words / $of_element] {
                let mut transposed = square;
                let mut r = 0;
                while r < $words / $of_element {
                    let mut word = 0;
                    while word < $words {
                        let (c, of_element) = (word / $of_element, word % $of_element);
                        transposed[c].0[$of_element * r + of_element] = square[r].0[word];
                        word += 1;
                    }
                    r += 1;
                }
                transposed
            }
        }
    };
}

/// 4 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(4))]
pub struct Single([u32; 1]);

words_of!(Single, 1, store_streaming);
bytes!(Single, 1);
halves!(Single, 1);
words!(Single, 1, 1);

/// 8 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Double([u32; 2]);

words_of!(Double, 2, store_streaming_2);
bytes!(Double, 2);
halves!(Double, 2);
words!(Double, 2, 1);
words!(Double, 2, 2);

/// 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Quad([u32; 4]);

words_of!(Quad, 4, store_streaming_4);
bytes!(Quad, 4);
halves!(Quad, 4);
words!(Quad, 4, 1);
words!(Quad, 4, 2);
words!(Quad, 4, 4);

/// The low halves of two words: of `upper` below, of `lower` above.
#[inline(always)]
fn low_halves(upper: u32, lower: u32) -> u32 {
    upper & 0xffff | lower << 16
}

/// The high halves of two words.
#[inline(always)]
fn high_halves(upper: u32, lower: u32) -> u32 {
    upper >> 16 | lower & 0xffff_0000
}

/// The even bytes of two words, in turns.
#[inline(always)]
fn even_bytes(upper: u32, lower: u32) -> u32 {
    upper & 0x00ff_00ff | (lower & 0x00ff_00ff) << 8
}

/// The odd bytes of two words, in turns.
#[inline(always)]
fn odd_bytes(upper: u32, lower: u32) -> u32 {
    (upper & 0xff00_ff00) >> 8 | lower & 0xff00_ff00
}

/// Transposes a square of 4 x 4 bytes: its quarters of 2 x 2, then each of them.
#[inline(always)]
fn transpose_bytes([a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let (left, right) = ([low_halves(a, c), low_halves(b, d)], [high_halves(a, c), high_halves(b, d)]);
    [
        even_bytes(left[0], left[1]),
        odd_bytes(left[0], left[1]),
        even_bytes(right[0], right[1]),
        odd_bytes(right[0], right[1]),
    ]
}
