//! simt

pub mod ptx;

mod access;
mod alu;
mod atomic;
mod block;
mod collective;
mod fault;
mod ir;
mod launch;
mod lower;
mod memory;
mod module;
mod observe;
mod registers;
mod warp;

pub use fault::{Access, Fault, FaultKind, Nearest, Space, Waiting};
pub use launch::{
    Arg, Dim3, LaunchConfig, LaunchError, MAX_BLOCK, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK, launch,
    launch_named,
};
pub use memory::{Memory, MemoryError};
pub use module::{Kernel, LoadError, Module, Param};
