//! The least and the greatest element, with their indices.

use half::{bf16, f16};

use crate::reducer::{
    Indexed, Item, Single,
    operation::{bin_kernels, compared_bytes, kernels, operation},
    order::{first_greatest, first_greatest_or_nan, first_least, first_least_or_nan},
};

/// The least element and its index. Of several equal elements, the first one counts. For an empty
/// input, the call returns [`Error::Empty`](crate::Error::Empty).
///
/// Every number is less than a NaN, and -0 is less than +0. If all elements are NaNs, the result is
/// the first of them.
///
/// ```
/// use warpfold::{ArgMin, Device};
///
/// let device = Device::simulator();
/// let least = device.reduce(&[3, -7, 5, -7], ArgMin)?;
/// assert_eq!((least.value, least.index), (-7, 1));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArgMin;

kernels!(ArgMin, argmin: i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f16, bf16, f32, f64);
bin_kernels!(ArgMin, argmin, |T| compared_bytes::<T>() + 8; u8, i32, u32, i64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> ArgMin: Single, KernelClass::Indexed, "index of the minimum";
    type Raw = Indexed<T>;
    fn identity() = None;
    fn combine(first, others) = first_least(first, others);
    fn moved = Indexed::moved;
}

/// The greatest element and its index. Of several equal elements, the first one counts. For an
/// empty input, the call returns [`Error::Empty`](crate::Error::Empty).
///
/// Every number is greater than a NaN, and +0 is greater than -0. If all elements are NaNs, the
/// result is the first of them.
///
/// ```
/// use warpfold::{ArgMax, Device};
///
/// let device = Device::simulator();
/// let greatest = device.reduce(&[f32::NAN, 2.0, 5.0, 5.0], ArgMax)?;
/// assert_eq!((greatest.value, greatest.index), (5.0, 2));
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArgMax;

kernels!(ArgMax, argmax: i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f16, bf16, f32, f64);
bin_kernels!(ArgMax, argmax, |T| compared_bytes::<T>() + 8; u8, i32, u32, i64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> ArgMax: Single, KernelClass::Indexed, "index of the maximum";
    type Raw = Indexed<T>;
    fn identity() = None;
    fn combine(first, others) = first_greatest(first, others);
    fn moved = Indexed::moved;
}

/// The first NaN and its index, if there is a NaN; otherwise the least element and its index. Of
/// several equal elements, the first one counts. For an empty input, the call returns
/// [`Error::Empty`](crate::Error::Empty).
///
/// -0 is less than +0. For integers, the operation is the same as [`ArgMin`].
///
/// ```
/// use warpfold::{ArgMinimum, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3.0, f32::NAN, -7.0, f32::NAN], ArgMinimum)?.index, 1);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArgMinimum;

kernels!(ArgMinimum, argmin: i8, u8, i16, u16, i32, u32, i64, u64, i128, u128);
kernels!(ArgMinimum, argminimum: f16, bf16, f32, f64);

operation! {
    impl<T: Item> ArgMinimum: Single, KernelClass::Indexed, "index of the minimum";
    type Raw = Indexed<T>;
    fn identity() = None;
    fn combine(first, others) = first_least_or_nan(first, others);
    fn moved = Indexed::moved;
}

/// The first NaN and its index, if there is a NaN; otherwise the greatest element and its index. Of
/// several equal elements, the first one counts. For an empty input, the call returns
/// [`Error::Empty`](crate::Error::Empty).
///
/// +0 is greater than -0. For integers, the operation is the same as [`ArgMax`].
///
/// ```
/// use warpfold::{ArgMaximum, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3.0, f32::NAN, 7.0, f32::NAN], ArgMaximum)?.index, 1);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArgMaximum;

kernels!(ArgMaximum, argmax: i8, u8, i16, u16, i32, u32, i64, u64, i128, u128);
kernels!(ArgMaximum, argmaximum: f16, bf16, f32, f64);

operation! {
    impl<T: Item> ArgMaximum: Single, KernelClass::Indexed, "index of the maximum";
    type Raw = Indexed<T>;
    fn identity() = None;
    fn combine(first, others) = first_greatest_or_nan(first, others);
    fn moved = Indexed::moved;
}
