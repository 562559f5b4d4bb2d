//! The trait by which the host knows an operation.

use bytemuck::Pod;

use super::{Error, Item, input::Arity, shapes::KernelClass};

/// An operation over elements of type `T`: a type without data, such as [`Sum`](super::Sum).
///
/// An operation is associative and commutative (over floats: up to rounding), so the device may
/// combine elements in any order. The documentation of [`reducer`](super) says what the order
/// depends on. The trait cannot be implemented outside this crate.
pub trait Operation<T: Item>: Copy + Default + Send + Sync + private::Kernel<T> + 'static {
    /// [`Single`](super::Single) for one input, [`Pair`](super::Pair) for two of the same length.
    type Arity: Arity;
    /// The raw result, which the kernel leaves in memory. It can be [combined](Self::combine) with
    /// other raw results.
    type Raw: Pod + Send + Sync;
    /// The result, which [`finish`](Self::finish) makes of the raw result.
    type Output;
    /// The name of the operation in error messages.
    const NAME: &'static str;
    /// The class of the kernel, from which the launch shape is chosen.
    #[doc(hidden)]
    const CLASS: KernelClass;
    /// The most elements for which the kernel is exact.
    const MOST: u64 = u64::MAX;

    /// The raw result of no elements; `None` if the operation has no value for them.
    fn identity() -> Option<Self::Raw>;

    /// The raw result of all elements, from the raw result of the `first` elements and that of the
    /// `others` behind them.
    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw;

    /// The raw result of the same elements if they begin at index `start` of a longer input.
    #[must_use]
    fn moved(raw: Self::Raw, start: u64) -> Self::Raw {
        let _ = start;
        raw
    }

    /// Turns the raw result of `n` elements into the result.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] of a [`CheckedSum`](super::CheckedSum).
    fn finish(raw: Self::Raw, n: u64) -> Result<Self::Output, Error>;
}

pub(super) mod private {
    use crate::ptx::EmbeddedKernel;

    /// The kernel of an operation over a type.
    pub trait Kernel<T> {
        const KERNEL: &'static EmbeddedKernel;
    }
}

/// Names the kernels of an operation, `reduce_<name>_<type>`. `i64 as u64` means that `i64` uses
/// the kernel of `u64`, because the bits are the same.
macro_rules! kernels {
    ($op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {$(
        impl $crate::reducer::operation::private::Kernel<$type> for $op {
            const KERNEL: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ $name $type $($same)?);
        }
    )*};
    (@ $name:ident $type:ident) => { &$crate::ptx::$name::$type };
    (@ $name:ident $type:ident $same:ident) => { &$crate::ptx::$name::$same };
}
pub(super) use kernels;

/// Implements an operation whose result is its raw result.
macro_rules! operation {
    (
        impl<T: $bound:ident> $op:ident: $arity:ident, KernelClass::$class:ident, $name:literal;
        type Raw = $raw:ty;
        fn identity() = $identity:expr;
        fn combine($first:ident, $others:ident) = $combine:expr;
        $(fn moved = $moved:path;)?
    ) => {
        impl<T: $bound> $crate::reducer::Operation<T> for $op
        where
            $op: $crate::reducer::operation::private::Kernel<T>,
        {
            type Arity = $arity;
            type Raw = $raw;
            type Output = $raw;
            const NAME: &'static str = $name;
            const CLASS: $crate::reducer::shapes::KernelClass = $crate::reducer::shapes::KernelClass::$class;

            fn identity() -> Option<$raw> {
                $identity
            }

            fn combine($first: $raw, $others: $raw) -> $raw {
                $combine
            }

            $(
                fn moved(raw: $raw, start: u64) -> $raw {
                    $moved(raw, start)
                }
            )?

            fn finish(raw: $raw, _n: u64) -> Result<$raw, $crate::reducer::Error> {
                Ok(raw)
            }
        }
    };
}
pub(super) use operation;
