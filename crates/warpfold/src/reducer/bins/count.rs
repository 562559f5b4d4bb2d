//! How often each key occurs.

use std::{fmt, marker::PhantomData, sync::Arc};

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::device::{Arg, Device, LaunchShape, Overlap, Stream};

use super::{
    super::{
        Error, Input, Single,
        engine::{Cache, Engine},
        input::{DeviceInput, Place, on_device},
        output::{DeviceOutput, Target},
    },
    BinKey, BinStatus, check_bins, no_bins, plan, wrong_key,
};

/// Counts keys of one type, ready to run on a device: its kernel is loaded.
/// [`Device::bin_counter`] makes one. It is `Send` and `Sync`, and cheap to clone.
///
/// ```
/// use warpfold::Device;
///
/// let counter = Device::simulator().bin_counter::<u8>()?;
/// assert_eq!(counter.count_into_bins(&[2, 0, 2], 4)?, [1, 0, 2, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct BinCounter<K> {
    device: Device,
    engine: Arc<Engine>,
    key: PhantomData<fn() -> K>,
}

impl<K> Clone for BinCounter<K> {
    fn clone(&self) -> Self {
        let Self { device, engine, key } = self;
        Self { device: device.clone(), engine: Arc::clone(engine), key: *key }
    }
}

impl<K: BinKey> fmt::Debug for BinCounter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinCounter").field("kernel", &K::COUNTS.name()).finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<K: BinKey> BinCounter<K> {
    /// Counts how often each key from 0 up to `bins` - 1 occurs, and waits for the counts: one for
    /// each bin, in order.
    ///
    /// Keys on the host are copied to the device as a whole.
    ///
    /// # Errors
    ///
    /// - [`Error::Bin`] if a key is negative, or is `bins` or more;
    /// - [`Error::TooManyBins`] if there are more than 65536 bins;
    /// - [`Error::TooLong`] if there are more keys than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory is lacking, or if the
    ///   driver reports an error.
    pub fn count_into_bins<I>(&self, keys: I, bins: usize) -> Result<Vec<u64>, Error>
    where
        I: Input<Item = K, Arity = Single>,
    {
        let (stream, keys) = (self.engine.stream(), keys.operands().0);
        check_bins(bins as u64)?;
        if bins == 0 {
            return no_bins(keys.len()).map(|()| Vec::new());
        }
        let mut copy = None;
        let place = on_device(&self.device, keys, &mut copy)?;
        let output = self.device.alloc::<u64>(bins)?;
        let status = self.device.upload(&[BinStatus::default()])?;
        self.launch(place, bins as u64, [output.address(), status.address()], stream)?;
        if let Some(position) = status.copy_to_host()?[0].first_wrong() {
            return Err(wrong_key(&self.device, keys, position, bins as u64)?);
        }
        Ok(output.copy_to_host()?)
    }

    /// Adds the counting of `keys` into `output` to the work of `stream`, and returns without
    /// waiting. It is one launch. The call allocates nothing on the device and copies nothing, so a
    /// stream that [captures](Device::capture) accepts it too.
    ///
    /// There are as many bins as `output` has places. `status` has one place, which holds
    /// [`BinStatus::default`] before. Afterwards [`BinStatus::check`] tells whether all keys were
    /// bins.
    ///
    /// ```
    /// use warpfold::{BinStatus, Device};
    ///
    /// let gpu = Device::simulator();
    /// let keys = gpu.upload(&[1i32, 1, 0])?;
    /// let mut status = gpu.upload(&[BinStatus::default()])?;
    /// let (mut output, stream) = (gpu.alloc(2)?, gpu.stream()?);
    /// gpu.bin_counter()?.count_into_bins_into(&keys, &mut output, &mut status, &stream)?;
    /// stream.synchronize()?;
    /// status.copy_to_host()?[0].check(2)?;
    /// assert_eq!(output.copy_to_host()?, [1, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Bin`] if there are keys and no bins;
    /// - [`Error::TooManyBins`] if there are more than 65536 bins;
    /// - [`Error::Outputs`] if `status` does not have one place;
    /// - [`Error::TooLong`] if there are more keys than a launch can take;
    /// - [`Error::Device`] if memory or the stream belongs to another device, if the stream
    ///   captures and memory is that of `cust` or cudarc, or if the driver reports an error.
    pub fn count_into_bins_into<I>(
        &self,
        keys: I,
        mut output: impl DeviceOutput<u64>,
        mut status: impl DeviceOutput<BinStatus>,
        stream: &Stream,
    ) -> Result<(), Error>
    where
        I: DeviceInput<Item = K, Arity = Single>,
    {
        let keys = keys.places().0;
        let output: Target<'_, u64> = output.target();
        let status: Target<'_, BinStatus> = status.target();
        let bins = output.len;
        check_bins(bins)?;
        if status.len != 1 {
            return Err(Error::Outputs { results: 1, len: status.len });
        }
        if bins == 0 {
            return no_bins(keys.len);
        }
        output.with_address(&self.device, stream, |output| {
            status.with_address(&self.device, stream, |status| {
                self.launch(keys, bins, [output, status], stream)
            })
        })
    }

    /// The kernel for this type of keys.
    #[cfg(feature = "testing")]
    pub fn kernel(&self) -> &crate::device::Kernel {
        self.engine.kernel()
    }

    /// Adds to `stream` the launch that leaves the counts and the status at two addresses of the
    /// same device. There is at least one bin.
    pub(super) fn launch(
        &self,
        keys: Place<'_, K>,
        bins: u64,
        [output, status]: [u64; 2],
        stream: &Stream,
    ) -> Result<(), Error> {
        keys.admit(&self.device, stream)?;
        #[cfg(feature = "cudarc")]
        let lent = keys.borrow_for(stream)?;
        let (n, bytes) = (keys.len, size_of::<K>() as u64);
        let multiprocessors = self.device.class().multiprocessors();
        let plan = plan::count_plan(n, bytes, bins, multiprocessors).ok_or(Error::TooLong {
            op: "count",
            item: K::NAME,
            n,
            most: u64::MAX / bytes,
        })?;
        let shape = LaunchShape {
            grid: (plan.chunks, plan.ranges).into(),
            overlap: Overlap::InSequence,
            ..LaunchShape::linear(1, plan.threads, plan.copies * plan.range * 4)
        };
        let args = [
            Arg::Pointer(keys.address),
            Arg::U64(n),
            Arg::U64(plan.chunk),
            Arg::U32(bins as u32),
            Arg::U32(plan.range),
            Arg::U32(plan.copies),
            Arg::U32(plan.shards),
            Arg::Pointer(output),
            Arg::Pointer(stream.workspace()),
            Arg::Pointer(status),
        ];
        // SAFETY: the kernel reads the keys, and writes a count for each bin and the status. This
        // memory is borrowed, or the caller of the raw slice's `unsafe` constructor has vouched for
        // it. Its shards are in the stream's workspace, within which `count_plan` keeps them.
        // Dropping memory waits for the work that uses it, and a graph retains the memory that it
        // uses.
        unsafe { stream.launch(self.engine.kernel(), shape, &args)? };
        #[cfg(feature = "cudarc")]
        lent.map_or(Ok(()), Borrowed::give_back)?;
        Ok(())
    }
}

impl Device {
    /// Prepares the counting of keys of type `K` for many calls: loads its kernel, unless the
    /// device has loaded it already.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn bin_counter<K: BinKey>(&self) -> Result<BinCounter<K>, Error> {
        let engine = self.attached::<Cache>().engine(self, K::COUNTS, 0)?;
        Ok(BinCounter { device: self.clone(), engine, key: PhantomData })
    }

    /// Counts how often each key from 0 up to `bins` - 1 occurs, and waits for the counts: a
    /// histogram.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// assert_eq!(Device::simulator().count_into_bins(&[3i64, 0, 3], 4)?, [1, 0, 0, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::bin_counter`] and [`BinCounter::count_into_bins`].
    pub fn count_into_bins<I>(&self, keys: I, bins: usize) -> Result<Vec<u64>, Error>
    where
        I: Input<Item: BinKey, Arity = Single>,
    {
        self.bin_counter::<I::Item>()?.count_into_bins(keys, bins)
    }
}
