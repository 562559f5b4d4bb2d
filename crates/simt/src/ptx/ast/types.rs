//! The types of values, and the state spaces that hold them.

use std::fmt;

/// A fundamental type (PTX ISA 5.2), or an alternate float format (5.2.3). Registers cannot have
/// alternate formats: `bf16` values are in registers of type `b16`, and `bf16x2` values in `b32`.
/// An `x2` type holds two values, the first in the low half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl Type {
    /// The size in bytes; 1 for a predicate.
    pub const fn size(self) -> u32 {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    /// The size in bits; 1 for a predicate.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            other => other.size() * 8,
        }
    }

    /// Whether this is a float type of any width, packed types included.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64) || self.is_half()
    }

    /// Whether this is `f16`, `bf16`, or a packed type of two of them.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2)
    }

    /// Whether this is `f16x2` or `bf16x2`.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::F16x2 | Self::Bf16x2)
    }

    /// Whether this is one of `s8` to `s64`.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether this is one of `u8` to `u64`.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Whether this is one of `b8` to `b128`.
    pub const fn is_untyped(self) -> bool {
        matches!(self, Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128)
    }

    /// Whether this is a signed or unsigned integer, and not an untyped one.
    pub const fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// The name in PTX, without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::B8 => "b8",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::B128 => "b128",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F16x2 => "f16x2",
            Self::Bf16 => "bf16",
            Self::Bf16x2 => "bf16x2",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space (PTX ISA 5.1). Registers and special registers are operands of their own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// No space is written, so each address tells the space.
    Generic,
    /// `.global`
    Global,
    /// `.shared`, which is `.shared::cta`: the shared memory of the block.
    Shared,
    /// `.shared::cluster`: the shared memory of all blocks of the cluster, including the block
    /// itself.
    SharedCluster,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`: the parameters of a kernel, of a device function, or of a call.
    Param,
}

impl Space {
    /// The name in PTX, without the dot; `generic` if no space is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::SharedCluster => "shared::cluster",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
        }
    }
}
