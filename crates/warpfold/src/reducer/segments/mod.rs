//! Reductions of segments: rows of any lengths, which lie one behind the other.

mod offset;
mod pending;
mod plan;
mod runs;

use std::{fmt, marker::PhantomData, ops::RangeFrom, sync::Arc};

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::device::{Arg, Device, LaunchShape, Stream};

use super::{
    Error, Input, Item, SegmentOperation, Single,
    engine::{Cache, Engine},
    even,
    input::{DeviceInput, Place, on_device, on_host},
    operation::{MORE, More},
    output::{DeviceOutput, Target},
    repair,
};

use offset::private::Number;
use pending::By;
use plan::Plan;

pub use offset::Offset;
pub use pending::{PendingSegments, SegmentStatus};
pub use runs::{
    DeviceKeys, Flags, Key, KeyRuns, Keys, KeysOf, Lengths, PendingRuns, RunReducer, Runs, Spans,
};

/// An operation over the segments of arrays of one type, ready to run on a device: its kernel is
/// loaded. [`Device::segment_reducer`] makes one. It is `Send` and `Sync`, and cheap to clone.
///
/// # Offsets
///
/// Segment `i` is the elements from `offsets[i]` to `offsets[i + 1]`, so there is one offset more
/// than segments. The first offset need not be 0, and the last one need not be the number of
/// elements. Offsets are `u32`, `i32`, `u64` or `i64`. They must not decrease, and none may be
/// greater than the number of elements. The device checks this while it reduces, reads nothing
/// outside of the elements, and tells the first segment that is wrong.
///
/// # Order and bits
///
/// The bits of a result depend on the elements of its segment, in their order, and on their number
/// alone. They are those of a [row](super::RowReducer) of the same elements.
///
/// ```
/// use warpfold::{ArgMax, Device};
///
/// let gpu = Device::simulator();
/// let words = gpu.upload(&[0.1f32, 0.7, 0.2, 0.9, 0.0, 0.1])?;
/// let sentences = gpu.upload(&[0u32, 2, 3, 6])?;
/// let best = gpu.segment_reducer::<f32, _>(ArgMax)?.reduce_segments(&words, &sentences)?;
/// assert_eq!(best.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 0, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// An index in a result counts the elements of its segment.
/// [`Indexed::moved`](super::Indexed::moved) tells where that element is in the whole array.
pub struct SegmentReducer<T, O> {
    device: Device,
    engine: Arc<Engine>,
    /// The kernel that sums segments again where the first one has no proof of a sum.
    repair: Option<Arc<Engine>>,
    more: More,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for SegmentReducer<T, O> {
    fn clone(&self) -> Self {
        let Self { device, engine, repair, more, operation } = self;
        let (device, engine) = (device.clone(), Arc::clone(engine));
        let (repair, more) = (repair.clone(), more.clone());
        Self { device, engine, repair, more, operation: *operation }
    }
}

impl<T: Item, O: SegmentOperation<T>> fmt::Debug for SegmentReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentReducer")
            .field("kernel", &O::SEGMENTS.name())
            .finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<T: Item, O: SegmentOperation<T>> SegmentReducer<T, O> {
    /// Reduces each segment and waits for the results: one for each segment, in order.
    ///
    /// Values and offsets on the host are copied to the device as a whole.
    ///
    /// # Errors
    ///
    /// - [`Error::NoOffsets`] if there is no offset at all;
    /// - [`Error::Segment`] if a segment begins behind its end or ends behind the elements;
    /// - [`Error::EmptySegment`] if a segment is empty and the operation has no result for that;
    ///   [`reduce_segments_or`](Self::reduce_segments_or) gives one;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](super::CheckedSum) and the type
    ///   of the elements cannot hold a sum;
    /// - [`Error::TooLong`] if there are more elements and segments than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory for the results or for
    ///   a copy is lacking, or if the driver reports an error.
    pub fn reduce_segments<I, B>(&self, values: I, offsets: B) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
        B: Input<Item: Offset, Arity = Single>,
    {
        self.results(&values, &offsets, |segment| Err(Error::EmptySegment { op: O::NAME, segment }))
    }

    /// As [`reduce_segments`](Self::reduce_segments), but a segment without elements has the result
    /// `empty` if the operation has none for it.
    ///
    /// ```
    /// use warpfold::{Device, Min};
    ///
    /// let min = Device::simulator().segment_reducer::<i32, _>(Min)?;
    /// assert_eq!(min.reduce_segments_or(&[5, 3, 8], &[0i64, 2, 2, 3], -1)?, [3, -1, 8]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`reduce_segments`](Self::reduce_segments) except [`Error::EmptySegment`].
    pub fn reduce_segments_or<I, B>(
        &self,
        values: I,
        offsets: B,
        empty: O::Output,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
        B: Input<Item: Offset, Arity = Single>,
        O::Output: Clone,
    {
        self.results(&values, &offsets, |_| Ok(empty.clone()))
    }

    /// Adds the reduction of each segment into `output` to the work of `stream`, and returns
    /// without waiting. It is one launch, or two of a
    /// [`ReproducibleSum`](super::ReproducibleSum). The call allocates nothing on the device and
    /// copies nothing, so a stream that [captures](Device::capture) accepts it too.
    ///
    /// `output` must have a place for each segment, and receives
    /// [raw results](super::ArraysOperation::RowRaw), of which [`PendingSegments::finish`] makes
    /// the results. `status` has one place, which holds [`SegmentStatus::default`] before.
    /// Afterwards [`PendingSegments::check`] tells whether the offsets were right.
    ///
    /// ```
    /// use warpfold::{Device, SegmentStatus, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let values = gpu.upload(&[1.0f32, 2.0, 3.0, 5.0])?;
    /// let offsets = gpu.upload(&[0u32, 3, 4])?;
    /// let mut status = gpu.upload(&[SegmentStatus::default()])?;
    /// let (mut output, stream) = (gpu.alloc(2)?, gpu.stream()?);
    /// let sums = gpu.segment_reducer::<f32, _>(Sum)?;
    /// let pending =
    ///     sums.reduce_segments_into(&values, &offsets, &mut output, &mut status, &stream)?;
    /// stream.synchronize()?;
    /// pending.check(status.copy_to_host()?[0], &stream)?;
    /// assert_eq!(output.copy_to_host()?, [6.0, 5.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NoOffsets`] if there is no offset at all;
    /// - [`Error::Outputs`] if `output` does not have one place for each segment, or `status` not
    ///   one place;
    /// - [`Error::TooLong`] if there are more elements and segments than a launch can take;
    /// - [`Error::Device`] if memory or the stream belongs to another device, if the stream
    ///   captures and memory is that of `cust` or cudarc, or if the driver reports an error.
    pub fn reduce_segments_into<I, B>(
        &self,
        values: I,
        offsets: B,
        mut output: impl DeviceOutput<O::RowRaw>,
        mut status: impl DeviceOutput<SegmentStatus>,
        stream: &Stream,
    ) -> Result<PendingSegments<T, O>, Error>
    where
        I: DeviceInput<Item = T, Arity = Single>,
        B: DeviceInput<Item: Offset, Arity = Single>,
    {
        let (values, offsets) = (values.places().0, offsets.places().0);
        let segments = segments(offsets.len)?;
        let target: Target<'_, O::RowRaw> = output.target();
        if target.len != segments {
            return Err(Error::Outputs { results: segments, len: target.len });
        }
        let status: Target<'_, SegmentStatus> = status.target();
        if status.len != 1 {
            return Err(Error::Outputs { results: 1, len: status.len });
        }
        if segments > 0 {
            target.with_address(&self.device, stream, |output| {
                status.with_address(&self.device, stream, |status| {
                    self.launch(values, offsets, [output, status], stream)
                })
            })?;
        }
        Ok(PendingSegments::new(values.len, By::Offsets))
    }

    /// The kernel of this operation and type.
    #[cfg(feature = "testing")]
    pub fn kernel(&self) -> &crate::device::Kernel {
        self.engine.kernel()
    }

    /// The results of all segments, with those of `of_empty` where the operation has none.
    fn results<I, B>(
        &self,
        values: &I,
        offsets: &B,
        of_empty: impl Fn(u64) -> Result<O::Output, Error>,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
        B: Input<Item: Offset, Arity = Single>,
    {
        let stream = self.engine.stream();
        let (values, offsets) = (values.operands().0, offsets.operands().0);
        let count = segments(offsets.len())?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let places = usize::try_from(count).map_err(|_| Error::Rows { rows: count })?;
        let (mut copy, mut copied_offsets) = (None, None);
        let values = on_device(&self.device, values, &mut copy)?;
        let place = on_device(&self.device, offsets, &mut copied_offsets)?;
        let output = self.device.alloc::<O::RowRaw>(places)?;
        let status = self.device.upload(&[SegmentStatus::default()])?;
        self.launch(values, place, [output.address(), status.address()], stream)?;
        let pending = PendingSegments::<T, O>::new(values.len, By::Offsets);
        pending.check(status.copy_to_host()?[0], stream)?;
        let raw = output.copy_to_host()?;
        let mut read = Vec::new();
        // SAFETY: the launch has admitted the offsets, and its reads have ended.
        let offsets = unsafe { on_host(&self.device, offsets, &mut read)? };
        let lengths = offsets.windows(2).map(|pair| pair[1].number() - pair[0].number());
        Self::finish(raw, lengths, of_empty)
    }

    /// Turns raw results into results. `lengths` are the numbers of elements of the segments.
    fn finish(
        raw: Vec<O::RowRaw>,
        lengths: impl Iterator<Item = u64>,
        of_empty: impl Fn(u64) -> Result<O::Output, Error>,
    ) -> Result<Vec<O::Output>, Error> {
        let results = raw.into_iter().zip(lengths).zip(0..);
        results
            .map(|((raw, length), segment)| match length {
                0 if O::identity().is_none() => of_empty(segment),
                length => O::finish_row(raw, length),
            })
            .collect()
    }

    /// Adds to `stream` the launch that leaves the raw results and the status at two addresses of
    /// the same device. There is at least one segment.
    fn launch<B: Offset>(
        &self,
        values: Place<'_, T>,
        offsets: Place<'_, B>,
        [output, status]: [u64; 2],
        stream: &Stream,
    ) -> Result<(), Error> {
        values.admit(&self.device, stream)?;
        offsets.admit(&self.device, stream)?;
        #[cfg(feature = "cudarc")]
        let lent = (values.borrow_for(stream)?, offsets.borrow_for(stream)?);
        let boundaries = Boundaries {
            address: offsets.address,
            log: size_of::<B>().ilog2(),
            greatest: B::GREATEST,
            segments: offsets.len - 1,
            counted: 0,
            spans: None,
        };
        let plan = Self::plan(values.len, boundaries.segments, &self.device)?;
        let bytes = size_of::<T>() as u64;
        let multiprocessors = self.device.class().multiprocessors();
        let plan = plan.by_number(values.len, boundaries.segments, bytes, multiprocessors);
        // SAFETY: the offsets are there, and the output and the status are the caller's.
        unsafe { self.launch_planned(plan, values, boundaries, [output, status], stream)? };
        #[cfg(feature = "cudarc")]
        for borrowed in [lent.0, lent.1] {
            borrowed.map_or(Ok(()), Borrowed::give_back)?;
        }
        Ok(())
    }

    /// The plan for so many elements and segments.
    fn plan(elements: u64, segments: u64, device: &Device) -> Result<Plan, Error> {
        let bytes = size_of::<T>() as u64;
        let multiprocessors = device.class().multiprocessors();
        let most = O::MOST.min(plan::most_bytes(O::SLOT_WORDS) / bytes);
        plan::plan(elements, segments, bytes, O::SLOT_WORDS, multiprocessors)
            .filter(|_| elements <= O::MOST)
            .ok_or(Error::TooLong { op: O::NAME, item: T::NAME, n: elements, most })
    }

    /// The plan for so many spans, from that for as many segments, and the most elements that all
    /// of them may have together.
    fn plan_of_spans(plan: Plan, spans: u64) -> (Plan, u64) {
        plan::of_spans(plan, spans, size_of::<T>() as u64, O::SLOT_WORDS)
    }

    /// Adds to `stream` the launch of a plan for these elements and segments.
    ///
    /// # Safety
    ///
    /// The boundaries are at their address, which no work overwrites meanwhile, and so is their
    /// number if that is in memory, and the begins of spans. In both cases they are right. There is
    /// a place for each raw result at the first address of the output, and a status of 0 at the
    /// second one.
    unsafe fn launch_planned(
        &self,
        plan: Plan,
        values: Place<'_, T>,
        boundaries: Boundaries,
        [output, status]: [u64; 2],
        stream: &Stream,
    ) -> Result<(), Error> {
        let Boundaries { address, log, greatest, segments, counted, spans } = boundaries;
        let (begins, begin_log) = spans.unwrap_or((0, 0));
        // A negative offset is beyond them. Spans may have more elements together.
        let most = if spans.is_some() { greatest } else { values.len.min(greatest) };
        let blocks = plan.warps().div_ceil(plan::THREADS / 32);
        let ring = plan::ring(values.len * size_of::<T>() as u64, segments, log);
        let (kernel, shared_bytes) = (self.engine.kernel(), plan::shared_bytes(ring));
        let shared_bytes = even::shared_bytes(kernel, blocks, shared_bytes, SPREAD, &self.device);
        let shape = LaunchShape::linear(blocks, plan::THREADS, shared_bytes).in_sequence();
        let args: [Arg; ARGUMENTS] = [
            Arg::Pointer(values.address),
            Arg::Pointer(output),
            Arg::Pointer(stream.workspace()),
            Arg::Pointer(address),
            Arg::Pointer(status),
            Arg::U64(segments),
            Arg::Pointer(counted),
            Arg::U64(most),
            Arg::F32(plan.density),
            Arg::U32(plan.task()),
            Arg::U32(plan.width),
            Arg::U32(plan.ranges),
            Arg::U32(log),
            Arg::U32(plan::COST),
            Arg::U32(ring),
            Arg::U32(plan.numbered),
            Arg::U32(plan.each),
            Arg::U64(values.len),
            Arg::Pointer(begins),
            Arg::U32(begin_log),
        ];
        let more = &self.more[..];
        let mut all = [Arg::U32(0); ARGUMENTS + MORE];
        all[..ARGUMENTS].copy_from_slice(&args);
        all[ARGUMENTS..][..more.len()].copy_from_slice(more);
        let args = &all[..ARGUMENTS + more.len()];
        // SAFETY: the kernel reads elements and offsets, of which it uses none that leads out of
        // the elements. It writes one raw result for each segment and the status. This memory is
        // borrowed, or the caller of the raw slice's `unsafe` constructor has vouched for it. The
        // kernel also writes slots of the stream's workspace, which `plan` keeps within bounds; if
        // offsets are wrong, the workspace is zeroed when the status is checked. Dropping memory
        // waits for the work that uses it, and a graph retains the memory that it uses.
        unsafe { stream.launch(kernel, shape, args)? };
        if let Some(repair) = &self.repair {
            let args = [
                Arg::Pointer(values.address),
                Arg::Pointer(output),
                Arg::Pointer(stream.workspace()),
                Arg::Pointer(address),
                Arg::U64(segments),
                Arg::Pointer(counted),
                Arg::U64(most),
                Arg::U32(log),
                Arg::Pointer(begins),
                Arg::U32(begin_log),
            ];
            let shape = repair::shape(most, &self.device);
            // SAFETY: as above. The kernel reads the results of the first one, and leaves zeros in
            // the workspace, unless boundaries are wrong.
            let launched = unsafe { stream.launch(repair.kernel(), shape, &args) };
            // Without this launch, the note of the first one stays in the workspace.
            launched.inspect_err(|_| stream.distrust_workspace())?;
        }
        Ok(())
    }
}

/// The blocks of a multiprocessor that are spread evenly over all of them. With fewer blocks, the
/// next launch begins sooner without. (bench/NOTEBOOK.md, attempt 133.)
const SPREAD: RangeFrom<u32> = 8..;

/// The number of arguments of a kernel for segments, without counting those of a constant.
const ARGUMENTS: usize = 20;

/// Where the boundaries of segments are on the device.
#[derive(Clone, Copy)]
struct Boundaries {
    address: u64,
    /// 2 to this number are the bytes of a boundary.
    log: u32,
    /// The greatest boundary.
    greatest: u64,
    /// The number of segments, or the most that it may be if it is in memory.
    segments: u64,
    /// The address of the number of segments, or 0 if `segments` is right.
    counted: u64,
    /// If segments are no neighbours in the array: the address of where each of them begins there,
    /// and the logarithm of the bytes of a begin. The boundaries are then those of all segments one
    /// behind the other.
    spans: Option<(u64, u32)>,
}

/// The number of segments of so many offsets.
fn segments(offsets: u64) -> Result<u64, Error> {
    offsets.checked_sub(1).ok_or(Error::NoOffsets)
}

impl Device {
    /// Prepares an operation over the segments of arrays of type `T` for many calls: loads its
    /// kernel, unless the device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn segment_reducer<T: Item, O: SegmentOperation<T>>(
        &self,
        operation: O,
    ) -> Result<SegmentReducer<T, O>, Error> {
        let cache = self.attached::<Cache>();
        let engine = cache.engine(self, O::SEGMENTS, size_of::<O::RowRaw>())?;
        let repair = O::REPAIR_SEGMENTS.map(|kernel| cache.engine(self, kernel, 0)).transpose()?;
        let more = operation.more();
        Ok(SegmentReducer { device: self.clone(), engine, repair, more, operation: PhantomData })
    }

    /// Reduces each segment of `values` and waits for the results, one for each segment. Segment
    /// `i` is the elements from `offsets[i]` to `offsets[i + 1]`.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let sums = Device::simulator().reduce_segments(&[1.5f32, 2.0, 4.0], &[0u32, 2, 2, 3], Sum)?;
    /// assert_eq!(sums, [3.5, 0.0, 4.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::segment_reducer`] and [`SegmentReducer::reduce_segments`].
    pub fn reduce_segments<I, B, O>(
        &self,
        values: I,
        offsets: B,
        operation: O,
    ) -> Result<Vec<O::Output>, Error>
    where
        I: Input<Arity = Single>,
        B: Input<Item: Offset, Arity = Single>,
        O: SegmentOperation<I::Item>,
    {
        self.segment_reducer::<I::Item, O>(operation)?.reduce_segments(values, offsets)
    }
}
