//! Spans: segments whose begins and ends are two arrays.

use std::marker::PhantomData;

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::{
    device::{Device, Stream},
    ptx::{EmbeddedKernel, runs},
};

use super::{
    super::{
        super::{
            Error, Input, Item, SegmentOperation, Single,
            input::{DeviceInput, Place, check_lengths, on_device, on_host},
            output::{DeviceOutput, Target},
        },
        By, Offset, PendingSegments, SegmentReducer, SegmentStatus,
    },
    RunReducer, check_room,
};

/// In a [`RunReducer`]: segment `i` is the elements from number `begins[i]` up to number `ends[i]`,
/// which does not belong to it. Such a segment is a *span*. Spans may overlap, lie in any order,
/// and leave elements out. Begins and ends have the type `B`, which is `u32`, `i32`, `u64` or
/// `i64`.
#[derive(Clone, Copy, Debug)]
pub struct Spans<B>(PhantomData<B>);

/// The kernel for begins and ends of a type.
const fn kernel<B>() -> &'static EmbeddedKernel {
    match size_of::<B>() {
        4 => &runs::spans::u32,
        _ => &runs::spans::u64,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<B: Offset, T: Item, O: SegmentOperation<T>> RunReducer<Spans<B>, T, O> {
    /// Reduces each span and waits for the results: one for each span, in order.
    ///
    /// Values, begins and ends on the host are copied to the device as a whole.
    ///
    /// Each span has a warp of its own, or several. So spans of less than a few hundred bytes take
    /// more time than [segments](super::super::SegmentReducer) that are neighbours.
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if begins and ends are not equally many;
    /// - [`Error::Span`] if a span begins behind its end or ends behind the elements;
    /// - [`Error::SpansTooLong`] if spans overlap so much that they have more elements together
    ///   than a launch can take. It always takes 8 GiB, less 16 bytes for each span;
    /// - [`Error::EmptySegment`] if a span is empty and the operation has no result for that;
    ///   [`reduce_spans_or`](Self::reduce_spans_or) gives one;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](crate::reducer::CheckedSum) and
    ///   the type of the elements cannot hold a sum;
    /// - [`Error::TooLong`] if there are more elements and spans than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory is lacking, or if the
    ///   driver reports an error.
    pub fn reduce_spans<I, S, E>(
        &self,
        values: I,
        begins: S,
        ends: E,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
        S: Input<Item = B, Arity = Single>,
        E: Input<Item = B, Arity = Single>,
    {
        let of_empty = |segment| Err(Error::EmptySegment { op: O::NAME, segment });
        self.results(&values, &begins, &ends, of_empty)
    }

    /// As [`reduce_spans`](Self::reduce_spans), but a span without elements has the result `empty`
    /// if the operation has none for it.
    ///
    /// ```
    /// use warpfold::{Device, Min};
    ///
    /// let min = Device::simulator().span_reducer::<u32, i32, _>(Min)?;
    /// assert_eq!(min.reduce_spans_or(&[5, 3, 8], &[1u32, 2, 0], &[3u32, 2, 1], -1)?, [3, -1, 5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`reduce_spans`](Self::reduce_spans) except [`Error::EmptySegment`].
    pub fn reduce_spans_or<I, S, E>(
        &self,
        values: I,
        begins: S,
        ends: E,
        empty: O::Output,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
        S: Input<Item = B, Arity = Single>,
        E: Input<Item = B, Arity = Single>,
        O::Output: Clone,
    {
        self.results(&values, &begins, &ends, |_| Ok(empty.clone()))
    }

    /// Adds the reduction of each span to the work of `stream`, and returns without waiting. It is
    /// two launches, which allocate nothing on the device, so a stream that
    /// [captures](Device::capture) accepts them too.
    ///
    /// `output` must have room for a [raw result](super::super::super::ArraysOperation::RowRaw) of
    /// each span, and `offsets` for one number more. The first launch writes to `offsets` where
    /// each span would begin, and the last one end, if they lay one behind the other. `status` has
    /// one place, which holds [`SegmentStatus::default`] before. Afterwards
    /// [`PendingSegments::check`] tells whether the spans were right, and
    /// [`PendingSegments::finish`] makes results of raw ones.
    ///
    /// ```
    /// use warpfold::{Device, SegmentStatus, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let values = gpu.upload(&[1.0f32, 2.0, 3.0, 5.0])?;
    /// let (begins, ends) = (gpu.upload(&[2i64, 0])?, gpu.upload(&[4i64, 3])?);
    /// let mut status = gpu.upload(&[SegmentStatus::default()])?;
    /// let (mut output, mut offsets, stream) = (gpu.alloc(2)?, gpu.alloc(3)?, gpu.stream()?);
    /// let sums = gpu.span_reducer::<i64, f32, _>(Sum)?;
    /// let pending = sums.reduce_spans_into(
    ///     &values, &begins, &ends, &mut output, &mut offsets, &mut status, &stream,
    /// )?;
    /// stream.synchronize()?;
    /// pending.check(status.copy_to_host()?[0], &stream)?;
    /// assert_eq!(output.copy_to_host()?, [8.0, 6.0]);
    /// assert_eq!(offsets.copy_to_host()?, [0, 2, 5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if begins and ends are not equally many;
    /// - [`Error::Room`] if an output is too short, or [`Error::Outputs`] if `status` does not have
    ///   one place;
    /// - [`Error::TooLong`] if there are more elements and spans than a launch can take;
    /// - [`Error::Device`] if memory or the stream belongs to another device, if the stream
    ///   captures and memory is that of `cust` or cudarc, or if the driver reports an error.
    #[expect(clippy::too_many_arguments, reason = "each of them is an array or the stream")]
    pub fn reduce_spans_into<I, S, E>(
        &self,
        values: I,
        begins: S,
        ends: E,
        mut output: impl DeviceOutput<O::RowRaw>,
        mut offsets: impl DeviceOutput<u64>,
        mut status: impl DeviceOutput<SegmentStatus>,
        stream: &Stream,
    ) -> Result<PendingSegments<T, O>, Error>
    where
        I: DeviceInput<Item = T, Arity = Single>,
        S: DeviceInput<Item = B, Arity = Single>,
        E: DeviceInput<Item = B, Arity = Single>,
    {
        let (values, begins, ends) = (values.places().0, begins.places().0, ends.places().0);
        check_lengths(begins.len, ends.len)?;
        let output = output.target();
        let (offsets, status): (Target<'_, u64>, _) = (offsets.target(), status.target());
        check_room("results", begins.len, &output)?;
        check_room("offsets", begins.len + 1, &offsets)?;
        if status.len != 1 {
            return Err(Error::Outputs { results: 1, len: status.len });
        }
        let (device, elements) = (self.device(), values.len);
        let mut most = 0;
        output.with_address(device, stream, |output| {
            offsets.with_address(device, stream, |offsets| {
                status.with_address(device, stream, |status| {
                    // SAFETY: the outputs are long enough, and their memory is borrowed, or the
                    // caller of an `unsafe` constructor has vouched for it.
                    most = unsafe {
                        self.launch(values, begins, ends, [output, offsets, status], stream)?
                    };
                    Ok(())
                })
            })
        })?;
        Ok(PendingSegments::new(elements, By::Spans { most }))
    }

    /// The results of all spans, with those of `of_empty` where the operation has none.
    fn results<I, S, E>(
        &self,
        values: &I,
        begins: &S,
        ends: &E,
        of_empty: impl Fn(u64) -> Result<O::Output, Error>,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
        S: Input<Item = B, Arity = Single>,
        E: Input<Item = B, Arity = Single>,
    {
        let (device, stream) = (self.device(), self.finder.stream());
        let (begins, ends) = (begins.operands().0, ends.operands().0);
        let count = begins.len();
        check_lengths(count, ends.len())?;
        let places = usize::try_from(count).map_err(|_| Error::Rows { rows: count })?;
        let (mut copied, mut copied_begins, mut copied_ends) = (None, None, None);
        let values = on_device(device, values.operands().0, &mut copied)?;
        let begin_places = on_device(device, begins, &mut copied_begins)?;
        let end_places = on_device(device, ends, &mut copied_ends)?;
        let output = device.alloc::<O::RowRaw>(places)?;
        let offsets = device.alloc::<u64>(places + 1)?;
        let status = device.upload(&[SegmentStatus::default()])?;
        let outputs = [output.address(), offsets.address(), status.address()];
        let elements = values.len;
        // SAFETY: these buffers are those of the outputs, and are as long as they must be.
        let most = unsafe { self.launch(values, begin_places, end_places, outputs, stream)? };
        let pending = PendingSegments::<T, O>::new(elements, By::Spans { most });
        pending.check(status.copy_to_host()?[0], stream)?;
        let raw = output.copy_to_host()?;
        let (mut read_begins, mut read_ends) = (Vec::new(), Vec::new());
        // SAFETY: the launch has admitted begins and ends, and its reads have ended.
        let (begins, ends) = unsafe {
            (on_host(device, begins, &mut read_begins)?, on_host(device, ends, &mut read_ends)?)
        };
        let lengths = begins.iter().zip(ends).map(|(begin, end)| end.number() - begin.number());
        SegmentReducer::<T, O>::finish(raw, lengths, of_empty)
    }

    /// Adds the launches to `stream`, and returns how many elements all spans may have together.
    /// `outputs` are the addresses of the raw results, the offsets and the status.
    ///
    /// # Safety
    ///
    /// There is room for the outputs, and there are as many begins as ends.
    unsafe fn launch(
        &self,
        values: Place<'_, T>,
        begins: Place<'_, B>,
        ends: Place<'_, B>,
        outputs: [u64; 3],
        stream: &Stream,
    ) -> Result<u64, Error> {
        values.admit(self.device(), stream)?;
        begins.admit(self.device(), stream)?;
        ends.admit(self.device(), stream)?;
        #[cfg(feature = "cudarc")]
        let lent =
            [values.borrow_for(stream)?, begins.borrow_for(stream)?, ends.borrow_for(stream)?];
        // SAFETY: the caller's contract. Begins and ends are borrowed, or vouched for.
        let most = unsafe { self.launch_spans(&begins, &ends, values, outputs, stream)? };
        #[cfg(feature = "cudarc")]
        for borrowed in lent {
            borrowed.map_or(Ok(()), Borrowed::give_back)?;
        }
        Ok(most)
    }
}

impl Device {
    /// Prepares an operation over [spans](Spans) for many calls: loads its two kernels, unless the
    /// device has loaded them already. Begins and ends have the type `B`, and values the type `T`.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn span_reducer<B: Offset, T: Item, O: SegmentOperation<T>>(
        &self,
        operation: O,
    ) -> Result<RunReducer<Spans<B>, T, O>, Error> {
        RunReducer::new(self, const { kernel::<B>() }, operation)
    }

    /// Reduces spans of `values` and waits for the results, one for each span. Span `i` is the
    /// elements from number `begins[i]` up to number `ends[i]`, which does not belong to it. Spans
    /// may overlap, lie in any order, and leave elements out.
    ///
    /// ```
    /// use warpfold::{Device, Max};
    ///
    /// let (begins, ends) = ([1u32, 0, 2], [4u32, 2, 3]);
    /// let max = Device::simulator().reduce_spans(&[5, 1, 3, 4], &begins, &ends, Max)?;
    /// assert_eq!(max, [4, 5, 3]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::span_reducer`] and [`RunReducer::reduce_spans`].
    pub fn reduce_spans<I, S, E, O>(
        &self,
        values: I,
        begins: S,
        ends: E,
        operation: O,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Arity = Single>,
        S: Input<Item: Offset, Arity = Single>,
        E: Input<Item = S::Item, Arity = Single>,
        O: SegmentOperation<I::Item>,
    {
        self.span_reducer::<S::Item, I::Item, O>(operation)?.reduce_spans(values, begins, ends)
    }
}
