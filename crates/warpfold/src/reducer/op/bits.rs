//! Bitwise reductions of integers.

use crate::reducer::{
    Item, Single,
    operation::{kernels, operation},
};

/// An integer type, seen as a set of bits.
pub trait Bits: Item {
    /// The integer without any bit set.
    const NONE: Self;
    /// The integer with every bit set.
    const ALL: Self;
    /// The bits that are set in both integers.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// The bits that are set in at least one of the integers.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// The bits that are set in exactly one of the integers.
    #[must_use]
    fn xor(self, other: Self) -> Self;
}

macro_rules! bits {
    ($($type:ident)*) => {$(
        impl Bits for $type {
            const NONE: Self = 0;
            const ALL: Self = !0;
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

bits!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128);

/// The bits that are set in every element. The elements are integers. For an empty input, all bits
/// of the result are set.
///
/// ```
/// use warpfold::{BitAnd, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[0b110u8, 0b011], BitAnd)?, 0b010);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitAnd;

kernels!(BitAnd, and: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, i128 as u128, u128);

operation! {
    impl<T: Bits> BitAnd: Single, KernelClass::Plain, "bitwise and";
    type Raw = T;
    fn identity() = Some(T::ALL);
    fn combine(first, others) = first.and(others);
}

/// The bits that are set in at least one element. The elements are integers. For an empty input,
/// the result is 0.
///
/// ```
/// use warpfold::{BitOr, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[0b110u8, 0b010], BitOr)?, 0b110);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitOr;

kernels!(BitOr, or: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, i128 as u128, u128);

operation! {
    impl<T: Bits> BitOr: Single, KernelClass::Plain, "bitwise or";
    type Raw = T;
    fn identity() = Some(T::NONE);
    fn combine(first, others) = first.or(others);
}

/// The bits that are set in an odd number of elements. The elements are integers. For an empty
/// input, the result is 0.
///
/// ```
/// use warpfold::{BitXor, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[0b110u8, 0b011], BitXor)?, 0b101);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitXor;

kernels!(BitXor, xor: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, i128 as u128, u128);

operation! {
    impl<T: Bits> BitXor: Single, KernelClass::Plain, "bitwise xor";
    type Raw = T;
    fn identity() = Some(T::NONE);
    fn combine(first, others) = first.xor(others);
}
