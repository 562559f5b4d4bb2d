//! Modules, their kernels, and how a kernel is launched.

use std::sync::Arc;

use super::{
    Core, DeviceError, Dim3,
    home::{LoadedKernel, LoadedModule},
};

/// Grid, block and dynamic shared memory of a launch, and what binds its blocks together.
///
/// ```
/// use warpfold::device::{Dim3, LaunchShape};
///
/// let shape = LaunchShape { overlap: true, ..LaunchShape::linear(132, 256, 0) };
/// assert_eq!((shape.grid, shape.cluster, shape.cooperative), (Dim3::new(132, 1, 1), 1, false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks along each dimension, at least 1.
    pub grid: Dim3,
    /// Threads of a block along each dimension, at least 1.
    pub block: Dim3,
    /// Dynamic shared memory of each block, in bytes.
    pub shared_bytes: u32,
    /// Blocks of a thread-block cluster, along x; 1 is a launch without clusters.
    pub cluster: u32,
    /// Whether all blocks are to be resident at once, so that they can wait for each other.
    pub cooperative: bool,
    /// Whether the kernel may begin before earlier launches of its stream have ended (programmatic dependent launch, from
    /// compute capability 9.0 on): it must then wait for them itself, by `griddepcontrol.wait` before its first access to
    /// memory. Devices and drivers that cannot do so ignore it.
    pub overlap: bool,
}

impl LaunchShape {
    /// `grid` blocks of `block` threads in one dimension, without clusters, neither cooperative nor overlapping.
    pub fn linear(grid: u32, block: u32, shared_bytes: u32) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes, cluster: 1, cooperative: false, overlap: false }
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A device address, such as [`Buffer::address`](super::Buffer::address).
    Pointer(u64),
    /// A 64-bit integer, such as a `usize` of the kernel.
    U64(u64),
    /// A 32-bit integer.
    U32(u32),
}

impl Arg {
    /// Its size in bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Pointer(_) | Self::U64(_) => 8,
            Self::U32(_) => 4,
        }
    }
}

/// PTX that the device has accepted. `Send` and `Sync`.
///
/// ```
/// use warpfold::device::{Device, DeviceChoice, LaunchShape};
///
/// let device = Device::open(DeviceChoice::Simulator)?;
/// let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }";
/// let module = device.load("nothing.ptx", ptx)?;
/// device.launch(&module.kernel("nothing")?, LaunchShape::linear(1, 32, 0), &[])?;
/// let error = module.kernel("something").unwrap_err();
/// assert_eq!(error.to_string(), "module nothing.ptx has no kernel something");
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    pub(super) core: Arc<Core>,
    pub(super) loaded: Arc<dyn LoadedModule>,
}

/// A kernel of a [`Module`], which it keeps loaded. `Send` and `Sync`.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) core: Arc<Core>,
    pub(super) name: Arc<str>,
    pub(super) loaded: Arc<dyn LoadedKernel>,
}

impl Module {
    /// The kernel of that name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        let loaded = Arc::clone(&self.loaded).kernel(name)?;
        Ok(Kernel { core: Arc::clone(&self.core), name: name.into(), loaded })
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}
