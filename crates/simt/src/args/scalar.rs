//! The types of values, and the ways to make values from text, from indices and from random bits.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};

use crate::exec::launch::Arg;

/// The type of a value, or of a buffer's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum ScalarType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

impl ScalarType {
    /// All types.
    pub const ALL: [ScalarType; 12] = {
        use ScalarType::{BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        [U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64]
    };

    /// The name of the type in descriptions.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::U8 => "u8",
            ScalarType::U16 => "u16",
            ScalarType::U32 => "u32",
            ScalarType::U64 => "u64",
            ScalarType::I8 => "i8",
            ScalarType::I16 => "i16",
            ScalarType::I32 => "i32",
            ScalarType::I64 => "i64",
            ScalarType::F16 => "f16",
            ScalarType::BF16 => "bf16",
            ScalarType::F32 => "f32",
            ScalarType::F64 => "f64",
        }
    }

    /// The size of one value in bytes.
    pub const fn size(self) -> u64 {
        match self {
            ScalarType::U8 | ScalarType::I8 => 1,
            ScalarType::U16 | ScalarType::I16 | ScalarType::F16 | ScalarType::BF16 => 2,
            ScalarType::U32 | ScalarType::I32 | ScalarType::F32 => 4,
            ScalarType::U64 | ScalarType::I64 | ScalarType::F64 => 8,
        }
    }

    pub(super) fn named(name: &str) -> Option<ScalarType> {
        ScalarType::ALL.into_iter().find(|ty| ty.name() == name)
    }

    pub(super) fn list() -> String {
        ScalarType::ALL.map(ScalarType::name).join(", ")
    }

    pub(super) fn value(self, text: &str) -> Option<Arg> {
        fn float<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        match self {
            ScalarType::U8 => integer(text).map(Arg::U8),
            ScalarType::U16 => integer(text).map(Arg::U16),
            ScalarType::U32 => integer(text).map(Arg::U32),
            ScalarType::U64 => integer(text).map(Arg::U64),
            ScalarType::I8 => integer(text).map(Arg::I8),
            ScalarType::I16 => integer(text).map(Arg::I16),
            ScalarType::I32 => integer(text).map(Arg::I32),
            ScalarType::I64 => integer(text).map(Arg::I64),
            ScalarType::F16 => float(text).map(|value| Arg::U16(f16::from_f64(value).to_bits())),
            ScalarType::BF16 => float(text).map(|value| Arg::U16(bf16::from_f64(value).to_bits())),
            ScalarType::F32 => float(text).map(Arg::F32),
            ScalarType::F64 => float(text).map(Arg::F64),
        }
    }

    /// The bytes of the number `index` as a value of this type.
    pub(super) fn iota(self, index: u64) -> [u8; 8] {
        match self {
            ScalarType::F16 => widen(f16::from_f64(index as f64).to_bits()),
            ScalarType::BF16 => widen(bf16::from_f64(index as f64).to_bits()),
            ScalarType::F32 => widen((index as f32).to_bits()),
            ScalarType::F64 => (index as f64).to_le_bytes(),
            _ => index.to_le_bytes(),
        }
    }

    /// The bytes of a value made from 64 random bits.
    pub(super) fn random(self, bits: u64) -> [u8; 8] {
        // The fraction has as many bits as the type's significand, so that nothing is rounded.
        let fraction = |digits: u32| (bits >> (64 - digits)) as f64 / (1u64 << digits) as f64;
        match self {
            ScalarType::F16 => widen(f16::from_f64(fraction(11)).to_bits()),
            ScalarType::BF16 => widen(bf16::from_f64(fraction(8)).to_bits()),
            ScalarType::F32 => widen((fraction(24) as f32).to_bits()),
            ScalarType::F64 => fraction(53).to_le_bytes(),
            _ => bits.to_le_bytes(),
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads an integer in decimal, or in hexadecimal after `0x`.
pub(super) fn integer<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        // The first character must be a digit, because `from_str_radix` would also accept a sign.
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            i128::from_str_radix(digits, 16).ok()?
        }
        Some(_) => return None,
        None => text.parse().ok()?,
    };
    T::try_from(value).ok()
}

/// The bytes of a value, at the beginning of eight bytes.
pub(super) fn widen(bits: impl Into<u64>) -> [u8; 8] {
    bits.into().to_le_bytes()
}
