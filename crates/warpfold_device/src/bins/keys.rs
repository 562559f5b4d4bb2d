//! Keys as numbers. A negative key is a number that is greater than any bin, so signed and unsigned
//! keys of the same size are the same.

use crate::item::Item;
use crate::unroll::each;
use cuda_std::ext::streaming;

/// A type of keys that are counted.
pub trait Count: Item {
    /// The key, or a number that is greater than any bin if it does not fit.
    fn number(self) -> u32;
}

macro_rules! counts {
    ($($t:ty)*) => {$(
        impl Count for $t {
            #[inline(always)]
            fn number(self) -> u32 {
                self.into()
            }
        }
    )*};
}

counts!(u8 u16 u32);

impl Count for u64 {
    #[inline(always)]
    fn number(self) -> u32 {
        if self > u32::MAX.into() { u32::MAX } else { self as u32 }
    }
}

/// The keys at several places, each of which is loaded if it is before `end`. All loads are made
/// before the first key is used.
///
/// # Safety
/// There are keys before `end`, of 2 to the power of `log` bytes each.
#[inline(always)]
pub(super) unsafe fn load<const N: usize>(
    keys: *const u8,
    log: u32,
    at: impl Fn(usize) -> u64,
    end: u64,
) -> [u32; N] {
    let mut numbers = [0; N];
    let place = |i: usize| keys.wrapping_add((at(i) << log) as usize);
    // SAFETY: only keys that are there are read, and each is aligned.
    unsafe {
        match log {
            0 => each(N, |i| numbers[i] = streaming::load_u8_if(place(i), at(i) < end).number()),
            1 => each(N, |i| {
                numbers[i] = streaming::load_u16_if(place(i).cast(), at(i) < end).number();
            }),
            2 => each(N, |i| numbers[i] = streaming::load_u32_if(place(i).cast(), at(i) < end)),
            _ => each(N, |i| {
                numbers[i] = streaming::load_u64_if(place(i).cast(), at(i) < end).number();
            }),
        }
    }
    numbers
}
