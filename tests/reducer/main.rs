//! The production reducer, on every device that is there: each operation over each type against plain Rust, wherever its
//! elements lie and however it is called.

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod cases;
mod floats;
mod host;
mod integers;
mod random;
mod special;
