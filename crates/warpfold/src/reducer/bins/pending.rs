//! Reductions into bins whose results are not on the host yet.

use std::{fmt, marker::PhantomData};

use bytemuck::{Pod, Zeroable};

use super::super::{BinOperation, Error, Item};

/// What a reduction into bins says of its keys: a word on the device, which
/// [`BinReducer::reduce_into_bins_into`](super::BinReducer::reduce_into_bins_into) writes if a key
/// is no bin. Before, it must be [`BinStatus::default`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct BinStatus(u64);

// SAFETY: all bytes 0 are a valid value of the field.
unsafe impl Zeroable for BinStatus {}
// SAFETY: the only field is `Pod`.
unsafe impl Pod for BinStatus {}

impl BinStatus {
    /// The position of the first key that is negative or too large.
    pub fn first_wrong(self) -> Option<u64> {
        (self.0 != 0).then_some(!self.0)
    }

    /// Tells whether all keys were numbers of the `bins` bins. If not, no raw result means
    /// anything.
    ///
    /// # Errors
    ///
    /// [`Error::Bin`], which does not know the key.
    pub fn check(self, bins: u64) -> Result<(), Error> {
        match self.first_wrong() {
            None => Ok(()),
            Some(position) => Err(Error::Bin { position, key: None, bins }),
        }
    }
}

/// A reduction that
/// [`BinReducer::reduce_into_bins_into`](super::BinReducer::reduce_into_bins_into) has given to a
/// stream.
pub struct PendingBins<T, O> {
    bins: u64,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for PendingBins<T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O> Copy for PendingBins<T, O> {}

impl<T, O> fmt::Debug for PendingBins<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingBins").field("bins", &self.bins).finish_non_exhaustive()
    }
}

impl<T: Item, O: BinOperation<T>> PendingBins<T, O> {
    pub(super) fn new(bins: u64) -> Self {
        Self { bins, operation: PhantomData }
    }

    /// Tells whether all keys were bins. If not, no raw result means anything.
    ///
    /// # Errors
    ///
    /// [`Error::Bin`], which does not know the key.
    pub fn check(self, status: BinStatus) -> Result<(), Error> {
        status.check(self.bins)
    }

    /// Turns the raw result of bin number `bin`, which has `count` values, into the result.
    /// [`BinCounter::count_into_bins_into`](super::BinCounter::count_into_bins_into) counts them.
    /// If the operation has a result for no values, as [`Sum`](super::super::Sum) has, any count
    /// will do.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyBin`] if the bin is empty and the operation has no result for that.
    pub fn finish(self, raw: O::Raw, bin: u64, count: u64) -> Result<O::Output, Error> {
        if count == 0 && O::identity().is_none() {
            return Err(Error::EmptyBin { op: O::NAME, bin });
        }
        O::finish(raw, count)
    }
}
