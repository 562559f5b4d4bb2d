//! What kernels leave in memory: results that can still be combined.

use bytemuck::{Pod, Zeroable};

use super::Item;

/// A value and where it is: the [raw result](super::Operation::Raw) of [`ArgMin`](super::ArgMin) and its kin.
///
/// In memory: the value, then the index at the next multiple of 8 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Indexed<T: Item> {
    /// The value.
    pub value: T,
    gap: T::Gap,
    /// Its index in the input, from 0.
    pub index: u64,
    tail: T::Tail,
}

impl<T: Item> Indexed<T> {
    /// The value at that index.
    pub fn new(value: T, index: u64) -> Self {
        Self { value, index, ..Self::zeroed() }
    }

    /// The same in an input that has `start` elements before this one's.
    pub(super) fn moved(self, start: u64) -> Self {
        Self::new(self.value, self.index + start)
    }
}

impl<T: Item> PartialEq for Indexed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value && self.index == other.index
    }
}

// SAFETY: zero bytes are a value of each field.
unsafe impl<T: Item> Zeroable for Indexed<T> {}
// SAFETY: each field is `Pod`, and `no_padding` below shows for each type there is that no byte is between them or behind.
unsafe impl<T: Item> Pod for Indexed<T> {}

/// The least and the greatest value: the raw result and the output of [`MinMax`](super::MinMax).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Extremes<T> {
    /// The least.
    pub min: T,
    /// The greatest.
    pub max: T,
}

// SAFETY: zero bytes are a value of each field.
unsafe impl<T: Item> Zeroable for Extremes<T> {}
// SAFETY: two values of one `Pod` type, as in an array.
unsafe impl<T: Item> Pod for Extremes<T> {}

/// A rounded sum and what rounding left out of it: the raw result of [`CompensatedSum`](super::CompensatedSum).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Compensated<F> {
    /// The sum so far.
    pub sum: F,
    /// What is still to be added.
    pub error: F,
}

// SAFETY: zero bytes are a value of each field.
unsafe impl<F: Item> Zeroable for Compensated<F> {}
// SAFETY: two values of one `Pod` type, as in an array.
unsafe impl<F: Item> Pod for Compensated<F> {}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    /// The size of each type is that of its fields: there is no padding, as `Pod` demands. The offsets are those of
    /// `repr(C)` in the kernels.
    #[test]
    fn no_padding() {
        fn check<T: Item>(index_at: usize, size: usize) {
            let fields = size_of::<T>() + size_of::<T::Gap>() + size_of::<u64>() + size_of::<T::Tail>();
            assert_eq!((size_of::<Indexed<T>>(), fields), (size, size), "{}", T::NAME);
            assert_eq!(std::mem::offset_of!(Indexed<T>, index), index_at, "{}", T::NAME);
            assert_eq!(size_of::<Extremes<T>>(), 2 * size_of::<T>(), "{}", T::NAME);
        }
        check::<i8>(8, 16);
        check::<u8>(8, 16);
        check::<i16>(8, 16);
        check::<u16>(8, 16);
        check::<f16>(8, 16);
        check::<bf16>(8, 16);
        check::<i32>(8, 16);
        check::<u32>(8, 16);
        check::<f32>(8, 16);
        check::<i64>(8, 16);
        check::<u64>(8, 16);
        check::<f64>(8, 16);
        check::<i128>(16, 32);
        check::<u128>(16, 32);
    }
}
