//! The types of the elements of a matrix.

use std::{fmt, str::FromStr};

use npyz::TypeChar;

/// The type of an element. Only its width matters to a transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElementType(Row);

/// The name of the type, its kind in NumPy, and its size in bytes.
type Row = (&'static str, Option<TypeChar>, u32);

macro_rules! types {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $kind:expr, $bytes:literal;)+) => {
        impl ElementType {
            $($(#[$doc])* pub const $constant: Self = Self(($name, $kind, $bytes));)+

            /// All types, the narrowest first.
            pub const ALL: &'static [Self] = &[$(Self::$constant),+];
        }
    };
}

types! {
    /// Unsigned integer, 8 bits.
    U8 = "u8", Some(TypeChar::Uint), 1;
    /// Signed integer, 8 bits.
    I8 = "i8", Some(TypeChar::Int), 1;
    /// Unsigned integer, 16 bits.
    U16 = "u16", Some(TypeChar::Uint), 2;
    /// Signed integer, 16 bits.
    I16 = "i16", Some(TypeChar::Int), 2;
    /// IEEE 754 binary16.
    F16 = "f16", Some(TypeChar::Float), 2;
    /// bfloat16: the upper half of an IEEE 754 binary32.
    BF16 = "bf16", None, 2;
    /// Unsigned integer, 32 bits.
    U32 = "u32", Some(TypeChar::Uint), 4;
    /// Signed integer, 32 bits.
    I32 = "i32", Some(TypeChar::Int), 4;
    /// IEEE 754 binary32.
    F32 = "f32", Some(TypeChar::Float), 4;
    /// Unsigned integer, 64 bits.
    U64 = "u64", Some(TypeChar::Uint), 8;
    /// Signed integer, 64 bits.
    I64 = "i64", Some(TypeChar::Int), 8;
    /// IEEE 754 binary64.
    F64 = "f64", Some(TypeChar::Float), 8;
    /// A complex number of two binary32 numbers.
    C64 = "c64", Some(TypeChar::Complex), 8;
    /// Unsigned integer, 128 bits.
    U128 = "u128", None, 16;
    /// Signed integer, 128 bits.
    I128 = "i128", None, 16;
    /// A complex number of two binary64 numbers.
    C128 = "c128", Some(TypeChar::Complex), 16;
}

impl ElementType {
    /// The name of the type, as the command line spells it.
    pub const fn name(self) -> &'static str {
        self.0.0
    }

    /// Size in bytes: 1, 2, 4, 8 or 16.
    pub const fn size(self) -> u32 {
        self.0.2
    }

    /// How many bytes are reversed together to change the byte order. A complex number is two
    /// numbers, and each is reversed by itself.
    pub(super) fn number_size(self) -> u32 {
        if self.0.1 == Some(TypeChar::Complex) { self.size() / 2 } else { self.size() }
    }

    /// The type that has this kind and size in NumPy.
    pub(super) fn of_numpy(kind: TypeChar, bytes: u64) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|element| element.0.1 == Some(kind) && u64::from(element.size()) == bytes)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of an element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown type '{0}': it is one of {names}", names = names())]
pub struct UnknownType(pub String);

fn names() -> String {
    ElementType::ALL.iter().map(|element| element.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for ElementType {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<Self, UnknownType> {
        let found = Self::ALL.iter().copied().find(|element| element.name() == text);
        found.ok_or_else(|| UnknownType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for &element in ElementType::ALL {
            assert_eq!(element.name().parse(), Ok(element));
            assert!([1, 2, 4, 8, 16].contains(&element.size()));
        }
        let error = "f8".parse::<ElementType>().unwrap_err().to_string();
        assert!(error.starts_with("unknown type 'f8': it is one of u8, i8, u16"), "{error}");
    }

    #[test]
    fn numpy_has_the_same() {
        assert_eq!(ElementType::of_numpy(TypeChar::Float, 2), Some(ElementType::F16));
        assert_eq!(ElementType::of_numpy(TypeChar::Complex, 16), Some(ElementType::C128));
        assert_eq!(ElementType::of_numpy(TypeChar::Float, 16), None);
        assert_eq!((ElementType::C64.number_size(), ElementType::U64.number_size()), (4, 8));
    }
}
