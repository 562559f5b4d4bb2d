//! The production reducer: one call, any number of elements, in the memory of the device or of the host.
//!
//! [`Device::reduce`] reduces at once and waits for the result. A [`Reducer`] is the same for many calls, and
//! [`Reducer::reduce_into`] leaves a raw result on the device without waiting for it, also in a captured
//! [`Graph`](crate::device::Graph).
//!
//! An [`Operation`] is a type such as [`Sum`], an [`Item`] one of 14 types of elements, an [`Input`] a buffer, a view, a slice
//! or a pair of them.
//!
//! # Order and bits
//!
//! Which elements are combined in which order depends on their number, on where the first one lies between two multiples of 16
//! bytes, and on the device's number of multiprocessors; on nothing else. So the same call gives the same bits in each run.
//! Results of integers, of extremes, counts and bits do not depend on the order at all.
//!
//! ```
//! use warpfold::{Device, DeviceChoice, Dot, Max, Reducer, Sum};
//!
//! let device = Device::open(DeviceChoice::Simulator)?;
//! let buffer = device.upload(&[1.5f32, -2.0, 4.0])?;
//! assert_eq!(device.reduce(&buffer, Sum)?, 3.5);
//! assert_eq!(device.reduce(buffer.view(..2), Max)?, 1.5);
//! assert_eq!(device.reduce((&buffer, &buffer), Dot)?, 22.25);
//!
//! let sum = Reducer::<f32, Sum>::new(&device)?;
//! let mut raw = device.alloc::<f32>(1)?;
//! let stream = device.stream()?;
//! sum.reduce_into(&buffer, &mut raw, &stream)?;
//! stream.synchronize()?;
//! assert_eq!(Reducer::<f32, Sum>::finish(raw.copy_to_host()?[0], 3)?, 3.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod engine;
mod error;
mod exact;
mod host;
mod input;
mod int192;
mod item;
mod op;
mod operation;
mod order;
mod raw;
pub mod shapes;

use std::{fmt, marker::PhantomData, sync::Arc};

use crate::device::{Arg, Device, DeviceError, Kernel, LaunchShape, Pod, Stream, View, ViewMut};

pub(crate) use engine::Cache;
use engine::Engine;
use input::{Operand, Owner, Place};
use shapes::{Extent, Shape};

pub use error::Error;
pub use exact::{Exact, ExactF32, ExactF64, ReproducibleSum};
pub use input::{Arity, DeviceInput, Input, Pair, Single};
pub use int192::{Int192, TooWide};
pub use item::{Accumulator, Item};
pub use op::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum, CompensatedSum, Count, Dot,
    Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, Norm2, Product, SquaredDistance, Statistics, Sum, SumAbs,
    SumSquares, WideSum, WrappingSum,
};
pub use operation::Operation;
pub use raw::{Compensated, Extremes, Indexed};

/// An operation over a type of elements, ready on a device: its kernel is loaded, and there is room for a result. `Send` and
/// `Sync`, and cheap to clone.
///
/// # Inputs on the host
///
/// What fits into the device's free memory is copied there whole and reduced by one launch: the result has the bits that a
/// [`Buffer`](crate::device::Buffer) of the same elements has. More than that, or than a
/// [limit](Self::with_memory_limit), is copied in chunks; each is reduced while the next one is copied, and the host combines
/// their results in order.
///
/// ```
/// use warpfold::{Device, DeviceChoice, Max, Reducer};
///
/// let device = Device::open(DeviceChoice::Simulator)?;
/// let max = Reducer::<u64, Max>::new(&device)?;
/// for n in 1..4u64 {
///     assert_eq!(max.reduce(&(0..=n).collect::<Vec<_>>())?, n);
/// }
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct Reducer<T, O> {
    device: Device,
    engine: Arc<Engine>,
    memory_limit: Option<u64>,
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for Reducer<T, O> {
    fn clone(&self) -> Self {
        let Self { device, engine, memory_limit, operation } = self;
        Self { device: device.clone(), engine: Arc::clone(engine), memory_limit: *memory_limit, operation: *operation }
    }
}

impl<T: Item, O: Operation<T>> fmt::Debug for Reducer<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reducer").field("kernel", &O::KERNEL).finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an input is a reference, or as light as one")]
impl<T: Item, O: Operation<T>> Reducer<T, O> {
    /// Loads the kernel, unless the device has it already, and makes room for a result.
    ///
    /// # Errors
    ///
    /// [`Error::Ptx`] for a device that is too old; the driver's.
    pub fn new(device: &Device) -> Result<Self, Error> {
        let engine = device.reducers().engine(device, O::KERNEL, size_of::<O::Raw>())?;
        Ok(Self { device: device.clone(), engine, memory_limit: None, operation: PhantomData })
    }

    /// Inputs on the host take at most so many bytes of the device's memory, instead of nine tenths of what is free.
    ///
    /// ```
    /// use warpfold::{Device, DeviceChoice, Reducer, Sum};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let sum = Reducer::<u32, Sum>::new(&device)?.with_memory_limit(4096);
    /// assert_eq!(sum.reduce(&vec![1; 5000])?, 5000);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        Self { memory_limit: Some(bytes), ..self }
    }

    /// Reduces, and waits for the result.
    ///
    /// It comes after all that was given to the [`Device`] itself before: launches, and copies of buffers. It does not wait for
    /// what other [`Stream`]s do: see [`Stream::synchronize`], or reduce on that stream, with
    /// [`reduce_into`](Self::reduce_into).
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] where no elements have no result, [`Error::Lengths`] for a pair, [`Error::Overflow`] of a
    /// [`CheckedSum`]; a buffer of another device; the driver's.
    pub fn reduce<I>(&self, input: I) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        self.reduce_with_progress(input, |_, _| ())
    }

    /// As [`reduce`](Self::reduce). Each time that another part of an input on the host was copied, `progress` is told how many
    /// elements were copied so far, and how many there are.
    ///
    /// ```
    /// use warpfold::{Device, DeviceChoice, Reducer, Sum};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let sum = Reducer::<u32, Sum>::new(&device)?.with_memory_limit(8000);
    /// let mut seen = Vec::new();
    /// sum.reduce_with_progress(&vec![1; 2500], |done, total| seen.push((done, total)))?;
    /// assert_eq!(seen, [(1000, 2500), (2000, 2500), (2500, 2500)]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce).
    pub fn reduce_with_progress<I>(&self, input: I, mut progress: impl FnMut(u64, u64)) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        let (first, second) = input.operands();
        let n = Self::check_len(first.len(), second.map(|second| second.len()))?;
        let raw = match (n, first, second) {
            (0, _, _) => O::nothing().ok_or(Error::Empty { op: O::NAME })?,
            (_, Operand::Device(first), None) => self.on_device(first, None)?,
            (_, Operand::Device(first), Some(Operand::Device(second))) => self.on_device(first, Some(second))?,
            (_, first, second) => self.on_host(first, second, n, &mut progress)?,
        };
        O::finish(raw, n)
    }

    /// Gives `stream` the work of reducing `input` into `out`, and returns: the host does not wait, allocates nothing and
    /// copies nothing, so that a stream that [captures](Device::capture) takes it too. `out` is room for one
    /// [raw result](Operation::Raw), which [`finish`](Self::finish) turns into the result when it was copied to the host.
    ///
    /// A buffer that is dropped before the work is done waits for it. Several streams may run the same `Reducer` at the same
    /// time, into different rooms: what a launch needs besides is the stream's own.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] where no elements have no result, [`Error::Lengths`] for a pair, [`Error::Room`] for a room of other
    /// than one value; a buffer or stream of another device; the driver's.
    pub fn reduce_into<'a, I>(
        &self,
        input: I,
        out: impl Into<ViewMut<'a, O::Raw>>,
        stream: &Stream,
    ) -> Result<(), Error>
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let (first, second) = input.places();
        let n = Self::check_len(first.len, second.map(|second| second.len))?;
        if n == 0 && O::nothing().is_none() {
            return Err(Error::Empty { op: O::NAME });
        }
        let out = out.into();
        if out.len() != 1 {
            return Err(Error::Room { len: out.len() as u64 });
        }
        self.check_view(out.as_view())?;
        self.launch(first, second, out.address(), stream)
    }

    /// The result of `n` elements from the raw one.
    ///
    /// # Errors
    ///
    /// As [`Operation::finish`].
    pub fn finish(raw: O::Raw, n: u64) -> Result<O::Output, Error> {
        O::finish(raw, n)
    }

    /// The launch for this input.
    pub fn shape<I>(&self, input: I) -> Shape
    where
        I: DeviceInput<Item = T, Arity = O::Arity>,
    {
        let (first, _) = input.places();
        self.shape_of(first.address, first.len)
    }

    /// An upper bound on the number of operations that lie between an element and the result of `n` elements in the device's
    /// memory: the `d` of the bounds on errors.
    ///
    /// ```
    /// use warpfold::{Device, DeviceChoice, Reducer, Sum};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let depth = Reducer::<f32, Sum>::new(&device)?.depth(1 << 28);
    /// assert!((50..500).contains(&depth), "{depth}");
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn depth(&self, n: u64) -> u64 {
        self.shape_of(0, n).depth(size_of::<T>() as u64)
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.engine.kernel()
    }

    fn shape_of(&self, address: u64, n: u64) -> Shape {
        let extent = Extent { address, element_bytes: size_of::<T>() as u64, n };
        shapes::shape(extent, O::CLASS, self.engine.machine())
    }

    /// The common length of one or two inputs.
    fn check_len(n: u64, second: Option<u64>) -> Result<u64, Error> {
        match second {
            Some(second) if second != n => Err(Error::Lengths { first: n, second }),
            _ if n > O::MOST => Err(Error::TooLong { op: O::NAME, item: T::NAME, n, most: O::MOST }),
            _ => Ok(n),
        }
    }

    /// Reduces on the device's own stream.
    fn on_device(&self, first: Place<'_, T>, second: Option<Place<'_, T>>) -> Result<O::Raw, Error> {
        let launch = |out| self.launch(first, second, out, self.engine.stream());
        self.engine.with_room(&self.device, &launch, bytemuck::pod_read_unaligned)
    }

    /// Reduces operands of which at least one is on the host, and which are not empty.
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

    /// Gives a stream the launch that leaves the raw result at `out`, memory of the same device. Both places have the same
    /// length.
    fn launch(
        &self,
        first: Place<'_, T>,
        second: Option<Place<'_, T>>,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        let n = first.len;
        self.check_own(&first)?;
        let shape = self.shape_of(first.address, n);
        let launch = LaunchShape { overlap: true, ..LaunchShape::linear(shape.grid, shape.block, 0) };
        let kernel = self.engine.kernel();
        let input = Arg::Pointer(first.address);
        let [n, span, keep] = [Arg::U64(n), Arg::U64(shape.span), Arg::U32(shape.keep.to_bits())];
        let [out, slots] = [Arg::Pointer(out), Arg::Pointer(stream.workspace())];
        match second {
            None => stream.launch(kernel, launch, &[input, n, span, keep, out, slots])?,
            Some(second) => {
                self.check_own(&second)?;
                stream.launch(kernel, launch, &[input, Arg::Pointer(second.address), n, span, keep, out, slots])?;
            }
        }
        Ok(())
    }

    fn check_own(&self, place: &Place<'_, T>) -> Result<(), Error> {
        match place.owner {
            Owner::Ours(view) => self.check_view(view),
            Owner::Cust => Ok(self.device.check_address(place.address)?),
            Owner::Vouched => Ok(()),
        }
    }

    fn check_view<P: Pod>(&self, view: View<'_, P>) -> Result<(), Error> {
        if self.device.owns(view) { Ok(()) } else { Err(DeviceError::OtherDevice("buffer").into()) }
    }
}

impl Device {
    /// Reduces, and waits for the result. The kernel stays loaded for the next call.
    ///
    /// As [`Reducer::reduce`], which spares the look-up of the kernel.
    ///
    /// ```
    /// use warpfold::{Device, DeviceChoice, Min, Sum};
    ///
    /// let gpu = Device::open(DeviceChoice::Simulator)?;
    /// let buffer = gpu.upload(&[3u8, 200, 255])?;
    /// assert_eq!(gpu.reduce(&buffer, Sum)?, 458u64);
    /// assert_eq!(gpu.reduce(&[2.5, 0.5], Min)?, 0.5);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Reducer::new`] and [`Reducer::reduce`].
    pub fn reduce<I, O>(&self, input: I, _operation: O) -> Result<O::Output, Error>
    where
        I: Input,
        O: Operation<I::Item, Arity = I::Arity>,
    {
        Reducer::<I::Item, O>::new(self)?.reduce(input)
    }
}
