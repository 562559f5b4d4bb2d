//! Reductions of the rows of a matrix, and of an array along any of its axes: many results in one
//! launch.

mod array;
mod arrays;
mod call;
mod layout;
mod pairs;
mod pending;
mod pieces;
mod plan;
mod repair;
mod strided;
mod whole;

use std::{fmt, marker::PhantomData, sync::Arc};

use crate::device::{Arg, Device, Stream};

use super::{
    ArraysOperation, Error, Item, Operation,
    engine::{Cache, Engine},
    input::{Place, on_device},
    operation::More,
    output::{DeviceOutput, Target},
    shapes::{KernelClass, PACK_BYTES},
};
use arrays::Common;
use layout::Layout;
use repair::Repair;
use smallvec::SmallVec;

/// Arrays that are to be reduced along some axes.
pub(super) struct LaidOut {
    /// The layout of each array.
    layouts: SmallVec<[Layout; 2]>,
    /// Where each array begins.
    offsets: [u64; 2],
}

impl LaidOut {
    /// The number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.layouts[0].rows()
    }

    /// The number of elements of a row.
    pub(super) fn length(&self) -> u64 {
        self.layouts[0].length()
    }
}

pub use array::Array;
pub use arrays::{Arrays, DeviceArrays};
pub(super) use call::Call;
pub use pending::PendingRows;
pub(super) use pieces::Piece;
pub use strided::{StridedOutput, StridedRowReducer};
pub use whole::Whole;

/// An operation over the rows of arrays of one type, ready to run on a device: its kernel is
/// loaded. [`Device::row_reducer`] makes one. It is `Send` and `Sync`, and cheap to clone.
///
/// # Order and bits
///
/// The bits of a result depend on the elements of its row, in their order, and on their number
/// alone. They are the same on every device, for every shape and stride of the array, and for every
/// other row beside it. The elements of a row are counted in C order of the axes that are reduced:
/// the last one changes fastest.
///
/// ```
/// use warpfold::{ArgMax, Array, Device};
///
/// let gpu = Device::simulator();
/// let scores = gpu.upload(&[0.1f32, 0.7, 0.2, 0.9, 0.0, 0.1])?;
/// let best = gpu.row_reducer::<f32, _>(ArgMax)?.reduce_rows(&Array::new(&scores, &[2, 3])?)?;
/// assert_eq!(best.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// An index in a result counts the elements of its row. [`Array::whole`] tells where that element
/// is in the whole array.
pub struct RowReducer<T, O> {
    device: Device,
    engine: Arc<Engine>,
    /// The kernel that sums rows again where the first one has no proof of a sum.
    repair: Option<Arc<Engine>>,
    more: More,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for RowReducer<T, O> {
    fn clone(&self) -> Self {
        let Self { device, engine, repair, more, operation } = self;
        let (device, engine) = (device.clone(), Arc::clone(engine));
        let (repair, more) = (repair.clone(), more.clone());
        Self { device, engine, repair, more, operation: *operation }
    }
}

impl<T: Item, O: ArraysOperation<T>> fmt::Debug for RowReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowReducer").field("kernel", &O::ROWS.name()).finish_non_exhaustive()
    }
}

impl<T: Item, O: ArraysOperation<T>> RowReducer<T, O> {
    /// Reduces each row of a matrix and waits for the results: one for each row, in order. An
    /// operation over pairs takes two arrays, which are broadcast to a matrix (see [`Arrays`]).
    ///
    /// An array on the host is copied to the device as a whole.
    ///
    /// # Errors
    ///
    /// [`Error::NotRows`] if the array does not have two dimensions, and the errors of
    /// [`reduce_axes`](Self::reduce_axes).
    pub fn reduce_rows<A>(&self, matrix: A) -> Result<Vec<O::Output>, Error>
    where
        A: Arrays<Item = T, Arity = O::Arity>,
    {
        check_matrix(&matrix)?;
        self.reduce_axes(matrix, &[1])
    }

    /// Reduces an array along some of its axes and waits for the results. There is one for each
    /// index of the other axes, in C order: the last axis that is left changes fastest. A negative
    /// axis counts from the end. Without axes, each element is a row of its own. An operation over
    /// pairs takes two arrays, which are broadcast to one shape (see [`Arrays`]).
    ///
    /// # Errors
    ///
    /// - [`Error::Shapes`] if the shapes of two arrays do not fit together;
    /// - [`Error::Axis`] or [`Error::AxisTwice`] if an axis is not there or is named twice;
    /// - [`Error::Rank`] if more than eight dimensions are left after those are merged that one
    ///   index can stand for. In a pair, one index must do that for both arrays;
    /// - [`Error::Empty`] if the rows are empty and the operation has no result for that;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](super::CheckedSum) and the type
    ///   of the elements cannot hold a sum;
    /// - [`Error::TooLong`] if a row has more elements than [`Operation::MOST`], or than a launch
    ///   can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory for the results or for
    ///   a copy of the array is lacking, or if the driver reports an error.
    #[expect(clippy::needless_pass_by_value, reason = "it is one reference or a pair of them")]
    pub fn reduce_axes<A>(&self, array: A, axes: &[isize]) -> Result<Vec<O::Output>, Error>
    where
        A: Arrays<Item = T, Arity = O::Arity>,
    {
        let laid = Self::lay_out(&array.common()?, axes)?;
        let (rows, length) = (laid.rows(), laid.length());
        if rows == 0 {
            return Ok(Vec::new());
        }
        let places = usize::try_from(rows).map_err(|_| Error::Rows { rows })?;
        let output = self.device.alloc::<O::RowRaw>(places)?;
        let stream = self.engine.stream();
        let (mut copy, mut second_copy) = (None, None);
        let (first, second) = array.operands();
        let first = on_device(&self.device, first, &mut copy)?;
        let second = second.map(|second| on_device(&self.device, second, &mut second_copy));
        let places = (first, second.transpose()?);
        self.launch(places, laid, output.address(), stream)?;
        Self::finish(&output.copy_to_host()?, length)
    }

    /// Adds the reduction of each row of a matrix into `output` to the work of `stream`, as
    /// [`reduce_axes_into`](Self::reduce_axes_into) does for axes.
    ///
    /// # Errors
    ///
    /// [`Error::NotRows`] if the array does not have two dimensions, and the errors of
    /// [`reduce_axes_into`](Self::reduce_axes_into).
    pub fn reduce_rows_into<A>(
        &self,
        matrix: A,
        output: impl DeviceOutput<O::RowRaw>,
        stream: &Stream,
    ) -> Result<PendingRows<T, O>, Error>
    where
        A: DeviceArrays<Item = T, Arity = O::Arity>,
    {
        check_matrix(&matrix)?;
        self.reduce_axes_into(matrix, &[1], output, stream)
    }

    /// Adds the reduction of an array along some of its axes into `output` to the work of `stream`,
    /// and returns without waiting. The call allocates nothing on the device and copies nothing, so
    /// a stream that [captures](Device::capture) accepts it too. `output` must have a place for
    /// each result, in the order of [`reduce_axes`](Self::reduce_axes); it receives
    /// [raw results](ArraysOperation::RowRaw), of which [`PendingRows::finish`] makes the results.
    ///
    /// If long rows are divided among warps and the partial results do not fit into the stream's
    /// [workspace](Stream::workspace), the call takes several launches. A
    /// [`ReproducibleSum`](super::ReproducibleSum) takes one launch more.
    ///
    /// ```
    /// use warpfold::{Array, Device, Moments};
    ///
    /// let gpu = Device::simulator();
    /// let image = gpu.upload(&[1.0f32, 2.0, 3.0, 5.0, 7.0, 9.0])?;
    /// let (mut output, stream) = (gpu.alloc(3)?, gpu.stream()?);
    /// let moments = gpu.row_reducer::<f32, _>(Moments)?;
    /// let pending =
    ///     moments.reduce_axes_into(&Array::new(&image, &[2, 3])?, &[0], &mut output, &stream)?;
    /// stream.synchronize()?;
    /// for (raw, mean) in output.copy_to_host()?.into_iter().zip([3.0, 4.5, 6.0]) {
    ///     assert_eq!(pending.finish(raw)?.mean(), mean);
    /// }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`reduce_axes`](Self::reduce_axes) except [`Error::Overflow`], and:
    ///
    /// - [`Error::Outputs`] if `output` does not have one place for each result;
    /// - [`Error::Device`] if the output or the stream belongs to another device, or if the stream
    ///   captures and the array is memory of `cust` or cudarc.
    #[expect(clippy::needless_pass_by_value, reason = "it is one reference or a pair of them")]
    pub fn reduce_axes_into<A>(
        &self,
        array: A,
        axes: &[isize],
        mut output: impl DeviceOutput<O::RowRaw>,
        stream: &Stream,
    ) -> Result<PendingRows<T, O>, Error>
    where
        A: DeviceArrays<Item = T, Arity = O::Arity>,
    {
        let laid = Self::lay_out(&array.common()?, axes)?;
        let (rows, length) = (laid.rows(), laid.length());
        let target: Target<'_, O::RowRaw> = output.target();
        if target.len != rows {
            return Err(Error::Outputs { results: rows, len: target.len });
        }
        let places = array.places();
        if rows > 0 {
            target.with_address(&self.device, stream, |address| {
                self.launch(places, laid, address, stream)
            })?;
        }
        Ok(PendingRows::new(length))
    }

    /// An upper bound on the number of operations that lie between any element of a row of `length`
    /// elements and its result. It is the `d` in the error bounds of floats, such as that of
    /// [`Sum`](super::Sum).
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let depth = Device::simulator().row_reducer::<f32, _>(Sum)?.depth(1 << 20);
    /// assert!((16..64).contains(&depth), "{depth}");
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn depth(&self, length: u64) -> u64 {
        let (in_part, in_pack) = (Self::IN_PART, PACK_BYTES / size_of::<T>() as u64);
        let parts = length.div_ceil(in_part).max(1);
        // The packs of a part and the elements behind them one after the other, then the tree.
        in_part.min(length) + in_pack + u64::from(parts.next_power_of_two().ilog2()) + 1
    }

    /// The same reducer with another kernel.
    pub(super) fn with_engine(&self, engine: Arc<Engine>) -> Self {
        Self { engine, ..self.clone() }
    }

    /// The kernel of this operation and type.
    #[cfg(feature = "testing")]
    pub fn kernel(&self) -> &crate::device::Kernel {
        self.engine.kernel()
    }

    /// Lays arrays out that are to be reduced along these axes. Rows without elements are refused
    /// if the operation has no result for them.
    fn lay_out(common: &Common, axes: &[isize]) -> Result<LaidOut, Error> {
        let laid = Self::lay_out_any(common, axes)?;
        if laid.rows() > 0 && laid.length() == 0 && O::identity().is_none() {
            return Err(Error::Empty { op: O::NAME });
        }
        Ok(laid)
    }

    /// As [`lay_out`](Self::lay_out), but rows without elements are accepted.
    fn lay_out_any(common: &Common, axes: &[isize]) -> Result<LaidOut, Error> {
        let Common { shape, strides, offsets } = common;
        let is_reduced = array::are_reduced(shape.len(), axes)?;
        let is_reduced = |axis: usize| is_reduced[axis];
        let bytes = size_of::<T>() as u64;
        let layouts = match &strides[..] {
            [first, second] => Layout::pair(shape, [first, second], is_reduced, bytes)?.into(),
            strides => SmallVec::from_iter([Layout::new(shape, &strides[0], is_reduced, bytes)?]),
        };
        let laid = LaidOut { layouts, offsets: *offsets };
        if laid.length() > O::MOST {
            return Err(too_long::<T, O>(laid.length(), O::MOST));
        }
        Ok(laid)
    }

    /// Lays arrays out that are one part of several. Such a part may have rows without elements.
    pub(super) fn lay_part_out<A>(arrays: &A, axes: &[isize]) -> Result<LaidOut, Error>
    where
        A: DeviceArrays<Item = T, Arity = O::Arity>,
    {
        Self::lay_out_any(&arrays.common()?, axes)
    }

    /// As [`launch`](Self::launch), for arrays that are laid out.
    pub(super) fn launch_part<A>(
        &self,
        arrays: &A,
        laid: LaidOut,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error>
    where
        A: DeviceArrays<Item = T, Arity = O::Arity>,
    {
        self.launch(arrays.places(), laid, out, stream)
    }

    /// Turns raw results into results.
    fn finish(raw: &[O::RowRaw], length: u64) -> Result<Vec<O::Output>, Error> {
        raw.iter().map(|&raw| O::finish_row(raw, length)).collect()
    }

    /// Adds to `stream` the launches that leave the raw results at `out`, an address of the same
    /// device. There is at least one row.
    fn launch(
        &self,
        places: (Place<'_, T>, Option<Place<'_, T>>),
        laid: LaidOut,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        self.launch_with(places, laid, out, stream, &self.more)
    }

    /// As [`launch`](Self::launch), with these arguments as the operation's constant.
    pub(super) fn launch_with(
        &self,
        (first, second): (Place<'_, T>, Option<Place<'_, T>>),
        LaidOut { layouts, offsets }: LaidOut,
        out: u64,
        stream: &Stream,
        more: &[Arg],
    ) -> Result<(), Error> {
        let kernel = self.engine.kernel();
        let repair = self.repair.as_ref().map(|engine| {
            let result_bytes = size_of::<O::RowRaw>() as u64;
            Repair { kernel: engine.kernel(), result_bytes }
        });
        let words = O::SLOT_WORDS;
        let device = &self.device;
        let capability = device.class().capability().min(device.info().compute_capability);
        let has_columns =
            O::HAS_COLUMNS && second.is_none() && capability >= plan::LEAST_FOR_COLUMNS;
        let is_light = O::CLASS == KernelClass::Plain;
        let single = self.engine.single().filter(|_| has_columns);
        let ways = single.map(|single| (plan::Ways { words, is_light }, single));
        let call = Call { kernel, op: O::NAME, words, more, ways, repair };
        let places = [first].into_iter().chain(second).zip(offsets);
        let arrays: SmallVec<[_; 2]> =
            places.zip(layouts).map(|((place, offset), layout)| (place, offset, layout)).collect();
        call.launch(device, &arrays, out, stream)
    }
}

/// Refuses an array that is no matrix.
fn check_matrix<A: Arrays>(array: &A) -> Result<(), Error> {
    match array.common()?.shape.len() {
        2 => Ok(()),
        rank => Err(Error::NotRows { rank }),
    }
}

fn too_long<T: Item, O: Operation<T>>(n: u64, most: u64) -> Error {
    Error::TooLong { op: O::NAME, item: T::NAME, n, most }
}

impl Device {
    /// Prepares an operation over the rows of arrays of type `T` for many calls: loads its kernel,
    /// unless the device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn row_reducer<T: Item, O: ArraysOperation<T>>(
        &self,
        operation: O,
    ) -> Result<RowReducer<T, O>, Error> {
        let cache = self.attached::<Cache>();
        let engine = cache.engine(self, O::ROWS, size_of::<O::RowRaw>())?;
        let repair = O::REPAIR_ROWS.map(|kernel| cache.engine(self, kernel, 0)).transpose()?;
        let more = operation.more();
        Ok(RowReducer { device: self.clone(), engine, repair, more, operation: PhantomData })
    }

    /// Reduces each row of a matrix and waits for the results, one for each row. An operation over
    /// pairs takes two arrays: rows with rows, or rows with one vector (see [`Arrays`]).
    ///
    /// ```
    /// use warpfold::{Array, Device, Dot, Max};
    ///
    /// let matrix = Array::new(&[3u8, 200, 255, 7, 0, 9], &[2, 3])?;
    /// let vector = Array::new(&[1u8, 0, 2], &[3])?;
    /// assert_eq!(Device::simulator().reduce_rows(&matrix, Max)?, [255, 9]);
    /// assert_eq!(Device::simulator().reduce_rows((&matrix, &vector), Dot)?, [513, 25]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::row_reducer`] and [`RowReducer::reduce_rows`].
    pub fn reduce_rows<A, O>(&self, matrix: A, operation: O) -> Result<Vec<O::Output>, Error>
    where
        A: Arrays,
        O: ArraysOperation<A::Item, Arity = A::Arity>,
    {
        self.row_reducer::<A::Item, O>(operation)?.reduce_rows(matrix)
    }

    /// Reduces an array along some of its axes and waits for the results, in C order of the other
    /// axes. A negative axis counts from the end. An operation over pairs takes two arrays, which
    /// are broadcast to one shape (see [`Arrays`]).
    ///
    /// ```
    /// use warpfold::{Array, Device, Sum};
    ///
    /// // Two images of two channels of three pixels: one sum for each channel.
    /// let images = Array::new(&[1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60], &[2, 2, 3])?;
    /// assert_eq!(Device::simulator().reduce_axes(&images, &[0, -1], Sum)?, [21i64, 210]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::row_reducer`] and [`RowReducer::reduce_axes`].
    pub fn reduce_axes<A, O>(
        &self,
        array: A,
        axes: &[isize],
        operation: O,
    ) -> Result<Vec<O::Output>, Error>
    where
        A: Arrays,
        O: ArraysOperation<A::Item, Arity = A::Arity>,
    {
        self.row_reducer::<A::Item, O>(operation)?.reduce_axes(array, axes)
    }
}
