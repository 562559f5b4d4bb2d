//! Where a raw result can go.

use bytemuck::Pod;

use crate::device::{Buffer, RawSliceMut, View, ViewMut};

/// Memory of the device that takes raw results of type `R`.
///
/// | | |
/// |---|---|
/// | [`&mut Buffer<R>`](Buffer), [`ViewMut<R>`](ViewMut) | a buffer, or a part of one |
/// | [`RawSliceMut<R>`](RawSliceMut) | an address of the device, in memory that other code has allocated (`unsafe` to make) |
pub trait DeviceOutput<R: Pod>: private::Output<R> {}

pub(super) mod private {
    use super::Target;

    pub trait Output<R> {
        fn target(&self) -> Target<'_, R>;
    }
}
use private::Output;

/// The memory that an output stands for.
#[derive(Debug)]
pub struct Target<'a, R> {
    pub(super) address: u64,
    pub(super) len: u64,
    /// The buffer's memory, unless somebody vouches for the address.
    pub(super) view: Option<View<'a, R>>,
}

impl<'a, R: Pod> From<View<'a, R>> for Target<'a, R> {
    fn from(view: View<'a, R>) -> Self {
        Self { address: view.address(), len: view.len() as u64, view: Some(view) }
    }
}

impl<R: Pod> Output<R> for &mut Buffer<R> {
    fn target(&self) -> Target<'_, R> {
        self.view(..).into()
    }
}

impl<R: Pod> Output<R> for ViewMut<'_, R> {
    fn target(&self) -> Target<'_, R> {
        self.as_view().into()
    }
}

impl<R: Pod> Output<R> for RawSliceMut<R> {
    fn target(&self) -> Target<'_, R> {
        Target { address: self.address(), len: self.len() as u64, view: None }
    }
}

impl<R: Pod> DeviceOutput<R> for &mut Buffer<R> {}
impl<R: Pod> DeviceOutput<R> for ViewMut<'_, R> {}
impl<R: Pod> DeviceOutput<R> for RawSliceMut<R> {}
