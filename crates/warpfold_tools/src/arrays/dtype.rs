//! The types of the elements.

use std::{fmt, str::FromStr};

use npyz::TypeChar;

/// A type of elements: the 14 types that warpfold reduces, and truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// A truth value in a byte. Any byte but 0 is true.
    Bool,
    /// `i8`.
    I8,
    /// `u8`.
    U8,
    /// `i16`.
    I16,
    /// `u16`.
    U16,
    /// `i32`.
    I32,
    /// `u32`.
    U32,
    /// `i64`.
    I64,
    /// `u64`.
    U64,
    /// `i128`.
    I128,
    /// `u128`.
    U128,
    /// A float of IEEE 754's format binary16.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

/// The text does not name a [`Dtype`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown type '{0}': it is one of {names}", names = Dtype::names())]
pub struct UnknownDtype(pub String);

impl Dtype {
    /// All types.
    pub const ALL: [Self; 15] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::I128,
        Self::U128,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// The name, as [`FromStr`] reads it: that of Rust, such as `i32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::I128 => "i128",
            Self::U128 => "u128",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The names of all types, with commas between them.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The number of bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::I128 | Self::U128 => 16,
        }
    }

    /// Whether the elements are floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Whether the elements are integers that may be negative.
    pub fn is_signed_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::I128)
    }

    /// NumPy's name for little-endian elements of this type, such as `<i4`. `None` if NumPy has no
    /// such type.
    pub fn numpy(self) -> Option<&'static str> {
        Some(match self {
            Self::Bool => "|b1",
            Self::I8 => "|i1",
            Self::U8 => "|u1",
            Self::I16 => "<i2",
            Self::U16 => "<u2",
            Self::I32 => "<i4",
            Self::U32 => "<u4",
            Self::I64 => "<i8",
            Self::U64 => "<u8",
            Self::F16 => "<f2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::I128 | Self::U128 | Self::Bf16 => return None,
        })
    }

    /// The type of NumPy's elements of this kind and size. If a type is asked for that NumPy lacks,
    /// elements without a meaning to NumPy (`V2`, `V16`) have that type, because other libraries
    /// save theirs so.
    pub(super) fn of_numpy(kind: TypeChar, bytes: u64, asked: Option<Self>) -> Option<Self> {
        Some(match (kind, bytes) {
            (TypeChar::Bool, 1) => Self::Bool,
            (TypeChar::Int, 1) => Self::I8,
            (TypeChar::Uint, 1) => Self::U8,
            (TypeChar::Int, 2) => Self::I16,
            (TypeChar::Uint, 2) => Self::U16,
            (TypeChar::Int, 4) => Self::I32,
            (TypeChar::Uint, 4) => Self::U32,
            (TypeChar::Int, 8) => Self::I64,
            (TypeChar::Uint, 8) => Self::U64,
            (TypeChar::Float, 2) => Self::F16,
            (TypeChar::Float, 4) => Self::F32,
            (TypeChar::Float, 8) => Self::F64,
            (TypeChar::RawData, bytes) => {
                return asked
                    .filter(|asked| asked.numpy().is_none() && asked.size() as u64 == bytes);
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = UnknownDtype;

    fn from_str(text: &str) -> Result<Self, UnknownDtype> {
        Self::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text)
            .ok_or_else(|| UnknownDtype(text.to_owned()))
    }
}
