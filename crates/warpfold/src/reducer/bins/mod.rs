//! Reductions into bins: one result for each key from 0 up to a small number, wherever its values
//! are.

mod count;
mod key;
mod pending;
mod plan;

use std::{fmt, marker::PhantomData, sync::Arc};

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::device::{Arg, Device, LaunchShape, Overlap, Stream};

use super::{
    BinOperation, Error, Input, Item, Single,
    engine::{Cache, Engine},
    input::{DeviceInput, Operand, Place, check_lengths, on_device},
    output::{DeviceOutput, Target},
};

use plan::{MOST_BINS, Plan};

pub use count::BinCounter;
pub use key::BinKey;
pub use pending::{BinStatus, PendingBins};

/// An operation that reduces values of one type into bins, ready to run on a device: its kernel is
/// loaded. [`Device::bin_reducer`] makes one. It is `Send` and `Sync`, and cheap to clone.
///
/// # Keys and bins
///
/// Value `i` belongs to the bin whose number is key `i`. There are as many keys as values, and at
/// most 65536 bins. Keys are `u8`, `u16`, `u32`, `i32`, `u64` or `i64`, in any order. The device
/// finds out while it reduces whether a key is negative or too large. Such a key is added to no
/// bin, and nothing outside of the results is written.
///
/// An index, as [`ArgMin`](super::ArgMin) has it, is that of the value among all values.
///
/// # Order and bits
///
/// The same call gives the same bits in each run and on each device. The bits of a result depend on
/// the values of its bin, on where they stand, on the number of all values, and on the number of
/// bins.
///
/// # Cost
///
/// Each multiprocessor keeps bins in its shared memory. If an accumulator has 4 bytes, 4096 bins
/// fit. More of them take several passes over the keys and values: one for every 4096, or for every
/// 2048 if the accumulator has 8 bytes, 1024 if it has 16, and 682 for
/// [`Moments`](super::Moments). If there are many keys and most of them are rare, sort them, and
/// use [`Device::reduce_by_key`].
///
/// ```
/// use warpfold::{ArgMax, Device};
///
/// let best = Device::simulator().bin_reducer::<f32, _>(ArgMax)?;
/// let results = best.reduce_into_bins(&[1u8, 0, 1, 1], &[0.5f32, 2.0, 3.0, 1.0], 2)?;
/// assert_eq!(results.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct BinReducer<T, O> {
    device: Device,
    engine: Arc<Engine>,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for BinReducer<T, O> {
    fn clone(&self) -> Self {
        let Self { device, engine, operation } = self;
        Self { device: device.clone(), engine: Arc::clone(engine), operation: *operation }
    }
}

impl<T: Item, O: BinOperation<T>> fmt::Debug for BinReducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinReducer").field("kernel", &O::BINS.name()).finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<T: Item, O: BinOperation<T>> BinReducer<T, O> {
    /// Reduces the values of each bin and waits for the results: one for each bin, in order. Value
    /// `i` belongs to the bin whose number is key `i`.
    ///
    /// Keys and values on the host are copied to the device as a whole. If the operation has no
    /// result for an empty bin, the keys are [counted](BinCounter) too, in a launch of its own.
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if keys and values are not equally many;
    /// - [`Error::Bin`] if a key is negative, or is `bins` or more;
    /// - [`Error::EmptyBin`] if a bin is empty and the operation has no result for that;
    ///   [`reduce_into_bins_or`](Self::reduce_into_bins_or) gives one;
    /// - [`Error::TooManyBins`] if there are more than 65536 bins;
    /// - [`Error::TooLong`] if there are more elements than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory is lacking, or if the
    ///   driver reports an error.
    pub fn reduce_into_bins<B, I>(
        &self,
        keys: B,
        values: I,
        bins: usize,
    ) -> Result<Vec<O::Output>, Error>
    where
        B: Input<Item: BinKey, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
    {
        self.results(&keys, &values, bins, |bin| Err(Error::EmptyBin { op: O::NAME, bin }))
    }

    /// As [`reduce_into_bins`](Self::reduce_into_bins), but a bin without values has the result
    /// `empty` if the operation has none for it.
    ///
    /// ```
    /// use warpfold::{Device, Min};
    ///
    /// let min = Device::simulator().bin_reducer::<i32, _>(Min)?;
    /// assert_eq!(min.reduce_into_bins_or(&[2u32, 0, 2], &[5, 3, 8], 3, -1)?, [3, -1, 5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`reduce_into_bins`](Self::reduce_into_bins) except [`Error::EmptyBin`].
    pub fn reduce_into_bins_or<B, I>(
        &self,
        keys: B,
        values: I,
        bins: usize,
        empty: O::Output,
    ) -> Result<Vec<O::Output>, Error>
    where
        B: Input<Item: BinKey, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
        O::Output: Clone,
    {
        self.results(&keys, &values, bins, |_| Ok(empty.clone()))
    }

    /// Adds the reduction of each bin into `output` to the work of `stream`, and returns without
    /// waiting. It is two launches, or one if there are few values. The call allocates nothing on
    /// the device and copies nothing, so a stream that [captures](Device::capture) accepts it too.
    ///
    /// There are as many bins as `output` has places. It receives
    /// [raw results](super::Operation::Raw), of which [`PendingBins::finish`] makes the results.
    /// `status` has one place, which holds [`BinStatus::default`] before. Afterwards
    /// [`PendingBins::check`] tells whether all keys were bins.
    ///
    /// ```
    /// use warpfold::{BinStatus, Device, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let keys = gpu.upload(&[1u8, 0, 1])?;
    /// let values = gpu.upload(&[1.0f32, 2.0, 4.0])?;
    /// let mut status = gpu.upload(&[BinStatus::default()])?;
    /// let (mut output, stream) = (gpu.alloc(2)?, gpu.stream()?);
    /// let sums = gpu.bin_reducer::<f32, _>(Sum)?;
    /// let pending =
    ///     sums.reduce_into_bins_into(&keys, &values, &mut output, &mut status, &stream)?;
    /// stream.synchronize()?;
    /// pending.check(status.copy_to_host()?[0])?;
    /// assert_eq!(output.copy_to_host()?, [2.0, 5.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if keys and values are not equally many;
    /// - [`Error::Bin`] if there are keys and no bins;
    /// - [`Error::TooManyBins`] if there are more than 65536 bins;
    /// - [`Error::Outputs`] if `status` does not have one place;
    /// - [`Error::Device`] if memory or the stream belongs to another device, if the stream
    ///   captures and memory is that of `cust` or cudarc, or if the driver reports an error.
    pub fn reduce_into_bins_into<B, I>(
        &self,
        keys: B,
        values: I,
        mut output: impl DeviceOutput<O::Raw>,
        mut status: impl DeviceOutput<BinStatus>,
        stream: &Stream,
    ) -> Result<PendingBins<T, O>, Error>
    where
        B: DeviceInput<Item: BinKey, Arity = Single>,
        I: DeviceInput<Item = T, Arity = Single>,
    {
        let (keys, values) = (keys.places().0, values.places().0);
        check_lengths(keys.len, values.len)?;
        let output: Target<'_, O::Raw> = output.target();
        let status: Target<'_, BinStatus> = status.target();
        let bins = output.len;
        check_bins(bins)?;
        if status.len != 1 {
            return Err(Error::Outputs { results: 1, len: status.len });
        }
        if bins == 0 {
            no_bins(keys.len)?;
        } else {
            output.with_address(&self.device, stream, |output| {
                status.with_address(&self.device, stream, |status| {
                    self.launch(keys, values, bins, [output, status], stream)
                })
            })?;
        }
        Ok(PendingBins::new(bins))
    }

    /// An upper bound on the number of operations that lie between any value and the result of its
    /// bin, if there are `n` values and `bins` bins, at most 65536. It is the `d` in the error
    /// bounds of floats, such as that of [`Sum`](super::Sum).
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let depth = Device::simulator().bin_reducer::<f32, _>(Sum)?.depth(1 << 28, 256);
    /// assert!((500..1000).contains(&depth), "{depth}");
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn depth(&self, n: u64, bins: usize) -> u64 {
        let Plan { warps, chunks, share, .. } =
            plan::plan(n, (bins as u64).clamp(1, MOST_BINS), O::WORDS);
        let in_warp = u64::from(WARP.ilog2()) + share / u64::from(WARP);
        let slices = u64::from(chunks.div_ceil(SLICES) + SLICES);
        in_warp + u64::from(warps) + if chunks > 1 { slices } else { 0 }
    }

    /// The kernel of this operation and type.
    #[cfg(feature = "testing")]
    pub fn kernel(&self) -> &crate::device::Kernel {
        self.engine.kernel()
    }

    /// The results of all bins, with those of `of_empty` where the operation has none.
    fn results<B, I>(
        &self,
        keys: &B,
        values: &I,
        bins: usize,
        of_empty: impl Fn(u64) -> Result<O::Output, Error>,
    ) -> Result<Vec<O::Output>, Error>
    where
        B: Input<Item: BinKey, Arity = Single>,
        I: Input<Item = T, Arity = Single>,
    {
        let (device, stream) = (&self.device, self.engine.stream());
        let (keys, values) = (keys.operands().0, values.operands().0);
        check_lengths(keys.len(), values.len())?;
        let most = bins as u64;
        check_bins(most)?;
        if bins == 0 {
            return no_bins(keys.len()).map(|()| Vec::new());
        }
        let (mut copied_keys, mut copied) = (None, None);
        let place = on_device(device, keys, &mut copied_keys)?;
        let values = on_device(device, values, &mut copied)?;
        let output = device.alloc::<O::Raw>(bins)?;
        let status = device.upload(&[BinStatus::default()])?;
        self.launch(place, values, most, [output.address(), status.address()], stream)?;
        let needs_counts = O::identity().is_none();
        let counts = device.alloc::<u64>(if needs_counts { bins } else { 0 })?;
        if needs_counts {
            let outputs = [counts.address(), status.address()];
            device.bin_counter::<B::Item>()?.launch(place, most, outputs, stream)?;
        }
        if let Some(position) = status.copy_to_host()?[0].first_wrong() {
            return Err(wrong_key(device, keys, position, most)?);
        }
        let raw = output.copy_to_host()?;
        if !needs_counts {
            return raw.into_iter().map(|raw| O::finish(raw, values.len)).collect();
        }
        let results = raw.into_iter().zip(counts.copy_to_host()?).zip(0..);
        results
            .map(
                |((raw, count), bin)| {
                    if count == 0 { of_empty(bin) } else { O::finish(raw, count) }
                },
            )
            .collect()
    }

    /// Adds to `stream` the launches that leave the raw results and the status at two addresses of
    /// the same device. There is at least one bin.
    fn launch<K: BinKey>(
        &self,
        keys: Place<'_, K>,
        values: Place<'_, T>,
        bins: u64,
        [output, status]: [u64; 2],
        stream: &Stream,
    ) -> Result<(), Error> {
        keys.admit(&self.device, stream)?;
        values.admit(&self.device, stream)?;
        #[cfg(feature = "cudarc")]
        let lent = (keys.borrow_for(stream)?, values.borrow_for(stream)?);
        let Plan { range, ranges, warps, chunks, share } = plan::plan(values.len, bins, O::WORDS);
        let words = O::WORDS as u32;
        let first = LaunchShape {
            grid: (chunks, ranges).into(),
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(1, warps * WARP, warps * range * words * 4)
        };
        let second = LaunchShape {
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(
                (bins as u32).div_ceil(COLUMNS),
                COLUMNS * SLICES,
                COLUMNS * SLICES * words * 4,
            )
        };
        let args = |stage| {
            [
                Arg::Pointer(keys.address),
                Arg::U32(size_of::<K>().ilog2()),
                Arg::Pointer(values.address),
                Arg::U64(values.len),
                Arg::U64(share),
                Arg::U32(bins as u32),
                Arg::U32(range),
                Arg::U32(chunks),
                Arg::Pointer(output),
                Arg::Pointer(stream.workspace()),
                Arg::Pointer(status),
                Arg::U32(stage),
            ]
        };
        // SAFETY: the kernel reads keys and values, and writes one raw result for each bin and the
        // status. This memory is borrowed, or the caller of the raw slice's `unsafe` constructor
        // has vouched for it. Partial results are in the stream's workspace, which `plan` keeps
        // within bounds, and the second launch clears them. Dropping memory waits for the work that
        // uses it, and a graph retains the memory that it uses.
        unsafe {
            stream.launch(self.engine.kernel(), first, &args(0))?;
            if chunks > 1 {
                stream.launch(self.engine.kernel(), second, &args(1))?;
            }
        }
        #[cfg(feature = "cudarc")]
        for borrowed in [lent.0, lent.1] {
            borrowed.map_or(Ok(()), Borrowed::give_back)?;
        }
        Ok(())
    }
}

/// Threads of a warp.
const WARP: u32 = 32;
/// Bins of a block that combines. `warpfold_device::bins::COLUMNS`.
const COLUMNS: u32 = 32;
/// Threads of such a block for each bin. `warpfold_device::bins::SLICES`.
const SLICES: u32 = 16;

/// Refuses too many bins.
fn check_bins(bins: u64) -> Result<(), Error> {
    if bins > MOST_BINS { Err(Error::TooManyBins { bins, most: MOST_BINS }) } else { Ok(()) }
}

/// Refuses keys if there are no bins.
fn no_bins(keys: u64) -> Result<(), Error> {
    if keys > 0 { Err(Error::Bin { position: 0, key: None, bins: 0 }) } else { Ok(()) }
}

/// The error for the key at `position`, which is none of the bins. No work uses the keys any more.
fn wrong_key<K: BinKey>(
    device: &Device,
    keys: Operand<'_, K>,
    position: u64,
    bins: u64,
) -> Result<Error, Error> {
    let key = match keys {
        Operand::Host(keys) | Operand::Pinned(keys) => keys[position as usize],
        Operand::Device(place) => {
            let address = place.address + position * size_of::<K>() as u64;
            // SAFETY: the position is that of a key. A launch has admitted the memory, and its
            // reads have ended.
            unsafe { device.read_at(address, 1)?[0] }
        }
    };
    Ok(Error::Bin { position, key: Some(key.number()), bins })
}

impl Device {
    /// Prepares an operation that reduces values of type `T` into bins for many calls: loads its
    /// kernel, unless the device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn bin_reducer<T: Item, O: BinOperation<T>>(
        &self,
        _operation: O,
    ) -> Result<BinReducer<T, O>, Error> {
        let engine = self.attached::<Cache>().engine(self, O::BINS, size_of::<O::Raw>())?;
        Ok(BinReducer { device: self.clone(), engine, operation: PhantomData })
    }

    /// Reduces the values of each bin and waits for the results, one for each bin. Value `i`
    /// belongs to the bin whose number is key `i`.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let sums = gpu.reduce_into_bins(&[2u8, 0, 2, 2], &[1.0f32, 2.0, 4.0, 8.0], 3, Sum)?;
    /// assert_eq!(sums, [2.0, 0.0, 13.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::bin_reducer`] and [`BinReducer::reduce_into_bins`].
    pub fn reduce_into_bins<B, I, O>(
        &self,
        keys: B,
        values: I,
        bins: usize,
        operation: O,
    ) -> Result<Vec<O::Output>, Error>
    where
        B: Input<Item: BinKey, Arity = Single>,
        I: Input<Arity = Single>,
        O: BinOperation<I::Item>,
    {
        self.bin_reducer::<I::Item, O>(operation)?.reduce_into_bins(keys, values, bins)
    }
}
