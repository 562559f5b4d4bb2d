//! The production reducer: one call reduces any number of elements, in the memory of the device or
//! of the host.
//!
//! [`Device::reduce`] reduces an input and waits for the result. A [`Reducer`] is for many calls of
//! the same kind. [`Reducer::reduce_into`] leaves a raw result on the device without waiting for
//! it, and a [`Graph`](crate::device::Graph) can capture it.
//!
//! An [`Operation`] is a value such as [`Sum`]. An [`Item`] is one of 14 types of elements. An
//! [`Input`] is a buffer, a view, a slice or a pair of these.
//!
//! # Order and bits
//!
//! The same call gives the same bits in each run, on each device of the same
//! [class](crate::device::DeviceClass). For floats, the order in which elements are combined
//! depends on four things:
//!
//! - the number of elements;
//! - the address of the first element modulo 128 bytes (for a pair: in the first input);
//! - the operation and the type of the elements;
//! - the class of the device: the number of multiprocessors, whether memory is faster than 4 TB/s,
//!   and whether the compute capability is 9.0 or later. A handle can
//!   [pin](crate::Device::with_class) another class.
//!
//! For an input on the host that is reduced in chunks, the order also depends on the size of the
//! chunks, which follows from the [limit](Reducer::with_memory_limit) or from the free memory.
//! Results of integers, of extremes, counts and bits, and of [`ReproducibleSum`] do not depend on
//! any order.
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
mod output;
mod pending;
mod raw;
pub(crate) mod shapes;
mod staging;

use std::{fmt, marker::PhantomData, sync::Arc};

#[cfg(feature = "cudarc")]
use crate::device::Borrowed;
use crate::device::{Arg, Device, DeviceError, LaunchShape, Pod, Stream, View};

use engine::{Cache, Engine};
use input::{Operand, Owner, Place};
use output::TargetPlace;
use shapes::{Extent, Machine, Shape};

pub use error::Error;
pub use exact::{Exact, ExactF32, ExactF64, ReproducibleSum};
pub use input::{Arity, DeviceInput, Input, Pair, Single};
pub use int192::{Int192, TooWide};
pub use item::{Accumulator, Item};
pub use op::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum,
    CompensatedSum, CountNonzero, Dot, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, Norm2,
    Product, SquaredDistance, Statistics, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
};
pub use operation::Operation;
pub use output::DeviceOutput;
pub use pending::Pending;
pub use raw::{Compensated, Extremes, Indexed};

/// An operation over a type of elements, ready on a device: its kernel is loaded, and an output for
/// a result is allocated. A reducer is `Send` and `Sync`, and cheap to clone.
///
/// # Inputs on the host
///
/// An input on the host that fits into the device's free memory is copied there whole and reduced
/// by one launch, so the result has the same bits as for a [`Buffer`](crate::device::Buffer) of the
/// same elements. A larger input, or one above a [limit](Self::with_memory_limit), is copied in
/// chunks. Each chunk is reduced while the next one is copied, and the host combines the raw
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
    operation: PhantomData<fn() -> (T, O)>,
}

impl<T, O> Clone for Reducer<T, O> {
    fn clone(&self) -> Self {
        let Self { device, engine, machine, memory_limit, operation } = self;
        Self {
            device: device.clone(),
            engine: Arc::clone(engine),
            machine: *machine,
            memory_limit: *memory_limit,
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
    /// Limits the device memory that inputs on the host take to `bytes` bytes; the default is nine
    /// tenths of the free memory.
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

    /// Reduces, and waits for the result.
    ///
    /// The reduction runs after all earlier work of the [`Device`] itself: launches, and copies of
    /// buffers. It does not wait for other [`Stream`]s: call [`Stream::synchronize`] first, or
    /// reduce on that stream with [`reduce_into`](Self::reduce_into).
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] for an empty input, unless the operation has a value for it;
    /// [`Error::Lengths`] for a pair; [`Error::Overflow`] and [`Error::TooLong`] of a
    /// [`CheckedSum`]; a buffer of another device; or an error of the driver.
    pub fn reduce<I>(&self, input: I) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        self.reduce_with_progress(input, |_, _| ())
    }

    /// Like [`reduce`](Self::reduce), with a report of progress: after each copied part of an input
    /// on the host, `progress` gets the number of elements copied so far and the number of all
    /// elements.
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
    /// As [`reduce`](Self::reduce).
    pub fn reduce_with_progress<I>(
        &self,
        input: I,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<O::Output, Error>
    where
        I: Input<Item = T, Arity = O::Arity>,
    {
        let (first, second) = input.operands();
        let n = Self::check_len(first.len(), second.map(|second| second.len()))?;
        let raw = match (n, first, second) {
            (0, _, _) => O::identity().ok_or(Error::Empty { op: O::NAME })?,
            (_, Operand::Device(first), None) => self.on_device(first, None)?,
            (_, Operand::Device(first), Some(Operand::Device(second))) => {
                self.on_device(first, Some(second))?
            }
            (_, first, second) => self.on_host(first, second, n, &mut progress)?,
        };
        O::finish(raw, n)
    }

    /// Gives `stream` the work of reducing `input` into `output`, and returns without waiting. The
    /// host allocates nothing and copies nothing, so a stream that [captures](Device::capture)
    /// accepts the work too. `output` holds one [raw result](Operation::Raw). After the caller has
    /// copied it to the host, [`Pending::finish`] turns it into the result.
    ///
    /// Dropping a buffer waits for the work that uses it. Several streams may run the same
    /// `Reducer` at the same time, into different outputs, because each stream has a workspace of
    /// its own. A graph that captures the call keeps the memory of input and output alive.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] for an empty input, unless the operation has a value for it;
    /// [`Error::Lengths`] for a pair; [`Error::TooLong`] of a [`CheckedSum`]; [`Error::Output`] if
    /// `output` does not hold exactly one value; a buffer or stream of another device; or an error
    /// of the driver.
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
        match target.place {
            TargetPlace::Ours(view) => {
                self.check_view(view)?;
                stream.retain(view);
                self.launch(first, second, view.address(), stream)?;
            }
            TargetPlace::Vouched(address) => self.launch(first, second, address, stream)?,
            #[cfg(feature = "cudarc")]
            TargetPlace::Cudarc(memory, theirs) => {
                const ACTION: &str = "reduce into memory of cudarc";
                let (address, lent) = stream
                    .borrow_cudarc(&theirs, ACTION, move |theirs| memory.device_ptr_mut(theirs))?;
                self.launch(first, second, address, stream)?;
                lent.give_back()?;
            }
        }
        Ok(Pending::new(n))
    }

    /// An upper bound on the number of operations between an element and the result, for `n`
    /// elements in the device's memory: the `d` in the bounds on errors of floats.
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

    fn shape_of(&self, address: u64, n: u64) -> Shape {
        let extent = Extent { address, element_bytes: size_of::<T>() as u64, n };
        shapes::shape(extent, O::CLASS, &self.machine)
    }

    /// The common length of one or two inputs.
    fn check_len(n: u64, second: Option<u64>) -> Result<u64, Error> {
        match second {
            Some(second) if second != n => Err(Error::Lengths { first: n, second }),
            _ if n > O::MOST => {
                Err(Error::TooLong { op: O::NAME, item: T::NAME, n, most: O::MOST })
            }
            _ => Ok(n),
        }
    }

    /// Reduces on the device's own stream.
    fn on_device(
        &self,
        first: Place<'_, T>,
        second: Option<Place<'_, T>>,
    ) -> Result<O::Raw, Error> {
        let launch = |out| self.launch(first, second, out, self.engine.stream());
        self.engine.with_output(&self.device, &launch, bytemuck::pod_read_unaligned)
    }

    /// Reduces operands that are not empty, of which at least one is on the host.
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

    /// Gives `stream` the launch that leaves the raw result at `out`, an address of the same
    /// device. Both places have the same length.
    fn launch(
        &self,
        first: Place<'_, T>,
        second: Option<Place<'_, T>>,
        out: u64,
        stream: &Stream,
    ) -> Result<(), Error> {
        let n = first.len;
        for place in [Some(first), second].into_iter().flatten() {
            self.check_own(&place, stream)?;
        }
        #[cfg(feature = "cudarc")]
        let lent = [
            first.borrow_for(stream)?,
            second.map_or(Ok(None), |second| second.borrow_for(stream))?,
        ];
        let shape = self.shape_of(first.address, n);
        let launch =
            LaunchShape { overlap: true, ..LaunchShape::linear(shape.grid, shape.block, 0) };
        let kernel = self.engine.kernel();
        let input = Arg::Pointer(first.address);
        let [n, chunk, keep] = [Arg::U64(n), Arg::U64(shape.chunk), Arg::F32(shape.keep)];
        let [out, slots] = [Arg::Pointer(out), Arg::Pointer(stream.workspace())];
        // SAFETY: the kernel reads `n` elements of each input and writes one raw result at `out`;
        // this memory is borrowed, or the maker of a raw slice has vouched for it. The kernel also
        // writes slots of the stream's workspace, which `shape` keeps within bounds and the stream
        // keeps clean. Dropping memory waits for the work that uses it, lent memory included, and a
        // graph retains the memory that it uses.
        unsafe {
            match second {
                None => stream.launch(kernel, launch, &[input, n, chunk, keep, out, slots])?,
                Some(second) => {
                    let second = Arg::Pointer(second.address);
                    stream.launch(kernel, launch, &[input, second, n, chunk, keep, out, slots])?;
                }
            }
        }
        #[cfg(feature = "cudarc")]
        lent.into_iter().flatten().try_for_each(Borrowed::give_back)?;
        Ok(())
    }

    /// Refuses memory of another device, and lets a graph that `stream` records keep the memory
    /// alive.
    fn check_own(&self, place: &Place<'_, T>, stream: &Stream) -> Result<(), Error> {
        match place.owner {
            Owner::Ours(view) => {
                self.check_view(view)?;
                stream.retain(view);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Owner::Cust => {
                stream.refuse_in_capture("reduce memory of another library")?;
                Ok(self.device.check_address(place.address)?)
            }
            // The device is checked where the memory is borrowed.
            #[cfg(feature = "cudarc")]
            Owner::Cudarc(_) => Ok(()),
            #[cfg(feature = "cudarc")]
            Owner::Captured => {
                Err(DeviceError::Capturing { action: "reduce memory of cudarc" }.into())
            }
            Owner::Vouched => Ok(()),
        }
    }

    fn check_view<P: Pod>(&self, view: View<'_, P>) -> Result<(), Error> {
        if self.device.owns(view) { Ok(()) } else { Err(DeviceError::OtherDevice("buffer").into()) }
    }
}

impl Device {
    /// An operation over elements of type `T`, ready for many calls. The kernel is loaded, unless
    /// the device has it already, and there is an output for a result.
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
    /// [`Error::DeviceTooOld`]; or an error of the driver.
    pub fn reducer<T: Item, O: Operation<T>>(&self, _operation: O) -> Result<Reducer<T, O>, Error> {
        let engine = self.attached::<Cache>().engine(self, O::KERNEL, size_of::<O::Raw>())?;
        let machine = Machine::new(self);
        Ok(Reducer {
            device: self.clone(),
            engine,
            machine,
            memory_limit: None,
            operation: PhantomData,
        })
    }

    /// Reduces, and waits for the result. The kernel stays loaded for the next call.
    ///
    /// The result is that of [`Reducer::reduce`], which saves the look-up of the kernel in each
    /// call.
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
