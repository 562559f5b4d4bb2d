//! The trait of all operations: their types, and the arithmetic that the host does for them.

use bytemuck::Pod;

use super::{
    Error, Item,
    input::{Arity, Single},
    shapes::KernelClass,
};

/// An operation over elements of type `T`: a type without data, such as [`Sum`](super::Sum).
///
/// An operation is associative and commutative, so the device may combine elements in any order.
/// Over floats this holds up to rounding; the documentation of [`reducer`](super) lists the
/// properties on which the order depends, and with it the bits. The trait cannot be implemented
/// outside this crate.
pub trait Operation<T: Item>: Copy + Default + Send + Sync + private::Kernel<T> + 'static {
    /// [`Single`](super::Single) for one input, [`Pair`](super::Pair) for two inputs of the same
    /// length.
    type Arity: Arity;
    /// The type of the raw result, which the kernel leaves in memory. Two raw results can be
    /// [combined](Self::combine) into one.
    type Raw: Pod + Send + Sync;
    /// The type of the result, which [`finish`](Self::finish) makes from the raw result.
    type Output;
    /// The name of the operation in error messages.
    const NAME: &'static str;
    /// The class of the kernel, which decides the launch shape.
    #[doc(hidden)]
    const CLASS: KernelClass;
    /// The most elements that one call accepts. A longer input is [`Error::TooLong`]. Only
    /// [`CheckedSum`](super::CheckedSum) has a limit, because its kernels are exact only up to that
    /// number.
    const MOST: u64 = u64::MAX;

    /// The raw result of an empty input. `None` if the operation has no result for an empty input.
    fn identity() -> Option<Self::Raw>;

    /// The raw result of an input that is cut in two: `first` is the raw result of its first part,
    /// and `others` that of the part behind it.
    fn combine(first: Self::Raw, others: Self::Raw) -> Self::Raw;

    /// The raw result that the same elements give if the first of them has the index `start` in a
    /// longer input. It differs from `raw` only for operations whose result holds an index.
    #[must_use]
    fn moved(raw: Self::Raw, start: u64) -> Self::Raw {
        let _ = start;
        raw
    }

    /// Turns the raw result of `n` elements into the result.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the operation is a [`CheckedSum`](super::CheckedSum) and the type of
    /// the elements cannot hold the sum. Other operations return no error here.
    fn finish(raw: Self::Raw, n: u64) -> Result<Self::Output, Error>;
}

pub(super) mod private {
    use crate::ptx::EmbeddedKernel;

    /// The kernel of an operation over a type.
    pub trait Kernel<T> {
        const KERNEL: &'static EmbeddedKernel;
    }

    /// The kernels of the same operation for rows and for segments.
    pub trait PartKernels<T> {
        const ROWS: &'static EmbeddedKernel;
        const SEGMENTS: &'static EmbeddedKernel;
    }
}

/// An [`Operation`] over one input that can reduce the rows and axes of arrays
/// ([`Device::reduce_rows`](crate::Device::reduce_rows)): all operations over one input except
/// [`ReproducibleSum`](super::ReproducibleSum). The trait cannot be implemented outside this crate.
pub trait RowOperation<T: Item>: Operation<T, Arity = Single> + private::PartKernels<T> {}

impl<T: Item, O: Operation<T, Arity = Single> + private::PartKernels<T>> RowOperation<T> for O {}

/// An [`Operation`] over one input that can reduce the segments of arrays
/// ([`Device::reduce_segments`](crate::Device::reduce_segments)): each [`RowOperation`]. The trait
/// cannot be implemented outside this crate.
pub trait SegmentOperation<T: Item>: RowOperation<T> {}

impl<T: Item, O: RowOperation<T>> SegmentOperation<T> for O {}

/// Names the kernels `reduce_<name>_<type>`, `rows_<name>_<type>` and `segments_<name>_<type>` of
/// an operation for each type of elements, or only the first after `whole`. `i64 as u64` means that
/// `i64` uses the kernel of `u64`, because both kernels would give the same bits.
macro_rules! kernels {
    (whole $op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {$(
        impl $crate::reducer::operation::private::Kernel<$type> for $op {
            const KERNEL: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ reduce $name $type $($same)?);
        }
    )*};
    ($op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {
        $crate::reducer::operation::kernels!(whole $op, $name: $($type $(as $same)?),*);
        $(
            impl $crate::reducer::operation::private::PartKernels<$type> for $op {
                const ROWS: &'static $crate::ptx::EmbeddedKernel =
                    $crate::reducer::operation::kernels!(@ rows $name $type $($same)?);
                const SEGMENTS: &'static $crate::ptx::EmbeddedKernel =
                    $crate::reducer::operation::kernels!(@ segments $name $type $($same)?);
            }
        )*
    };
    (@ $family:ident $name:ident $type:ident) => { &$crate::ptx::$family::$name::$type };
    (@ $family:ident $name:ident $type:ident $same:ident) => {
        &$crate::ptx::$family::$name::$same
    };
}
pub(super) use kernels;

/// Implements [`Operation`] for an operation whose result is its raw result.
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
