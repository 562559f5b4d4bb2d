//! Execution of kernels.
//!
//! [`launch`] checks a launch and starts workers. Each worker runs the clusters of a [`grid`], a
//! [`cluster`] gives its [`block`]s turns, a block gives its [`warp`]s turns, and a warp interprets
//! instructions. Each layer calls the one below. The state that several layers need is in small
//! modules beside them: [`job`] holds the facts that a launch fixes, [`mod@env`] holds the state
//! that the warps of a block share, and [`memory`] is the device's memory.
//!
//! This module does not know who observes a launch: it calls the trait
//! [`Observer`](observer::Observer), and the modules of `observe` implement the trait.

pub(crate) mod access;
pub(crate) mod collective;
pub(crate) mod copies;
pub(crate) mod env;
pub(crate) mod exchange;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod observer;

pub(crate) mod config;

mod address;
mod asynchronous;
mod atomic;
mod block;
pub(crate) mod block_id;
mod cluster;
mod cluster_state;
mod fill;
mod grid;
mod job;
mod livelock;
mod mapped;
mod print;
mod raised;
mod random;
mod split;
mod stillness;
mod tickets;
pub(crate) mod variables;
mod warp;
mod workspace;
