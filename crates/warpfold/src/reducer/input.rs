//! The inputs of reductions: elements in the memory of the device or of the host.

use std::fmt;

use bytemuck::Pod;

use crate::device::{Buffer, Device, DeviceError, PinnedBuffer, RawSlice, Stream, View};

use super::{Error, Item};

/// One input or two.
pub trait Arity: private::Sealed {
    /// The number of inputs.
    #[doc(hidden)]
    const INPUTS: u64;
}

/// One input.
#[derive(Clone, Copy, Debug)]
pub enum Single {}

/// Two inputs of the same length, as a tuple.
#[derive(Clone, Copy, Debug)]
pub enum Pair {}

impl private::Sealed for Single {}
impl private::Sealed for Pair {}
impl Arity for Single {
    const INPUTS: u64 = 1;
}
impl Arity for Pair {
    const INPUTS: u64 = 2;
}

/// An input of a reduction: elements in the memory of the device or of the host, or a pair of such
/// inputs.
///
/// | | |
/// |---|---|
/// | [`&Buffer<T>`](Buffer), [`View<T>`](View) | in the device's memory, from any element on |
/// | [`RawSlice<T>`](RawSlice) | at an address of the device (which is `unsafe` to make) |
/// | `&cust::memory::DeviceBuffer<T>`, `&cust::memory::DeviceSlice<T>` | in the memory of the same GPU: this repository's `cust`, with the feature `cust-0_3` crates.io's too |
/// | `&cudarc::driver::CudaSlice<T>`, `&cudarc::driver::CudaView<T>` | in the memory of the same GPU, with the feature `cudarc` |
/// | `&[T]`, `&[T; N]`, `&Vec<T>`, [`&PinnedBuffer<T>`](PinnedBuffer) | on the host: copied to the device |
/// | `&[bool]`, `&[bool; N]`, `&Vec<bool>` | on the host, as the elements of `u8` that are 1 for true and 0 for false |
/// | `(a, b)` of any of these | a pair of the same length |
///
/// Memory of `cust` and of cudarc is read in place. A [`Graph`](crate::device::Graph) cannot
/// capture such a call, because the graph could not keep the memory alive. A reduction of cudarc's
/// memory comes after all work that cudarc was given for that memory before, and before the work
/// that cudarc is given for it later, on whichever streams. The host does not wait for that.
///
/// An input on the host is copied to the device: whole if it fits, else in chunks (see
/// [`Reducer`](super::Reducer)).
///
/// In the memory of the device, truth values are elements of `u8`, too: 0 is false, and every other
/// byte is true. The host copies them there with `bytemuck::cast_slice::<bool, u8>`. So
/// [`CountNonzero`](super::CountNonzero), [`Any`](super::Any) and [`All`](super::All) of truth
/// values are what NumPy's `count_nonzero`, `any` and `all` are.
///
/// ```
/// use warpfold::{All, Any, Array, CountNonzero, Device};
///
/// let gpu = Device::simulator();
/// let flags = [true, false, true, true];
/// assert_eq!(gpu.reduce(&flags, CountNonzero)?, 3);
/// assert_eq!(gpu.reduce_rows(&Array::new(&flags, &[2, 2])?, All)?, [false, true]);
/// let flags = gpu.upload(bytemuck::cast_slice::<bool, u8>(&flags))?;
/// assert!(gpu.reduce(flags.view(..2), Any)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub trait Input: private::Operands<Self::Item> {
    /// The type of the elements.
    type Item: Item;
    /// [`Single`] or [`Pair`].
    type Arity: Arity;
}

/// An [`Input`] in the device's memory: what [`reduce_into`](super::Reducer::reduce_into) takes.
pub trait DeviceInput: Input + private::Places<Self::Item> {}

pub(super) mod private {
    use super::{Operand, Place};

    pub trait Sealed {}

    pub trait Operands<T> {
        /// The first operand, and the second of a pair.
        fn operands(&self) -> (Operand<'_, T>, Option<Operand<'_, T>>);
    }

    pub trait Places<T> {
        /// The place of the first operand, and that of the second operand of a pair.
        fn places(&self) -> (Place<'_, T>, Option<Place<'_, T>>);
    }
}
use private::{Operands, Places};

/// Elements in the device's memory.
pub struct Place<'a, T> {
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) owner: Owner<'a, T>,
}

/// Who answers for the memory.
pub(super) enum Owner<'a, T> {
    /// A buffer of this library.
    Ours(View<'a, T>),
    /// The maker of a raw slice, who has vouched for it.
    Vouched,
    /// `cust`, which allocated it on a GPU that is still to be compared with ours.
    #[cfg(feature = "cuda")]
    Cust,
    /// cudarc, which allocated the memory and orders the work on it.
    #[cfg(feature = "cudarc")]
    Cudarc(&'a dyn cudarc::driver::DevicePtr<T>),
    /// cudarc, which allocated the memory on a stream that is captured now. The address is not
    /// known, because asking cudarc for it would invalidate the capture.
    #[cfg(feature = "cudarc")]
    Captured,
}

impl<T> fmt::Debug for Place<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("address", &self.address)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T> Clone for Place<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<'_, T> {}

impl<T> Clone for Owner<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Owner<'_, T> {}

impl<T: Pod> Place<'_, T> {
    /// Refuses memory of another device. If `stream` records a graph, this lets the graph keep the
    /// memory alive.
    pub(super) fn admit(&self, device: &Device, stream: &Stream) -> Result<(), Error> {
        match self.owner {
            Owner::Ours(view) => {
                if !device.owns(view) {
                    return Err(DeviceError::OtherDevice("buffer").into());
                }
                stream.retain(view);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Owner::Cust => {
                stream.refuse_in_capture("reduce memory of another library")?;
                Ok(device.check_address(self.address)?)
            }
            // The call that borrows the memory checks its device.
            #[cfg(feature = "cudarc")]
            Owner::Cudarc(_) => Ok(()),
            #[cfg(feature = "cudarc")]
            Owner::Captured => {
                Err(DeviceError::Capturing { action: "reduce memory of cudarc" }.into())
            }
            Owner::Vouched => Ok(()),
        }
    }

    /// The `len` elements from the element `start` on.
    pub(super) fn part(self, start: u64, len: u64) -> Self {
        Self { address: self.address + start * size_of::<T>() as u64, len, owner: self.owner }
    }
}

impl<T: Item> Place<'_, T> {
    /// Copies the elements to the host, behind all earlier work of `stream`.
    pub(super) fn to_host(self, device: &Device, stream: &Stream) -> Result<Vec<T>, Error> {
        self.admit(device, stream)?;
        #[cfg(feature = "cudarc")]
        let lent = self.borrow_for(stream)?;
        stream.synchronize()?;
        // SAFETY: the elements are borrowed, or the caller of the raw slice's `unsafe` constructor
        // has vouched for them. They are memory of this device, as `admit` or the loan has checked.
        let values = unsafe { device.read_at(self.address, self.len as usize)? };
        #[cfg(feature = "cudarc")]
        lent.into_iter().try_for_each(crate::device::Borrowed::give_back)?;
        Ok(values)
    }
}

/// Elements in the memory of the device or of the host.
#[derive(Debug)]
pub enum Operand<'a, T> {
    /// In the device's memory.
    Device(Place<'a, T>),
    /// On the host.
    Host(&'a [T]),
    /// On the host, page-locked.
    Pinned(&'a [T]),
}

impl<T> Clone for Operand<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<'_, T> {}

impl<T: Pod> Operand<'_, T> {
    /// The `len` elements from the element `start` on.
    pub(super) fn part(self, start: u64, len: u64) -> Self {
        let range = start as usize..(start + len) as usize;
        match self {
            Self::Device(place) => Self::Device(place.part(start, len)),
            Self::Host(values) => Self::Host(&values[range]),
            Self::Pinned(values) => Self::Pinned(&values[range]),
        }
    }
}

impl<T> Operand<'_, T> {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Device(place) => place.len,
            Self::Host(values) | Self::Pinned(values) => values.len() as u64,
        }
    }
}

impl<'a, T: Pod> From<View<'a, T>> for Place<'a, T> {
    fn from(view: View<'a, T>) -> Self {
        Self { address: view.address(), len: view.len() as u64, owner: Owner::Ours(view) }
    }
}

/// Implements the traits of an input in the device's memory.
macro_rules! device_input {
    ($(#[$attribute:meta])* [$($generics:tt)*] $type:ty, $self:ident => $place:expr) => {
        $(#[$attribute])*
        impl<$($generics)*> Input for $type {
            type Item = T;
            type Arity = Single;
        }
        $(#[$attribute])*
        impl<$($generics)*> DeviceInput for $type {}
        $(#[$attribute])*
        impl<$($generics)*> Places<T> for $type {
            fn places(&$self) -> (Place<'_, T>, Option<Place<'_, T>>) {
                ($place, None)
            }
        }
        $(#[$attribute])*
        impl<$($generics)*> Operands<T> for $type {
            fn operands(&$self) -> (Operand<'_, T>, Option<Operand<'_, T>>) {
                (Operand::Device($place), None)
            }
        }
    };
}

device_input!([T: Item] &Buffer<T>, self => self.view(..).into());
device_input!([T: Item] View<'_, T>, self => (*self).into());
device_input!([T: Item] &View<'_, T>, self => (**self).into());
device_input!(
    [T: Item] RawSlice<T>,
    self => Place { address: self.address(), len: self.len() as u64, owner: Owner::Vouched }
);

#[cfg(feature = "cuda")]
mod of_cust {
    use cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};

    use super::{DeviceInput, Input, Item, Operand, Operands, Owner, Place, Places, Single};

    fn place<T: DeviceCopy>(slice: &DeviceSlice<T>) -> Place<'_, T> {
        Place {
            address: slice.as_device_ptr().as_raw(),
            len: slice.len() as u64,
            owner: Owner::Cust,
        }
    }

    device_input!([T: Item + DeviceCopy] &DeviceBuffer<T>, self => place(self));
    device_input!([T: Item + DeviceCopy] &DeviceSlice<T>, self => place(self));
}

#[cfg(feature = "cust-0_3")]
mod of_published_cust {
    use cust_published::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};

    use super::{DeviceInput, Input, Item, Operand, Operands, Owner, Place, Places, Single};

    fn place<T: DeviceCopy>(slice: &DeviceSlice<T>) -> Place<'_, T> {
        Place {
            address: slice.as_device_ptr().as_raw(),
            len: slice.len() as u64,
            owner: Owner::Cust,
        }
    }

    device_input!([T: Item + DeviceCopy] &DeviceBuffer<T>, self => place(self));
    device_input!([T: Item + DeviceCopy] &DeviceSlice<T>, self => place(self));
}

#[cfg(feature = "cudarc")]
mod of_cudarc {
    use std::mem;

    use cudarc::driver::{CudaSlice, CudaView, DevicePtr, sys::CUstreamCaptureStatus};

    use crate::device::{Borrowed, DeviceError, Stream};

    use super::{DeviceInput, Input, Item, Operand, Operands, Owner, Place, Places, Single};

    fn place<T: Item>(memory: &dyn DevicePtr<T>) -> Place<'_, T> {
        let (stream, len) = (memory.stream(), memory.len() as u64);
        match stream.capture_status() {
            Ok(CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE) => {}
            Ok(_) => return Place { address: 0, len, owner: Owner::Captured },
            // The launch takes the error out again, and returns it.
            Err(error) => stream.context().record_err(Err::<(), _>(error)),
        }
        // Only the address is needed here. The launch orders the work, and the guard of the launch
        // tells cudarc that the memory was read.
        let (address, read) = memory.device_ptr(stream);
        mem::forget(read);
        Place { address, len, owner: Owner::Cudarc(memory) }
    }

    impl<'a, T: Item> Place<'a, T> {
        /// Borrows the elements for work on `stream` if they are cudarc's.
        pub(in super::super) fn borrow_for(
            self,
            stream: &'a Stream,
        ) -> Result<Option<Borrowed<'a>>, DeviceError> {
            match self.owner {
                Owner::Cudarc(memory) => {
                    let (_, borrowed) = stream.borrow_cudarc(
                        memory.stream(),
                        "reduce memory of cudarc",
                        |theirs| memory.device_ptr(theirs),
                    )?;
                    Ok(Some(borrowed))
                }
                _ => Ok(None),
            }
        }
    }

    device_input!([T: Item] &CudaSlice<T>, self => place(*self));
    device_input!([T: Item] CudaView<'_, T>, self => place(self));
    device_input!([T: Item] &CudaView<'_, T>, self => place(*self));
}

/// Implements the traits of an input on the host.
macro_rules! host_input {
    ([$($generics:tt)*] $type:ty, $operand:ident) => {
        impl<$($generics)*> Input for $type {
            type Item = T;
            type Arity = Single;
        }
        impl<$($generics)*> Operands<T> for $type {
            fn operands(&self) -> (Operand<'_, T>, Option<Operand<'_, T>>) {
                (Operand::$operand(&self[..]), None)
            }
        }
    };
}

host_input!([T: Item] &[T], Host);
host_input!([T: Item, const N: usize] &[T; N], Host);
host_input!([T: Item] &Vec<T>, Host);
host_input!([T: Item] &PinnedBuffer<T>, Pinned);

/// Implements the traits of an input on the host that consists of truth values, whose elements are
/// their bytes.
macro_rules! host_bools {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Input for $type {
            type Item = u8;
            type Arity = Single;
        }
        impl<$($generics)*> Operands<u8> for $type {
            fn operands(&self) -> (Operand<'_, u8>, Option<Operand<'_, u8>>) {
                (Operand::Host(bytemuck::cast_slice::<bool, u8>(&self[..])), None)
            }
        }
    };
}

host_bools!([] & [bool]);
host_bools!([const N: usize] &[bool; N]);
host_bools!([] &Vec<bool>);

impl<A, B> Input for (A, B)
where
    A: Input<Arity = Single>,
    B: Input<Item = A::Item, Arity = Single>,
{
    type Item = A::Item;
    type Arity = Pair;
}

impl<A, B> Operands<A::Item> for (A, B)
where
    A: Input<Arity = Single>,
    B: Input<Item = A::Item, Arity = Single>,
{
    fn operands(&self) -> (Operand<'_, A::Item>, Option<Operand<'_, A::Item>>) {
        (self.0.operands().0, Some(self.1.operands().0))
    }
}

impl<A, B> DeviceInput for (A, B)
where
    A: DeviceInput<Arity = Single>,
    B: DeviceInput<Item = A::Item, Arity = Single>,
{
}

impl<A, B> Places<A::Item> for (A, B)
where
    A: DeviceInput<Arity = Single>,
    B: DeviceInput<Item = A::Item, Arity = Single>,
{
    fn places(&self) -> (Place<'_, A::Item>, Option<Place<'_, A::Item>>) {
        (self.0.places().0, Some(self.1.places().0))
    }
}

/// The places of one or two operands, if none is on the host.
pub(super) fn on_device_only<'a, T>(
    first: Operand<'a, T>,
    second: Option<Operand<'a, T>>,
) -> Option<(Place<'a, T>, Option<Place<'a, T>>)> {
    match (first, second) {
        (Operand::Device(first), None) => Some((first, None)),
        (Operand::Device(first), Some(Operand::Device(second))) => Some((first, Some(second))),
        _ => None,
    }
}

/// The place of an operand on the device. An operand on the host is copied to `copy`.
pub(super) fn on_device<'a, T: Pod>(
    device: &Device,
    operand: Operand<'a, T>,
    copy: &'a mut Option<Buffer<T>>,
) -> Result<Place<'a, T>, Error> {
    match operand {
        Operand::Device(place) => Ok(place),
        Operand::Host(values) | Operand::Pinned(values) => {
            Ok(copy.insert(device.upload(values)?).view(..).into())
        }
    }
}

/// The values of an operand on the host. Those of the device are copied to `copy`.
///
/// # Safety
///
/// The memory of a place on the device is there, and no work uses it.
pub(super) unsafe fn on_host<'a, T: Pod>(
    device: &Device,
    operand: Operand<'a, T>,
    copy: &'a mut Vec<T>,
) -> Result<&'a [T], Error> {
    match operand {
        Operand::Host(values) | Operand::Pinned(values) => Ok(values),
        Operand::Device(place) => {
            // SAFETY: the caller's contract.
            *copy = unsafe { device.read_at(place.address, place.len as usize)? };
            Ok(copy)
        }
    }
}

/// Refuses inputs that are not equally long.
pub(super) fn check_lengths(first: u64, second: u64) -> Result<(), Error> {
    if first == second { Ok(()) } else { Err(Error::Lengths { first, second }) }
}
