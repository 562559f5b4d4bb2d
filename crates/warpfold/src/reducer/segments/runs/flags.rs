//! Segments that begin at flags.

use std::marker::PhantomData;

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::{
    device::{Device, Stream},
    ptx::runs,
};

use super::{
    super::{
        super::{
            Error, Input, Item, SegmentOperation, Single,
            input::{DeviceInput, Place, check_lengths, on_device},
            output::{DeviceOutput, Target},
        },
        Offset, SegmentReducer,
    },
    PendingRuns, RunReducer, check_room, check_width,
    find::Outputs,
    lengths_of,
};

/// In a [`RunReducer`]: each element whose flag, a `u8`, is not 0 begins a segment. Element 0
/// begins one whatever its flag is, so that each element belongs to a segment.
#[derive(Clone, Copy, Debug)]
pub enum Flags {}

/// Segments that begin at flags, in order. Entry `i` of each list belongs to segment `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs<R> {
    /// The result of each segment.
    pub results: Vec<R>,
    /// The number of elements of each segment.
    pub counts: Vec<u64>,
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<T: Item, O: SegmentOperation<T>> RunReducer<Flags, T, O> {
    /// Reduces the values of each segment, and waits for the results. Value `i` begins a segment if
    /// flag `i` is not 0, and value 0 always does.
    ///
    /// Flags and values on the host are copied to the device as a whole. The device needs memory
    /// for as many segments as there are flags.
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if flags and values are not equally many;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](crate::reducer::CheckedSum) and
    ///   the type of the elements cannot hold a sum;
    /// - [`Error::TooLong`] if there are more elements than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory is lacking, or if the
    ///   driver reports an error.
    pub fn reduce_by_flag<F, I>(&self, flags: F, values: I) -> Result<Runs<O::Output>, Error>
    where
        F: Input<Item = u8, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
    {
        let device = self.device();
        let (flags, values) = (flags.operands().0, values.operands().0);
        check_lengths(flags.len(), values.len())?;
        let n = usize::try_from(flags.len()).map_err(|_| Error::Rows { rows: flags.len() })?;
        let (mut copied_flags, mut copied) = (None, None);
        let flags = on_device(device, flags, &mut copied_flags)?;
        let values = on_device(device, values, &mut copied)?;
        let output = device.alloc::<O::RowRaw>(n)?;
        let offsets = device.alloc::<u64>(n + 1)?;
        let runs = device.alloc::<u64>(1)?;
        let out = Outputs {
            unique: 0,
            output: output.address(),
            offsets: offsets.address(),
            log: size_of::<u64>().ilog2(),
            runs: runs.address(),
        };
        // SAFETY: these buffers are those of the outputs, and are as long as they must be.
        unsafe { self.launch(flags, values, out, self.finder.stream())? };
        let found = runs.copy_to_host()?[0] as usize;
        let offsets = offsets.view(..=found).copy_to_host()?;
        let raw = output.view(..found).copy_to_host()?;
        let no_empty = |segment| Err(Error::EmptySegment { op: O::NAME, segment });
        Ok(Runs {
            results: SegmentReducer::<T, O>::finish(raw, lengths_of(&offsets), no_empty)?,
            counts: lengths_of(&offsets).collect(),
        })
    }

    /// Adds the reduction of each segment to the work of `stream`, and returns without waiting, as
    /// [`reduce_by_key_into`](RunReducer::reduce_by_key_into) does. It has as many launches, which
    /// a stream that [captures](Device::capture) accepts too.
    ///
    /// The number of segments is written to `runs`, which has one place. Segment `i` is the
    /// elements from `offsets[i]` to `offsets[i + 1]`. `output` must have room for as many
    /// [raw results](super::super::super::ArraysOperation::RowRaw) as there are flags, and
    /// `offsets` for one more. What is behind the last segment keeps its values.
    ///
    /// ```
    /// use warpfold::{Device, Max};
    ///
    /// let gpu = Device::simulator();
    /// let flags = gpu.upload(&[0u8, 0, 1, 1])?;
    /// let values = gpu.upload(&[2i32, 5, 1, 4])?;
    /// let (mut output, mut offsets) = (gpu.alloc(4)?, gpu.alloc::<u64>(5)?);
    /// let (mut runs, stream) = (gpu.alloc(1)?, gpu.stream()?);
    /// let max = gpu.flag_reducer::<i32, _>(Max)?;
    /// max.reduce_by_flag_into(&flags, &values, &mut output, &mut offsets, &mut runs, &stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(runs.copy_to_host()?, [3]);
    /// assert_eq!(output.view(..3).copy_to_host()?, [5, 1, 4]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`reduce_by_key_into`](RunReducer::reduce_by_key_into).
    pub fn reduce_by_flag_into<F, I, B: Offset>(
        &self,
        flags: F,
        values: I,
        mut output: impl DeviceOutput<O::RowRaw>,
        mut offsets: impl DeviceOutput<B>,
        mut runs: impl DeviceOutput<u64>,
        stream: &Stream,
    ) -> Result<PendingRuns<T, O>, Error>
    where
        F: DeviceInput<Item = u8, Arity = Single>,
        I: DeviceInput<Item = T, Arity = Single>,
    {
        let (flags, values) = (flags.places().0, values.places().0);
        check_lengths(flags.len, values.len)?;
        check_width::<B>(flags.len)?;
        let output = output.target();
        let (offsets, runs): (Target<'_, B>, _) = (offsets.target(), runs.target());
        check_room("results", flags.len, &output)?;
        check_room("offsets", flags.len + 1, &offsets)?;
        if runs.len != 1 {
            return Err(Error::Outputs { results: 1, len: runs.len });
        }
        let (device, log) = (self.device(), size_of::<B>().ilog2());
        output.with_address(device, stream, |output| {
            offsets.with_address(device, stream, |offsets| {
                runs.with_address(device, stream, |runs| {
                    let out = Outputs { unique: 0, output, offsets, log, runs };
                    // SAFETY: the outputs are long enough, and their memory is borrowed, or the
                    // caller of an `unsafe` constructor has vouched for it.
                    unsafe { self.launch(flags, values, out, stream) }
                })
            })
        })?;
        Ok(PendingRuns { operation: PhantomData })
    }

    /// Adds the launches to `stream`.
    ///
    /// # Safety
    ///
    /// There is room for the outputs.
    unsafe fn launch(
        &self,
        flags: Place<'_, u8>,
        values: Place<'_, T>,
        out: Outputs,
        stream: &Stream,
    ) -> Result<(), Error> {
        flags.admit(self.device(), stream)?;
        values.admit(self.device(), stream)?;
        #[cfg(feature = "cudarc")]
        let lent = (flags.borrow_for(stream)?, values.borrow_for(stream)?);
        // SAFETY: the caller's contract. The flags are borrowed, or vouched for.
        unsafe { self.launch_heads(flags.address, values, out, stream)? };
        #[cfg(feature = "cudarc")]
        for borrowed in [lent.0, lent.1] {
            borrowed.map_or(Ok(()), Borrowed::give_back)?;
        }
        Ok(())
    }
}

impl Device {
    /// Prepares an operation over segments that begin at [flags](Flags) for many calls: loads its
    /// two kernels, unless the device has loaded them already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn flag_reducer<T: Item, O: SegmentOperation<T>>(
        &self,
        operation: O,
    ) -> Result<RunReducer<Flags, T, O>, Error> {
        RunReducer::new(self, &runs::flags::u8, operation)
    }

    /// Reduces the values of each segment, and waits for the results. Value `i` begins a segment if
    /// flag `i` is not 0, and value 0 always does.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let runs = gpu.reduce_by_flag(&[0u8, 0, 1, 0], &[1.0f32, 2.0, 4.0, 8.0], Sum)?;
    /// assert_eq!(runs.results, [3.0, 12.0]);
    /// assert_eq!(runs.counts, [2, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::flag_reducer`] and [`RunReducer::reduce_by_flag`].
    pub fn reduce_by_flag<F, I, O>(
        &self,
        flags: F,
        values: I,
        operation: O,
    ) -> Result<Runs<O::Output>, Error>
    where
        F: Input<Item = u8, Arity = Single>,
        I: Input<Arity = Single>,
        O: SegmentOperation<I::Item>,
    {
        self.flag_reducer::<I::Item, O>(operation)?.reduce_by_flag(flags, values)
    }
}
