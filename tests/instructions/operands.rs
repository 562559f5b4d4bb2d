//! The values that threads compute with: the edges of their types, and random values.

use crate::row::Row;

/// The operands of one thread, each in the low bits of its word.
pub(crate) type Tuple = [u64; 4];

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An integer of this many bits.
    Integer { bits: u32, signed: bool },
    /// A float of this many bits.
    Float { bits: u32 },
    /// An `f16` or, if `brain`, a `bf16`. If `packed`, two of them.
    Half { brain: bool, packed: bool },
    /// A 32-bit number that is mostly small: the amount of a shift, a position, a length or a lane.
    Amount,
}

impl Kind {
    /// The number of bits of the value.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Integer { bits, .. } | Self::Float { bits } => bits,
            Self::Half { packed: false, .. } => 16,
            Self::Half { .. } | Self::Amount => 32,
        }
    }

    /// The number of bits of the register that holds the value. There are no registers of 8 bits,
    /// so a byte lies in a wider one.
    pub(crate) fn register(self) -> u32 {
        if self.bits() == 8 { 32 } else { self.bits() }
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Whether two values are the same; any two NaNs count as the same.
    pub(crate) fn agrees_but_for_nan(self, one: u64, other: u64) -> bool {
        match self {
            Self::Half { brain, packed: true } => {
                let half = Self::Half { brain, packed: false };
                [0, 16].into_iter().all(|shift| {
                    let (one, other) = (one >> shift & 0xffff, other >> shift & 0xffff);
                    one == other || half.agrees_but_for_nan(one, other)
                })
            }
            _ => self.is_nan(one) && self.is_nan(other),
        }
    }

    fn is_nan(self, bits: u64) -> bool {
        match self {
            Self::Half { brain, .. } => bits & 0x7fff > if brain { 0x7f80 } else { 0x7c00 },
            Self::Float { bits: 32 } => f32::from_bits(bits as u32).is_nan(),
            Self::Float { .. } => f64::from_bits(bits).is_nan(),
            Self::Integer { .. } | Self::Amount => false,
        }
    }

    /// The bits in hexadecimal and, for floats, also the value.
    pub(crate) fn show(self, bits: u64) -> String {
        let digits = self.register() as usize / 4;
        let bits = bits & (u64::MAX >> (64 - self.register()));
        match self {
            Self::Float { bits: 32 } => format!("{bits:#010x} ({:e})", f32::from_bits(bits as u32)),
            Self::Float { .. } => format!("{bits:#018x} ({:e})", f64::from_bits(bits)),
            Self::Integer { .. } | Self::Half { .. } | Self::Amount => {
                format!("0x{bits:0digits$x}")
            }
        }
    }

    /// The values at which instructions change their behaviour. Bytes and 16-bit floats are not cut
    /// to their width, because the bits above them in the register must not matter.
    fn edges(self) -> Vec<u64> {
        match self {
            Self::Amount => AMOUNT_EDGES.to_vec(),
            Self::Integer { bits, .. } => {
                let top = 1_u64 << (bits - 1);
                let half = 1_u64 << (bits / 2);
                let near =
                    |power: u64| [power - 2, power - 1, power, power + 1, power | power >> 1];
                INTEGER_EDGES.into_iter().chain(near(top)).chain(near(half)).collect()
            }
            Self::Half { brain, packed } => {
                let edges = if brain { BF16_EDGES } else { F16_EDGES };
                // The upper half holds another edge than the lower half.
                let above = |i: usize| {
                    if packed { edges[i * 7 % edges.len()] << 16 | (i as u64 & 2) << 30 } else { 0 }
                };
                let values = edges
                    .iter()
                    .enumerate()
                    .flat_map(|(i, bits)| [bits | above(i), bits | above(i + 5) | 1 << 15]);
                values.collect()
            }
            Self::Float { bits: 32 } => {
                F32_EDGES.into_iter().flat_map(|bits| [bits, bits | 1 << 31]).collect()
            }
            Self::Float { .. } => {
                F64_EDGES.into_iter().flat_map(|bits| [bits, bits | 1 << 63]).collect()
            }
        }
    }

    /// A random value. `before` is the previous operand of the tuple.
    fn random(self, before: u64, next: &mut dyn FnMut() -> u64) -> u64 {
        let (choice, bits) = (next() % 4, next());
        match (self, choice) {
            (Self::Amount, 0..3) => bits % 66,
            // These values are close to the previous operand, so that differences cancel and
            // comparisons are near.
            (Self::Integer { .. }, 0) => before.wrapping_add(bits % 5).wrapping_sub(2),
            (Self::Float { .. }, 0) => before ^ bits & 7 ^ (bits >> 63 << (self.bits() - 1)),
            // These values have every magnitude.
            (Self::Integer { .. }, 1) => (bits as i64 >> (next() % 64)) as u64,
            // These values are near half-integers, where the rounding of `cvt` changes.
            (Self::Float { bits: 32 }, 1) => {
                let half = ((bits as i64 >> (32 + next() % 32)) as f32 + 0.5).to_bits();
                u64::from(half.wrapping_add((next() % 3) as u32).wrapping_sub(1))
            }
            (Self::Float { .. }, 1) => {
                let half = ((bits as i64 >> (next() % 64)) as f64 + 0.5).to_bits();
                half.wrapping_add(next() % 3).wrapping_sub(1)
            }
            // These 16-bit floats are near 1. Both halves of a register get one, in case the type
            // is a pair.
            (Self::Half { brain: false, .. }, 1 | 2) => bits & 0x87ff_87ff | 0x3800_3800,
            (Self::Half { brain: true, .. }, 1 | 2) => bits & 0x81ff_81ff | 0x3f00_3f00,
            // These values are near 1, so that sums and products stay in range. Those of f64 are
            // also near the middle between two f32 numbers.
            (Self::Float { bits: 32 }, 2) => bits & 0x83ff_ffff | 0x3c00_0000,
            (Self::Float { .. }, 2) => {
                let tie =
                    (bits & 0x803f_ffff_e000_0000 | 0x3fc0_0000_1000_0000).wrapping_add(bits % 3);
                tie.wrapping_sub(1)
            }
            _ => bits,
        }
    }
}

#[rustfmt::skip]
const AMOUNT_EDGES: [u64; 21] = [
    0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 255, 256, 0xffff_ffff,
];

const INTEGER_EDGES: [u64; 12] =
    [0, 1, 2, 3, 7, 10, !0, !1, !2, !9, 0x5555_5555_5555_5555, 0x0123_4567_89ab_cdef];

/// The edges of `f32`, without their negatives.
#[rustfmt::skip]
const F32_EDGES: [u64; 30] = [
    // Zero, subnormal numbers, and the smallest normal numbers.
    0, 1, 2, 0x0040_0000, 0x007f_ffff, 0x0080_0000, 0x0080_0001, 0x00ff_ffff,
    // 1 and its neighbours, 0.5, 1.5, 2.5, pi.
    0x3f80_0000, 0x3f80_0001, 0x3f7f_ffff, 0x3f00_0000, 0x3fc0_0000, 0x4020_0000, 0x4049_0fdb,
    // 2^23 + 1, 2^24, 2^31, 2^32, 2^63, 2^64.
    0x4b00_0001, 0x4b80_0000, 0x4f00_0000, 0x4f80_0000, 0x5f00_0000, 0x5f80_0000,
    // Two numbers whose product is below the smallest normal number by less than half a spacing.
    0x1fff_f800, 0x2000_0400,
    // The largest numbers, infinity, signalling and quiet NaNs.
    0x7f00_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001, 0x7fc0_0000, 0x7fc1_2345, 0x7fff_ffff,
];

/// The edges of `f64`, without their negatives.
#[rustfmt::skip]
const F64_EDGES: [u64; 34] = [
    // Zero, subnormal numbers, and the smallest normal numbers.
    0, 1, 0x0008_0000_0000_0000, 0x000f_ffff_ffff_ffff, 0x0010_0000_0000_0000, 0x0010_0000_0000_0001,
    // 1 and its neighbours, 0.5, 1.5, 2.5.
    0x3ff0_0000_0000_0000, 0x3ff0_0000_0000_0001, 0x3fef_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000, 0x3ff8_0000_0000_0000, 0x4004_0000_0000_0000,
    // Numbers that are small for f32: half of its smallest subnormal number and the number above
    // that half, the smallest subnormal number, three numbers just below the smallest normal
    // number, and that number.
    0x3690_0000_0000_0000, 0x3690_0000_0000_0001, 0x36a0_0000_0000_0000,
    0x380f_ffff_e000_0000, 0x380f_ffff_f000_0000, 0x380f_ffff_f800_0000, 0x3810_0000_0000_0000,
    // The end of the range of f32: its largest number, a number just below the middle between that
    // and infinity, and the middle.
    0x47ef_ffff_e000_0000, 0x47ef_ffff_efff_ffff, 0x47ef_ffff_f000_0000,
    // The ends of ranges of integers: 2^31 - 1, 2^31, just below 2^32, 2^63, 2^64.
    0x41df_ffff_ffc0_0000, 0x41e0_0000_0000_0000, 0x41ef_ffff_ffff_ffff, 0x43e0_0000_0000_0000, 0x43f0_0000_0000_0000,
    // The largest numbers, infinity, signalling and quiet NaNs.
    0x7fe0_0000_0000_0000, 0x7fef_ffff_ffff_ffff, 0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_0000, 0x7ff8_1234_5678_9abc, 0x7fff_ffff_ffff_ffff,
];

/// The edges of `f16`, without their negatives.
#[rustfmt::skip]
const F16_EDGES: [u64; 24] = [
    // Zero, subnormal numbers, the smallest normal numbers, and 2^-7 and its neighbours, whose
    // products are subnormal.
    0, 1, 2, 0x0200, 0x03ff, 0x0400, 0x0401, 0x07ff, 0x1fff, 0x2000, 0x2001,
    // 1 and its neighbours, 0.5, 1.5, 2.5, 2^10 + 1, 2^11, 2^15.
    0x3c00, 0x3c01, 0x3bff, 0x3800, 0x3e00, 0x4100, 0x6401, 0x6800, 0x7800,
    // The largest number, infinity, a signalling and a quiet NaN.
    0x7bff, 0x7c00, 0x7c01, 0x7fff,
];

/// The edges of `bf16`, without their negatives.
#[rustfmt::skip]
const BF16_EDGES: [u64; 24] = [
    // Zero, subnormal numbers, the smallest normal numbers, and 2^-63 and its neighbours, whose
    // products are subnormal.
    0, 1, 2, 0x0040, 0x007f, 0x0080, 0x0081, 0x00ff, 0x1fff, 0x2000, 0x2001,
    // 1 and its neighbours, 0.5, 1.5, 2.5, 2^7 + 1, 2^8, 2^63.
    0x3f80, 0x3f81, 0x3f7f, 0x3f00, 0x3fc0, 0x4020, 0x4301, 0x4380, 0x5f00,
    // The largest number, infinity, a signalling and a quiet NaN.
    0x7f7f, 0x7f80, 0x7f81, 0x7fff,
];

/// A Rust type of operands and results.
pub(crate) trait Operand {
    const KIND: Kind;
    /// The value whose bits are the low bits of `word`.
    fn from_word(word: u64) -> Self;
    /// The bits of a register that holds the value.
    fn to_word(self) -> u64;
}

macro_rules! integers {
    ($($ty:ty: $register:ty, $signed:literal;)*) => {$(
        impl Operand for $ty {
            const KIND: Kind = Kind::Integer { bits: <$ty>::BITS, signed: $signed };

            fn from_word(word: u64) -> Self {
                word as $ty
            }

            fn to_word(self) -> u64 {
                (self as $register) as u64
            }
        }
    )*};
}

integers! {
    u16: u16, false;
    i16: u16, true;
    u32: u32, false;
    i32: u32, true;
    u64: u64, false;
    i64: u64, true;
}

macro_rules! floats {
    ($($ty:ty: $bits:ty;)*) => {$(
        impl Operand for $ty {
            const KIND: Kind = Kind::Float { bits: <$bits>::BITS };

            fn from_word(word: u64) -> Self {
                <$ty>::from_bits(word as $bits)
            }

            fn to_word(self) -> u64 {
                self.to_bits() as u64
            }
        }
    )*};
}

floats! {
    f32: u32;
    f64: u64;
}

/// A 32-bit operand that is mostly small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount(pub(crate) u32);

impl Operand for Amount {
    const KIND: Kind = Kind::Amount;

    fn from_word(word: u64) -> Self {
        Self(word as u32)
    }

    fn to_word(self) -> u64 {
        self.0.into()
    }
}

/// The operands for `threads` threads. The first threads get pairs of edges for the first two
/// operands; all other operands are a mix of edges and random values.
pub(crate) fn tuples(row: &Row, threads: usize, next: &mut dyn FnMut() -> u64) -> Vec<Tuple> {
    let edges: Vec<Vec<u64>> = row.operands.iter().map(|(_, kind)| kind.edges()).collect();
    let crossed: Vec<(u64, Option<u64>)> = match edges.as_slice() {
        [] => vec![],
        [a] => a.iter().map(|a| (*a, None)).collect(),
        [a, b, ..] => a.iter().flat_map(|a| b.iter().map(|b| (*a, Some(*b)))).collect(),
    };
    // There may be too many pairs, so half of the threads get an even sample of them.
    let stride = crossed.len().div_ceil(threads / 2).max(1);
    let start = next() as usize % stride;
    let mut crossed = crossed.into_iter().skip(start).step_by(stride);
    let tuple = |_| {
        let first = crossed.next();
        let mut tuple = [0; 4];
        for (place, (_, kind)) in row.operands.iter().enumerate() {
            let edge = match (first, place) {
                (Some((a, _)), 0) => Some(a),
                (Some((_, b)), 1) => b,
                _ if next().is_multiple_of(3) => {
                    Some(edges[place][next() as usize % edges[place].len()])
                }
                _ => None,
            };
            let before = tuple[place.saturating_sub(1)];
            tuple[place] = edge.unwrap_or_else(|| kind.random(before, next));
            if row.divides && place == 1 && tuple[1] & kind.mask() == 0 {
                tuple[1] = 3;
            }
        }
        tuple
    };
    (0..threads).map(tuple).collect()
}
