//! The building blocks of reduction kernels: device code for warpfold's kernels and for your own.
//!
//! A reduction is one type that implements [`Fold`] or, if its threads keep more than an
//! accumulator, [`Reduction`]. The type defines how one element, or 16 bytes of elements at once,
//! changes an accumulator, and how two accumulators are combined. Everything else is in this crate:
//! loads that keep memory busy, and the ways in which threads, warps and blocks combine their
//! accumulators in a single launch.
//!
//! # A kernel of your own
//!
//! ```
//! use warpfold_device::item::Pack;
//! use warpfold_device::source::One;
//! use warpfold_device::unroll::tree;
//! use warpfold_device::{Fold, Item};
//!
//! /// The sum of the elements that are above zero.
//! struct Gain;
//!
//! impl Fold for Gain {
//!     type Source = One<f32>;
//!     type Acc = f32;
//!     type Raw = f32;
//!
//!     fn identity() -> f32 {
//!         0.0
//!     }
//!     fn pack(acc: f32, pack: Pack) -> f32 {
//!         acc + tree(f32::PER_PACK, |i| Self::item(f32::element(pack, i)), |a, b| a + b)
//!     }
//!     fn item(item: f32) -> f32 {
//!         item.max(0.0)
//!     }
//!     fn combine(a: f32, b: f32) -> f32 {
//!         a + b
//!     }
//!     fn raw(acc: f32) -> f32 {
//!         acc
//!     }
//! }
//!
//! warpfold_device::unary! {
//!     // Kernel: element = reduction => raw result, loads in flight.
//!     gain_f32: f32 = Gain => f32, 8;
//! }
//!
//! // Packs can be folded on the host as well, so that an operation is tested without a GPU.
//! let pack = [1.0f32, -2.0, 3.0, -4.0].map(f32::to_bits);
//! assert_eq!(Gain::pack(0.5, pack), 4.5);
//! ```
//!
//! `cuda_builder` compiles such a crate to PTX. On the device every function should be
//! `#[inline(always)]`, because a call goes through memory.
//!
//! # Layers
//!
//! Each module knows only those above it:
//!
//! | module | contents |
//! |---|---|
//! | [`unroll`], [`words`] | loops with constant indices, and accumulators as 32-bit words |
//! | [`warp`] | combining the accumulators of a warp |
//! | [`key`], [`item`], [`source`] | types of elements, and the arrays that hold them |
//! | [`exp`] | the exponential function |
//! | [`Fold`], [`Reduction`] | the traits that define an operation |
//! | [`block`] | combining the accumulators of a block |
//! | [`grid_reduction`] | combining the accumulators of a grid |
//! | [`cut`] | how an input is divided into packs and what is outside of them |
//! | [`grid`], [`single`] | the skeletons: which elements a thread reads, and when |
//! | [`mod@rows`] | the skeleton that makes one result for each row of an array |
//! | [`mod@segments`] | the skeleton that makes one result for each segment of an array |
//! | [`mod@runs`] | the skeletons that find segments by keys, flags or lengths |
//! | [`mod@keyed`] | the skeleton that finds runs of keys and reduces their values |
//! | [`mod@bins`] | the skeletons that make one result for each of a few keys |
//! | [`op`], [`mod@exact`] | the operations that warpfold has |
//! | [`mod@exchange`] | the skeleton in which several devices combine their results |
//! | [`finish`] | what makes results of raw results on the device |
//! | [`made`] | reductions that make their results themselves |
//!
//! # The launch's contract
//!
//! A kernel of [`unary!`] takes `lines`, `chunk`, `full`, `rest`, `edges`, `keep`, `output` and
//! `slots`; a kernel of [`pairs!`] takes `left` and `right` instead of `lines`. The parameters that
//! follow the word `with` in a line of [`unary!`] come after all others. The input holds `n`
//! elements, at least one, and is aligned to its element. A *pack* is 16 bytes of the input; the
//! first pack begins at the input's first boundary of 16 bytes. The *line* is the boundary of 128
//! bytes at or before the first pack, and `skew` is the number of packs from there to the first
//! pack.
//!
//! - `lines` is the address of the line, which may lie before the input. For pairs the line is that
//!   of the left array, and `right` is as far from the right array as `left` is from the left one.
//! - Packs are counted from the line. Block `b` takes the packs from `b * chunk` to
//!   `(b + 1) * chunk` of those that there are; the first and the last block also take the elements
//!   outside of packs. A block may have no packs. `full` is the number of blocks whose chunks end
//!   before the last pack does or with it, and `rest` is the number of packs in the next chunk, so
//!   `full * chunk + rest` is `skew` and the number of packs added up.
//! - `chunk` is at least 8, is less than 2^31 minus 16 times the block size, and holds fewer than
//!   2^32 - 32 elements.
//! - `edges` has, from the lowest bit on: 4 bits for `skew`; 4 bits for the number of elements from
//!   the input's start to its first boundary of 16 bytes; 8 bits for the number of elements before
//!   the first pack, which is the same unless `n` is less; 8 bits for the number of elements after
//!   the last pack; and 8 bits that are 1 if `n` is 2^32 or more, else 0.
//! - The block is one-dimensional and has whole warps. The grid has at least as many blocks as
//!   chunks have packs, and at least one. `output` has space for one raw result.
//! - `keep`, more than 0 and at most 1, is the fraction of the input that the second-level cache is
//!   to keep.
//! - `slots` is aligned to 16 bytes and has, for each block, one 64-bit word for each 32-bit word
//!   of the accumulator ([`words`]). All are 0 before the launch, and 0 again after it. Launches
//!   that may overlap do not share slots. A grid of one block does not touch them.
//! - The blocks start in the order of their numbers, or at least two of them are resident at a
//!   time, because the last block waits for all others ([`grid_reduction`]).
//!
//! The same `n`, `chunk`, block size and alignment to 128 bytes give the same bits.
//!
//! ## A small input
//!
//! For the same input, a kernel whose name ends with `_single` gives the same bits as the kernel
//! above, if `n` is less than 2^32 and the grid is one block, in which no thread has more than
//! [`single::LOADS`] packs. It takes `first`, which is the address of the first pack, then `packs`,
//! which is their number, and then `edges` and `output` as above, of which it ignores `skew`. For
//! pairs it takes `left` and `right` instead of `first`, and both are aligned to 16 bytes.
//!
//! The result that a kernel writes is *raw*: a partial result that can be combined with others. The
//! program that reads it computes roots and quotients.

#![cfg_attr(target_os = "cuda", no_std)]
// Every device function is inlined, because a call goes through memory.
#![allow(clippy::inline_always)]

/// The README's example compiles too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod bins;
pub mod block;
pub mod cut;
mod entry;
pub mod exact;
pub mod exchange;
pub mod exp;
pub mod finish;
pub mod grid;
pub mod grid_reduction;
pub mod item;
pub mod key;
pub mod keyed;
pub mod made;
pub mod op;
mod reduction;
pub mod rows;
pub mod runs;
pub mod segments;
pub mod single;
pub mod source;
pub mod unroll;
pub mod warp;
pub mod words;

/// The device API below this crate, to which the macros expand.
pub use cuda_std;
#[doc(hidden)]
pub use pastey;

pub use self::item::Item;
pub use self::reduction::{Fold, Position, Reduction};
