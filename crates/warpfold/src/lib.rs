//! GPU reductions in pure Rust: on CUDA, or on a built-in SIMT simulator where there is no GPU.
//!
//! ```
//! use warpfold::{Device, Sum};
//!
//! let gpu = Device::auto()?; // a GPU if there is one, else the simulator
//! # let (buffer, mut out, stream) = (gpu.upload(&[1.5f32, 2.0, -0.25])?, gpu.alloc(1)?, gpu.stream()?);
//! let total: f32 = gpu.reduce(&buffer, Sum)?; // any number of elements, of 14 types
//! let plan = gpu.reducer::<f32, _>(Sum)?; // reusable: the kernel is loaded, the scratch allocated
//! plan.reduce_into(&buffer, &mut out, &stream)?; // asynchronous, without allocation, graph-capturable
//! # stream.synchronize()?;
//! # assert_eq!((total, out.copy_to_host()?), (3.25, vec![3.25]));
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! [`reducer`] has the operations and says what holds for all of them; [`device`] has buffers,
//! streams and graphs.
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `cuda` (default) | NVIDIA GPUs, through the driver's library, which is looked for at run time |
//! | `simulator` (default) | the built-in SIMT simulator |
//! | `cudarc` | slices and views of crates.io's [cudarc] 0.19 as [inputs](Input), and its streams |
//! | `cust-0_3` | buffers and slices of crates.io's [cust] 0.3 as inputs |
//! | `testing` | for tests: faults on demand, counters, checks |
//!
//! None but `cust-0_3` needs a CUDA toolkit to build. That one does, or the variable `CUDA_LIBRARY_PATH`, because
//! cust's build script asks for it; and a program with it links libcuda.
//!
//! cudarc has bindings for one version of CUDA. A program chooses it by a feature of its own dependency on cudarc, such
//! as `cuda-12080`. If nobody names a version, cudarc takes that of the toolkit that is installed, else the newest that
//! it knows. cudarc loads the driver's functions when they are first called, so that an older driver lacks only those
//! that are newer than the driver.
//!
//! [cudarc]: https://docs.rs/cudarc
//! [cust]: https://docs.rs/cust/0.3.2

#[cfg(not(any(feature = "cuda", feature = "simulator")))]
compile_error!("warpfold needs a device to run on: one of the features `cuda` and `simulator`");

pub mod device;
pub mod host_memory;
mod ptx;
pub mod reducer;
#[cfg(feature = "testing")]
pub mod testing;

/// The crate whose `f16` and `bf16` are types of elements.
pub use half;

pub use device::{
    Buffer, Device, DeviceError, Graph, PinnedBuffer, RawSlice, RawSliceMut, Stream, View, ViewMut,
};
pub use reducer::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum,
    CompensatedSum, CountNonzero, Dot, Error, Extremes, Indexed, Input, Item, Max, MaxAbs, Maximum,
    Min, MinMax, Minimum, Moments, Norm2, Operation, Product, Reducer, ReproducibleSum,
    SquaredDistance, Statistics, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
