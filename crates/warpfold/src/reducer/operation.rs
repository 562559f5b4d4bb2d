//! The trait of all operations: their types, and the arithmetic that the host does for them.

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::device::Arg;

use super::{
    Error, Item,
    input::{Arity, Single},
    shapes::KernelClass,
};

/// The most arguments that follow the others of a kernel, in an operation with a constant.
pub(super) const MORE: usize = 5;

/// These arguments.
pub(crate) type More = SmallVec<[Arg; MORE]>;

/// An operation over elements of type `T`, such as [`Sum`](super::Sum). Most operations are types
/// without data; some hold constants, such as [`CountWhere`](super::CountWhere).
///
/// An operation is associative and commutative, so the device may combine elements in any order.
/// Over floats this holds up to rounding; the documentation of [`reducer`](super) lists the
/// properties on which the order depends, and with it the bits. The trait cannot be implemented
/// outside this crate.
pub trait Operation<T: Item>: Copy + Send + Sync + private::Kernel<T> + 'static {
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
    /// The most elements that one call accepts. A longer input is [`Error::TooLong`]. Only these
    /// have a limit: [`CheckedSum`](super::CheckedSum), because its kernels are exact only up to
    /// that number, and [`TopK`](super::TopK) and [`BottomK`](super::BottomK), because their
    /// kernels keep indices in 32 bits. For rows and axes it is the most elements of a row.
    const MOST: u64 = u64::MAX;
    /// The most 32-bit words of an accumulator in the kernels. `warpfold_device::rows!` and
    /// `warpfold_device::segments!` assert that a raw result is as long.
    #[doc(hidden)]
    const SLOT_WORDS: u64 =
        if size_of::<Self::Raw>() > 8 { size_of::<Self::Raw>() as u64 / 4 } else { 2 };

    /// The last arguments of the kernels, if the operation has a constant.
    #[doc(hidden)]
    fn more(self) -> More {
        More::new()
    }

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
    use bytemuck::Pod;

    use super::{Error, Item, Operation};
    use crate::{ptx::EmbeddedKernel, reducer::made::Kind};

    /// The kernel of an operation over a type.
    pub trait Kernel<T> {
        const KERNEL: &'static EmbeddedKernel;
        /// The kernel that also exchanges the raw result with other devices, if there is one.
        const FUSED: Option<&'static EmbeddedKernel> = None;
        /// Whether it is the kernel for rows. A whole array is then one row.
        const IS_FOR_ROWS: bool = false;
    }

    /// The kernel of the same operation for rows.
    pub trait RowKernel<T: Item>: Operation<T> {
        const ROWS: &'static EmbeddedKernel;
        /// Whether a lane of this kernel can take columns of one array into registers.
        const HAS_COLUMNS: bool = true;
        /// The kernel that sums rows again where the first one has no proof of a sum.
        const REPAIR_ROWS: Option<&'static EmbeddedKernel> = None;
        /// What both kernels for rows and segments write.
        type Written: Pod + Send + Sync;
        /// Turns what is written for a row of `n` elements into the result.
        fn finish_written(written: Self::Written, n: u64) -> Result<Self::Output, Error>;
    }

    /// An operation of which the host combines raw results as the kernels do, to the last bit.
    pub trait CombinedAlike {}

    /// The kernels of the same operation that make results of the raw results.
    pub trait MadeKernel<T> {
        const MADE: &'static EmbeddedKernel;
        const MADE_ROWS: &'static EmbeddedKernel;
        const KIND: Kind;
    }

    /// The kernel of the same operation for segments.
    pub trait SegmentKernel<T> {
        const SEGMENTS: &'static EmbeddedKernel;
        /// The kernel that sums segments again where the first one has no proof of a sum.
        const REPAIR_SEGMENTS: Option<&'static EmbeddedKernel> = None;
        /// The kernel for runs of keys, if the operation has one of its own.
        const KEYED: Option<&'static EmbeddedKernel> = None;
    }

    /// The kernel of the same operation for bins.
    pub trait BinKernel<T> {
        const BINS: &'static EmbeddedKernel;
        /// The number of 32-bit words of an accumulator in the kernel.
        const WORDS: u64;
    }
}

/// An [`Operation`] over one input that can reduce the rows and axes of arrays
/// ([`Device::reduce_rows`](crate::Device::reduce_rows)): all operations over one input. The trait
/// cannot be implemented outside this crate.
pub trait RowOperation<T: Item>: ArraysOperation<T> + Operation<T, Arity = Single> {}

impl<T: Item, O: ArraysOperation<T> + Operation<T, Arity = Single>> RowOperation<T> for O {}

/// An [`Operation`] that can reduce the rows and axes of arrays
/// ([`Device::reduce_rows`](crate::Device::reduce_rows)): each [`RowOperation`], and the operations
/// over pairs of elements, [`Dot`](super::Dot) and [`SquaredDistance`](super::SquaredDistance). The
/// trait cannot be implemented outside this crate.
pub trait ArraysOperation<T: Item>: Operation<T> + private::RowKernel<T> {
    /// The type of the raw result of a row or a segment, which the kernels leave in memory. It is
    /// that of a whole array, [`Operation::Raw`], except for
    /// [`ReproducibleSum`](super::ReproducibleSum). There it is the rounded sum alone, because few
    /// programs combine rows, and a raw result of a whole array is large.
    type RowRaw: Pod + Send + Sync;

    /// Turns the raw result of a row or a segment of `n` elements into the result.
    ///
    /// # Errors
    ///
    /// Those of [`Operation::finish`].
    fn finish_row(raw: Self::RowRaw, n: u64) -> Result<Self::Output, Error>;
}

impl<T: Item, O: Operation<T> + private::RowKernel<T>> ArraysOperation<T> for O {
    type RowRaw = O::Written;

    fn finish_row(raw: Self::RowRaw, n: u64) -> Result<Self::Output, Error> {
        O::finish_written(raw, n)
    }
}

/// An [`Operation`] whose results have the same bits on any number of devices if a
/// [`TreeReducer`](super::TreeReducer) computes them: [`Sum`](super::Sum),
/// [`WideSum`](super::WideSum), [`CompensatedSum`](super::CompensatedSum),
/// [`SumAbs`](super::SumAbs), [`SumSquares`](super::SumSquares), [`Norm2`](super::Norm2),
/// [`Product`](super::Product), [`Dot`](super::Dot) and
/// [`SquaredDistance`](super::SquaredDistance).
///
/// The host combines raw results of these operations as the kernels do, to the last bit. It does
/// not for [`Moments`](super::Moments), [`LogSumExp`](super::LogSumExp),
/// [`SoftmaxStats`](super::SoftmaxStats), [`NanSum`](super::NanSum) and
/// [`NanMean`](super::NanMean). All other operations have results that do not depend on the order,
/// so that a [`Group`](super::Group) needs no tree for them. The trait cannot be implemented
/// outside this crate.
///
/// ```compile_fail,E0277
/// use warpfold::{Device, Group, LogSumExp};
///
/// let group = Group::of(&[Device::simulator()])?;
/// group.reduce_in_tree([&[1.0f32, 2.0]], LogSumExp)?;
/// # Ok::<(), warpfold::Error>(())
/// ```
pub trait TreeOperation<T: Item>:
    ArraysOperation<T, RowRaw = <Self as Operation<T>>::Raw> + private::CombinedAlike
{
}

impl<T: Item, O> TreeOperation<T> for O where
    O: ArraysOperation<T, RowRaw = <O as Operation<T>>::Raw> + private::CombinedAlike
{
}

/// An [`Operation`] over one input that can reduce the segments of arrays
/// ([`Device::reduce_segments`](crate::Device::reduce_segments)): each [`RowOperation`]. The trait
/// cannot be implemented outside this crate.
pub trait SegmentOperation<T: Item>: RowOperation<T> + private::SegmentKernel<T> {}

impl<T: Item, O: RowOperation<T> + private::SegmentKernel<T>> SegmentOperation<T> for O {}

/// An [`Operation`] over one input that can reduce values into bins
/// ([`Device::reduce_into_bins`](crate::Device::reduce_into_bins)): [`Sum`](super::Sum),
/// [`Min`](super::Min), [`Max`](super::Max), [`MinMax`](super::MinMax), [`ArgMin`](super::ArgMin),
/// [`ArgMax`](super::ArgMax) and [`Moments`](super::Moments), of `u8`, `i32`, `u32`, `i64`, `u64`,
/// `f16`, `bf16`, `f32` and `f64`. The trait cannot be implemented outside this crate.
pub trait BinOperation<T: Item>: Operation<T, Arity = Single> + private::BinKernel<T> {}

impl<T: Item, O: Operation<T, Arity = Single> + private::BinKernel<T>> BinOperation<T> for O {}

/// Names the kernels `bins_<name>_<type>` of an operation, as [`kernels!`] does for the others, and
/// says how many bytes an accumulator has in terms of a type's name: at least 4.
macro_rules! bin_kernels {
    ($op:ty, $name:ident, |$t:ident| $bytes:expr; $($type:ident $(as $same:ident)?),* $(,)?) => {$(
        impl $crate::reducer::operation::private::BinKernel<$type> for $op {
            const BINS: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ bins $name $type $($same)?);
            const WORDS: u64 = {
                #[allow(dead_code, reason = "moments of all types take the same bytes")]
                type $t = $type;
                $bytes as u64 / 4
            };
        }
    )*};
}
pub(super) use bin_kernels;

/// The bytes in which a kernel keeps an element that it compares: those of a whole word at least.
pub(super) const fn compared_bytes<T>() -> usize {
    if size_of::<T>() < 4 { 4 } else { size_of::<T>() }
}

/// Names the kernels `reduce_<name>_<type>`, `fused_<name>_<type>`, `rows_<name>_<type>` and
/// `segments_<name>_<type>` of an operation for each type of elements, or only the first after
/// `whole`, all but the last after `pairs`, and `made_<name>_<type>` and `maderows_<name>_<type>`
/// after `made`. After `keyed` there is also `keyed_<name>_<type>`. `i64
/// as u64` means that `i64` uses the kernel of `u64`, because both kernels would give the same
/// bits.
macro_rules! kernels {
    (whole $op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {$(
        impl $crate::reducer::operation::private::Kernel<$type> for $op {
            const KERNEL: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ reduce $name $type $($same)?);
        }
    )*};
    (fused $op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {$(
        impl $crate::reducer::operation::private::Kernel<$type> for $op {
            const KERNEL: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ reduce $name $type $($same)?);
            const FUSED: Option<&'static $crate::ptx::EmbeddedKernel> =
                Some($crate::reducer::operation::kernels!(@ fused $name $type $($same)?));
        }
    )*};
    (made $op:ty, $name:ident, $kind:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {$(
        impl $crate::reducer::operation::private::MadeKernel<$type> for $op {
            const MADE: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ made $name $type $($same)?);
            const MADE_ROWS: &'static $crate::ptx::EmbeddedKernel =
                $crate::reducer::operation::kernels!(@ maderows $name $type $($same)?);
            const KIND: $crate::reducer::made::Kind = $crate::reducer::made::Kind::$kind;
        }
    )*};
    (pairs $op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {
        $crate::reducer::operation::kernels!(fused $op, $name: $($type $(as $same)?),*);
        $(
            impl $crate::reducer::operation::private::RowKernel<$type> for $op {
                const ROWS: &'static $crate::ptx::EmbeddedKernel =
                    $crate::reducer::operation::kernels!(@ rows $name $type $($same)?);
                $crate::reducer::operation::as_whole!($type);
            }
        )*
    };
    (keyed $op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {
        $crate::reducer::operation::kernels!(pairs $op, $name: $($type $(as $same)?),*);
        $(
            impl $crate::reducer::operation::private::SegmentKernel<$type> for $op {
                const SEGMENTS: &'static $crate::ptx::EmbeddedKernel =
                    $crate::reducer::operation::kernels!(@ segments $name $type $($same)?);
                const KEYED: Option<&'static $crate::ptx::EmbeddedKernel> =
                    Some($crate::reducer::operation::kernels!(@ keyed $name $type $($same)?));
            }
        )*
    };
    ($op:ty, $name:ident: $($type:ident $(as $same:ident)?),* $(,)?) => {
        $crate::reducer::operation::kernels!(pairs $op, $name: $($type $(as $same)?),*);
        $(
            impl $crate::reducer::operation::private::SegmentKernel<$type> for $op {
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

/// In an implementation of `RowKernel`: the raw result of a row is that of a whole array.
macro_rules! as_whole {
    ($type:ty) => {
        type Written = <Self as $crate::reducer::Operation<$type>>::Raw;
        fn finish_written(
            written: Self::Written,
            n: u64,
        ) -> Result<<Self as $crate::reducer::Operation<$type>>::Output, $crate::reducer::Error> {
            <Self as $crate::reducer::Operation<$type>>::finish(written, n)
        }
    };
}
pub(super) use as_whole;

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
