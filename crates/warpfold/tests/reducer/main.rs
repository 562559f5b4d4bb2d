//! The production reducer, on every device that is there: each operation over each type against plain Rust, wherever its
//! elements lie and however it is called.

// Exact results are what is tested.
#![allow(clippy::float_cmp)]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod cases;
mod floats;
mod host;
mod integers;
mod random;
mod special;
