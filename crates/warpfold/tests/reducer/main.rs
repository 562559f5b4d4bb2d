//! The production reducer, on every available device. Each operation over each type is compared
//! with plain Rust, for inputs in every kind of place and for every way to call it.

// The tests compare exact results.
#![allow(clippy::float_cmp)]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod cases;
mod combined;
mod comparisons;
mod exponentials;
mod floats;
mod host;
mod integers;
mod nans;
mod random;
mod special;
