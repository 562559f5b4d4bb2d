//! Raw results, which kernels leave in memory and which can still be combined.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

use super::{Item, item::private::Scalar};

/// A value and its index: the [raw result](super::Operation::Raw) of [`ArgMin`](super::ArgMin),
/// [`ArgMax`](super::ArgMax), [`ArgMinimum`](super::ArgMinimum) and
/// [`ArgMaximum`](super::ArgMaximum).
///
/// In memory, the value comes first, then the index at the next multiple of 8 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Indexed<T: Item> {
    /// The value.
    pub value: T,
    gap: T::Gap,
    /// The index of the value in the input, counted from 0.
    pub index: u64,
    tail: T::Tail,
}

impl<T: Item> Indexed<T> {
    /// The value `value` at the index `index`.
    pub fn new(value: T, index: u64) -> Self {
        Self { value, index, ..Self::zeroed() }
    }

    /// The same value in an input that has `start` more elements in front.
    ///
    /// The index in the result of a segment counts the elements of the segment. If `start` is where
    /// the segment begins, the index counts those of the whole array. [`Whole`](super::Whole) does
    /// the same for rows and axes.
    ///
    /// ```
    /// use warpfold::{ArgMax, Device};
    ///
    /// let offsets = [1u32, 3, 6];
    /// let best = Device::simulator().reduce_segments(&[9, 2, 7, 1, 0, 8], &offsets, ArgMax)?;
    /// assert_eq!(best.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 2]);
    /// let in_whole = best.iter().zip(offsets).map(|(best, begin)| best.moved(begin.into()).index);
    /// assert_eq!(in_whole.collect::<Vec<_>>(), [2, 5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[must_use]
    pub fn moved(self, start: u64) -> Self {
        Self::new(self.value, self.index + start)
    }
}

impl<T: Item> PartialEq for Indexed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value && self.index == other.index
    }
}

// SAFETY: all bytes 0 are a valid value of each field.
unsafe impl<T: Item> Zeroable for Indexed<T> {}
// SAFETY: each field is `Pod`, and the assertions of `no_padding` below show for every `Item` that
// no byte lies between the fields or behind them.
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

// SAFETY: all bytes 0 are a valid value of each field.
unsafe impl<T: Item> Zeroable for Extremes<T> {}
// SAFETY: two values of one `Pod` type, as in an array.
unsafe impl<T: Item> Pod for Extremes<T> {}

/// A rounded sum and its rounding error: the raw result of
/// [`CompensatedSum`](super::CompensatedSum).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Compensated<F> {
    /// The rounded sum.
    pub sum: F,
    /// The rounding error, which is still to be added to the sum.
    pub error: F,
}

// SAFETY: all bytes 0 are a valid value of each field.
unsafe impl<F: Item> Zeroable for Compensated<F> {}
// SAFETY: two values of one `Pod` type, as in an array.
unsafe impl<F: Item> Pod for Compensated<F> {}

/// The greatest element and the sum of the exponentials of the differences from it: the raw result
/// of [`LogSumExp`](super::LogSumExp) and [`SoftmaxStats`](super::SoftmaxStats), and the output of
/// the latter, whose documentation says what the numbers are if elements are not finite.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ExpSum<F> {
    /// The greatest element `m`.
    pub max: F,
    /// The sum of `e^(x_i - m)` over all elements `x_i`.
    pub sum: F,
}

// SAFETY: all bytes 0 are a valid value of each field.
unsafe impl<F: Item> Zeroable for ExpSum<F> {}
// SAFETY: two values of one `Pod` type, as in an array.
unsafe impl<F: Item> Pod for ExpSum<F> {}

/// Refuses to compile for a host on which a raw result has padding, which `Pod` forbids, or on
/// which its index lies elsewhere than in the kernels.
macro_rules! no_padding {
    ($($type:ty: $index_at:literal, $size:literal;)*) => {$(
        const _: () = {
            type Raw = Indexed<$type>;
            let fields = size_of::<$type>()
                + size_of::<<$type as Scalar>::Gap>()
                + size_of::<u64>()
                + size_of::<<$type as Scalar>::Tail>();
            assert!(size_of::<Raw>() == $size && fields == $size);
            assert!(std::mem::offset_of!(Raw, index) == $index_at);
            assert!(size_of::<Extremes<$type>>() == 2 * size_of::<$type>());
            assert!(size_of::<Compensated<$type>>() == 2 * size_of::<$type>());
            assert!(size_of::<ExpSum<$type>>() == 2 * size_of::<$type>());
        };
    )*};
}

no_padding! {
    i8: 8, 16;
    u8: 8, 16;
    i16: 8, 16;
    u16: 8, 16;
    f16: 8, 16;
    bf16: 8, 16;
    i32: 8, 16;
    u32: 8, 16;
    f32: 8, 16;
    i64: 8, 16;
    u64: 8, 16;
    f64: 8, 16;
    i128: 16, 32;
    u128: 16, 32;
}
