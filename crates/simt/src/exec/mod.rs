//! Execution: what runs a kernel.
//!
//! [`launch`] checks a launch and starts workers. Each worker runs the clusters of a [`grid`], a
//! [`cluster`] gives its [`block`]s turns, a block gives its [`warp`]s turns, and a warp interprets
//! instructions. Each layer calls the one below. What several layers need to see is in small
//! modules beside them: [`job`] is what a launch fixes, [`mod@env`] is what the warps of a block share,
//! [`memory`] is the device's memory.
//!
//! This module knows nothing of who observes a launch: it calls the trait
//! [`Observer`](observer::Observer), and the modules of `observe` implement the trait.

pub(crate) mod access;
pub(crate) mod copies;
pub(crate) mod env;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod observer;

pub(crate) mod config;

mod address;
mod asynchronous;
mod atomic;
mod block;
mod cluster;
mod cluster_state;
mod collective;
mod fill;
mod grid;
mod job;
mod livelock;
mod mapped;
mod raised;
mod random;
mod split;
mod stillness;
mod variables;
mod warp;
mod workspace;
