//! What warpfold's commands share: [arrays] in files and pipes, [exact sums](exact) to check others
//! against, and the [manners](terminal) of a command-line tool.
//!
//! This crate knows nothing of GPUs and reductions.

pub mod arrays;
pub mod exact;
pub mod terminal;
