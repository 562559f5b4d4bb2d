//! Vectors of elements, which one instruction can load, and the transposition of small squares of
//! such vectors in registers.

use core::mem;

/// A vector of `W` elements.
pub trait Vector<const W: usize>: Copy {
    /// A vector whose bits are all 0.
    const ZERO: Self;

    /// Element `j` of vector `i` becomes element `i` of vector `j`.
    fn transpose(square: [Self; W]) -> [Self; W];
}

/// Implements [`Vector`] for a vector of `$words` words of 32 bits, with elements of 1 byte, of 2
/// bytes, and of each number of words in `$of_element`.
macro_rules! vectors {
    ($vector:ident, $words:literal, $($of_element:literal),+) => {
        /// Elements of 1 byte. Squares of 4 x 4 elements change places, and each square is
        /// transposed.
        impl Vector<{ 4 * $words }> for $vector {
            const ZERO: Self = 0;

            #[inline(always)]
            fn transpose(square: [Self; 4 * $words]) -> [Self; 4 * $words] {
                // SAFETY: all bits are valid words.
                let square = unsafe { mem::transmute::<[Self; 4 * $words], [[u32; $words]; 4 * $words]>(square) };
                let mut transposed = [[0; $words]; 4 * $words];
                let mut r = 0;
                while r < $words {
                    let mut c = 0;
                    while c < $words {
                        let [first, second, third, fourth] = transpose_bytes([
                            square[4 * r][c],
                            square[4 * r + 1][c],
                            square[4 * r + 2][c],
                            square[4 * r + 3][c],
                        ]);
                        transposed[4 * c][r] = first;
                        transposed[4 * c + 1][r] = second;
                        transposed[4 * c + 2][r] = third;
                        transposed[4 * c + 3][r] = fourth;
                        c += 1;
                    }
                    r += 1;
                }
                // SAFETY: as above.
                unsafe { mem::transmute::<[[u32; $words]; 4 * $words], [Self; 4 * $words]>(transposed) }
            }
        }

        /// Elements of 2 bytes. Squares of 2 x 2 elements change places, and each square is
        /// transposed.
        impl Vector<{ 2 * $words }> for $vector {
            const ZERO: Self = 0;

            #[inline(always)]
            fn transpose(square: [Self; 2 * $words]) -> [Self; 2 * $words] {
                // SAFETY: all bits are valid words.
                let square = unsafe { mem::transmute::<[Self; 2 * $words], [[u32; $words]; 2 * $words]>(square) };
                let mut transposed = [[0; $words]; 2 * $words];
                let mut r = 0;
                while r < $words {
                    let mut c = 0;
                    while c < $words {
                        let (upper, lower) = (square[2 * r][c], square[2 * r + 1][c]);
                        transposed[2 * c][r] = low_halves(upper, lower);
                        transposed[2 * c + 1][r] = high_halves(upper, lower);
                        c += 1;
                    }
                    r += 1;
                }
                // SAFETY: as above.
                unsafe { mem::transmute::<[[u32; $words]; 2 * $words], [Self; 2 * $words]>(transposed) }
            }
        }

        $(
            /// Elements of one or more words. They only change places.
            impl Vector<{ $words / $of_element }> for $vector {
                const ZERO: Self = 0;

                #[inline(always)]
                fn transpose(square: [Self; $words / $of_element]) -> [Self; $words / $of_element] {
                    const W: usize = $words / $of_element;
                    // SAFETY: all bits are valid words.
                    let square = unsafe { mem::transmute::<[Self; W], [[u32; $words]; W]>(square) };
                    let mut transposed = [[0; $words]; W];
                    let mut r = 0;
                    while r < W {
                        let mut c = 0;
                        while c < W {
                            let mut word = 0;
                            while word < $of_element {
                                transposed[c][$of_element * r + word] = square[r][$of_element * c + word];
                                word += 1;
                            }
                            c += 1;
                        }
                        r += 1;
                    }
                    // SAFETY: as above.
                    unsafe { mem::transmute::<[[u32; $words]; W], [Self; W]>(transposed) }
                }
            }
        )+
    };
}

vectors!(u32, 1, 1);
vectors!(u64, 2, 1, 2);
vectors!(u128, 4, 1, 2, 4);

/// The low halves of two words. That of `upper` is the lower half of the result.
#[inline(always)]
fn low_halves(upper: u32, lower: u32) -> u32 {
    upper & 0xffff | lower << 16
}

/// The high halves of two words. That of `upper` is the lower half of the result.
#[inline(always)]
fn high_halves(upper: u32, lower: u32) -> u32 {
    upper >> 16 | lower & 0xffff_0000
}

/// The even bytes of two words, alternately from `upper` and from `lower`.
#[inline(always)]
fn even_bytes(upper: u32, lower: u32) -> u32 {
    upper & 0x00ff_00ff | (lower & 0x00ff_00ff) << 8
}

/// The odd bytes of two words, alternately from `upper` and from `lower`.
#[inline(always)]
fn odd_bytes(upper: u32, lower: u32) -> u32 {
    (upper & 0xff00_ff00) >> 8 | lower & 0xff00_ff00
}

/// Transposes a square of 4 x 4 bytes: first its quarters of 2 x 2 bytes, then the bytes of each
/// quarter.
#[inline(always)]
fn transpose_bytes([a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let (left, right) =
        ([low_halves(a, c), low_halves(b, d)], [high_halves(a, c), high_halves(b, d)]);
    [
        even_bytes(left[0], left[1]),
        odd_bytes(left[0], left[1]),
        even_bytes(right[0], right[1]),
        odd_bytes(right[0], right[1]),
    ]
}
