//! The largest launch that is simulated.

use crate::dim::Dim3;

/// The greatest number of threads of a block.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The greatest extent of a block along each axis.
pub const MAX_BLOCK: Dim3 = Dim3 { x: 1024, y: 1024, z: 64 };
/// The greatest extent of a grid along each axis.
pub const MAX_GRID: Dim3 = Dim3 { x: i32::MAX as u32, y: 65535, z: 65535 };
/// The greatest number of blocks of a cluster. Every GPU with clusters allows 8; some allow 16 if a
/// kernel opts in, which is not simulated.
pub const MAX_CLUSTER: u32 = 8;
/// The greatest size of a block's shared memory in bytes, static and dynamic together. It is the
/// limit of compute capability 9.0.
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;
