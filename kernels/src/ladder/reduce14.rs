//! Rung 14: bulk copies into shared memory (sm_90).
//!
//! CUDA C++ Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator"; PTX
//! ISA, "cp.async.bulk", "mbarrier". One thread of a block asks the copy engine for tiles of 8 KiB,
//! `STAGES` of them in advance. Each tile has a barrier that counts the bytes that have come. All
//! threads wait for a tile and combine it; then its space is free. A copy starts at a multiple of
//! 16 bytes; the elements before the first whole tile and after the last are read as usual.
//!
//! What it teaches: keeping memory busy takes neither many threads nor many registers, but only
//! many bytes under way.

use super::block::block_reduce;
use super::reduce9::elements_to_boundary;
use crate::element::{Element, Pack};
use crate::op::Op;
use cuda_std::ext::mbarrier::Barrier;
use cuda_std::ext::{bulk, mbarrier};
use cuda_std::{shared, thread};

/// The number of bytes in a tile.
const TILE: usize = 8 << 10;

/// One partial result for each block, whatever the grid and the alignment of the input.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)). Dynamic shared memory holds `STAGES` tiles of 8
/// KiB and 8 bytes for each, and then one element for each warp. `STAGES` is a power of two.
#[inline(always)]
pub unsafe fn reduce14<T: Element, O: Op<T>, const STAGES: usize>(
    input: *const T,
    output: *mut T,
    n: usize,
) {
    let tiles = shared::dynamic_shared_mem::<u8>();
    let tid = thread::thread_idx_x() as usize;
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let threads = thread::block_dim_x() as usize;

    let head = elements_to_boundary(input, n);
    let tile_count = (n - head) / (TILE / size_of::<T>());

    // SAFETY: tiles lie within the input, on a boundary. A tile's space is filled after all threads
    // have read it (the barrier of the block), and it is read after it is filled (its own barrier).
    // The rest is as in rungs 8 and 9.
    unsafe {
        let barriers =
            shared::dynamic_shared_mem::<Barrier>().add(STAGES * TILE / size_of::<Barrier>());
        let slots = barriers.add(STAGES).cast::<T>();
        let source = input.add(head).cast::<u8>();
        let fill = |stage: usize, tile: usize| {
            let barrier = barriers.add(stage);
            mbarrier::arrive_expect(barrier, TILE as u32);
            bulk::copy_to_shared(
                tiles.add(stage * TILE),
                source.add(tile * TILE),
                TILE as u32,
                barrier,
            );
        };

        if tid == 0 {
            let mut stage = 0;
            while stage < STAGES {
                mbarrier::init(barriers.add(stage), 1);
                stage += 1;
            }
            mbarrier::fence_async();
            let mut stage = 0;
            while stage < STAGES && block + stage * blocks < tile_count {
                fill(stage, block + stage * blocks);
                stage += 1;
            }
        }
        // All threads may now use the barriers.
        thread::sync_threads();

        let mut sum = outside_tiles::<T, O>(input, head, tile_count * (TILE / size_of::<T>()), n);
        let mut tile = block;
        let mut round = 0;
        while tile < tile_count {
            let stage = round % STAGES;
            mbarrier::wait(barriers.add(stage), (round / STAGES % 2) as u32);

            let packs = tiles.add(stage * TILE).cast::<T::Pack>();
            let mut i = tid;
            while i < TILE / size_of::<T::Pack>() {
                sum = (*packs.add(i)).fold::<O>(sum);
                i += threads;
            }
            thread::sync_threads();

            let next = tile + STAGES * blocks;
            if tid == 0 && next < tile_count {
                fill(stage, next);
            }
            tile += blocks;
            round += 1;
        }

        let sum = block_reduce::<T, O>(slots, sum);
        if tid == 0 {
            *output.add(block) = sum;
        }
    }
}

/// Combines the thread's part of the elements before and after the tiles. The grid strides over
/// them.
///
/// # Safety
/// `input` holds `n` elements, of which `tiled` from `head` on are in tiles.
#[inline(always)]
unsafe fn outside_tiles<T: Element, O: Op<T>>(
    input: *const T,
    head: usize,
    tiled: usize,
    n: usize,
) -> T {
    let grid_size = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    let mut sum = O::IDENTITY;
    while i < n - tiled {
        let element = if i < head { i } else { i + tiled };
        // SAFETY: `element` is below `n`.
        sum = O::combine(sum, unsafe { *input.add(element) });
        i += grid_size;
    }
    sum
}
