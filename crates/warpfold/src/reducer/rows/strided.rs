//! Results of rows in an output with strides.

use std::{fmt, sync::Arc};

use bytemuck::Pod;

use crate::{
    device::{Arg, LaunchShape, Stream},
    ptx::{EmbeddedKernel, rows},
};

use super::{
    super::{
        Error, Item, RowOperation, Single,
        engine::{Cache, Engine},
        input::DeviceInput,
        output::{DeviceOutput, Target},
    },
    Array, PendingRows, RowReducer,
    arrays::private::Operands as _,
    layout::{Dims, MOST_DIMS, merged},
    plan::Dim,
};

/// Threads of a block. `warpfold_device::rows::scatter::THREADS`.
const THREADS: u64 = 256;
/// Blocks of a launch for each multiprocessor.
const BLOCKS: u64 = 16;

/// The kernel that copies values of a type, in words that are aligned as the values are.
const fn kernel<R>() -> &'static EmbeddedKernel {
    match align_of::<R>() {
        1 => &rows::scatter::u8,
        2 => &rows::scatter::u16,
        _ => &rows::scatter::u32,
    }
}

/// Memory of the device that takes raw results at places with strides. The result with the indices
/// `i`, one for each axis that is left, goes to `offset` plus the sum of the indices times the
/// strides. Strides count results, and may be negative.
#[derive(Debug)]
pub struct StridedOutput<'a, D> {
    output: D,
    strides: &'a [i64],
    offset: u64,
}

impl<'a, D> StridedOutput<'a, D> {
    /// The places in `output` at `offset` plus the sum of the indices times the strides.
    pub fn new(output: D, strides: &'a [i64], offset: u64) -> Self {
        Self { output, strides, offset }
    }
}

/// The dimensions of results of this shape, the fastest first, with strides in bytes.
fn dims(
    shape: &[u64],
    strides: &[i64],
    (offset, len): (u64, u64),
    bytes: u64,
) -> Result<Dims, Error> {
    let refused = || Error::Strides { shape: shape.to_vec(), strides: strides.to_vec(), len };
    if shape.len() != strides.len() {
        return Err(refused());
    }
    let axes = || shape.iter().copied().zip(strides.iter().copied());
    if shape.contains(&0) {
        return Ok(Dims::new());
    }
    let (mut least, mut most) = (i128::from(offset), i128::from(offset));
    for (size, stride) in axes() {
        let reach = i128::from(size - 1) * i128::from(stride);
        *(if reach < 0 { &mut least } else { &mut most }) += reach;
    }
    if least < 0 || most >= i128::from(len) {
        return Err(refused());
    }
    let mut by_stride: Vec<_> = axes().filter(|axis| axis.0 > 1).collect();
    by_stride.sort_by_key(|axis| axis.1.unsigned_abs());
    let mut reach = 0;
    for (size, stride) in by_stride {
        if u128::from(stride.unsigned_abs()) <= reach {
            return Err(Error::Overlap { shape: shape.to_vec(), strides: strides.to_vec() });
        }
        reach += u128::from(size - 1) * u128::from(stride.unsigned_abs());
    }
    let dims = merged(
        axes().rev().map(|(size, stride)| Dim { size, stride: stride.wrapping_mul(bytes as i64) }),
    );
    if dims.len() > MOST_DIMS { Err(Error::Rank { rank: dims.len() }) } else { Ok(dims) }
}

/// A [`RowReducer`] whose results go to outputs with strides: [`RowReducer::strided`] makes one. It
/// is `Send` and `Sync`, and cheap to clone.
pub struct StridedRowReducer<T, O> {
    rows: RowReducer<T, O>,
    scatter: Arc<Engine>,
}

impl<T, O> Clone for StridedRowReducer<T, O> {
    fn clone(&self) -> Self {
        Self { rows: self.rows.clone(), scatter: Arc::clone(&self.scatter) }
    }
}

impl<T: Item, O: RowOperation<T>> fmt::Debug for StridedRowReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StridedRowReducer").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<T: Item, O: RowOperation<T>> RowReducer<T, O> {
    /// Prepares this operation for results in outputs with strides: loads a kernel that copies
    /// results, unless the device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn strided(&self) -> Result<StridedRowReducer<T, O>, Error> {
        let kernel = const { kernel::<O::RowRaw>() };
        let scatter = self.device.attached::<Cache>().engine(&self.device, kernel, 0)?;
        Ok(StridedRowReducer { rows: self.clone(), scatter })
    }
}

impl<T: Item, O: RowOperation<T>> StridedRowReducer<T, O> {
    /// Adds the reduction of an array along some of its axes into `output` to the work of `stream`,
    /// and returns without waiting. The call allocates nothing on the device, so a stream that
    /// [captures](crate::Device::capture) accepts it too.
    ///
    /// It is [`RowReducer::reduce_axes_into`] into `scratch`, which must have a place for each
    /// result, and one launch more, which copies the results to their places in `output`. There is
    /// one stride for each axis that is left. Nothing is written between the places.
    ///
    /// ```
    /// use warpfold::{Array, Device, StridedOutput, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let image = gpu.upload(&[1.0f32, 2.0, 3.0, 5.0, 7.0, 9.0])?;
    /// let (mut scratch, stream) = (gpu.alloc(3)?, gpu.stream()?);
    /// // The sums of the columns become the second column of a matrix of two.
    /// let mut matrix = gpu.upload(&[0.0f32; 6])?;
    /// let sums = gpu.row_reducer::<f32, _>(Sum)?.strided()?;
    /// let output = StridedOutput::new(&mut matrix, &[2], 1);
    /// sums.reduce_axes_into(&Array::new(&image, &[2, 3])?, &[0], &mut scratch, output, &stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(matrix.copy_to_host()?, [0.0, 6.0, 0.0, 9.0, 0.0, 12.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`RowReducer::reduce_axes_into`], where [`Error::Outputs`] is that of `scratch`,
    /// and the following ones. Nothing is written then.
    ///
    /// - [`Error::Strides`] if there is not one stride for each axis that is left, or if a result
    ///   would lie outside of the output;
    /// - [`Error::Overlap`] if results may share places: the stride of each axis must be greater
    ///   than the distance of any two results that differ only along axes of smaller strides;
    /// - [`Error::Rank`] if more than eight dimensions are left after those are merged that one
    ///   index can stand for.
    pub fn reduce_axes_into<I, D: DeviceOutput<O::RowRaw>>(
        &self,
        array: &Array<I>,
        axes: &[isize],
        mut scratch: impl DeviceOutput<O::RowRaw>,
        output: StridedOutput<'_, D>,
        stream: &Stream,
    ) -> Result<PendingRows<T, O>, Error>
    where
        I: DeviceInput<Item = T, Arity = Single>,
    {
        let StridedOutput { mut output, strides, offset } = output;
        let laid = RowReducer::<T, O>::lay_out(&array.common()?, axes)?;
        let (rows, length) = (laid.rows(), laid.length());
        let is_reduced = array.axes(axes)?;
        let shape: Vec<u64> = array
            .shape
            .iter()
            .zip(is_reduced)
            .filter(|(_, is_reduced)| !is_reduced)
            .map(|(&size, _)| size)
            .collect();
        let (scratch, target): (Target<'_, O::RowRaw>, Target<'_, O::RowRaw>) =
            (scratch.target(), output.target());
        if scratch.len != rows {
            return Err(Error::Outputs { results: rows, len: scratch.len });
        }
        let bytes = size_of::<O::RowRaw>() as u64;
        let dims = dims(&shape, strides, (offset, target.len), bytes)?;
        let place = array.input.places().0;
        let device = &self.rows.device;
        if rows > 0 {
            scratch.with_address(device, stream, |scratch| {
                target.with_address(device, stream, |address| {
                    self.rows.launch((place, None), laid, scratch, stream)?;
                    let first = address + offset * bytes;
                    self.launch_scatter::<O::RowRaw>([scratch, first], rows, &dims, stream)
                })
            })?;
        }
        Ok(PendingRows::new(length))
    }

    /// Adds to `stream` the launch that copies so many results from the first address to places
    /// from the second one on.
    fn launch_scatter<R: Pod>(
        &self,
        addresses: [u64; 2],
        rows: u64,
        dims: &Dims,
        stream: &Stream,
    ) -> Result<(), Error> {
        let of_value = size_of::<R>() / align_of::<R>().min(4);
        let words = rows * of_value as u64;
        let most = u64::from(self.rows.device.class().multiprocessors()) * BLOCKS;
        let blocks = words.div_ceil(THREADS).min(most);
        let shape = LaunchShape::linear(blocks as u32, THREADS as u32, 0).in_sequence();
        let mut args = [Arg::U64(1); 4 + 2 * MOST_DIMS];
        let scalars = addresses.map(Arg::Pointer).into_iter();
        let scalars = scalars.chain([Arg::U64(words), Arg::U32(of_value as u32)]);
        let none = Dim { size: 1, stride: 0 };
        let dims = dims.iter().chain(std::iter::repeat(&none)).take(MOST_DIMS);
        let dims = dims.flat_map(|dim| [Arg::U64(dim.size), Arg::I64(dim.stride)]);
        for (arg, value) in args.iter_mut().zip(scalars.chain(dims)) {
            *arg = value;
        }
        // SAFETY: the kernel reads the results, and writes each of them to a place of the output,
        // as `dims` has checked. This memory is borrowed, or the caller of a raw slice's `unsafe`
        // constructor has vouched for it. Dropping memory waits for the work that uses it, and a
        // graph retains the memory that it uses.
        unsafe { stream.launch(self.scatter.kernel(), shape, &args)? };
        Ok(())
    }
}
