//! GPU reductions in pure Rust: on CUDA, or on a built-in SIMT simulator where there is no GPU.
//!
//! ```
//! use warpfold::{Device, Sum};
//!
//! let gpu = Device::auto()?; // a GPU if there is one, else the simulator
//! let buffer = gpu.upload(&[1.5f32, 2.0, -0.25])?;
//! // One call reduces any number of elements, which have one of 14 types.
//! let total: f32 = gpu.reduce(&buffer, Sum)?;
//! assert_eq!(total, 3.25);
//!
//! // A reducer is for many calls: its kernel is loaded, and its memory is allocated.
//! let sum = gpu.reducer::<f32, _>(Sum)?;
//! let (mut output, stream) = (gpu.alloc(1)?, gpu.stream()?);
//! // This call allocates nothing and does not wait, so a graph can capture it.
//! sum.reduce_into(&buffer, &mut output, &stream)?;
//! stream.synchronize()?;
//! assert_eq!(output.copy_to_host()?, [3.25]);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! The module [`reducer`] has the operations, and its documentation states the rules that hold for
//! all of them. The module [`device`] has buffers, streams and graphs. The devices of one process
//! are a [`Group`], and those of several processes [`Ranks`], which meet by a [`rendezvous`].
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `cuda` (default) | NVIDIA GPUs; a program looks for the driver's library when it runs |
//! | `simulator` (default) | the built-in SIMT simulator |
//! | `cudarc` | slices and views of crates.io's [cudarc] 0.19 as [inputs](Input), and its streams |
//! | `cust-0_3` | buffers and slices of crates.io's [cust] 0.3 as inputs |
//! | `testing` | tools for tests: planned failures, counters and checks |
//!
//! Only the feature `cust-0_3` needs a CUDA toolkit to build, or the environment variable
//! `CUDA_LIBRARY_PATH` instead, because cust's build script asks for one of them. A program with
//! this feature links libcuda; all other programs find it when they run.
//!
//! cudarc has bindings for one version of CUDA. A program chooses the version by a feature of its
//! own dependency on cudarc, such as `cuda-12080`. If no feature names a version, cudarc takes the
//! version of the toolkit that is installed or, without a toolkit, the newest version that it
//! knows. cudarc loads each function of the driver when it is first called. So with an older
//! driver, a program fails only if it calls a function that this driver lacks.
//!
//! [cudarc]: https://docs.rs/cudarc
//! [cust]: https://docs.rs/cust/0.3.2

#[cfg(not(any(feature = "cuda", feature = "simulator")))]
compile_error!("warpfold needs a device to run on: one of the features `cuda` and `simulator`");

pub mod device;
pub mod host_memory;
mod ptx;
pub mod reducer;
pub mod rendezvous;
#[cfg(feature = "testing")]
pub mod testing;

/// The crate whose `f16` and `bf16` are types of elements.
pub use half;

pub use device::{
    Buffer, Device, DeviceError, Graph, PinnedBuffer, RawSlice, RawSliceMut, Stream, View, ViewMut,
};
pub use reducer::{
    All, AllReducer, AllRowReducer, AllWhere, Any, AnyWhere, ArgMax, ArgMaximum, ArgMin,
    ArgMinimum, Array, Arrays, ArraysOperation, BinCounter, BinKey, BinOperation, BinReducer,
    BinStatus, BitAnd, BitOr, BitXor, BottomK, CheckedSum, CompensatedSum, CountNan, CountNonzero,
    CountWhere, DeviceArrays, Dot, Error, ExpSum, Extremes, Group, GroupGraph, GroupReducer,
    Indexed, Input, Is, Item, Key, KeyRuns, LogSumExp, MadeOperation, MadeReducer, MadeResult,
    MadeRowReducer, Make, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, NanMean, NanSum,
    Norm2, Numbers, Offset, Operation, Partial, Product, RankError, RankReducer, RankRowReducer,
    RankTransport, Ranked, Ranks, Reducer, ReproducibleSum, RowOperation, RowReducer, RunReducer,
    Runs, SegmentOperation, SegmentReducer, SegmentStatus, SoftmaxStats, SquaredDistance,
    Statistics, StridedOutput, StridedRowReducer, Sum, SumAbs, SumSquares, TopK, Transport,
    TreeOperation, TreeReducer, Whole, WideSum, WrappingSum, even_ranges,
};

pub use rendezvous::{FileRendezvous, Rendezvous, RendezvousError, TcpRendezvous};

/// Makes the example in the README a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
