//! Accumulators as 32-bit words, because a shuffle moves 32 bits, and a 64-bit word holds 32 bits
//! beside a tag.

use crate::unroll::each;

/// The most words that an accumulator has, except in kernels for rows.
pub const MOST: usize = 8;

/// The most words that an accumulator has in any kernel.
pub const LONGEST: usize = 24;

/// A value made of 32-bit words.
pub trait Words: Copy {
    /// The number of words.
    const COUNT: usize;

    /// Word number `i`, counted from 0.
    fn word(self, i: usize) -> u32;

    /// The value whose words `get` gives. `get` is called once for each word, in order.
    fn from_words(get: &impl Fn(usize) -> u32) -> Self;

    /// How many of the first words a block leaves in its slot. The other words follow from the
    /// block's number.
    const IN_SLOT: usize = Self::COUNT;

    /// The value whose first words `get` gives, as `block` has left them in its slot.
    #[inline(always)]
    fn from_slot(get: &impl Fn(usize) -> u32, _block: u32) -> Self {
        Self::from_words(get)
    }

    /// All words of the value, followed by zeros.
    #[inline(always)]
    fn to_words(self) -> [u32; LONGEST] {
        let mut words = [0; LONGEST];
        each(Self::COUNT, |i| words[i] = self.word(i));
        words
    }
}

macro_rules! words {
    ($($t:ty, $bits:ty, $to:expr, $from:expr;)*) => {$(
        impl Words for $t {
            const COUNT: usize = size_of::<$t>() / 4;
            #[inline(always)]
            fn word(self, i: usize) -> u32 {
                let bits: $bits = $to(self);
                (bits >> (32 * i)) as u32
            }
            #[inline(always)]
            fn from_words(get: &impl Fn(usize) -> u32) -> Self {
                let mut bits: $bits = 0;
                each(Self::COUNT, |i| bits |= <$bits>::from(get(i)) << (32 * i));
                $from(bits)
            }
        }
    )*};
}

words! {
    u32, u32, |v| v, |b| b;
    i32, u32, |v| v as u32, |b| b as i32;
    f32, u32, f32::to_bits, f32::from_bits;
    u64, u64, |v| v, |b| b;
    i64, u64, |v| v as u64, |b| b as i64;
    f64, u64, f64::to_bits, f64::from_bits;
    u128, u128, |v| v, |b| b;
    i128, u128, |v| v as u128, |b| b as i128;
}

impl<A: Words, B: Words> Words for (A, B) {
    const COUNT: usize = A::COUNT + B::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        if i < A::COUNT { self.0.word(i) } else { self.1.word(i - A::COUNT) }
    }
    #[inline(always)]
    fn from_words(get: &impl Fn(usize) -> u32) -> Self {
        let first = A::from_words(get);
        (first, B::from_words(&|i| get(i + A::COUNT)))
    }
}
