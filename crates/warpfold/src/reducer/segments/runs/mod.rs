//! Reductions of segments whose boundaries a kernel finds first: by keys, by flags or by lengths.

mod find;
mod flags;
mod keyed;
mod keys;
mod lengths;
mod spans;

use std::{fmt, marker::PhantomData, sync::Arc};

use crate::{device::Device, ptx::EmbeddedKernel};

use super::{
    super::{
        Error, Item, SegmentOperation,
        engine::{Cache, Engine},
        output::Target,
    },
    Offset, SegmentReducer,
};

pub use flags::{Flags, Runs};
pub use keys::{DeviceKeys, Key, KeyRuns, Keys, KeysOf};
pub use lengths::Lengths;
pub use spans::Spans;

/// An operation over the segments of arrays of type `T`, which something else than offsets tells,
/// ready to run on a device: its kernels are loaded. One finds where segments begin, and the other
/// one is that of a [`SegmentReducer`]. For keys, sums and extremes of elements of 32 and 64 bits
/// and of halves have one more, which does both if keys have up to 8 bytes. A `RunReducer` is
/// `Send` and `Sync`, and cheap to clone.
///
/// | `B` | made by | a segment is |
/// |---|---|---|
/// | [`KeysOf<K>`](KeysOf) | [`Device::key_reducer`] | a run of equal neighbouring keys |
/// | [`Flags`] | [`Device::flag_reducer`] | from an element whose flag is not 0 up to the next one |
/// | [`Lengths<L>`](Lengths) | [`Device::length_reducer`] | as many elements as its length says |
/// | [`Spans<B>`](Spans) | [`Device::span_reducer`] | from its begin to its end, anywhere in the array |
///
/// A call has two launches, or three if the operation is a
/// [`ReproducibleSum`](super::super::ReproducibleSum). With the kernel that does both it has one,
/// unless there are more keys than the [workspace](crate::device::WORKSPACE_BYTES) has room for:
/// 300 million, and 90 million or more if keys, values or results have 8 bytes.
///
/// The bits of a result depend on the elements of its segment, in their order, and on their number
/// alone. They are those of a [row](super::super::RowReducer) of the same elements. With the kernel
/// that does both, the sum of floats of a run of keys also depends on where the run begins, counted
/// from the first key. It does not depend on the run's neighbours, and it is the same in each call.
/// If a sum should not depend on its place, [`Device::reduce_segments`] takes the offsets that a
/// reduction by key has written, and a [`ReproducibleSum`](super::super::ReproducibleSum) does not
/// depend on the order at all.
///
/// ```
/// use warpfold::{ArgMax, Device};
///
/// let gpu = Device::simulator();
/// let best = gpu.key_reducer::<u8, f32, _>(ArgMax)?;
/// let runs = best.reduce_by_key(b"aabbba", &[0.5f32, 1.5, 3.0, 1.0, 2.0, 4.0])?;
/// assert_eq!(runs.keys, b"aba");
/// assert_eq!(runs.results.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 0, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct RunReducer<B, T, O> {
    /// The kernel that finds where segments begin.
    finder: Arc<Engine>,
    segments: SegmentReducer<T, O>,
    /// The kernel that does both for keys, if the operation has one.
    keyed: Option<Arc<Engine>>,
    by: PhantomData<fn() -> B>,
}

impl<B, T, O> Clone for RunReducer<B, T, O> {
    fn clone(&self) -> Self {
        let Self { finder, segments, keyed, by } = self;
        let (finder, segments) = (Arc::clone(finder), segments.clone());
        Self { finder, segments, keyed: keyed.clone(), by: *by }
    }
}

impl<B, T: Item, O: SegmentOperation<T>> fmt::Debug for RunReducer<B, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunReducer").field("segments", &self.segments).finish_non_exhaustive()
    }
}

impl<B, T: Item, O: SegmentOperation<T>> RunReducer<B, T, O> {
    fn new(device: &Device, finder: &'static EmbeddedKernel, operation: O) -> Result<Self, Error> {
        let finder = device.attached::<Cache>().engine(device, finder, 0)?;
        let segments = device.segment_reducer(operation)?;
        Ok(Self { finder, segments, keyed: None, by: PhantomData })
    }

    fn device(&self) -> &Device {
        &self.segments.device
    }

    /// The kernel that finds where segments begin.
    #[cfg(feature = "testing")]
    pub fn finder(&self) -> &crate::device::Kernel {
        self.finder.kernel()
    }
}

/// A reduction that was given to a stream: by
/// [`reduce_by_key_into`](RunReducer::reduce_by_key_into) or
/// [`reduce_by_flag_into`](RunReducer::reduce_by_flag_into).
pub struct PendingRuns<T, O> {
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for PendingRuns<T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O> Copy for PendingRuns<T, O> {}

impl<T, O> fmt::Debug for PendingRuns<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRuns").finish()
    }
}

impl<T: Item, O: SegmentOperation<T>> PendingRuns<T, O> {
    /// Turns the raw result of a run, which has `length` elements, into the result.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the operation is a [`CheckedSum`](crate::reducer::CheckedSum) and the
    /// type of the elements cannot hold the sum. Other operations return no error here.
    pub fn finish(self, raw: O::RowRaw, length: u64) -> Result<O::Output, Error> {
        O::finish_row(raw, length)
    }
}

/// Refuses an output that has no room for `most` values of what it is for.
fn check_room<R: bytemuck::Pod>(
    what: &'static str,
    most: u64,
    target: &Target<'_, R>,
) -> Result<(), Error> {
    let len = target.len;
    if len < most { Err(Error::Room { what, most, len }) } else { Ok(()) }
}

/// Refuses offsets that cannot count `n` elements.
fn check_width<B: Offset>(n: u64) -> Result<(), Error> {
    if n > B::GREATEST { Err(Error::NarrowOffsets { item: B::NAME, n }) } else { Ok(()) }
}

/// The lengths of the segments between these offsets.
fn lengths_of(offsets: &[u64]) -> impl Iterator<Item = u64> {
    offsets.windows(2).map(|pair| pair[1] - pair[0])
}
