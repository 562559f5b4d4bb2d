//! Reductions of rows whose results are not on the host yet.

use std::{fmt, marker::PhantomData};

use super::super::{ArraysOperation, Error, Item};

/// A reduction of rows that was given to a stream, by
/// [`RowReducer::reduce_rows_into`](super::RowReducer::reduce_rows_into) or one like it. After the
/// caller has copied the raw results to the host, [`finish`](Self::finish) turns each of them into
/// a result. `PendingRows` is `Copy`, because each launch of a graph leaves new raw results.
///
/// ```
/// use warpfold::{All, Array, Device};
///
/// let device = Device::simulator();
/// let (input, mut output) = (device.upload(&[1u8, 2, 3, 0])?, device.alloc(2)?);
/// let (all, stream) = (device.row_reducer::<u8, _>(All)?, device.stream()?);
/// let pending = all.reduce_rows_into(&Array::new(&input, &[2, 2])?, &mut output, &stream)?;
/// stream.synchronize()?;
/// let raw = output.copy_to_host()?;
/// assert_eq!((pending.finish(raw[0])?, pending.finish(raw[1])?), (true, false));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct PendingRows<T, O> {
    length: u64,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for PendingRows<T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O> Copy for PendingRows<T, O> {}

impl<T, O> fmt::Debug for PendingRows<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRows").field("length", &self.length).finish()
    }
}

impl<T: Item, O: ArraysOperation<T>> PendingRows<T, O> {
    pub(in super::super) fn new(length: u64) -> Self {
        Self { length, operation: PhantomData }
    }

    /// Turns a raw result of this reduction into the result.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the operation is a [`CheckedSum`](super::super::CheckedSum) and the
    /// type of the elements cannot hold the sum. Other operations return no error here.
    pub fn finish(self, raw: O::RowRaw) -> Result<O::Output, Error> {
        O::finish_row(raw, self.length)
    }
}
