//! Reductions of which the device makes the results: means, variances, indices and halves instead
//! of raw results.

use std::fmt;

use bytemuck::Pod;
use half::{bf16, f16};
use smallvec::smallvec;

use crate::device::{Arg, Stream};

use super::{
    ArgMax, ArgMaximum, ArgMin, ArgMinimum, ArraysOperation, CountNonzero, DeviceArrays,
    DeviceInput, Error, Item, Moments, Reducer, RowReducer, Single, Sum, SumSquares,
    engine::Cache,
    operation::{More, kernels, private::MadeKernel},
    output::{DeviceOutput, Target},
};

/// What the device makes of a raw result. Each operation has some of these, as
/// [`MadeOperation`] lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Make {
    /// The value itself, in the type of the output.
    Value,
    /// The mean of the elements, or of their squares.
    Mean,
    /// The squared deviations from the mean, divided by the number of elements less `correction`.
    Variance {
        /// 0 for the variance of the elements, and 1 for an estimate of that of what they are
        /// samples of. If it is the number of elements or more, the variance is not finite.
        correction: f64,
    },
    /// The root of the variance.
    Deviation {
        /// That of [`Variance`](Self::Variance).
        correction: f64,
    },
    /// The root.
    Root,
    /// 1 if there is an element that is not zero, and otherwise 0.
    Any,
    /// 1 if no element is zero, and otherwise 0.
    All,
}

impl fmt::Display for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "value",
            Self::Mean => "mean",
            Self::Variance { .. } => "variance",
            Self::Deviation { .. } => "standard deviation",
            Self::Root => "root",
            Self::Any => "any",
            Self::All => "all",
        })
    }
}

/// The steps of `warpfold_device::finish::step`.
mod step {
    pub(super) const COPY: u32 = 0;
    pub(super) const DIVIDE: u32 = 1;
    pub(super) const ROOT: u32 = 2;
    pub(super) const VARIANCE: u32 = 3;
    pub(super) const DEVIATION: u32 = 4;
    pub(super) const IS_ANY: u32 = 8;
    pub(super) const IS_ALL: u32 = 9;
}

/// What an operation leaves, of which results are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sum,
    Moments,
    Count,
    Index,
}

impl Kind {
    /// The step for a result of `n` elements, and the number that it takes. `None` if there is no
    /// such result.
    fn step(self, make: Make, n: u64) -> Option<(u32, f64)> {
        Some(match (self, make) {
            (Self::Sum | Self::Count | Self::Index, Make::Value) | (Self::Moments, Make::Mean) => {
                (step::COPY, 0.0)
            }
            (Self::Sum, Make::Mean) => (step::DIVIDE, n as f64),
            (Self::Sum, Make::Root) => (step::ROOT, 0.0),
            (Self::Moments, Make::Variance { correction }) => (step::VARIANCE, correction),
            (Self::Moments, Make::Deviation { correction }) => (step::DEVIATION, correction),
            (Self::Count, Make::Any) => (step::IS_ANY, 0.0),
            (Self::Count, Make::All) => (step::IS_ALL, n as f64),
            _ => return None,
        })
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Sum | Self::Moments)
    }
}

/// An operation of which the device can make results, without a second launch.
///
/// Of floats, which are `f16`, `bf16`, `f32` and `f64`, results are made as one of these types:
///
/// - [`Sum`] and [`SumSquares`] have [`Make::Value`], [`Make::Mean`] and [`Make::Root`];
/// - [`Moments`] has [`Make::Mean`], [`Make::Variance`] and [`Make::Deviation`].
///
/// Results that are no floats are `u8`, `i64` or `u64`:
///
/// - [`ArgMinimum`] and [`ArgMaximum`] of floats and of integers of 8 to 64 bits, and [`ArgMin`]
///   and [`ArgMax`] of such integers, have [`Make::Value`], which is the index;
/// - [`CountNonzero`] of floats and of such integers has [`Make::Value`], [`Make::Any`] and
///   [`Make::All`].
///
/// A float is made in `f64` and rounded once. Of an integer the lowest bits are written. The trait
/// cannot be implemented outside this crate.
pub trait MadeOperation<T: Item>: ArraysOperation<T, Arity = Single> + MadeKernel<T> {}

impl<T: Item, O: ArraysOperation<T, Arity = Single> + MadeKernel<T>> MadeOperation<T> for O {}

/// A type of results that the device makes: `f16`, `bf16`, `f32`, `f64`, `u8`, `i64` and `u64`. The
/// trait cannot be implemented outside this crate.
pub trait MadeResult: Pod + Send + Sync + private::Stored {}

impl<R: Pod + Send + Sync + private::Stored> MadeResult for R {}

mod private {
    /// A type that `warpfold_device::finish::store` names.
    pub trait Stored {
        const NAME: &'static str;
        const CODE: u32;
        const IS_FLOAT: bool;
    }

    macro_rules! stored {
        ($($t:ty: $code:literal, $is_float:literal;)*) => {$(
            impl Stored for $t {
                const NAME: &'static str = <$t as crate::reducer::Item>::NAME;
                const CODE: u32 = $code;
                const IS_FLOAT: bool = $is_float;
            }
        )*};
    }

    stored! {
        f32: 0, true;
        f64: 1, true;
        half::f16: 2, true;
        half::bf16: 3, true;
        u8: 4, false;
        i64: 7, false;
        u64: 7, false;
    }
}

kernels!(made Sum, sum, Sum: f16, bf16, f32, f64);
kernels!(made SumSquares, sumsq, Sum: f16, bf16, f32, f64);
kernels!(made Moments, moments, Moments: f16, bf16, f32, f64);
kernels!(made CountNonzero, count, Count: i8 as u8, u8, i16 as u16, u16, i32 as u32, u32, i64 as u64, u64, f16, bf16, f32, f64);
kernels!(made ArgMin, argmin, Index: i8, u8, i16, u16, i32, u32, i64, u64);
kernels!(made ArgMax, argmax, Index: i8, u8, i16, u16, i32, u32, i64, u64);
kernels!(made ArgMinimum, argmin, Index: i8, u8, i16, u16, i32, u32, i64, u64);
kernels!(made ArgMaximum, argmax, Index: i8, u8, i16, u16, i32, u32, i64, u64);
kernels!(made ArgMinimum, argminimum, Index: f16, bf16, f32, f64);
kernels!(made ArgMaximum, argmaximum, Index: f16, bf16, f32, f64);

/// The arguments that tell the kernel what to make of `n` elements.
fn more<T: Item, O: MadeOperation<T>, R: MadeResult>(make: Make, n: u64) -> Result<More, Error> {
    let refused = || Error::Make { make, op: O::NAME, item: R::NAME };
    if n == 0 {
        return Err(Error::Empty { op: O::NAME });
    }
    if O::KIND.is_float() != R::IS_FLOAT {
        return Err(refused());
    }
    let (step, a) = O::KIND.step(make, n).ok_or_else(refused)?;
    Ok(smallvec![Arg::U32(step), Arg::U32(R::CODE), Arg::F64(a)])
}

/// A [`Reducer`] of which the device makes the results: [`Reducer::made`] makes one. It is `Send`
/// and `Sync`, and cheap to clone.
pub struct MadeReducer<T, O> {
    reducer: Reducer<T, O>,
}

impl<T, O> Clone for MadeReducer<T, O> {
    fn clone(&self) -> Self {
        Self { reducer: self.reducer.clone() }
    }
}

impl<T: Item, O: MadeOperation<T>> fmt::Debug for MadeReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeReducer").field("kernel", &O::MADE.name()).finish_non_exhaustive()
    }
}

impl<T: Item, O: MadeOperation<T>> Reducer<T, O> {
    /// Prepares this operation for results that the device makes: loads another kernel, unless the
    /// device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn made(&self) -> Result<MadeReducer<T, O>, Error> {
        let device = &self.device;
        let engine = device.attached::<Cache>().engine(device, O::MADE, size_of::<O::Raw>())?;
        Ok(MadeReducer { reducer: Self { engine, ..self.clone() } })
    }
}

impl<T: Item, O: MadeOperation<T>> MadeReducer<T, O> {
    /// Adds the reduction of `input` into `output` to the work of `stream`, and returns without
    /// waiting. The call is one launch, and allocates nothing, so a stream that
    /// [captures](crate::Device::capture) accepts it too.
    ///
    /// The result has the bits of [`Reducer::reduce_into`], of which the host would make it in
    /// `f64`. A NaN is the positive quiet one without a payload.
    ///
    /// ```
    /// use half::f16;
    /// use warpfold::{Device, Make, Moments, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let values = gpu.upload(&[1.0, 2.5, 4.0, 4.5].map(f16::from_f32))?;
    /// let (mut mean, mut variance) = (gpu.alloc::<f16>(1)?, gpu.alloc::<f32>(1)?);
    /// let stream = gpu.stream()?;
    /// let sum = gpu.reducer::<f16, _>(Sum)?.made()?;
    /// sum.reduce_into(&values, Make::Mean, &mut mean, &stream)?;
    /// let moments = gpu.reducer::<f16, _>(Moments)?.made()?;
    /// moments.reduce_into(&values, Make::Variance { correction: 1.0 }, &mut variance, &stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(mean.copy_to_host()?, [f16::from_f32(3.0)]);
    /// assert_eq!(variance.copy_to_host()?, [2.5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Make`] if the operation has no such result, or not in the type of the output;
    /// - [`Error::Empty`] if the input is empty;
    /// - [`Error::Output`] if `output` does not hold exactly one value;
    /// - [`Error::Device`] if a buffer or the stream belongs to another device, if the stream
    ///   captures and the input is memory of `cust` or cudarc, or if the driver reports an error.
    #[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light")]
    pub fn reduce_into<I, R: MadeResult>(
        &self,
        input: I,
        make: Make,
        mut output: impl DeviceOutput<R>,
        stream: &Stream,
    ) -> Result<(), Error>
    where
        I: DeviceInput<Item = T, Arity = Single>,
    {
        let (first, _) = input.places();
        let more = more::<T, O, R>(make, first.len)?;
        let target = output.target();
        if target.len != 1 {
            return Err(Error::Output { len: target.len });
        }
        target.with_address(&self.reducer.device, stream, |address| {
            self.reducer.launch_with((first, None), address, stream, &more)
        })
    }
}

/// A [`RowReducer`] of which the device makes the results: [`RowReducer::made`] makes one. It is
/// `Send` and `Sync`, and cheap to clone.
pub struct MadeRowReducer<T, O> {
    rows: RowReducer<T, O>,
}

impl<T, O> Clone for MadeRowReducer<T, O> {
    fn clone(&self) -> Self {
        Self { rows: self.rows.clone() }
    }
}

impl<T: Item, O: MadeOperation<T>> fmt::Debug for MadeRowReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeRowReducer")
            .field("kernel", &O::MADE_ROWS.name())
            .finish_non_exhaustive()
    }
}

impl<T: Item, O: MadeOperation<T>> RowReducer<T, O> {
    /// Prepares this operation for results that the device makes: loads another kernel, unless the
    /// device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn made(&self) -> Result<MadeRowReducer<T, O>, Error> {
        let device = self.device();
        let cache = device.attached::<Cache>();
        let engine = cache.engine(device, O::MADE_ROWS, size_of::<O::RowRaw>())?;
        Ok(MadeRowReducer { rows: self.with_engine(engine) })
    }
}

impl<T: Item, O: MadeOperation<T>> MadeRowReducer<T, O> {
    /// Adds the reduction of an array along some of its axes into `output` to the work of `stream`,
    /// as [`RowReducer::reduce_axes_into`] does, and returns without waiting. What is made of a row
    /// is what [`MadeReducer::reduce_into`] makes of a whole array.
    ///
    /// ```
    /// use warpfold::{ArgMax, Array, Device, Make};
    ///
    /// let gpu = Device::simulator();
    /// let scores = gpu.upload(&[10, 70, 20, 90, 0, 10])?;
    /// let (mut best, stream) = (gpu.alloc::<i64>(2)?, gpu.stream()?);
    /// let indices = gpu.row_reducer::<i32, _>(ArgMax)?.made()?;
    /// let rows = Array::new(&scores, &[2, 3])?;
    /// indices.reduce_axes_into(&rows, &[1], Make::Value, &mut best, &stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(best.copy_to_host()?, [1, 0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`RowReducer::reduce_axes_into`], [`Error::Empty`] if there are rows and they are
    /// empty, and [`Error::Make`] if the operation has no such result, or not in the type of the
    /// output.
    #[expect(clippy::needless_pass_by_value, reason = "it is one reference")]
    pub fn reduce_axes_into<A, R: MadeResult>(
        &self,
        array: A,
        axes: &[isize],
        make: Make,
        mut output: impl DeviceOutput<R>,
        stream: &Stream,
    ) -> Result<(), Error>
    where
        A: DeviceArrays<Item = T, Arity = Single>,
    {
        let laid = RowReducer::<T, O>::lay_part_out(&array, axes)?;
        let rows = laid.rows();
        let target: Target<'_, R> = output.target();
        if target.len != rows {
            return Err(Error::Outputs { results: rows, len: target.len });
        }
        if rows == 0 {
            return Ok(());
        }
        let more = more::<T, O, R>(make, laid.length())?;
        target.with_address(self.rows.device(), stream, |address| {
            self.rows.launch_with(array.places(), laid, address, stream, &more)
        })
    }
}
