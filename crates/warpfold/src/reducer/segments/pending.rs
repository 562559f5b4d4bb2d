//! Reductions of segments that were given to a stream, and what they say of their segments.

use std::{fmt, marker::PhantomData};

use bytemuck::{Pod, Zeroable};

use crate::device::Stream;

use super::super::{Error, Item, SegmentOperation};

/// What a reduction of segments says of their offsets, lengths or ends: a word on the device, which
/// [`reduce_segments_into`](super::SegmentReducer::reduce_segments_into) writes if a segment is
/// wrong. Before, it must be [`SegmentStatus::default`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct SegmentStatus(u64);

// SAFETY: all bytes 0 are a valid value of the field.
unsafe impl Zeroable for SegmentStatus {}
// SAFETY: the only field is `Pod`.
unsafe impl Pod for SegmentStatus {}

/// The bit that a status has if a segment is wrong, and not if the spans up to one have too many
/// elements together. `warpfold_device::runs::IS_WRONG`.
const IS_WRONG: u64 = 1 << 63;

impl SegmentStatus {
    /// The first segment that begins behind its end, or ends behind the elements. If no span is
    /// wrong, but all together have more elements than a launch can take, it is the first one that
    /// is too much.
    pub fn first_wrong(self) -> Option<u64> {
        (self.0 != 0).then_some(!(self.0 | IS_WRONG))
    }
}

/// What tells where segments begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Offsets,
    Lengths,
    /// Begins and ends. All spans together may have so many elements.
    Spans {
        most: u64,
    },
}

impl By {
    /// The error if a segment of so many elements is the first wrong one.
    fn error(self, status: SegmentStatus, segment: u64, elements: u64) -> Error {
        match self {
            Self::Offsets => Error::Segment { segment, elements },
            Self::Lengths => Error::SegmentLength { segment, elements },
            Self::Spans { most } if status.0 & IS_WRONG == 0 => {
                Error::SpansTooLong { span: segment, most }
            }
            Self::Spans { .. } => Error::Span { span: segment, elements },
        }
    }
}

/// A reduction that was given to a stream, by
/// [`reduce_segments_into`](super::SegmentReducer::reduce_segments_into) or one like it.
pub struct PendingSegments<T, O> {
    elements: u64,
    by: By,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for PendingSegments<T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O> Copy for PendingSegments<T, O> {}

impl<T, O> fmt::Debug for PendingSegments<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingSegments").field("elements", &self.elements).finish_non_exhaustive()
    }
}

impl<T: Item, O: SegmentOperation<T>> PendingSegments<T, O> {
    pub(super) fn new(elements: u64, by: By) -> Self {
        Self { elements, by, operation: PhantomData }
    }

    /// Tells whether the offsets, lengths or ends were right. `stream` is the stream of the
    /// reduction. If they were wrong, no raw result of it means anything, and the stream's
    /// [workspace](Stream::workspace) is zeroed before the next launch on it. A graph that has
    /// launched the reduction is of no use any more.
    ///
    /// # Errors
    ///
    /// [`Error::Segment`] if an offset was wrong, or [`Error::SegmentLength`] if a length was. Of
    /// spans, [`Error::Span`] if one was wrong, or [`Error::SpansTooLong`] if they had too many
    /// elements together.
    pub fn check(self, status: SegmentStatus, stream: &Stream) -> Result<(), Error> {
        match status.first_wrong() {
            None => Ok(()),
            Some(segment) => {
                stream.distrust_workspace();
                Err(self.by.error(status, segment, self.elements))
            }
        }
    }

    /// Turns the raw result of segment number `segment`, which has `length` elements, into the
    /// result.
    ///
    /// # Errors
    ///
    /// [`Error::EmptySegment`] if the segment is empty and the operation has no result for that,
    /// and [`Error::Overflow`] if the operation is a [`CheckedSum`](crate::reducer::CheckedSum) and
    /// the type of the elements cannot hold the sum.
    pub fn finish(self, raw: O::RowRaw, segment: u64, length: u64) -> Result<O::Output, Error> {
        if length == 0 && O::identity().is_none() {
            return Err(Error::EmptySegment { op: O::NAME, segment });
        }
        O::finish_row(raw, length)
    }
}
