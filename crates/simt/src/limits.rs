//! The largest launch that is simulated.

use crate::dim::Dim3;

/// Threads of a block, at most.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The shape of a block, at most.
pub const MAX_BLOCK: Dim3 = Dim3 { x: 1024, y: 1024, z: 64 };
/// The shape of a grid, at most.
pub const MAX_GRID: Dim3 = Dim3 { x: i32::MAX as u32, y: 65535, z: 65535 };
/// Blocks of a cluster, at most: what every GPU with clusters takes. (16 have to be asked for on some.)
pub const MAX_CLUSTER: u32 = 8;
/// Shared memory of a block in bytes, static and dynamic together, at most: that of compute capability 9.0.
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;
