//! Reductions of two inputs.

use half::{bf16, f16};

use crate::reducer::{
    Item, Pair,
    item::Accumulator,
    operation::{kernels, operation},
};

/// The dot product of two inputs of the same length, or of the rows of two arrays
/// ([`Device::reduce_rows`](crate::Device::reduce_rows)). The result has the type [`Item::Wide`],
/// and integers wrap around. The dot product of empty inputs is 0.
///
/// For floats each product adds one rounding, so the error is at most `((1 + u)^(d + 1) - 1) * sum
/// |x_i * y_i|`, with `u` and `d` as for [`Sum`](super::Sum), as long as no product overflows or
/// underflows and no partial sum overflows (Higham, section 3.1). Products of `f16` and `bf16` are
/// exact.
///
/// ```
/// use warpfold::{Array, Device, Dot};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce((&[1i32, 2, 3], &[4, 5, 6]), Dot)?, 32);
/// assert!(device.reduce((&[1.0, 2.0], &[1.0]), Dot).is_err());
/// // The rows of a matrix with one vector, which is a product of both.
/// let matrix = Array::new(&[1i32, 2, 3, 4, 5, 6], &[2, 3])?;
/// let vector = Array::new(&[1, 0, 2], &[3])?;
/// assert_eq!(device.reduce_rows((&matrix, &vector), Dot)?, [7, 16]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dot;

kernels!(
    pairs Dot, dot: i8, u8, i16, u16, i32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32,
    f64
);

operation! {
    impl<T: Item> Dot: Pair, KernelClass::Pair, "dot product";
    type Raw = T::Wide;
    fn identity() = Some(T::Wide::ZERO);
    fn combine(first, others) = first.plus(others);
}

/// The sum of the squared differences of two inputs of the same length, or of the rows of two
/// arrays ([`Device::reduce_rows`](crate::Device::reduce_rows)). The result has the type
/// [`Item::Wide`], and integers wrap around. The distance of empty inputs is 0.
///
/// For floats, each difference and each square is rounded too, so the error is at most
/// `((1 + u)^(d + 3) - 1) * sum (x_i - y_i)^2`, with `u` and `d` as for [`Sum`](super::Sum), as
/// long as nothing overflows or underflows.
///
/// ```
/// use warpfold::{Array, Device, SquaredDistance};
///
/// let device = Device::simulator();
/// assert_eq!(device.reduce((&[1u8, 5], &[4, 1]), SquaredDistance)?, 25);
/// // The distances of points from one of them.
/// let points = Array::new(&[1u8, 5, 4, 1, 4, 2], &[3, 2])?;
/// let one = Array::new(&[4u8, 1], &[2])?;
/// assert_eq!(device.reduce_rows((&points, &one), SquaredDistance)?, [25, 0, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SquaredDistance;

kernels!(
    pairs SquaredDistance, ssd: i8, u8, i16, u16, i32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32,
    f64
);

operation! {
    impl<T: Item> SquaredDistance: Pair, KernelClass::Pair, "squared distance";
    type Raw = T::Wide;
    fn identity() = Some(T::Wide::ZERO);
    fn combine(first, others) = first.plus(others);
}
