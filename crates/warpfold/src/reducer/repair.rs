//! The second launch of exact sums of rows and segments, which sums again where the first one has
//! no proof: `warpfold_device::exact::repair`.

use crate::device::{Device, LaunchShape, WORKSPACE_BYTES};

/// Threads of a block. `warpfold_device::exact::repair::THREADS`.
const THREADS: u32 = 256;
/// The least elements of a chunk. `warpfold_device::exact::repair::LEAST_CHUNK`.
const LEAST_CHUNK: u64 = 1 << 16;
/// The most elements that one launch takes, because otherwise a cell might overflow.
pub(super) const MOST_ELEMENTS: u64 = 1 << 42;
/// Blocks for each multiprocessor. Mostly there is nothing to do, and then few blocks end sooner.
const BLOCKS: u64 = 2;
/// The words of an accumulator in the first launch: `warpfold_device::exact::expansion`.
pub(super) const WORDS: u64 = 7;
/// The number of the word that says whether there is a mark.
/// `warpfold_device::exact::repair::MARKED`.
const MARKED: u64 = WORKSPACE_BYTES / 8 - 2;

// The slots of the first launch are as many as fit into the workspace, without that word.
const _: () = assert!(WORKSPACE_BYTES / 8 / WORDS * WORDS <= MARKED);

/// The launch shape for so many elements.
pub(super) fn shape(elements: u64, device: &Device) -> LaunchShape {
    let most = u64::from(device.class().multiprocessors()) * BLOCKS;
    let blocks = elements.div_ceil(LEAST_CHUNK).clamp(1, most);
    LaunchShape::linear(blocks as u32, THREADS, 0).in_sequence()
}
