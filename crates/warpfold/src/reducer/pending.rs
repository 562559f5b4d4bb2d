//! A reduction whose result is not on the host yet.

use std::{fmt, marker::PhantomData};

use super::{Error, Item, Operation};

/// A reduction that [`Reducer::reduce_into`](super::Reducer::reduce_into) has given to a stream.
/// After the raw result was copied to the host, [`finish`](Self::finish) turns it into the result.
/// `Pending` is `Copy`, because a graph gives many raw results.
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

    /// Turns the raw result into the result.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] of a [`CheckedSum`](super::CheckedSum).
    pub fn finish(self, raw: O::Raw) -> Result<O::Output, Error> {
        O::finish(raw, self.n)
    }
}
