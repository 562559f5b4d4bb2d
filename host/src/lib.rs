//! GPU reduction in pure Rust: sum, minimum, maximum and product of any number of elements, on CUDA or on a built-in
//! SIMT simulator.
//!
//! [`variant`] is the ladder of kernels, [`launch`] plans their launches, [`reduce`] runs a plan on a [`device`] and
//! checks the result against a CPU [`reference`](mod@reference). On the simulator, [`profile`] counts what a rung does and
//! says what it wastes.

pub mod access;
pub mod cli;
pub mod device;
pub mod element;
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
    Product, Reducer, SquaredDistance, Statistics, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
};

/// The guide's chapter on the library: its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/library.md")]
struct Library;

/// And the one on how a reduction works.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/reducer.md")]
struct ProductionReducer;
