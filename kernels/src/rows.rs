//! Reductions of a matrix to one result for each row, or for each column.
//!
//! A reduction with one result has one question: how do all threads work together. With many
//! results there is another one: how many threads share a row. Each file gives one answer, and is
//! right for rows of some lengths and wasteful for others.
//!
//! # The launch's contract
//!
//! - grid and block are one-dimensional, and the block is a multiple of 32 threads;
//! - `input` holds `rows * cols` elements, one row after the other. `output` holds one element for
//!   each result. Both are aligned and do not overlap;
//! - the grid has a thread, a warp or a block for each result, as the kernel demands;
//! - the kernel with a block for each row gets dynamic shared memory for one element a warp.

pub mod block;
pub mod column;
pub mod thread;
pub mod warp;
