//! Reduction kernels in Rust. This crate has device code only.
//!
//! [`exports`] lists the kernels, which are products of rungs, operations and types. The code of
//! the kernels is in [`ladder`], [`rows`], [`access`] and [`transpose`]; the types and operations
//! of the first two are in [`element`] and [`op`]. The production kernels are built from the crate
//! `warpfold_device`.
//!
//! The sources are also valid for rust-cuda's compiler. On the host the crate compiles and is
//! documented, but its kernels panic when they are called: run them through the `warpfold` crate,
//! on a GPU or on its simulator.

#![no_std]
// Every device function is inlined, because a call goes through memory.
#![allow(clippy::inline_always)]

pub mod access;
pub mod element;
pub mod exports;
pub mod ladder;
pub mod op;
pub mod rows;
pub mod transpose;
