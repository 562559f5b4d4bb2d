//! The types of keys that are bins.

use super::super::Item;

/// A type of keys that are numbers of bins: `u8`, `u16`, `u32`, `i32`, `u64` or `i64`. The trait
/// cannot be implemented outside this crate.
pub trait BinKey: Item + private::Number {}

pub(super) mod private {
    use crate::ptx::EmbeddedKernel;

    pub trait Number: Copy {
        /// The kernel that counts keys of this size.
        const COUNTS: &'static EmbeddedKernel;

        /// The key as a number.
        fn number(self) -> i128;
    }
}

macro_rules! keys {
    ($($t:ty as $same:ident),*) => {$(
        impl BinKey for $t {}

        impl private::Number for $t {
            const COUNTS: &'static crate::ptx::EmbeddedKernel = &crate::ptx::bins::counts::$same;

            fn number(self) -> i128 {
                self.into()
            }
        }
    )*};
}

keys!(u8 as u8, u16 as u16, u32 as u32, i32 as u32, u64 as u64, i64 as u64);
