//! Reductions of segments: one result for the elements from each offset to the next one.

use std::{ffi::OsStr, ops::Range};

use anyhow::anyhow;
use warpfold::{
    Buffer, Device, Error, Offset, SegmentOperation, SegmentReducer, SegmentStatus, Stream,
    reducer::{Item, PendingSegments},
};
use warpfold_tools::{
    arrays::{Array, ArrayError, Dtype},
    terminal::{Failure, refused},
};

use crate::{answer::Answer, elements::Elements, meaning::Meaning, parts::PartBench};

/// The segments of an array.
#[derive(Debug)]
pub(crate) struct Segments {
    /// The array with the offsets.
    pub(crate) name: String,
    offsets: Offsets,
}

/// Offsets of any type that the library takes. There is at least one.
#[derive(Debug)]
enum Offsets {
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
}

impl Segments {
    /// Reads the offsets from a file. The device finds out whether they lie within the elements.
    pub(crate) fn open(file: &OsStr) -> Result<Self, Failure> {
        let wrong_type = |name: &str, dtype: &str| {
            refused(anyhow!(
                "--segments {name}: offsets are u32, i32, u64 or i64, and these are {dtype}"
            ))
        };
        let array = Array::open(file, None).map_err(|error| match error {
            ArrayError::NoArray { name } => refused(anyhow!(
                "--segments {name}: offsets have a header that says their type, so they are a .npy \
                 file or an array of an .npz file"
            )),
            ArrayError::Dtype { name, dtype } => wrong_type(&name, &dtype),
            error => refused(anyhow!("--segments: {error}")),
        })?;
        let name = array.name().to_owned();
        let rank = array.shape().unwrap_or_default().len();
        if rank != 1 {
            return Err(refused(anyhow!(
                "--segments {name}: offsets have one dimension, and this array has {rank}"
            )));
        }
        let offsets = match array.dtype() {
            Dtype::U32 => Offsets::U32(read(array)?),
            Dtype::I32 => Offsets::I32(read(array)?),
            Dtype::U64 => Offsets::U64(read(array)?),
            Dtype::I64 => Offsets::I64(read(array)?),
            dtype => return Err(wrong_type(&name, dtype.name())),
        };
        Ok(Self { name, offsets })
    }

    /// The number of segments.
    pub(crate) fn count(&self) -> u64 {
        let offsets = match &self.offsets {
            Offsets::U32(offsets) => offsets.len(),
            Offsets::I32(offsets) => offsets.len(),
            Offsets::U64(offsets) => offsets.len(),
            Offsets::I64(offsets) => offsets.len(),
        };
        offsets as u64 - 1
    }

    /// An offset that the device has checked.
    fn offset(&self, number: usize) -> usize {
        match &self.offsets {
            Offsets::U32(offsets) => offsets[number] as usize,
            Offsets::I32(offsets) => offsets[number] as usize,
            Offsets::U64(offsets) => offsets[number] as usize,
            Offsets::I64(offsets) => offsets[number] as usize,
        }
    }

    /// The elements of a segment, after the device has checked the offsets.
    pub(crate) fn range(&self, segment: usize) -> Range<usize> {
        self.offset(segment)..self.offset(segment + 1)
    }

    /// The number of elements of all segments, after the device has checked the offsets.
    pub(crate) fn elements(&self) -> u64 {
        (self.offset(self.count() as usize) - self.offset(0)) as u64
    }
}

/// Reads all offsets, of which there must be one at least.
fn read<B: Offset>(array: Array) -> Result<Vec<B>, Failure> {
    let name = array.name().to_owned();
    let (offsets, are_all) = Elements::new(vec![array], false).load(usize::MAX)?;
    if !are_all {
        return Err(refused(anyhow!("--segments {name}: the offsets do not fit in memory")));
    }
    if offsets.is_empty() {
        return Err(refused(anyhow!("--segments {name}: {}", Error::NoOffsets)));
    }
    Ok(offsets)
}

/// A bench that reduces segments whose offsets have the type `B`.
struct Bench<'a, T: Item, O: SegmentOperation<T>, B: Offset> {
    device: Device,
    reduction: O,
    reducer: SegmentReducer<T, O>,
    elements: Buffer<T>,
    segments: &'a Segments,
    offsets: Buffer<B>,
    output: Buffer<O::RowRaw>,
    status: Buffer<SegmentStatus>,
    stream: Stream,
    /// The last launch.
    pending: Option<PendingSegments<T, O>>,
    meaning: &'a Meaning<O::Output>,
}

/// Opens a bench that reduces the segments of an array.
pub(crate) fn bench<'a, T: Item, O: SegmentOperation<T>>(
    device: &Device,
    reduction: O,
    elements: &[T],
    segments: &'a Segments,
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    match &segments.offsets {
        Offsets::U32(offsets) => {
            Bench::<T, O, u32>::open(device, reduction, elements, segments, offsets, meaning)
        }
        Offsets::I32(offsets) => {
            Bench::<T, O, i32>::open(device, reduction, elements, segments, offsets, meaning)
        }
        Offsets::U64(offsets) => {
            Bench::<T, O, u64>::open(device, reduction, elements, segments, offsets, meaning)
        }
        Offsets::I64(offsets) => {
            Bench::<T, O, i64>::open(device, reduction, elements, segments, offsets, meaning)
        }
    }
}

impl<'a, T: Item, O: SegmentOperation<T>, B: Offset> Bench<'a, T, O, B> {
    fn open(
        device: &Device,
        reduction: O,
        elements: &[T],
        segments: &'a Segments,
        offsets: &[B],
        meaning: &'a Meaning<O::Output>,
    ) -> Result<Box<dyn PartBench + 'a>, Error> {
        Ok(Box::new(Self {
            device: device.clone(),
            reduction,
            reducer: device.segment_reducer(reduction)?,
            elements: device.upload(elements)?,
            segments,
            offsets: device.upload(offsets)?,
            output: device.alloc(offsets.len() - 1)?,
            status: device.upload(&[SegmentStatus::default()])?,
            stream: device.own_stream()?,
            pending: None,
            meaning,
        }))
    }
}

impl<T, O, B> PartBench for Bench<'_, T, O, B>
where
    T: Item,
    O: SegmentOperation<T>,
    B: Offset,
{
    fn launch(&mut self) -> Result<(), Error> {
        let Self { reducer, elements, offsets, output, status, stream, .. } = self;
        let pending =
            reducer.reduce_segments_into(&*elements, &*offsets, output, status, stream)?;
        self.pending = Some(pending);
        Ok(())
    }

    fn answers(&mut self) -> Result<Vec<Answer>, Error> {
        let pending = self.pending.expect("a launch comes before its answers");
        pending.check(self.status.copy_to_host()?[0], &self.stream)?;
        let raw = self.output.copy_to_host()?.into_iter().enumerate();
        raw.map(|(segment, raw)| {
            let length = self.segments.range(segment).len() as u64;
            let result = pending.finish(raw, segment as u64, length);
            self.meaning.answer(result)
        })
        .collect()
    }

    /// The bits of a segment are those of a row of the same elements.
    fn depth(&self, length: u64) -> Result<u64, Error> {
        Ok(self.device.row_reducer::<T, O>(self.reduction)?.depth(length))
    }
}
