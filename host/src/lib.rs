//! GPU reduction in pure Rust: on CUDA, or on a built-in SIMT simulator where there is no GPU.
//!
//! ```
//! use warpfold::{Device, Reducer, Sum};
//!
//! let gpu = Device::auto()?; // a GPU if there is one, else the simulator
//! # let (buffer, mut out, stream) = (gpu.upload(&[1.5f32, 2.0, -0.25])?, gpu.alloc(1)?, gpu.stream()?);
//! let total: f32 = gpu.reduce(&buffer, Sum)?; // any number of elements, of 14 types
//! let plan = Reducer::<f32, Sum>::new(&gpu)?; // reusable: the kernel is loaded, the scratch allocated
//! plan.reduce_into(&buffer, &mut out, &stream)?; // asynchronous, without allocation, graph-capturable
//! # stream.synchronize()?;
//! # assert_eq!((total, out.copy_to_host()?), (3.25, vec![3.25]));
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! [`reducer`] has the operations and says what holds for all of them; [`device`] has buffers, streams and graphs.
//!
//! Beside it stands the ladder of the CUDA lectures, which teaches how such a kernel comes about: [`variant`] lists its
//! kernels, [`launch`] plans their launches, [`reduce`] runs a plan on a [`device`] and checks the result against a CPU
//! [`reference`](mod@reference). On the simulator, [`profile`] counts what a rung does and says what it wastes.

pub mod access;
pub mod cli;
pub mod device;
pub mod element;
pub mod experiment;
pub mod explain;
mod host_memory;
pub mod input;
pub mod ladder;
pub mod launch;
pub mod op;
pub mod output;
pub mod profile;
pub mod ptx;
pub mod reduce;
pub mod reducer;
pub mod reference;
pub mod report;
pub mod transpose;
pub mod tune;
pub mod variant;

pub use device::{Buffer, Device, DeviceChoice, DeviceError, Graph, PinnedBuffer, RawSlice, Stream, View, ViewMut};
pub use reducer::{
    All, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, CheckedSum, CompensatedSum, Count, Dot,
    Error, Extremes, Indexed, Input, Item, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, Norm2, Operation,
    Product, Reducer, ReproducibleSum, SquaredDistance, Statistics, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
};

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The guide's chapter on the library: its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/library.md")]
struct Library;

/// And the one on how a reduction works.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/reducer.md")]
struct ProductionReducer;
