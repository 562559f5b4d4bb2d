//! Reductions whose result is not on the host yet.

use std::{fmt, marker::PhantomData};

use super::{Error, Item, Operation};

/// A reduction that [`Reducer::reduce_into`](super::Reducer::reduce_into) has given to a stream.
/// After the caller has copied the raw result to the host, [`finish`](Self::finish) turns it into
/// the result. `Pending` is `Copy`, because each launch of a graph leaves a new raw result.
///
/// ```
/// use warpfold::{All, Device};
///
/// let device = Device::simulator();
/// let (input, mut output) = (device.upload(&[1u8, 2, 0])?, device.alloc(1)?);
/// let stream = device.stream()?;
/// let pending = device.reducer::<u8, _>(All)?.reduce_into(&input, &mut output, &stream)?;
/// stream.synchronize()?;
/// assert_eq!(pending.finish(output.copy_to_host()?[0])?, false);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct Pending<T, O> {
    n: u64,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for Pending<T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O> Copy for Pending<T, O> {}

impl<T, O> fmt::Debug for Pending<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("n", &self.n).finish()
    }
}

impl<T: Item, O: Operation<T>> Pending<T, O> {
    pub(super) fn new(n: u64) -> Self {
        Self { n, operation: PhantomData }
    }

    /// Turns a raw result of this reduction into the result.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the operation is a [`CheckedSum`](super::CheckedSum) and the type of
    /// the elements cannot hold the sum. Other operations return no error here.
    pub fn finish(self, raw: O::Raw) -> Result<O::Output, Error> {
        O::finish(raw, self.n)
    }
}
