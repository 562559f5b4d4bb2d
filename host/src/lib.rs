//! The laboratory beside the library [`warpfold`]: the ladder of the CUDA lectures on reduction,
//! which teaches how a fast kernel comes about.
//!
//! [`variant`] lists the ladder's kernels, [`launch`] plans their launches, [`reduce`] runs a plan
//! on a [`device`] and checks the result against a CPU [`reference`](mod@reference). On the
//! simulator, [`profile`] counts the work of a rung and says how much of it is wasted. [`rows`],
//! [`transpose`] and [`access`] do the same for rows and columns, for matrix transposition, and for
//! patterns of memory access. [`explain`] and [`requests`] draw the lectures' pictures from traces.

pub mod access;
pub mod cli;
pub mod device;
pub mod element;
pub mod experiment;
pub mod explain;
pub mod input;
pub mod ladder;
pub mod launch;
pub mod levels;
pub mod op;
pub mod output;
pub mod profile;
pub mod ptx;
pub mod reduce;
pub mod reference;
pub mod report;
pub mod requests;
pub mod rows;
pub mod transpose;
pub mod tune;
pub mod variant;

pub use warpfold::host_memory;

/// The README: its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The guide's chapter on the library: its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/library.md")]
struct Library;

/// The guide's chapter on how a reduction works: its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/reducer.md")]
struct ProductionReducer;

/// The guide's chapter on the levels at which partial results meet: its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../guide/src/levels.md")]
struct Levels;
