//! The few greatest and the few least elements, with their indices.

use half::{bf16, f16};

use crate::{
    device::Arg,
    ptx::EmbeddedKernel,
    reducer::{
        Error, Item, Operation, Ranked, Single,
        operation::{
            More, as_whole, compared_bytes,
            private::{Kernel, RowKernel, SegmentKernel},
        },
        order::{first_greatest, first_least},
        shapes::KernelClass,
    },
};

/// The `K` greatest elements and their indices, the greatest one first, for `K` from 1 to 8. For
/// another `K` the program does not compile. If there are fewer than `K` elements, the result has
/// all of them, and an empty input or row gives an empty result.
///
/// Of several equal elements, the one with the smaller index comes first, and counts if there is no
/// place for all. Every number is greater than a NaN, and +0 is greater than -0. So NaNs are in the
/// result only if there are fewer than `K` numbers; then they come last, in the order of their
/// indices. With `K` = 1 the result is that of [`ArgMax`](crate::ArgMax), except that `ArgMax` of
/// an empty input is an error.
///
/// This differs from other libraries: `torch.topk` puts NaNs first and promises no order of equal
/// elements, and `numpy.argpartition` treats NaNs as the greatest elements and promises no order at
/// all.
///
/// The types of elements are `u8`, `i32`, `u32`, `i64`, `u64`, `f16`, `bf16`, `f32` and `f64`. A
/// whole array is reduced as one row is, by the same kernel, and has at most 2^32 - 1 elements, as
/// a row has, and as all segments have together. There are two kernels of each kind for each type,
/// one for `K` up to 4 and a slower one up to 8.
///
/// ```
/// use warpfold::{Array, Device, TopK};
///
/// let gpu = Device::simulator();
/// // A router chooses two of four experts for each of two tokens.
/// let scores = gpu.upload(&[0.1f32, 0.7, 0.0, 0.2, 0.4, 0.1, 0.4, 0.1])?;
/// let chosen = gpu.reduce_rows(&Array::new(&scores, &[2, 4])?, TopK::<2>)?;
/// assert_eq!(chosen[0].iter().map(|best| best.index).collect::<Vec<_>>(), [1, 3]);
/// assert_eq!(chosen[1].iter().map(|best| best.index).collect::<Vec<_>>(), [0, 2]);
/// assert_eq!(chosen[0][1].value, 0.2);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// ```compile_fail
/// # use warpfold::{Device, TopK};
/// let nine = Device::simulator().reduce(&[1u8, 2, 3], TopK::<9>)?;
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TopK<const K: usize>;

/// The `K` least elements and their indices, the least one first, for `K` from 1 to 8.
///
/// All else is as with [`TopK`]: of equal elements the one with the smaller index comes first,
/// every number is before a NaN, and -0 is less than +0. With `K` = 1 the result is that of
/// [`ArgMin`](crate::ArgMin).
///
/// ```
/// use warpfold::{BottomK, Device};
///
/// let least = Device::simulator().reduce(&[2.5f32, f32::NAN, -1.0], BottomK::<8>)?;
/// assert_eq!(least.iter().map(|least| least.index).collect::<Vec<_>>(), [2, 0, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BottomK<const K: usize>;

/// The number of places in the lists of the kernel for lists of `k` elements.
const fn places(k: usize) -> usize {
    assert!(1 <= k && k <= 8, "there are kernels for 1 to 8 elements");
    if k <= 4 { 4 } else { 8 }
}

macro_rules! top {
    ($op:ident, $is_largest:literal, $choose:path, $name:literal: $types:tt) => {
        top!(@kernels $op: $types);

        impl<T: Item, const K: usize> Operation<T> for $op<K>
        where
            Self: Kernel<T>,
        {
            type Arity = Single;
            type Raw = Ranked<T, K>;
            type Output = Ranked<T, K>;
            const NAME: &'static str = $name;
            const CLASS: KernelClass = KernelClass::Indexed;
            const MOST: u64 = u32::MAX as u64;
            // Each place has an element and its index.
            const SLOT_WORDS: u64 = (places(K) * (compared_bytes::<T>() / 4 + 1)) as u64;

            fn more(self) -> More {
                // `warpfold_device::op::top::Asked`.
                [Arg::U32(K as u32 | u32::from($is_largest) << 8)].into_iter().collect()
            }

            fn identity() -> Option<Ranked<T, K>> {
                Some(Ranked::empty())
            }

            fn combine(first: Ranked<T, K>, others: Ranked<T, K>) -> Ranked<T, K> {
                first.merged(others, $choose)
            }

            fn moved(raw: Ranked<T, K>, start: u64) -> Ranked<T, K> {
                raw.moved(start)
            }

            fn finish(raw: Ranked<T, K>, _n: u64) -> Result<Ranked<T, K>, Error> {
                Ok(raw)
            }
        }
    };
    (@kernels $op:ident: [$($type:ident)*]) => {$(
        impl<const K: usize> Kernel<$type> for $op<K> {
            const KERNEL: &'static EmbeddedKernel = match places(K) {
                4 => &crate::ptx::rows::top4::$type,
                _ => &crate::ptx::rows::top8::$type,
            };
            const IS_FOR_ROWS: bool = true;
        }

        impl<const K: usize> RowKernel<$type> for $op<K> {
            const ROWS: &'static EmbeddedKernel = <Self as Kernel<$type>>::KERNEL;
            const HAS_COLUMNS: bool = false;
            as_whole!($type);
        }

        impl<const K: usize> SegmentKernel<$type> for $op<K> {
            const SEGMENTS: &'static EmbeddedKernel = match places(K) {
                4 => &crate::ptx::segments::top4::$type,
                _ => &crate::ptx::segments::top8::$type,
            };
        }
    )*};
}

top!(TopK, true, first_greatest, "top-k": [u8 i32 u32 i64 u64 f16 bf16 f32 f64]);
top!(BottomK, false, first_least, "bottom-k": [u8 i32 u32 i64 u64 f16 bf16 f32 f64]);
