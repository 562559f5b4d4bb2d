//! The types of offsets.

use super::super::Item;

/// A type of offsets: `u32`, `i32`, `u64` or `i64`. The trait cannot be implemented outside this
/// crate.
pub trait Offset: Item + private::Number {}

pub(super) mod private {
    pub trait Number: Copy {
        /// The greatest offset of this type.
        const GREATEST: u64;
        /// The offset as a number. A negative one is greater than the number of any elements.
        fn number(self) -> u64;
    }
}

macro_rules! offsets {
    ($($t:ty as $bits:ty),*) => {$(
        impl Offset for $t {}

        impl private::Number for $t {
            const GREATEST: u64 = <$t>::MAX as u64;

            fn number(self) -> u64 {
                u64::from(self as $bits)
            }
        }
    )*};
}

offsets!(u32 as u32, i32 as u32, u64 as u64, i64 as u64);
