//! The least and the greatest element.

use half::{bf16, f16};

use crate::reducer::{
    Extremes, Item, Single,
    operation::{bin_kernels, compared_bytes, kernels, operation},
    order::{greater, greater_or_nan, lesser, lesser_or_nan},
};

/// The least element. For an empty input, the call returns [`Error::Empty`](crate::Error::Empty).
///
/// Floats are compared by IEEE 754-2019's `minimumNumber`: NaNs are ignored, and -0 is less than
/// +0. If all elements are NaNs, the result is NaN. [`Minimum`] instead returns NaN if any element
/// is NaN.
///
/// ```
/// use warpfold::{Device, Min};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3, -7, 5], Min)?, -7);
/// assert_eq!(device.reduce(&[2.0, f64::NAN, 1.0], Min)?, 1.0);
/// assert!(device.reduce::<&[i32], _>(&[], Min).is_err());
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Min;

kernels!(Min, min: i8, u8, i16, u16, i128, u128);
kernels!(keyed Min, min: i32, u32, i64, u64, f16, bf16, f32, f64);
bin_kernels!(Min, min, |T| compared_bytes::<T>(); u8, i32, u32, i64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> Min: Single, KernelClass::Plain, "minimum";
    type Raw = T;
    fn identity() = None;
    fn combine(first, others) = lesser(first, others);
}

/// The greatest element. For an empty input, the call returns
/// [`Error::Empty`](crate::Error::Empty).
///
/// Floats are compared by IEEE 754-2019's `maximumNumber`: NaNs are ignored, and +0 is greater than
/// -0. If all elements are NaNs, the result is NaN. [`Maximum`] instead returns NaN if any element
/// is NaN.
///
/// ```
/// use warpfold::{Device, Max};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3, -7, 5], Max)?, 5);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Max;

kernels!(Max, max: i8, u8, i16, u16, i128, u128);
kernels!(keyed Max, max: i32, u32, i64, u64, f16, bf16, f32, f64);
bin_kernels!(Max, max, |T| compared_bytes::<T>(); u8, i32, u32, i64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> Max: Single, KernelClass::Plain, "maximum";
    type Raw = T;
    fn identity() = None;
    fn combine(first, others) = greater(first, others);
}

/// The least element, or NaN if any element is NaN. For an empty input, the call returns
/// [`Error::Empty`](crate::Error::Empty).
///
/// Floats are compared by IEEE 754-2019's `minimum`: the result is NaN if any element is NaN, and
/// -0 is less than +0. For integers, the operation is the same as [`Min`].
///
/// ```
/// use warpfold::{Device, Minimum};
///
/// let device = Device::simulator();
/// assert!(device.reduce(&[2.0, f64::NAN, 1.0], Minimum)?.is_nan());
/// assert_eq!(device.reduce(&[2.0, 1.0], Minimum)?, 1.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Minimum;

kernels!(Minimum, min: i8, u8, i16, u16, i128, u128);
kernels!(keyed Minimum, min: i32, u32, i64, u64);
kernels!(keyed Minimum, minimum: f16, bf16, f32, f64);

operation! {
    impl<T: Item> Minimum: Single, KernelClass::Plain, "minimum";
    type Raw = T;
    fn identity() = None;
    fn combine(first, others) = lesser_or_nan(first, others);
}

/// The greatest element, or NaN if any element is NaN. For an empty input, the call returns
/// [`Error::Empty`](crate::Error::Empty).
///
/// Floats are compared by IEEE 754-2019's `maximum`: the result is NaN if any element is NaN, and
/// +0 is greater than -0. For integers, the operation is the same as [`Max`].
///
/// ```
/// use warpfold::{Device, Maximum};
///
/// let device = Device::simulator();
/// assert!(device.reduce(&[2.0, f64::NAN, 1.0], Maximum)?.is_nan());
/// assert_eq!(device.reduce(&[2.0, 1.0], Maximum)?, 2.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Maximum;

kernels!(Maximum, max: i8, u8, i16, u16, i128, u128);
kernels!(keyed Maximum, max: i32, u32, i64, u64);
kernels!(keyed Maximum, maximum: f16, bf16, f32, f64);

operation! {
    impl<T: Item> Maximum: Single, KernelClass::Plain, "maximum";
    type Raw = T;
    fn identity() = None;
    fn combine(first, others) = greater_or_nan(first, others);
}

/// The least and the greatest element, found in one pass. They are the results of [`Min`] and of
/// [`Max`]. For an empty input, the call returns [`Error::Empty`](crate::Error::Empty).
///
/// ```
/// use warpfold::{Device, Extremes, MinMax};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[3, -7, 5], MinMax)?, Extremes { min: -7, max: 5 });
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MinMax;

kernels!(MinMax, minmax: i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f16, bf16, f32, f64);
bin_kernels!(MinMax, minmax, |T| 2 * compared_bytes::<T>(); u8, i32, u32, i64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> MinMax: Single, KernelClass::Extremes, "minimum and maximum";
    type Raw = Extremes<T>;
    fn identity() = None;
    fn combine(first, others) = Extremes { min: lesser(first.min, others.min), max: greater(first.max, others.max) };
}
