//! Dot products on a device.

use warpfold::{
    Device, Dot, RawSlice, RawSliceMut, Stream,
    reducer::{Error, Item, Operation, Pair, Reducer, RowReducer},
};

use crate::{
    axes::Axes,
    dtype::{Dtype, with_type},
};

use super::{
    Failure, Laid,
    finish::{Finish, Places, fill_bits},
    gpu::Target,
    plan::{converted, wide},
    session::Locked,
};

/// Dot products of whole arrays and of rows.
pub(super) trait Pairs: Send + Sync {
    /// Adds the dot product of so many neighbours from each address on to a stream.
    ///
    /// # Safety
    ///
    /// The elements are there and of the reducer's type, and there is room for a raw result, which
    /// nobody else accesses until the stream has come so far.
    unsafe fn whole(
        &self,
        addresses: [u64; 2],
        len: usize,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error>;

    /// Adds the dot products of two arrays along some axes to a stream.
    ///
    /// # Safety
    ///
    /// As above, with room for as many raw results as there are rows.
    unsafe fn rows(
        &self,
        arrays: [&Laid; 2],
        axes: &[isize],
        out: (u64, usize),
        stream: &Stream,
    ) -> Result<(), Error>;
}

struct Dots<T> {
    whole: Reducer<T, Dot>,
    rows: RowReducer<T, Dot>,
}

impl<T: Item> Pairs for Dots<T>
where
    Dot: Operation<T, Arity = Pair> + warpfold::ArraysOperation<T>,
{
    unsafe fn whole(
        &self,
        [first, second]: [u64; 2],
        len: usize,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        let (pair, out) = unsafe {
            let pair = (RawSlice::<T>::new(first, len), RawSlice::<T>::new(second, len));
            (pair, RawSliceMut::new(out, 1))
        };
        self.whole.reduce_into(pair, out, stream).map(drop)
    }

    unsafe fn rows(
        &self,
        [first, second]: [&Laid; 2],
        axes: &[isize],
        (out, rows): (u64, usize),
        stream: &Stream,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        let (first, second, out) =
            unsafe { (first.view::<T>()?, second.view::<T>()?, RawSliceMut::new(out, rows)) };
        self.rows.reduce_axes_into((&first, &second), axes, out, stream).map(drop)
    }
}

/// The dot products of elements of this type.
pub(super) fn make(device: &Device, dtype: Dtype) -> Result<Box<dyn Pairs>, Failure> {
    let made = with_type!(dtype, all, T => {
        let (whole, rows) = (device.reducer::<T, _>(Dot)?, device.row_reducer::<T, _>(Dot)?);
        Box::new(Dots { whole, rows }) as Box<dyn Pairs>
    });
    Ok(made.expect("there is a dot product of each type"))
}

/// Adds the dot products of two arrays of the same shape along some axes to a stream.
///
/// # Safety
///
/// The elements of both arrays are in the memory of the device, and both have the same type. The
/// output, in C order, has a place for each result of the type `result`, which nobody else accesses
/// until the stream has come so far.
pub(crate) unsafe fn dot(
    target: &Target,
    session: &mut Locked<'_>,
    arrays: [&Laid; 2],
    axes: &Axes,
    (output, result): (u64, Dtype),
) -> Result<(), Failure> {
    let [first, second] = arrays;
    let shape: Vec<i64> = first.shape.iter().map(|&size| size as i64).collect();
    let length = axes.length(&shape);
    let rows = axes.shape(&shape, false).iter().product::<i64>() as u64;
    if rows == 0 {
        return Ok(());
    }
    if length == 0 {
        let fill = fill_bits(result, 0.0);
        let places = Places { fill, ..Places::new(output, output, rows, 0, 0) };
        // SAFETY: the caller's contract; nothing is read.
        return unsafe { Finish::fill(result).launch(target, session, places) };
    }
    let dots = target.pairs(first.dtype)?;
    let raw_type = wide(first.dtype);
    let finish = converted(raw_type, result);
    let out = match finish {
        None => output,
        Some(_) => session.scratch(target, rows * raw_type.bytes() as u64)?,
    };
    let is_whole = axes.is_all() && first.is_contiguous() && second.is_contiguous();
    // SAFETY: the caller's contract; the scratch memory is this call's as long as the session is
    // locked.
    unsafe {
        if is_whole {
            let addresses = [first.address, second.address];
            dots.whole(addresses, length as usize, out, session.stream)?;
        } else {
            dots.rows(arrays, &axes.reduced(), (out, rows as usize), session.stream)?;
        }
        if let Some(finish) = finish {
            let places = Places::new(out, output, rows, raw_type.bytes() as u64, length);
            finish.launch(target, session, places)?;
        }
    }
    Ok(())
}

impl Laid {
    /// Whether the elements are one behind the other in C order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = 1i64;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected = expected.wrapping_mul(size as i64);
            }
        }
        true
    }
}
