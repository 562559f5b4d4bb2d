//! Reduction kernels in Rust: device code and nothing else.
//!
//! [`exports`] says which kernels there are: products of rungs, operations and types. What the
//! kernels do is in [`ladder`], [`access`] and [`transpose`], and what the ladder is made for in
//! [`element`] and [`op`]. The production kernels are made of the crate `warpfold_device`.
//!
//! The sources are also valid for rust-cuda's compiler. On the host the crate compiles, and
//! documents, but its kernels panic when called: run them through the `warpfold` crate, on a GPU or
//! on its simulator.

#![no_std]
// A device function that is not inlined is a call through memory.
#![allow(clippy::inline_always)]

pub mod access;
pub mod element;
pub mod exports;
pub mod ladder;
pub mod op;
pub mod transpose;
