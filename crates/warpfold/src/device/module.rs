//! Modules, their kernels, and the shape and arguments of a launch.

use std::{fmt, sync::Arc};

use half::{bf16, f16};

use super::{
    Core, DeviceError,
    backend::{LoadedKernel, LoadedModule},
};

/// The extent of a grid or of a block, along its three dimensions.
///
/// ```
/// use warpfold::device::Dim3;
///
/// assert_eq!(Dim3::new(4, 2, 1).count(), 8);
/// assert_eq!(Dim3::from(256), Dim3::new(256, 1, 1));
/// assert_eq!(Dim3::from((4, 2)).to_string(), "(4,2,1)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// The extent along x.
    pub x: u32,
    /// The extent along y.
    pub y: u32,
    /// The extent along z.
    pub z: u32,
}

impl Dim3 {
    /// Makes an extent from its length along each dimension.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// The number of blocks or threads, which is the product of the three lengths.
    pub const fn count(self) -> u128 {
        self.x as u128 * self.y as u128 * self.z as u128
    }
}

impl From<u32> for Dim3 {
    /// A one-dimensional extent, along x.
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    /// A two-dimensional extent, along x and y.
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// The shape of a launch: its grid, its blocks, their dynamic shared memory, and the way in which
/// blocks cooperate.
///
/// ```
/// use warpfold::device::{Dim3, LaunchShape};
///
/// let shape = LaunchShape { cooperative: true, ..LaunchShape::linear(132, 256, 0) };
/// assert_eq!((shape.grid, shape.cluster, shape.shared_bytes), (Dim3::new(132, 1, 1), 1, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// The number of blocks along each dimension, at least 1.
    pub grid: Dim3,
    /// The number of threads of a block along each dimension, at least 1.
    pub block: Dim3,
    /// The dynamic shared memory of each block, in bytes.
    pub shared_bytes: u32,
    /// The number of blocks in a thread-block cluster, along x. 1 means a launch without clusters.
    pub cluster: u32,
    /// Whether the launch is cooperative: all blocks are resident at once, so they can wait for
    /// each other.
    pub cooperative: bool,
    /// Whether the kernel may begin before earlier launches of its stream have ended.
    pub overlap: Overlap,
}

/// Whether a kernel may begin before earlier launches of its stream have ended (programmatic
/// dependent launch, compute capability 9.0 and later, CUDA C++ Programming Guide). If it may, the
/// kernel must wait for them itself, by `griddepcontrol.wait` before its first access to memory.
/// Devices and drivers without this feature ignore the choice.
///
/// ```
/// use warpfold::device::{LaunchShape, Overlap};
///
/// let shape = LaunchShape::linear(132, 256, 0);
/// assert_eq!(shape.overlap, Overlap::Never);
/// let shape = LaunchShape { overlap: Overlap::InSequence, ..shape };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// The kernel begins when the earlier launches have ended.
    #[default]
    Never,
    /// The kernel may begin early on a plain stream. In a graph that is being captured, it may do
    /// so only behind a kernel that this library has launched with a choice other than
    /// [`Never`](Self::Never). Behind another kernel in a graph, a small kernel that may begin
    /// early ends later than one that may not: by 0.2 us on an H100 and an H200.
    InSequence,
    /// The kernel may begin early, whatever is before it.
    Always,
}

impl LaunchShape {
    /// `grid` blocks of `block` threads in one dimension, and `shared_bytes` of dynamic shared
    /// memory for each block. The launch has no clusters and is neither cooperative nor
    /// overlapping.
    pub fn linear(grid: u32, block: u32, shared_bytes: u32) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            shared_bytes,
            cluster: 1,
            cooperative: false,
            overlap: Overlap::Never,
        }
    }

    /// The same launch, which may begin before the one before it has ended
    /// ([`Overlap::InSequence`]).
    pub(crate) fn in_sequence(self) -> Self {
        Self { overlap: Overlap::InSequence, ..self }
    }
}

/// One argument of a kernel: a value of a scalar type.
///
/// ```
/// use warpfold::device::Arg;
///
/// assert_eq!(Arg::from(1.5f32), Arg::F32(1.5));
/// assert_eq!((Arg::U8(7).size(), Arg::Pointer(256).size()), (1, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// A device address, such as [`Buffer::address`](super::Buffer::address).
    Pointer(u64),
    /// An unsigned 8-bit integer.
    U8(u8),
    /// An unsigned 16-bit integer.
    U16(u16),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// An unsigned 64-bit integer. A parameter of type `usize` in the kernel is one.
    U64(u64),
    /// A signed 8-bit integer.
    I8(i8),
    /// A signed 16-bit integer.
    I16(i16),
    /// A signed 32-bit integer.
    I32(i32),
    /// A signed 64-bit integer. A parameter of type `isize` in the kernel is one.
    I64(i64),
    /// A 16-bit float of IEEE 754 (binary16).
    F16(f16),
    /// A 16-bit float with an exponent as wide as that of `f32` (bfloat16).
    Bf16(bf16),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
}

impl Arg {
    /// The size of the argument, in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::U8(_) | Self::I8(_) => 1,
            Self::U16(_) | Self::I16(_) | Self::F16(_) | Self::Bf16(_) => 2,
            Self::U32(_) | Self::I32(_) | Self::F32(_) => 4,
            Self::Pointer(_) | Self::U64(_) | Self::I64(_) | Self::F64(_) => 8,
        }
    }

    /// The argument's bits, in the low bytes of a word.
    #[cfg(feature = "cuda")]
    pub(super) fn bits(self) -> u64 {
        match self {
            Self::Pointer(bits) | Self::U64(bits) => bits,
            Self::U8(value) => value.into(),
            Self::U16(value) => value.into(),
            Self::U32(value) => value.into(),
            Self::I8(value) => value.cast_unsigned().into(),
            Self::I16(value) => value.cast_unsigned().into(),
            Self::I32(value) => value.cast_unsigned().into(),
            Self::I64(value) => value.cast_unsigned(),
            Self::F16(value) => value.to_bits().into(),
            Self::Bf16(value) => value.to_bits().into(),
            Self::F32(value) => value.to_bits().into(),
            Self::F64(value) => value.to_bits(),
        }
    }
}

macro_rules! from_scalars {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for Arg {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

from_scalars! {
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64,
}

/// PTX or machine code that a device has loaded. A module is `Send` and `Sync`.
///
/// ```
/// use warpfold::device::{Device, LaunchShape};
///
/// let device = Device::simulator();
/// let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }";
/// let module = device.load("nothing.ptx", ptx)?;
/// // SAFETY: the kernel does nothing.
/// unsafe { device.launch(&module.kernel("nothing")?, LaunchShape::linear(1, 32, 0), &[])? };
/// let error = module.kernel("something").unwrap_err();
/// assert_eq!(error.to_string(), "module nothing.ptx has no kernel something");
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    pub(super) core: Arc<Core>,
    pub(super) loaded: Arc<dyn LoadedModule>,
}

/// A kernel of a [`Module`]. A kernel keeps its module loaded, and is `Send` and `Sync`.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) core: Arc<Core>,
    pub(super) name: Arc<str>,
    pub(super) loaded: Arc<dyn LoadedKernel>,
}

impl Module {
    /// The kernel called `name`.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoKernel`] if the module has no kernel of that name.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        let loaded = Arc::clone(&self.loaded).kernel(name)?;
        Ok(Kernel { core: Arc::clone(&self.core), name: name.into(), loaded })
    }
}

impl Kernel {
    /// The name of the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of shared memory that each block has apart from dynamic shared memory.
    pub(crate) fn static_shared_bytes(&self) -> u32 {
        self.loaded.static_shared_bytes()
    }
}
