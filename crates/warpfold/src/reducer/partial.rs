//! The results of parts of an array, which can be carried elsewhere and put together there.

use std::{fmt, marker::PhantomData};

use super::{Error, Item, Operation};

/// The result of one part of an array, which can be [appended](Self::append) to that of the part
/// in front of it. [`Reducer::partial`](super::Reducer::partial) makes one. So the parts of an
/// array may be reduced by other devices, by other processes or at other times. A
/// [`Group`](super::Group) does the same for several devices of one process.
///
/// A partial result is a number of elements and their [raw result](Operation::Raw), which are plain
/// data: [`raw`](Self::raw) and [`from_raw`](Self::from_raw) carry it to another process.
///
/// ```
/// use warpfold::{ArgMax, Device, Partial};
///
/// let best = Device::simulator().reducer::<f32, _>(ArgMax)?;
/// let (first, second) = (best.partial(&[1.0, 5.0, 2.0])?, best.partial(&[3.0, 7.0])?);
///
/// // The second partial result comes from somewhere else, as bytes.
/// let (bytes, n) = (second.raw().map(|raw| bytemuck::bytes_of(&raw).to_vec()), second.n());
/// let raw = bytes.as_deref().map(bytemuck::pod_read_unaligned);
/// let whole = first.append(Partial::from_raw(raw, n)).finish()?;
/// assert_eq!((whole.value, whole.index), (7.0, 4));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct Partial<T: Item, O: Operation<T>> {
    /// The raw result; `None` if there are no elements.
    raw: Option<O::Raw>,
    n: u64,
    elements: PhantomData<fn() -> T>,
}

impl<T: Item, O: Operation<T>> Clone for Partial<T, O> {
    fn clone(&self) -> Self {
        Self::from_raw(self.raw, self.n)
    }
}

impl<T: Item, O: Operation<T>> fmt::Debug for Partial<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partial").field("n", &self.n).finish_non_exhaustive()
    }
}

impl<T: Item, O: Operation<T>> Partial<T, O> {
    /// The result of no elements.
    pub const EMPTY: Self = Self { raw: None, n: 0, elements: PhantomData };

    /// The partial result that [`raw`](Self::raw) and [`n`](Self::n) were taken from. `raw` is
    /// `None` if `n` is 0. If the two do not belong together, the results are meaningless numbers.
    pub const fn from_raw(raw: Option<O::Raw>, n: u64) -> Self {
        Self { raw, n, elements: PhantomData }
    }

    /// The raw result of the elements. `None` if there are none.
    pub const fn raw(&self) -> Option<O::Raw> {
        self.raw
    }

    /// The number of elements.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// The result of these elements with `next` behind them.
    ///
    /// # Panics
    ///
    /// If there are more than 2^64 - 1 elements together.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a partial result counts once")]
    pub fn append(self, next: Self) -> Self {
        let moved = next.raw.map(|raw| O::moved(raw, self.n));
        let raw = match (self.raw, moved) {
            (Some(first), Some(others)) => Some(O::combine(first, others)),
            (first, others) => first.or(others),
        };
        let n = self.n.checked_add(next.n).expect("fewer than 2^64 elements");
        Self::from_raw(raw, n)
    }

    /// The result of all elements.
    ///
    /// # Errors
    ///
    /// - [`Error::Empty`] if there are no elements and the operation has no result for that;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](super::CheckedSum) and the type
    ///   of the elements cannot hold the sum;
    /// - [`Error::TooLong`] if there are more than [`Operation::MOST`] elements.
    pub fn finish(self) -> Result<O::Output, Error> {
        O::finish(self.checked_raw()?, self.n)
    }

    /// The raw result of all elements, or that of none, unless [`finish`](Self::finish) refuses
    /// their number.
    pub(super) fn checked_raw(&self) -> Result<O::Raw, Error> {
        check_most::<T, O>(self.n)?;
        self.raw.or_else(O::identity).ok_or(Error::Empty { op: O::NAME })
    }
}

/// Refuses more elements than the operation accepts.
pub(super) fn check_most<T: Item, O: Operation<T>>(n: u64) -> Result<(), Error> {
    if n > O::MOST {
        return Err(Error::TooLong { op: O::NAME, item: T::NAME, n, most: O::MOST });
    }
    Ok(())
}
