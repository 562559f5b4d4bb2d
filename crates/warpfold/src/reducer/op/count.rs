//! The number of elements that are not zero, and whether any or all elements are not zero.

use half::{bf16, f16};

use crate::reducer::{
    Error, Item, Operation, Single,
    operation::{kernels, operation, private::Kernel},
    shapes::KernelClass,
};

/// The number of elements that are not zero. A NaN is not zero; -0 is zero. The count of an empty
/// input is 0.
///
/// ```
/// use warpfold::{CountNonzero, Device};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce(&[1, 0, -3, 0], CountNonzero)?, 2);
/// assert_eq!(device.reduce(&[-0.0, f64::NAN], CountNonzero)?, 1);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CountNonzero;

kernels!(CountNonzero, count: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32, f64);

operation! {
    impl<T: Item> CountNonzero: Single, KernelClass::Plain, "count";
    type Raw = u64;
    fn identity() = Some(0);
    fn combine(first, others) = first + others;
}

/// Whether at least one element is not zero. A NaN is not zero; -0 is zero. For an empty input the
/// result is false.
///
/// ```
/// use warpfold::{Any, Device};
///
/// let device = Device::simulator();
/// assert!(device.reduce(&[0, 0, 5], Any)?);
/// assert!(!device.reduce(&[0.0, -0.0], Any)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Any;

kernels!(Any, count: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32, f64);

impl<T: Item> Operation<T> for Any
where
    Any: Kernel<T>,
{
    type Arity = Single;
    type Raw = u64;
    type Output = bool;
    const NAME: &'static str = "any";
    const CLASS: KernelClass = KernelClass::Plain;

    fn identity() -> Option<Self::Raw> {
        Some(0)
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        first + others
    }

    fn finish(raw: Self::Raw, _n: u64) -> Result<Self::Output, Error> {
        Ok(raw > 0)
    }
}

/// Whether no element is zero. A NaN is not zero; -0 is zero. For an empty input the result is
/// true.
///
/// ```
/// use warpfold::{All, Device};
///
/// let device = Device::simulator();
/// assert!(device.reduce(&[1, 2, 5], All)?);
/// assert!(!device.reduce(&[1, 0, 5], All)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct All;

kernels!(All, count: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32, f64);

impl<T: Item> Operation<T> for All
where
    All: Kernel<T>,
{
    type Arity = Single;
    type Raw = u64;
    type Output = bool;
    const NAME: &'static str = "all";
    const CLASS: KernelClass = KernelClass::Plain;

    fn identity() -> Option<Self::Raw> {
        Some(0)
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        first + others
    }

    fn finish(raw: Self::Raw, n: u64) -> Result<Self::Output, Error> {
        Ok(raw == n)
    }
}
