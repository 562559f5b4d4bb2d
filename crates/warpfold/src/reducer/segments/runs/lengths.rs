//! Segments of given lengths, which lie one behind the other from the first element on.

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
            input::{DeviceInput, Place, on_device, on_host},
            output::{DeviceOutput, Target},
        },
        By, Offset, PendingSegments, SegmentReducer, SegmentStatus,
    },
    RunReducer, check_room,
};

/// In a [`RunReducer`]: segment `i` has as many elements as length `i` says, and begins where the
/// segment before it ends. Lengths have the type `L`, which is `u32`, `i32`, `u64` or `i64`.
#[derive(Clone, Copy, Debug)]
pub struct Lengths<L>(PhantomData<L>);

/// The kernel for lengths of a type.
const fn kernel<L>() -> &'static EmbeddedKernel {
    match size_of::<L>() {
        4 => &runs::lengths::u32,
        _ => &runs::lengths::u64,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<L: Offset, T: Item, O: SegmentOperation<T>> RunReducer<Lengths<L>, T, O> {
    /// Reduces each segment and waits for the results: one for each length, in order. Values behind
    /// the last segment are left out.
    ///
    /// Lengths and values on the host are copied to the device as a whole.
    ///
    /// # Errors
    ///
    /// - [`Error::SegmentLength`] if a length is negative, or if the lengths are more than the
    ///   elements together;
    /// - [`Error::EmptySegment`] if a length is 0 and the operation has no result for that;
    ///   [`reduce_by_length_or`](Self::reduce_by_length_or) gives one;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](crate::reducer::CheckedSum) and
    ///   the type of the elements cannot hold a sum;
    /// - [`Error::TooLong`] if there are more elements and segments than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory is lacking, or if the
    ///   driver reports an error.
    pub fn reduce_by_length<N, I>(&self, lengths: N, values: I) -> Result<Vec<O::Output>, Error>
    where
        N: Input<Item = L, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
    {
        self.results(&lengths, &values, |segment| Err(Error::EmptySegment { op: O::NAME, segment }))
    }

    /// As [`reduce_by_length`](Self::reduce_by_length), but a segment without elements has the
    /// result `empty` if the operation has none for it.
    ///
    /// ```
    /// use warpfold::{Device, Min};
    ///
    /// let min = Device::simulator().length_reducer::<u32, i32, _>(Min)?;
    /// assert_eq!(min.reduce_by_length_or(&[2u32, 0, 1], &[5, 3, 8], -1)?, [3, -1, 8]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`reduce_by_length`](Self::reduce_by_length) except [`Error::EmptySegment`].
    pub fn reduce_by_length_or<N, I>(
        &self,
        lengths: N,
        values: I,
        empty: O::Output,
    ) -> Result<Vec<O::Output>, Error>
    where
        N: Input<Item = L, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
        O::Output: Clone,
    {
        self.results(&lengths, &values, |_| Ok(empty.clone()))
    }

    /// Adds the reduction of each segment to the work of `stream`, and returns without waiting. It
    /// is two launches, which allocate nothing on the device, so a stream that
    /// [captures](Device::capture) accepts them too.
    ///
    /// `output` must have room for a [raw result](super::super::super::ArraysOperation::RowRaw) of
    /// each length, and `offsets` for one more offset; the offsets are where segments begin and
    /// end. `status` has one place, which holds [`SegmentStatus::default`] before. Afterwards
    /// [`PendingSegments::check`] tells whether the lengths were right, and
    /// [`PendingSegments::finish`] makes results of raw ones.
    ///
    /// ```
    /// use warpfold::{Device, SegmentStatus, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let (lengths, values) = (gpu.upload(&[3i64, 1])?, gpu.upload(&[1.0f32, 2.0, 3.0, 5.0])?);
    /// let mut status = gpu.upload(&[SegmentStatus::default()])?;
    /// let (mut output, mut offsets) = (gpu.alloc(2)?, gpu.alloc::<u32>(3)?);
    /// let stream = gpu.stream()?;
    /// let sums = gpu.length_reducer::<i64, f32, _>(Sum)?;
    /// let pending = sums.reduce_by_length_into(
    ///     &lengths, &values, &mut output, &mut offsets, &mut status, &stream,
    /// )?;
    /// stream.synchronize()?;
    /// pending.check(status.copy_to_host()?[0], &stream)?;
    /// assert_eq!(output.copy_to_host()?, [6.0, 5.0]);
    /// assert_eq!(offsets.copy_to_host()?, [0, 3, 4]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Room`] if an output is too short, or [`Error::Outputs`] if `status` does not have
    ///   one place;
    /// - [`Error::NarrowOffsets`] if the type of the offsets cannot hold the number of elements and
    ///   one more, which stands for what is behind them;
    /// - [`Error::TooLong`] if there are more elements and segments than a launch can take;
    /// - [`Error::Device`] if memory or the stream belongs to another device, if the stream
    ///   captures and memory is that of `cust` or cudarc, or if the driver reports an error.
    pub fn reduce_by_length_into<N, I, B: Offset>(
        &self,
        lengths: N,
        values: I,
        mut output: impl DeviceOutput<O::RowRaw>,
        mut offsets: impl DeviceOutput<B>,
        mut status: impl DeviceOutput<SegmentStatus>,
        stream: &Stream,
    ) -> Result<PendingSegments<T, O>, Error>
    where
        N: DeviceInput<Item = L, Arity = Single>,
        I: DeviceInput<Item = T, Arity = Single>,
    {
        let (lengths, values) = (lengths.places().0, values.places().0);
        if values.len >= B::GREATEST {
            return Err(Error::NarrowOffsets { item: B::NAME, n: values.len });
        }
        let output = output.target();
        let (offsets, status): (Target<'_, B>, _) = (offsets.target(), status.target());
        check_room("results", lengths.len, &output)?;
        check_room("offsets", lengths.len + 1, &offsets)?;
        if status.len != 1 {
            return Err(Error::Outputs { results: 1, len: status.len });
        }
        let (device, log) = (self.device(), size_of::<B>().ilog2());
        output.with_address(device, stream, |output| {
            offsets.with_address(device, stream, |offsets| {
                status.with_address(device, stream, |status| {
                    // SAFETY: the outputs are long enough, and their memory is borrowed, or the
                    // caller of an `unsafe` constructor has vouched for it.
                    unsafe {
                        self.launch(lengths, values, ([output, offsets, status], log), stream)
                    }
                })
            })
        })?;
        Ok(PendingSegments::new(values.len, By::Lengths))
    }

    /// The results of all segments, with those of `of_empty` where the operation has none.
    fn results<N, I>(
        &self,
        lengths: &N,
        values: &I,
        of_empty: impl Fn(u64) -> Result<O::Output, Error>,
    ) -> Result<Vec<O::Output>, Error>
    where
        N: Input<Item = L, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
    {
        let (device, stream) = (self.device(), self.finder.stream());
        let (lengths, values) = (lengths.operands().0, values.operands().0);
        let count = lengths.len();
        let places = usize::try_from(count).map_err(|_| Error::Rows { rows: count })?;
        let (mut copied_lengths, mut copied) = (None, None);
        let place = on_device(device, lengths, &mut copied_lengths)?;
        let values = on_device(device, values, &mut copied)?;
        let output = device.alloc::<O::RowRaw>(places)?;
        let offsets = device.alloc::<u64>(places + 1)?;
        let status = device.upload(&[SegmentStatus::default()])?;
        let outputs = [output.address(), offsets.address(), status.address()];
        // SAFETY: these buffers are those of the outputs, and are as long as they must be.
        unsafe { self.launch(place, values, (outputs, size_of::<u64>().ilog2()), stream)? };
        let pending = PendingSegments::<T, O>::new(values.len, By::Lengths);
        pending.check(status.copy_to_host()?[0], stream)?;
        let raw = output.copy_to_host()?;
        let mut read = Vec::new();
        // SAFETY: the launch has admitted the lengths, and its reads have ended.
        let lengths = unsafe { on_host(device, lengths, &mut read)? };
        let lengths = lengths.iter().map(|length| length.number());
        SegmentReducer::<T, O>::finish(raw, lengths, of_empty)
    }

    /// Adds the launches to `stream`. `outputs` are the addresses of the raw results, the offsets
    /// and the status, and the logarithm of the bytes of an offset.
    ///
    /// # Safety
    ///
    /// There is room for the outputs.
    unsafe fn launch(
        &self,
        lengths: Place<'_, L>,
        values: Place<'_, T>,
        outputs: ([u64; 3], u32),
        stream: &Stream,
    ) -> Result<(), Error> {
        lengths.admit(self.device(), stream)?;
        values.admit(self.device(), stream)?;
        #[cfg(feature = "cudarc")]
        let lent = (lengths.borrow_for(stream)?, values.borrow_for(stream)?);
        // SAFETY: the caller's contract. The lengths are borrowed, or vouched for.
        unsafe { self.launch_lengths(&lengths, L::GREATEST, values, outputs, stream)? };
        #[cfg(feature = "cudarc")]
        for borrowed in [lent.0, lent.1] {
            borrowed.map_or(Ok(()), Borrowed::give_back)?;
        }
        Ok(())
    }
}

impl Device {
    /// Prepares an operation over segments of given [lengths](Lengths) for many calls: loads its
    /// two kernels, unless the device has loaded them already. Lengths have the type `L`, and
    /// values the type `T`.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn length_reducer<L: Offset, T: Item, O: SegmentOperation<T>>(
        &self,
        operation: O,
    ) -> Result<RunReducer<Lengths<L>, T, O>, Error> {
        RunReducer::new(self, const { kernel::<L>() }, operation)
    }

    /// Reduces segments of these lengths, which lie one behind the other from the first value on,
    /// and waits for the results: one for each length.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let sums = Device::simulator().reduce_by_length(&[2u32, 0, 1], &[1.5f32, 2.0, 4.0], Sum)?;
    /// assert_eq!(sums, [3.5, 0.0, 4.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::length_reducer`] and [`RunReducer::reduce_by_length`].
    pub fn reduce_by_length<N, I, O>(
        &self,
        lengths: N,
        values: I,
        operation: O,
    ) -> Result<Vec<O::Output>, Error>
    where
        N: Input<Item: Offset, Arity = Single>,
        I: Input<Arity = Single>,
        O: SegmentOperation<I::Item>,
    {
        self.length_reducer::<N::Item, I::Item, O>(operation)?.reduce_by_length(lengths, values)
    }
}
