//! Runs of equal neighbouring keys.

use std::marker::PhantomData;

use bytemuck::Pod;

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::{
    device::{Buffer, Device, PinnedBuffer, RawSlice, Stream, View},
    ptx::{EmbeddedKernel, runs},
};

use super::{
    super::{
        super::{
            Error, Input, Item, SegmentOperation, Single,
            engine::Cache,
            input::{DeviceInput, Operand, Owner, Place, check_lengths, on_device},
            output::{DeviceOutput, Target},
        },
        Offset, SegmentReducer,
    },
    PendingRuns, RunReducer, check_room, check_width,
    find::Outputs,
    keyed::MOST_KEY_BYTES,
    lengths_of,
};

use private::{Operands, Places};

/// In a [`RunReducer`]: segments are runs of equal neighbouring keys of type `K`.
#[derive(Clone, Copy, Debug)]
pub struct KeysOf<K>(PhantomData<K>);

/// A type of keys: any type without padding or invalid values ([`Pod`]) that has 1, 2, 4, 8 or 16
/// bytes, such as an integer, a float or `[u8; 8]`. With another size, a program that uses the type
/// as a key does not compile.
///
/// Keys are equal if their bits are. So of floats, -0 and +0 are different keys, and two NaNs are
/// equal keys if their bits are the same.
///
/// ```compile_fail
/// use warpfold::{Device, Sum};
///
/// let _ = Device::simulator().reduce_by_key(&[[1u8, 2, 3]], &[1.0f32], Sum);
/// ```
pub trait Key: Pod {}

impl<K: Pod> Key for K {}

/// The kernel for keys of a type.
const fn kernel<K>() -> &'static EmbeddedKernel {
    match size_of::<K>() {
        1 => &runs::keys::u8,
        2 => &runs::keys::u16,
        4 => &runs::keys::u32,
        8 => &runs::keys::u64,
        16 => &runs::keys::u128,
        _ => panic!("a key has 1, 2, 4, 8 or 16 bytes"),
    }
}

/// Keys, in the memory of the device or of the host: [`&Buffer<K>`](Buffer), [`View<K>`](View),
/// [`RawSlice<K>`](RawSlice), or on the host `&[K]`, `&[K; N]`, `&Vec<K>` or
/// [`&PinnedBuffer<K>`](PinnedBuffer).
pub trait Keys: Operands<Self::Key> {
    /// The type of a key.
    type Key: Key;
}

/// [`Keys`] in the device's memory.
pub trait DeviceKeys: Keys + Places<Self::Key> {}

mod private {
    use super::{Operand, Place};

    pub trait Operands<K> {
        fn operand(&self) -> Operand<'_, K>;
    }

    pub trait Places<K> {
        fn place(&self) -> Place<'_, K>;
    }
}

macro_rules! device_keys {
    ($($type:ty, $self:ident => $place:expr;)*) => {$(
        impl<K: Key> Keys for $type {
            type Key = K;
        }
        impl<K: Key> DeviceKeys for $type {}
        impl<K: Key> Operands<K> for $type {
            fn operand(&$self) -> Operand<'_, K> {
                Operand::Device($place)
            }
        }
        impl<K: Key> Places<K> for $type {
            fn place(&$self) -> Place<'_, K> {
                $place
            }
        }
    )*};
}

device_keys! {
    &Buffer<K>, self => self.view(..).into();
    View<'_, K>, self => (*self).into();
    &View<'_, K>, self => (**self).into();
    RawSlice<K>, self =>
        Place { address: self.address(), len: self.len() as u64, owner: Owner::Vouched };
}

macro_rules! host_keys {
    ($([$($size:tt)*] $type:ty, $operand:ident;)*) => {$(
        impl<K: Key $($size)*> Keys for $type {
            type Key = K;
        }
        impl<K: Key $($size)*> Operands<K> for $type {
            fn operand(&self) -> Operand<'_, K> {
                Operand::$operand(&self[..])
            }
        }
    )*};
}

host_keys! {
    [] &[K], Host;
    [, const N: usize] &[K; N], Host;
    [] &Vec<K>, Host;
    [] &PinnedBuffer<K>, Pinned;
}

/// The runs of equal neighbouring keys, in order. Entry `i` of each list belongs to run `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRuns<K, R> {
    /// The key of each run.
    pub keys: Vec<K>,
    /// The result of each run.
    pub results: Vec<R>,
    /// The number of elements of each run.
    pub counts: Vec<u64>,
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<K: Key, T: Item, O: SegmentOperation<T>> RunReducer<KeysOf<K>, T, O> {
    /// Reduces the values of each run of equal neighbouring keys, and waits for the results. Value
    /// `i` belongs to key `i`.
    ///
    /// Keys and values on the host are copied to the device as a whole. The device needs memory for
    /// as many runs as there are keys.
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if keys and values are not equally many;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`](crate::reducer::CheckedSum) and
    ///   the type of the elements cannot hold a sum;
    /// - [`Error::TooLong`] if there are more elements than a launch can take;
    /// - [`Error::Device`] if a buffer belongs to another device, if memory is lacking, or if the
    ///   driver reports an error.
    pub fn reduce_by_key<I>(
        &self,
        keys: impl Keys<Key = K>,
        values: I,
    ) -> Result<KeyRuns<K, O::Output>, Error>
    where
        I: Input<Item = T, Arity = Single>,
    {
        let device = self.device();
        let (keys, values) = (keys.operand(), values.operands().0);
        check_lengths(keys.len(), values.len())?;
        let n = usize::try_from(keys.len()).map_err(|_| Error::Rows { rows: keys.len() })?;
        let (mut copied_keys, mut copied) = (None, None);
        let keys = on_device(device, keys, &mut copied_keys)?;
        let values = on_device(device, values, &mut copied)?;
        let unique = device.alloc::<K>(n)?;
        let output = device.alloc::<O::RowRaw>(n)?;
        let offsets = device.alloc::<u64>(n + 1)?;
        let runs = device.alloc::<u64>(1)?;
        let out = Outputs {
            unique: unique.address(),
            output: output.address(),
            offsets: offsets.address(),
            log: size_of::<u64>().ilog2(),
            runs: runs.address(),
        };
        // SAFETY: these buffers are those of the outputs, and are as long as they must be.
        unsafe { self.launch(&keys, values, out, self.finder.stream())? };
        let found = runs.copy_to_host()?[0] as usize;
        let offsets = offsets.view(..=found).copy_to_host()?;
        let raw = output.view(..found).copy_to_host()?;
        let no_empty = |segment| Err(Error::EmptySegment { op: O::NAME, segment });
        Ok(KeyRuns {
            keys: unique.view(..found).copy_to_host()?,
            results: SegmentReducer::<T, O>::finish(raw, lengths_of(&offsets), no_empty)?,
            counts: lengths_of(&offsets).collect(),
        })
    }

    /// Adds the reduction of each run of equal neighbouring keys to the work of `stream`, and
    /// returns without waiting. It is one launch or two, or three of a
    /// [`ReproducibleSum`](super::super::super::ReproducibleSum). The call allocates nothing on the
    /// device and copies nothing, so a stream that [captures](Device::capture) accepts it too.
    ///
    /// The number of runs stays on the device: it is written to `runs`, which has one place. The
    /// first places of `unique` get the key of each run, and those of `output` its [raw
    /// result](super::super::super::ArraysOperation::RowRaw), of which [`PendingRuns::finish`]
    /// makes the result. Run `i` is the elements from `offsets[i]` to `offsets[i + 1]`, so there is
    /// one offset more than runs. Because the host does not know the number of runs, `unique` and
    /// `output` must have room for as many as there are keys, and `offsets` for one more. What is
    /// behind the last run keeps its values.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let keys = gpu.upload(&[7u32, 7, 9, 7])?;
    /// let values = gpu.upload(&[1.0f32, 2.0, 4.0, 8.0])?;
    /// let (mut unique, mut output) = (gpu.alloc(4)?, gpu.alloc(4)?);
    /// let (mut offsets, mut runs) = (gpu.alloc::<u32>(5)?, gpu.alloc(1)?);
    /// let (sums, stream) = (gpu.key_reducer::<u32, f32, _>(Sum)?, gpu.stream()?);
    /// sums.reduce_by_key_into(
    ///     &keys, &values, &mut unique, &mut output, &mut offsets, &mut runs, &stream,
    /// )?;
    /// stream.synchronize()?;
    /// assert_eq!(runs.copy_to_host()?, [3]);
    /// assert_eq!(unique.view(..3).copy_to_host()?, [7, 9, 7]);
    /// assert_eq!(output.view(..3).copy_to_host()?, [3.0, 4.0, 8.0]);
    /// assert_eq!(offsets.view(..4).copy_to_host()?, [0, 2, 3, 4]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lengths`] if keys and values are not equally many;
    /// - [`Error::Room`] if an output is too short, or [`Error::Outputs`] if `runs` does not have
    ///   one place;
    /// - [`Error::NarrowOffsets`] if the type of the offsets cannot hold the number of elements;
    /// - [`Error::TooLong`] if there are more elements than a launch can take;
    /// - [`Error::Device`] if memory or the stream belongs to another device, if the stream
    ///   captures and memory is that of `cust` or cudarc, or if the driver reports an error.
    #[expect(clippy::too_many_arguments, reason = "there are four outputs")]
    pub fn reduce_by_key_into<I, B: Offset>(
        &self,
        keys: impl DeviceKeys<Key = K>,
        values: I,
        mut unique: impl DeviceOutput<K>,
        mut output: impl DeviceOutput<O::RowRaw>,
        mut offsets: impl DeviceOutput<B>,
        mut runs: impl DeviceOutput<u64>,
        stream: &Stream,
    ) -> Result<PendingRuns<T, O>, Error>
    where
        I: DeviceInput<Item = T, Arity = Single>,
    {
        let (keys, values) = (keys.place(), values.places().0);
        check_lengths(keys.len, values.len)?;
        check_width::<B>(keys.len)?;
        let (unique, output) = (unique.target(), output.target());
        let (offsets, runs): (Target<'_, B>, _) = (offsets.target(), runs.target());
        check_room("keys", keys.len, &unique)?;
        check_room("results", keys.len, &output)?;
        check_room("offsets", keys.len + 1, &offsets)?;
        if runs.len != 1 {
            return Err(Error::Outputs { results: 1, len: runs.len });
        }
        let (device, log) = (self.device(), size_of::<B>().ilog2());
        unique.with_address(device, stream, |unique| {
            output.with_address(device, stream, |output| {
                offsets.with_address(device, stream, |offsets| {
                    runs.with_address(device, stream, |runs| {
                        let out = Outputs { unique, output, offsets, log, runs };
                        // SAFETY: the outputs are long enough, and their memory is borrowed, or the
                        // caller of an `unsafe` constructor has vouched for it.
                        unsafe { self.launch(&keys, values, out, stream) }
                    })
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
        keys: &Place<'_, K>,
        values: Place<'_, T>,
        out: Outputs,
        stream: &Stream,
    ) -> Result<(), Error> {
        keys.admit(self.device(), stream)?;
        values.admit(self.device(), stream)?;
        #[cfg(feature = "cudarc")]
        let lent = values.borrow_for(stream)?;
        // SAFETY: the caller's contract. The keys are borrowed, or vouched for.
        unsafe {
            let key_log = size_of::<K>().ilog2();
            if !self.launch_keyed(keys.address, key_log, &values, out, stream)? {
                self.launch_heads(keys.address, values, out, stream)?;
            }
        }
        #[cfg(feature = "cudarc")]
        lent.map_or(Ok(()), Borrowed::give_back)?;
        Ok(())
    }
}

impl Device {
    /// Prepares an operation over runs of equal neighbouring keys for many calls: loads its
    /// kernels, unless the device has loaded them already. Keys have the type `K`, and values the
    /// type `T`.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn key_reducer<K: Key, T: Item, O: SegmentOperation<T>>(
        &self,
        operation: O,
    ) -> Result<RunReducer<KeysOf<K>, T, O>, Error> {
        let reducer = RunReducer::new(self, const { kernel::<K>() }, operation)?;
        // The kernel is not loaded for keys that it does not take.
        let keyed = const { if size_of::<K>() <= MOST_KEY_BYTES { O::KEYED } else { None } };
        let engine = |kernel| self.attached::<Cache>().engine(self, kernel, 0);
        Ok(RunReducer { keyed: keyed.map(engine).transpose()?, ..reducer })
    }

    /// Reduces the values of each run of equal neighbouring [keys](Key), and waits for the results.
    /// Value `i` belongs to key `i`. A key that comes again behind another one begins a new run, so
    /// sorted keys give one result for each key.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let values = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let runs = gpu.reduce_by_key(&[3u16, 3, 5, 5, 5, 3], &values, Sum)?;
    /// assert_eq!(runs.keys, [3, 5, 3]);
    /// assert_eq!(runs.results, [3.0, 12.0, 6.0]);
    /// assert_eq!(runs.counts, [2, 3, 1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::key_reducer`] and [`RunReducer::reduce_by_key`].
    pub fn reduce_by_key<K: Keys, I, O>(
        &self,
        keys: K,
        values: I,
        operation: O,
    ) -> Result<KeyRuns<K::Key, O::Output>, Error>
    where
        I: Input<Arity = Single>,
        O: SegmentOperation<I::Item>,
    {
        self.key_reducer::<K::Key, I::Item, O>(operation)?.reduce_by_key(keys, values)
    }
}
