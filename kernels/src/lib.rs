//! Reduction kernels in Rust: device code and nothing else.
//!
//! What is exported is in [`exports`]: tables of one line for each kernel. What they do is in [`ladder`] and [`access`];
//! what the ladder is made for, in [`element`] and [`op`]; the
//! production kernels, in [`reduce`].
//!
//! The sources are also valid for rust-cuda's compiler. On the host the crate compiles, and documents, but its kernels
//! panic when called: run them through the `warpfold` crate, on a GPU or on its simulator.

#![no_std]
// A device function that is not inlined is a call through memory.
#![allow(clippy::inline_always)]

pub mod access;
pub mod element;
pub mod exports;
pub mod ladder;
pub mod op;
pub mod transpose;
