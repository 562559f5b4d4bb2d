//! The outputs of reductions: memory that takes a raw result.

use std::fmt;
#[cfg(feature = "cudarc")]
use std::sync::Arc;

use bytemuck::Pod;

use crate::device::{Buffer, Device, DeviceError, RawSliceMut, Stream, View, ViewMut};

use super::Error;

/// Memory of the device that takes raw results of type `R`.
///
/// | | |
/// |---|---|
/// | [`&mut Buffer<R>`](Buffer), [`ViewMut<R>`](ViewMut) | a buffer, or a part of one |
/// | [`RawSliceMut<R>`](RawSliceMut) | an address of the device, in memory that other code has allocated (`unsafe` to make) |
/// | `&mut cudarc::driver::CudaSlice<R>`, `CudaViewMut<R>`, `&mut CudaViewMut<R>` | memory of the same GPU, with the feature `cudarc` |
///
/// cudarc orders the work on its memory, and a reduction into that memory takes part in this order:
/// it comes after the work that cudarc was given for the memory before, and before the work that
/// cudarc is given for it later. A [`Graph`](crate::device::Graph) cannot capture it, because the
/// graph could not keep the memory alive.
pub trait DeviceOutput<R: Pod>: private::Output<R> {}

pub(super) mod private {
    use super::Target;

    pub trait Output<R> {
        fn target(&mut self) -> Target<'_, R>;
    }
}
use private::Output;

/// The memory that an output stands for.
pub struct Target<'a, R> {
    pub(super) len: u64,
    pub(super) place: TargetPlace<'a, R>,
}

/// The place of the memory, and who answers for it.
pub(super) enum TargetPlace<'a, R> {
    /// A buffer of ours, or a part of one.
    Ours(View<'a, R>),
    /// An address for which the maker of a raw slice has vouched.
    Vouched(u64),
    /// Memory of cudarc, with the stream that allocated it. cudarc gives the address when the
    /// memory is borrowed for the launch.
    #[cfg(feature = "cudarc")]
    Cudarc(&'a mut dyn cudarc::driver::DevicePtrMut<R>, Arc<cudarc::driver::CudaStream>),
}

impl<R> fmt::Debug for Target<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<R: Pod> Target<'_, R> {
    /// Calls `launch` with the address of the memory, for work on `stream`. Refuses memory of
    /// another device, and lets a graph that `stream` records keep the memory alive.
    pub(super) fn with_address(
        self,
        device: &Device,
        stream: &Stream,
        launch: impl FnOnce(u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.lend(device, stream, launch)
    }

    /// As [`with_address`](Self::with_address), for a `launch` with a result or with errors of its
    /// own.
    pub(super) fn lend<P, E: From<Error>>(
        self,
        device: &Device,
        stream: &Stream,
        launch: impl FnOnce(u64) -> Result<P, E>,
    ) -> Result<P, E> {
        match self.place {
            TargetPlace::Ours(view) => {
                if !device.owns(view) {
                    return Err(Error::from(DeviceError::OtherDevice("buffer")).into());
                }
                stream.retain(view);
                launch(view.address())
            }
            TargetPlace::Vouched(address) => launch(address),
            #[cfg(feature = "cudarc")]
            TargetPlace::Cudarc(memory, theirs) => {
                const ACTION: &str = "reduce into memory of cudarc";
                let (address, lent) = stream
                    .borrow_cudarc(&theirs, ACTION, move |theirs| memory.device_ptr_mut(theirs))
                    .map_err(Error::from)?;
                let launched = launch(address)?;
                lent.give_back().map_err(Error::from)?;
                Ok(launched)
            }
        }
    }
}

impl<'a, R: Pod> From<View<'a, R>> for Target<'a, R> {
    fn from(view: View<'a, R>) -> Self {
        Self { len: view.len() as u64, place: TargetPlace::Ours(view) }
    }
}

impl<R: Pod> Output<R> for &mut Buffer<R> {
    fn target(&mut self) -> Target<'_, R> {
        self.view(..).into()
    }
}

impl<R: Pod> Output<R> for ViewMut<'_, R> {
    fn target(&mut self) -> Target<'_, R> {
        self.as_view().into()
    }
}

impl<R: Pod> Output<R> for RawSliceMut<R> {
    fn target(&mut self) -> Target<'_, R> {
        Target { len: self.len() as u64, place: TargetPlace::Vouched(self.address()) }
    }
}

impl<R: Pod> DeviceOutput<R> for &mut Buffer<R> {}
impl<R: Pod> DeviceOutput<R> for ViewMut<'_, R> {}
impl<R: Pod> DeviceOutput<R> for RawSliceMut<R> {}

#[cfg(feature = "cudarc")]
mod of_cudarc {
    use std::sync::Arc;

    use bytemuck::Pod;
    use cudarc::driver::{CudaSlice, CudaViewMut, DevicePtrMut};

    use super::{DeviceOutput, Output, Target, TargetPlace};

    fn target<R>(memory: &mut dyn DevicePtrMut<R>) -> Target<'_, R> {
        let (len, stream) = (memory.len() as u64, Arc::clone(memory.stream()));
        Target { len, place: TargetPlace::Cudarc(memory, stream) }
    }

    impl<R: Pod> Output<R> for &mut CudaSlice<R> {
        fn target(&mut self) -> Target<'_, R> {
            target(*self)
        }
    }

    impl<R: Pod> Output<R> for CudaViewMut<'_, R> {
        fn target(&mut self) -> Target<'_, R> {
            target(self)
        }
    }

    impl<R: Pod> Output<R> for &mut CudaViewMut<'_, R> {
        fn target(&mut self) -> Target<'_, R> {
            target(*self)
        }
    }

    impl<R: Pod> DeviceOutput<R> for &mut CudaSlice<R> {}
    impl<R: Pod> DeviceOutput<R> for CudaViewMut<'_, R> {}
    impl<R: Pod> DeviceOutput<R> for &mut CudaViewMut<'_, R> {}
}
