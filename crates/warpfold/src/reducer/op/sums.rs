//! Sums and products.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

use crate::reducer::{
    Error, Int192, Item, Operation, Single,
    item::Accumulator,
    operation::{bin_kernels, kernels, operation, private::Kernel},
    shapes::KernelClass,
};

/// The sum. The result has the type [`Item::Wide`]: an `i64` for `i8`, `i16`, `i32` and `i64`, a
/// `u64` for unsigned integers up to 64 bits, an `f32` for `f16`, `bf16` and `f32`, and the type
/// itself for `i128`, `u128` and `f64`. The sum of no elements is 0.
///
/// **Integers** wrap modulo 2^64 (2^128 for 128-bit elements), so sums of elements of 8, 16 and 32
/// bits are exact up to 2^32 elements. [`CheckedSum`] reports a sum that does not fit its type.
///
/// **Floats** are rounded in each addition. The error is at most `((1 + u)^d - 1) * sum |x_i|`,
/// with `u` = 2^-24 for `f32` and 2^-53 for `f64`, and `d` the [depth](crate::Reducer::depth) of
/// the tree of additions, as long as no partial sum overflows (N. J. Higham, *Accuracy and
/// Stability of Numerical Algorithms*, 2nd ed., section 4.2). The conversion of `f16` and `bf16` to
/// `f32` is exact. If the elements contain a NaN, or infinities of both signs, the sum is NaN.
///
/// ```
/// use warpfold::{Device, Sum};
///
/// let device = Device::simulator();
/// let total: i64 = device.reduce(&[i32::MAX; 3], Sum)?;
/// assert_eq!(total, 3 * i64::from(i32::MAX));
/// let total: f32 = device.reduce(&[0.5f32, 0.25, -1.0], Sum)?;
/// assert_eq!(total, -0.25);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum;

kernels!(Sum, sum: i8, u8, i16, u16, i128 as u128, u128);
kernels!(keyed Sum, sum: i32, u32, i64 as u64, u64, f16, bf16, f32, f64);
bin_kernels!(Sum, sum, |T| size_of::<<T as Item>::Wide>(); u8, i32, u32, i64 as u64, u64, f16, bf16, f32, f64);

operation! {
    impl<T: Item> Sum: Single, KernelClass::Plain, "sum";
    type Raw = T::Wide;
    fn identity() = Some(T::Wide::ZERO);
    fn combine(first, others) = first.plus(others);
}

/// The sum of integers in the type of the elements. The sum wraps around like `wrapping_add`, so it
/// is the exact sum modulo 2 to the number of bits of the type. The sum of no elements is 0.
///
/// ```
/// use warpfold::{Device, WrappingSum};
///
/// let device = Device::simulator();
/// let total: i32 = device.reduce(&[i32::MAX, 1], WrappingSum)?;
/// assert_eq!(total, i32::MIN);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WrappingSum;

// 32-bit elements have kernels of their own, because a sum that is not widened is faster. Narrower
// and wider types share the kernels of `Sum`, because kernels of their own would gain nothing.
kernels!(WrappingSum, sum: i8, u8, i16, u16, i64 as u64, u64, i128 as u128, u128);
kernels!(WrappingSum, wrapping: i32 as u32, u32);

/// An integer type whose elements a [`WrappingSum`] can add: the type of the raw result, and how
/// the raw result is cut to the type of the elements.
pub trait Wrapping: Item {
    /// The type of the raw result.
    type Raw: Item;
    /// The sum of two raw results.
    #[must_use]
    fn plus(first: Self::Raw, others: Self::Raw) -> Self::Raw;
    /// Cuts a raw result to its lowest bits, as many as the type of the elements has.
    fn cut(raw: Self::Raw) -> Self;
}

macro_rules! wrapping {
    ($($type:ident: $raw:ident),*) => {$(
        impl Wrapping for $type {
            type Raw = $raw;
            fn plus(first: $raw, others: $raw) -> $raw {
                first.wrapping_add(others)
            }
            fn cut(raw: $raw) -> Self {
                raw as Self
            }
        }
    )*};
}

wrapping!(i8: i64, u8: u64, i16: i64, u16: u64, i32: i32, u32: u32, i64: i64, u64: u64, i128: i128, u128: u128);

impl<T: Wrapping> Operation<T> for WrappingSum
where
    WrappingSum: Kernel<T>,
{
    type Arity = Single;
    type Raw = <T as Wrapping>::Raw;
    type Output = T;
    const NAME: &'static str = "wrapping sum";
    const CLASS: KernelClass = KernelClass::Plain;

    fn identity() -> Option<Self::Raw> {
        Some(Zeroable::zeroed())
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        T::plus(first, others)
    }

    fn finish(raw: Self::Raw, _n: u64) -> Result<Self::Output, Error> {
        Ok(T::cut(raw))
    }
}

/// The sum of integers in the type of the elements, or [`Error::Overflow`] with the exact sum if
/// that type cannot hold it. Only the sum of all elements counts: a partial sum may exceed the
/// type. The sum of no elements is 0.
///
/// The kernels add elements of up to 32 bits in 64 bits, so the number of elements is limited to
/// 2^32 for 32-bit elements, 2^48 for 16-bit ones and 2^56 for 8-bit ones. A longer input is
/// [`Error::TooLong`]. Sums of 64-bit elements are exact in 128 bits, and sums of 128-bit elements
/// in 192 bits.
///
/// ```
/// use warpfold::{CheckedSum, Device, Error};
///
/// let device = Device::simulator();
/// let total: i32 = device.reduce(&[i32::MAX, 1, -2], CheckedSum)?;
/// assert_eq!(total, i32::MAX - 1);
/// match device.reduce(&[u64::MAX, 2], CheckedSum) {
///     Err(Error::Overflow { exact, .. }) => assert_eq!(exact.to_string(), "18446744073709551617"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CheckedSum;

kernels!(CheckedSum, sum: i8, u8, i16, u16, i32, u32);
kernels!(CheckedSum, checked: i64, u64, i128, u128);

/// An integer type whose elements a [`CheckedSum`] can add: the type of the raw result, and how the
/// raw result is narrowed to the type of the elements.
pub trait Checked: Item {
    /// The type of the raw result, which holds the exact sum of up to [`Self::MOST`] elements.
    type Raw: Pod + Send + Sync;
    /// The most elements: 2^(64 - bits) if the sum has 64 bits, and `u64::MAX`, which is no limit,
    /// if it has more.
    const MOST: u64;
    /// The sum of two raw results.
    #[must_use]
    fn plus(first: Self::Raw, others: Self::Raw) -> Self::Raw;
    /// The raw result as an [`Int192`].
    fn exact(raw: Self::Raw) -> Int192;
    /// The sum in the type of the elements; `None` if that type cannot hold it.
    fn narrowed(exact: Int192) -> Option<Self>;
}

macro_rules! checked {
    ($($type:ident: $raw:ident, $widest:ident, $plus:path;)*) => {$(
        impl Checked for $type {
            type Raw = $raw;
            const MOST: u64 = if $type::BITS < 64 { 1 << (64 - $type::BITS % 64) } else { u64::MAX };
            fn plus(first: $raw, others: $raw) -> $raw {
                $plus(first, others)
            }
            fn exact(raw: $raw) -> Int192 {
                raw.into()
            }
            fn narrowed(exact: Int192) -> Option<Self> {
                $widest::try_from(exact).ok()?.try_into().ok()
            }
        }
    )*};
}

checked! {
    i8: i64, i128, i64::wrapping_add;
    u8: u64, u128, u64::wrapping_add;
    i16: i64, i128, i64::wrapping_add;
    u16: u64, u128, u64::wrapping_add;
    i32: i64, i128, i64::wrapping_add;
    u32: u64, u128, u64::wrapping_add;
    i64: i128, i128, i128::wrapping_add;
    u64: u128, u128, u128::wrapping_add;
    i128: Int192, i128, std::ops::Add::add;
    u128: Int192, u128, std::ops::Add::add;
}

impl<T: Checked> Operation<T> for CheckedSum
where
    CheckedSum: Kernel<T>,
{
    type Arity = Single;
    type Raw = <T as Checked>::Raw;
    type Output = T;
    const NAME: &'static str = "checked sum";
    const CLASS: KernelClass = KernelClass::Plain;
    const MOST: u64 = T::MOST;

    fn identity() -> Option<Self::Raw> {
        Some(Zeroable::zeroed())
    }

    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw {
        T::plus(first, others)
    }

    fn finish(raw: Self::Raw, _n: u64) -> Result<Self::Output, Error> {
        let exact = T::exact(raw);
        T::narrowed(exact).ok_or(Error::Overflow { exact, item: T::NAME })
    }
}

/// The product. The result has the type [`Item::Wide`], as that of a [`Sum`]. The product of no
/// elements is 1.
///
/// **Integers** wrap modulo 2^64 (2^128 for 128-bit elements). **Floats** are rounded in each
/// multiplication. In every order, the error is at most `((1 + u)^(n - 1) - 1) * |product|`, with
/// `u` = 2^-24 for `f32` and 2^-53 for `f64`, as long as no partial product leaves the range of
/// normal numbers (Higham, Lemma 3.1). If the elements contain a NaN, or both an infinity and a
/// zero, the product is NaN.
///
/// ```
/// use warpfold::{Device, Product};
///
/// let device = Device::simulator();
/// let product: u64 = device.reduce(&[200u8, 100, 50], Product)?;
/// assert_eq!(product, 1_000_000);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Product;

kernels!(Product, product: i8, u8, i16, u16, i32, u32, i64 as u64, u64, i128 as u128, u128, f16, bf16, f32, f64);

operation! {
    impl<T: Item> Product: Single, KernelClass::Plain, "product";
    type Raw = T::Wide;
    fn identity() = Some(T::Wide::ONE);
    fn combine(first, others) = first.times(others);
}
