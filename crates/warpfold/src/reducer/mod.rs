//! The production reducer: one call reduces any number of elements, which may lie in the memory of
//! the device or of the host.
//!
//! [`Device::reduce`] reduces an input and waits for the result. A [`Reducer`] saves the
//! preparation if many calls have the same operation and the same type of elements.
//! [`Reducer::reduce_into`] leaves a raw result on the device and returns without waiting; a
//! [`Graph`](crate::device::Graph) can capture such a call.
//!
//! An [`Operation`] is a value such as [`Sum`]. An [`Item`] is one of the 14 types that elements
//! can have. An [`Input`] is a buffer, a view or a slice, or a pair of these.
//!
//! # Order and bits
//!
//! The same call gives the same bits in each run, on each device of the same
//! [class](crate::device::DeviceClass). For floats, the order in which elements are combined
//! depends on four things:
//!
//! - the number of elements;
//! - the address of the first element modulo 128 bytes (for a pair, the first element of the first
//!   input);
//! - the operation and the type of the elements;
//! - the class of the device: the number of multiprocessors, whether memory is faster than 4 TB/s,
//!   and whether the compute capability is 9.0 or later. A program can
//!   [pin](crate::Device::with_class) another class.
//!
//! For an input on the host that is reduced in chunks, the order also depends on the size of the
//! chunks, which follows from the [limit](Reducer::with_memory_limit) or from the free memory. For
//! a [`Group`] of devices, the order also depends on the number of elements of each shard, unless
//! the group reduces in a tree ([`TreeReducer`]).
//!
//! The results of rows and axes ([`RowReducer`]) and of segments ([`SegmentReducer`]) depend on
//! less: the elements of the row or segment and their number alone. Those of bins ([`BinReducer`])
//! depend on the elements of the bin, where they stand, the number of all elements, and the number
//! of bins.
//!
//! The order does not change a result that is an integer, an extreme or an index, nor a
//! [`ReproducibleSum`]. It may change the last bits of all other results, including the [`Moments`]
//! of integers, because these are computed in `f64`.
//!
//! ```
//! use warpfold::{Device, Dot, Max, Sum};
//!
//! let device = Device::simulator();
//! let buffer = device.upload(&[1.5f32, -2.0, 4.0])?;
//! assert_eq!(device.reduce(&buffer, Sum)?, 3.5);
//! assert_eq!(device.reduce(buffer.view(..2), Max)?, 1.5);
//! assert_eq!(device.reduce((&buffer, &buffer), Dot)?, 22.25);
//!
//! let sum = device.reducer::<f32, _>(Sum)?;
//! let mut output = device.alloc::<f32>(1)?;
//! let stream = device.stream()?;
//! let pending = sum.reduce_into(&buffer, &mut output, &stream)?;
//! stream.synchronize()?;
//! assert_eq!(pending.finish(output.copy_to_host()?[0])?, 3.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod all_reduce;
mod bins;
mod combined;
mod engine;
mod error;
mod even;
mod exact;
mod group;
mod host;
mod input;
mod int192;
mod item;
mod made;
mod op;
mod operation;
mod order;
mod output;
mod partial;
mod pending;
mod ranked;
mod raw;
mod repair;
mod rows;
mod segments;
pub(crate) mod shapes;
mod staging;
mod tree;

use std::{fmt, marker::PhantomData, sync::Arc};

use smallvec::SmallVec;

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::device::{Arg, Buffer, Device, Stream};

use engine::{Cache, Engine};
use input::{Operand, Place};
use operation::More;
use shapes::{Extent, KernelClass, Machine, PACK_BYTES, Shape};

pub use all_reduce::{
    AllReducer, AllRowReducer, GroupGraph, RankError, RankReducer, RankRowReducer, RankTransport,
    Ranks, Transport,
};
pub use bins::{BinCounter, BinKey, BinReducer, BinStatus, PendingBins};
pub use error::Error;
pub use exact::{Exact, ExactF32, ExactF64, ReproducibleSum};
pub use group::{Group, GroupReducer, even_ranges};
pub use input::{Arity, DeviceInput, Input, Pair, Single};
pub use int192::{Int192, TooWide};
pub use item::{Accumulator, Item};
pub use made::{MadeOperation, MadeReducer, MadeResult, MadeRowReducer, Make};
pub use op::{
    All, AllWhere, Any, AnyWhere, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor,
    BottomK, CheckedSum, CompensatedSum, CountNan, CountNonzero, CountWhere, Dot, Is, LogSumExp,
    Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, NanMean, NanSum, Norm2, Numbers, Product,
    SoftmaxStats, SquaredDistance, Statistics, Sum, SumAbs, SumSquares, TopK, WideSum, WrappingSum,
};
pub use operation::{
    ArraysOperation, BinOperation, Operation, RowOperation, SegmentOperation, TreeOperation,
};
pub use output::DeviceOutput;
pub use partial::Partial;
pub use pending::Pending;
pub use ranked::Ranked;
pub use raw::{Compensated, ExpSum, Extremes, Indexed};
pub use rows::{
    Array, Arrays, DeviceArrays, PendingRows, RowReducer, StridedOutput, StridedRowReducer, Whole,
};
pub use segments::{
    DeviceKeys, Flags, Key, KeyRuns, Keys, KeysOf, Lengths, Offset, PendingRuns, PendingSegments,
    RunReducer, Runs, SegmentReducer, SegmentStatus, Spans,
};
pub use tree::TreeReducer;

/// An operation over one type of elements, ready to run on a device: its kernel is loaded, and the
/// output for a result is allocated. [`Device::reducer`] makes one. A reducer is `Send` and `Sync`,
/// and cheap to clone.
///
/// # Inputs on the host
///
/// An input on the host that fits into the device's free memory is copied there whole and reduced
/// by one launch, so the result has the same bits as for a [`Buffer`] of the same elements. An
/// input that is larger than the free memory or than a [limit](Self::with_memory_limit) is copied
/// in chunks. Each chunk is reduced while the next one is copied, and the host combines the raw
/// results in order.
///
/// ```
/// use warpfold::{Device, Max, Reducer};
///
/// let device = Device::simulator();
/// let max = device.reducer::<u64, _>(Max)?;
/// for n in 1..4u64 {
///     assert_eq!(max.reduce(&(0..=n).collect::<Vec<_>>())?, n);
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct Reducer<T, O> {
    device: Device,
    engine: Arc<Engine>,
    machine: Machine,
    memory_limit: Option<u64>,
    more: More,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for Reducer<T, O> {
    fn clone(&self) -> Self {
        let Self { device, engine, machine, memory_limit, more, operation } = self;
        Self {
            device: device.clone(),
            engine: Arc::clone(engine),
            machine: *machine,
            memory_limit: *memory_limit,
            more: more.clone(),
            operation: *operation,
        }
    }
}

impl<T: Item, O: Operation<T>> fmt::Debug for Reducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reducer").field("kernel", &O::KERNEL.name()).finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<T: Item, O: Operation<T>> Reducer<T, O> {
    /// Sets the most device memory, in bytes, into which this reducer copies inputs on the host.
    /// Without this call, the limit of each reduction is nine tenths of the memory that is free
    /// then. An input that exceeds the limit is reduced in chunks. A chunk holds at least 16 bytes
    /// of each operand, however small the limit is.
    ///
    /// ```
    /// use warpfold::{Device, Reducer, Sum};
    ///
    /// let device = Device::simulator();
    /// let sum = device.reducer::<u32, _>(Sum)?.with_memory_limit(4096);
    /// assert_eq!(sum.reduce(&vec![1; 5000])?, 5000);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        Self { memory_limit: Some(bytes), ..self }
    }

    /// Reduces `input` and waits for the result.
    ///
    /// The reduction runs after all earlier work of the [`Device`] itself, which is launches and
    /// copies of buffers. It does not wait for the work of other [`Stream`]s. If such work writes
    /// the input, call [`Stream::synchronize`] first, or reduce on that stream with
    /// [`reduce_into`](Self::reduce_into).
    ///
    /// # Errors
    ///
    /// - [`Error::Empty`] if the input is empty and the operation has no result for it;
    /// - [`Error::Lengths`] if the inputs of a pair have different lengths;
    /// - [`Error::Overflow`] if the operation is a [`CheckedSum`] and the type of the elements
    ///   cannot hold the sum;
    /// - [`Error::TooLong`] if the operation is a [`CheckedSum`], [`TopK`] or [`BottomK`] and the
    ///   input has more elements than [`Operation::MOST`];
    /// - [`Error::Device`] if a buffer belongs to another device, or if the driver reports an
    ///   error.
    pub fn reduce<I>(&self, input: I) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        self.reduce_with_progress(input, |_, _| ())
    }

    /// Like [`reduce`](Self::reduce), with a report of progress: after each copy of a part of an
    /// input on the host, `progress` gets the number of elements copied so far and the number of
    /// all elements. If no input is on the host, or if the input is empty, `progress` is not
    /// called.
    ///
    /// ```
    /// use warpfold::{Device, Reducer, Sum};
    ///
    /// let device = Device::simulator();
    /// let sum = device.reducer::<u32, _>(Sum)?.with_memory_limit(8000);
    /// let mut seen = Vec::new();
    /// sum.reduce_with_progress(&vec![1; 2500], |done, total| seen.push((done, total)))?;
    /// assert_eq!(seen, [(1000, 2500), (2000, 2500), (2500, 2500)]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    pub fn reduce_with_progress<I>(
        &self,
        input: I,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        self.partial_with_progress(&input, &mut progress)?.finish()
    }

    /// Reduces `input`, which is a part of an array, and waits for its partial result. An empty
    /// part is no error.
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Self::reduce), except for [`Error::Empty`] and [`Error::Overflow`].
    pub fn partial<I>(&self, input: I) -> Result<Partial<T, O>, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        self.partial_with_progress(&input, &mut |_, _| ())
    }

    fn partial_with_progress<I>(
        &self,
        input: &I,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Partial<T, O>, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        let (first, second) = input.operands();
        let n = Self::check_len(first.len(), second.map(|second| second.len()))?;
        if n == 0 {
            return Ok(Partial::EMPTY);
        }
        let raw = match input::on_device_only(first, second) {
            Some((first, second)) => self.end(self.begin(first, second)?)?,
            None => self.on_host(first, second, n, progress)?,
        };
        Ok(Partial::from_raw(Some(raw), n))
    }

    /// Adds the reduction of `input` into `output` to the work of `stream`, and returns without
    /// waiting. The call allocates nothing and copies nothing, so a stream that
    /// [captures](Device::capture) accepts it too. `output` must have the length 1; it receives one
    /// [raw result](Operation::Raw). After the caller has copied the raw result to the host,
    /// [`Pending::finish`] turns it into the result.
    ///
    /// Dropping a buffer waits for the work that uses it. Several streams may run the same
    /// `Reducer` at the same time, into different outputs, because each stream has a workspace of
    /// its own. A graph that captures the call keeps the memory of the input and of the output
    /// alive, unless these are raw slices.
    ///
    /// # Errors
    ///
    /// - [`Error::Empty`] if the input is empty and the operation has no result for it;
    /// - [`Error::Lengths`] if the inputs of a pair have different lengths;
    /// - [`Error::TooLong`] if the operation is a [`CheckedSum`], [`TopK`] or [`BottomK`] and the
    ///   input has more elements than [`Operation::MOST`];
    /// - [`Error::Output`] if `output` does not hold exactly one value;
    /// - [`Error::Device`] if a buffer or the stream belongs to another device, if the stream
    ///   captures and the input is memory of `cust` or cudarc, or if the driver reports an error.
    pub fn reduce_into<I>(
        &self,
        input: I,
        mut output: impl DeviceOutput<O::Raw>,
        stream: &Stream,
    ) -> Result<Pending<T, O>, Error>
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let (first, second) = input.places();
        let n = Self::check_len(first.len, second.map(|second| second.len))?;
        if n == 0 && O::identity().is_none() {
            return Err(Error::Empty { op: O::NAME });
        }
        let target = output.target();
        if target.len != 1 {
            return Err(Error::Output { len: target.len });
        }
        target.with_address(&self.device, stream, |address| {
            self.launch(first, second, address, stream)
        })?;
        Ok(Pending::new(n))
    }

    /// An upper bound on the number of operations that lie between any element and the result, for
    /// an input of `n` elements in the device's memory. It is the `d` in the error bounds of
    /// floats, such as that of [`Sum`].
    ///
    /// ```
    /// use warpfold::{Device, Reducer, Sum};
    ///
    /// let device = Device::simulator();
    /// let depth = device.reducer::<f32, _>(Sum)?.depth(1 << 28);
    /// assert!((50..500).contains(&depth), "{depth}");
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn depth(&self, n: u64) -> u64 {
        self.shape_of(0, n).depth(size_of::<T>() as u64)
    }

    /// The kernel of this operation and type.
    #[cfg(feature = "testing")]
    pub fn kernel(&self) -> &crate::device::Kernel {
        self.engine.kernel()
    }

    /// The launch shape for this input.
    #[cfg(feature = "testing")]
    pub fn shape<I>(&self, input: I) -> Shape
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let (first, _) = input.places();
        self.shape_of(first.address, first.len)
    }

    fn extent(address: u64, n: u64) -> Extent {
        Extent { address, element_bytes: size_of::<T>() as u64, n }
    }

    fn shape_of(&self, address: u64, n: u64) -> Shape {
        shapes::shape(Self::extent(address, n), O::CLASS, &self.machine)
    }

    /// The common length of one or two inputs, which the operation accepts.
    fn check_len(n: u64, second: Option<u64>) -> Result<u64, Error> {
        if let Some(second) = second {
            input::check_lengths(n, second)?;
        }
        partial::check_most::<T, O>(n)?;
        Ok(n)
    }

    /// Launches the reduction of operands in the device's memory on the device's own stream, and
    /// returns the output without waiting.
    fn begin(
        &self,
        first: Place<'_, T>,
        second: Option<Place<'_, T>>,
    ) -> Result<Buffer<u8>, Error> {
        let launch = |out| self.launch(first, second, out, self.engine.stream());
        self.engine.begin(&self.device, &launch)
    }

    /// Waits for the raw result in an output of [`begin`](Self::begin).
    fn end(&self, output: Buffer<u8>) -> Result<O::Raw, Error> {
        self.engine.end(output, bytemuck::pod_read_unaligned)
    }

    /// Reduces operands of `n` elements each. `n` is at least 1, and at least one operand is on the
    /// host.
    fn on_host(
        &self,
        first: Operand<'_, T>,
        second: Option<Operand<'_, T>>,
        n: u64,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<O::Raw, Error> {
        let mut folded: Option<O::Raw> = None;
        let mut call = host::Call {
            device: &self.device,
            engine: &self.engine,
            memory_limit: self.memory_limit,
            launch: &|first, second, out, stream| self.launch(first, second, out, stream),
            fold: &mut |start, bytes| {
                let raw = O::moved(bytemuck::pod_read_unaligned(bytes), start);
                folded = Some(folded.map_or(raw, |folded| O::combine(folded, raw)));
            },
            progress,
        };
        call.reduce(first, second, n)?;
        Ok(folded.expect("there is at least one part"))
    }

    /// Adds to `stream` the launch that leaves the raw result at `out`, an address of the same
    /// device. Both places have the same length.
    fn launch(
        &self,
        first: Place<'_, T>,
        second: Option<Place<'_, T>>,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        self.launch_with((first, second), out, stream, &self.more)
    }

    /// As [`launch`](Self::launch), with these arguments as the operation's constant.
    fn launch_with(
        &self,
        (first, second): (Place<'_, T>, Option<Place<'_, T>>),
        out: u64,
        stream: &Stream,
        more: &[Arg],
    ) -> Result<(), Error> {
        if O::IS_FOR_ROWS {
            let (kernel, words) = (self.engine.kernel(), O::SLOT_WORDS);
            let (ways, repair) = (None, None);
            let call = rows::Call { kernel, op: O::NAME, words, more, ways, repair };
            return call.launch_whole(&self.device, first, out, stream);
        }
        let prepared = self.prepare(first, second, stream)?;
        let Prepared { extent, shape, .. } = prepared;
        // A pack of the kernel for small inputs is one load from each input.
        let places = || [Some(first), second].into_iter().flatten();
        let is_even =
            places().all(|place| place.address % PACK_BYTES == first.address % PACK_BYTES);
        let single =
            self.engine.single().filter(|_| is_even && shape.is_single(extent.packs(), O::CLASS));
        let args = if single.is_some() {
            let [_, _, edges] = extent.cut(shape.chunk).map(Arg::U32);
            let mut args = Args::new();
            args.extend(
                places().map(|place| Arg::Pointer(place.address + extent.bytes_before_packs())),
            );
            args.extend([Arg::U32(extent.packs() as u32), edges, Arg::Pointer(out)]);
            args.extend_from_slice(more);
            args
        } else {
            Self::args(&prepared, (first, second), out, stream, [more, &[]])
        };
        let kernel = single.unwrap_or(self.engine.kernel());
        // SAFETY: the kernel reads `n` elements of each input and writes one raw result at `out`;
        // this memory is borrowed, or the caller of the raw slice's `unsafe` constructor has
        // vouched for it. The kernel also writes slots of the stream's workspace, which `shape`
        // keeps within bounds and the stream keeps clean. Dropping memory waits for the work that
        // uses it, lent memory included, and a graph retains the memory that it uses.
        unsafe { stream.launch(kernel, shape.launch(), &args)? };
        #[cfg(feature = "cudarc")]
        prepared.give_back()?;
        Ok(())
    }

    /// Admits operands in the device's memory to the work of a stream, and chooses the shape of
    /// their launch.
    fn prepare<'a>(
        &self,
        first: Place<'a, T>,
        second: Option<Place<'a, T>>,
        stream: &'a Stream,
    ) -> Result<Prepared<'a>, Error> {
        for place in [Some(first), second].into_iter().flatten() {
            place.admit(&self.device, stream)?;
        }
        let extent = Self::extent(first.address, first.len);
        Ok(Prepared {
            extent,
            shape: shapes::shape(extent, O::CLASS, &self.machine),
            #[cfg(feature = "cudarc")]
            lent: [
                first.borrow_for(stream)?,
                second.map_or(Ok(None), |second| second.borrow_for(stream))?,
            ],
            operands: PhantomData,
        })
    }

    /// The arguments of the kernel that reduces any input. `last` are those behind all others.
    fn args(
        &Prepared { extent, shape, .. }: &Prepared<'_>,
        (first, second): (Place<'_, T>, Option<Place<'_, T>>),
        out: u64,
        stream: &Stream,
        last: [&[Arg]; 2],
    ) -> Args {
        let mut args = Args::new();
        if O::CLASS == KernelClass::Exact {
            let n = Arg::U64(extent.n);
            args.extend([Arg::Pointer(first.address), n, Arg::U64(shape.chunk)]);
        } else {
            args.extend([Some(first), second].into_iter().flatten().map(|place| {
                Arg::Pointer(place.address.wrapping_add_signed(extent.bytes_before_lines()))
            }));
            args.push(Arg::U32(shape.chunk as u32));
            args.extend(extent.cut(shape.chunk).map(Arg::U32));
        }
        args.push(Arg::F32(shape.keep));
        args.extend([Arg::Pointer(out), Arg::Pointer(stream.workspace())]);
        for last in last {
            args.extend_from_slice(last);
        }
        args
    }
}

/// The arguments of a launch: two inputs at most, seven other arguments, those of a constant, and
/// maybe those by which devices exchange results.
type Args = SmallVec<[Arg; 32]>;

/// Operands that a launch is about to reduce.
struct Prepared<'a> {
    extent: Extent,
    shape: Shape,
    #[cfg(feature = "cudarc")]
    lent: [Option<Borrowed<'a>>; 2],
    operands: PhantomData<&'a ()>,
}

#[cfg(feature = "cudarc")]
impl Prepared<'_> {
    /// Gives the memory back that was lent for the launch, which is in the stream.
    fn give_back(self) -> Result<(), Error> {
        Ok(self.lent.into_iter().flatten().try_for_each(Borrowed::give_back)?)
    }
}

impl Device {
    /// Prepares an operation over elements of type `T` for many calls: loads its kernel, unless the
    /// device has loaded it already, and allocates the output for a result.
    ///
    /// ```
    /// use warpfold::{Device, Max};
    ///
    /// let device = Device::simulator();
    /// let max = device.reducer::<u64, _>(Max)?;
    /// for n in 1..4u64 {
    ///     assert_eq!(max.reduce(&(0..=n).collect::<Vec<_>>())?, n);
    /// }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceTooOld`] if no kernel exists for this device; [`Error::Device`] if the driver
    /// reports an error.
    pub fn reducer<T: Item, O: Operation<T>>(&self, operation: O) -> Result<Reducer<T, O>, Error> {
        let engine = self.attached::<Cache>().engine(self, O::KERNEL, size_of::<O::Raw>())?;
        let machine = Machine::new(self);
        Ok(Reducer {
            device: self.clone(),
            engine,
            machine,
            memory_limit: None,
            more: operation.more(),
            operation: PhantomData,
        })
    }

    /// Reduces `input` and waits for the result. The kernel stays loaded for the next call.
    ///
    /// The result is that of [`Reducer::reduce`]. For many calls, a [`Reducer`] is cheaper, because
    /// each call of this function looks the kernel up.
    ///
    /// ```
    /// use warpfold::{Device, Min, Sum};
    ///
    /// let gpu = Device::simulator();
    /// let buffer = gpu.upload(&[3u8, 200, 255])?;
    /// assert_eq!(gpu.reduce(&buffer, Sum)?, 458u64);
    /// assert_eq!(gpu.reduce(&[2.5, 0.5], Min)?, 0.5);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::reducer`] and [`Reducer::reduce`].
    pub fn reduce<I, O>(&self, input: I, operation: O) -> Result<O::Output, Error>
    where
        I: Input,
        O: Operation<I::Item, Arity = I::Arity>,
    {
        self.reducer::<I::Item, O>(operation)?.reduce(input)
    }
}
