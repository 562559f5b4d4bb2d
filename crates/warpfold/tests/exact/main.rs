//! Exact sums of whole arrays, rows and segments, on every available device.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/seed.rs"]
mod seed;

mod elements;
mod host;
mod reference;
mod rows;
mod segments;
mod whole;
