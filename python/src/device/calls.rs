//! The library's reducers, without their types.

use warpfold::{
    Array, RawSlice, RawSliceMut, Stream,
    half::{bf16, f16},
    reducer::{
        Error, Item, MadeOperation, MadeReducer, MadeRowReducer, Make, Operation, Reducer,
        RowOperation, RowReducer, SegmentOperation, SegmentReducer, SegmentStatus, Single,
    },
};

use crate::dtype::Dtype;

use super::Laid;

/// A reducer of whole arrays.
pub(super) trait Whole: Send + Sync {
    /// The bytes of a raw result.
    fn raw_bytes(&self) -> u64;

    /// Adds the reduction of so many elements from an address on to a stream.
    ///
    /// # Safety
    ///
    /// The elements are there and of the reducer's type, and there is room for a raw result, which
    /// nobody else accesses until the stream has come so far.
    unsafe fn launch(
        &self,
        address: u64,
        len: usize,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error>;
}

impl<T: Item, O: Operation<T, Arity = Single>> Whole for Reducer<T, O> {
    fn raw_bytes(&self) -> u64 {
        size_of::<O::Raw>() as u64
    }

    unsafe fn launch(
        &self,
        address: u64,
        len: usize,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        let (input, output) = unsafe { (RawSlice::new(address, len), RawSliceMut::new(out, 1)) };
        self.reduce_into(input, output, stream).map(drop)
    }
}

/// A reducer of rows.
pub(super) trait Rows: Send + Sync {
    /// The bytes of a raw result.
    fn raw_bytes(&self) -> u64;

    /// Adds the reduction of an array along some axes to a stream.
    ///
    /// # Safety
    ///
    /// As for [`Whole::launch`], with room for as many raw results as there are rows.
    unsafe fn launch(
        &self,
        array: &Laid,
        axes: &[isize],
        out: (u64, usize),
        stream: &Stream,
    ) -> Result<(), Error>;
}

impl<T: Item, O: RowOperation<T>> Rows for RowReducer<T, O> {
    fn raw_bytes(&self) -> u64 {
        size_of::<O::RowRaw>() as u64
    }

    unsafe fn launch(
        &self,
        array: &Laid,
        axes: &[isize],
        (out, rows): (u64, usize),
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        let (array, output) = unsafe { (array.view::<T>()?, RawSliceMut::new(out, rows)) };
        self.reduce_axes_into(&array, axes, output, stream).map(drop)
    }
}

/// What a kernel makes of its raw results, and in which type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) make: Make,
    /// A float, or an integer of 8 or 64 bits.
    pub(super) store: Dtype,
}

/// Calls a function with an output of the type that is wanted.
macro_rules! with_output {
    ($wanted:expr, ($out:expr, $len:expr), $output:ident => $call:expr) => {{
        macro_rules! of {
            ($t:ty) => {{
                let $output = RawSliceMut::<$t>::new($out, $len);
                $call
            }};
        }
        match $wanted.store {
            Dtype::F16 => of!(f16),
            Dtype::Bf16 => of!(bf16),
            Dtype::F32 => of!(f32),
            Dtype::F64 => of!(f64),
            integer if integer.bytes() == 1 => of!(u8),
            _ => of!(u64),
        }
    }};
}

/// A reducer of whole arrays, whose kernel makes results of its raw results.
pub(super) trait MadeWhole: Send + Sync {
    /// As [`Whole::launch`], with room for a result.
    ///
    /// # Safety
    ///
    /// That of [`Whole::launch`].
    unsafe fn launch(
        &self,
        address: u64,
        len: usize,
        wanted: Wanted,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error>;
}

impl<T: Item, O: MadeOperation<T>> MadeWhole for MadeReducer<T, O> {
    unsafe fn launch(
        &self,
        address: u64,
        len: usize,
        wanted: Wanted,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        unsafe {
            let input = RawSlice::new(address, len);
            with_output!(wanted, (out, 1), output => {
                self.reduce_into(input, wanted.make, output, stream)
            })
        }
    }
}

/// A reducer of rows, whose kernel makes results of its raw results.
pub(super) trait MadeRows: Send + Sync {
    /// As [`Rows::launch`], with room for as many results as there are rows.
    ///
    /// # Safety
    ///
    /// That of [`Rows::launch`].
    unsafe fn launch(
        &self,
        array: &Laid,
        axes: &[isize],
        wanted: Wanted,
        out: (u64, usize),
        stream: &Stream,
    ) -> Result<(), Error>;
}

impl<T: Item, O: MadeOperation<T>> MadeRows for MadeRowReducer<T, O> {
    unsafe fn launch(
        &self,
        array: &Laid,
        axes: &[isize],
        wanted: Wanted,
        (out, rows): (u64, usize),
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        unsafe {
            let array = array.view::<T>()?;
            with_output!(wanted, (out, rows), output => {
                self.reduce_axes_into(&array, axes, wanted.make, output, stream)
            })
        }
    }
}

impl Laid {
    /// The library's view of the array.
    ///
    /// # Safety
    ///
    /// The elements are there, and are of type `T`.
    pub(super) unsafe fn view<T: Item>(&self) -> Result<Array<RawSlice<T>>, Error> {
        let bytes = size_of::<T>() as u64;
        let (first, end) = self.extent;
        // SAFETY: the caller's contract. The address is aligned, as `laid` has checked.
        let slice = unsafe { RawSlice::<T>::new(first, ((end - first) / bytes) as usize) };
        Array::with_strides(slice, &self.shape, &self.strides, (self.address - first) / bytes)
    }
}

/// Tells whether the segments of a launch were right.
pub(super) type Check = Box<dyn Fn(SegmentStatus, &Stream) -> Result<(), Error> + Send>;

/// Offsets on a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    pub(super) address: u64,
    pub(super) len: usize,
    /// The bytes of an offset: 4 or 8.
    pub(super) bytes: usize,
}

/// A reducer of segments.
pub(super) trait Segments: Send + Sync {
    /// The bytes of a raw result.
    fn raw_bytes(&self) -> u64;

    /// Adds the reduction of segments of so many values from an address on to a stream.
    ///
    /// # Safety
    ///
    /// As for [`Whole::launch`], with room for as many raw results as there are segments, and for
    /// a status, which is 0.
    unsafe fn launch(
        &self,
        values: (u64, usize),
        offsets: Offsets,
        outputs: [u64; 2],
        stream: &Stream,
    ) -> Result<Check, Error>;
}

impl<T: Item, O: SegmentOperation<T>> Segments for SegmentReducer<T, O> {
    fn raw_bytes(&self) -> u64 {
        size_of::<O::RowRaw>() as u64
    }

    unsafe fn launch(
        &self,
        (values, len): (u64, usize),
        offsets: Offsets,
        [out, status]: [u64; 2],
        stream: &Stream,
    ) -> Result<Check, Error> {
        let Offsets { address, len: count, bytes } = offsets;
        let segments = count.saturating_sub(1);
        // SAFETY: the caller's contract.
        let pending = unsafe {
            let values = RawSlice::<T>::new(values, len);
            let out = RawSliceMut::<O::RowRaw>::new(out, segments);
            let status = RawSliceMut::<SegmentStatus>::new(status, 1);
            if bytes == 4 {
                let offsets = RawSlice::<u32>::new(address, count);
                self.reduce_segments_into(values, offsets, out, status, stream)?
            } else {
                let offsets = RawSlice::<u64>::new(address, count);
                self.reduce_segments_into(values, offsets, out, status, stream)?
            }
        };
        Ok(Box::new(move |status, stream| pending.check(status, stream)))
    }
}
