//! The skeleton of kernels that find runs of equal neighbouring keys and reduce their values, in
//! one launch that reads each key and each value once.
//!
//! *Tiles.* A block takes a tile of neighbouring keys with their values, and copies them to shared
//! memory. A lane has a few neighbouring elements of the tile. It goes through them once, and puts
//! what it knows of each run that ends there into shared memory, one run behind the other
//! (`tile.rs`). A scan over the lanes adds what lies before a lane. So the work for an element is
//! the same, however long the runs are.
//!
//! *Where the results go.* A run's place in the outputs is the number of runs before it. A block
//! tells the number of its tile's runs as soon as it has the keys. It writes the results of a tile
//! one tile later, when the numbers of all tiles before have come (`numbers.rs`). Meanwhile it
//! copies the next tile.
//!
//! *Runs that cross tiles.* A block leaves a record of what its tile knows of the runs that cross
//! its begin and its end. When no tile is left, blocks put the records of neighbouring tiles
//! together (`open.rs`).
//!
//! *Bits.* A float's sum depends on how the elements of a run are shared out to lanes and tiles. So
//! it depends on the elements of the run, in their order, and on the place of the run among the
//! keys, counted from the first key. It depends on nothing else. (D. Merrill and M. Garland,
//! "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA Technical Report
//! NVR-2016-002, has the idea of one pass. Its sums depend on which blocks have come how far.)
//!
//! # The launch's contract
//!
//! A kernel of [`keyed!`](crate::keyed!) takes `input`, `output`, and the fields of [`Keys`] and
//! [`Outputs`], then `words`.
//!
//! - There are as many values as keys, at least one. Both are aligned to their elements. There are
//!   less than 2^48 keys.
//! - The operation does not use the positions of elements.
//! - The block has [`THREADS`] threads, and the [dynamic shared memory](shared_bytes) of the launch
//!   is that of the tile. The grid has any number of blocks. More than one for each tile and one
//!   for each [`THREADS`] tiles find no work.
//! - Each output but the last has a place for each key, and the offsets have one more.
//! - `words` has [so many](words) 64-bit words. All are 0 before the launch, and 0 again after it.
//!   Launches that may overlap do not share words.
//! - If the grid has a block for each tile and for each [`THREADS`] tiles, the blocks start in the
//!   order of their numbers, because each block waits for lower ones. Otherwise the order does not
//!   matter.

mod numbers;
mod open;
mod tile;

use crate::Reduction;
use crate::runs::{Bits, write_offset};
use crate::source::OneArray;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use core::mem::MaybeUninit;
use cuda_std::ext::{control, copy, grid};
use cuda_std::{address_space, thread};
use numbers::{Workspace, block_sum};
use open::Record;
use tile::{Lane, Layout};

/// Threads of a block.
pub const THREADS: u32 = 160;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// How many elements a lane has of a tile, with keys and values of so many bytes: as many as there
/// are registers and shared memory for. Twelve of 4 bytes, and six or ten of 8 bytes, are an odd
/// number of packs, so that neighbouring lanes read different banks. (bench/NOTEBOOK.md, attempt
/// 130.)
#[must_use]
pub const fn items(key: usize, value: usize) -> u32 {
    match (key, value) {
        (..=4, _) => 12,
        (_, ..=4) => 6,
        _ => 10,
    }
}

/// Bytes of dynamic shared memory for keys, values and accumulators of so many bytes.
#[must_use]
pub const fn shared_bytes(key: usize, value: usize, acc: usize) -> usize {
    (THREADS * items(key, value)) as usize * (2 * key + value + acc + size_of::<u16>())
}

/// The number of 64-bit words of the workspace for so many tiles and accumulators of so many words.
#[must_use]
pub const fn words(tiles: u32, acc_words: usize) -> usize {
    Workspace::words(tiles, acc_words)
}

/// The thread that joins the parts of runs that cross warps: one of the last warp, because the
/// first one has other work at that time.
const LAST: u32 = THREADS - WARP;

/// In place of the number of a tile: there is none.
const NONE: u32 = u32::MAX;

/// The number of the runs that begin in the elements of each warp.
#[address_space(shared)]
static mut COUNTS: [MaybeUninit<u32>; WARPS] = [const { MaybeUninit::uninit() }; WARPS];

/// The share of each warp in a sum over the block.
#[address_space(shared)]
static mut SHARES: [MaybeUninit<u32>; WARPS] = [const { MaybeUninit::uninit() }; WARPS];

/// The number of the block's next tile.
#[address_space(shared)]
static mut TICKET: MaybeUninit<u32> = MaybeUninit::uninit();

/// The keys of a launch.
#[derive(Clone, Copy)]
pub struct Keys {
    /// The first key.
    pub source: *const u8,
    /// 2 to this number are the bytes of a key: 1 to 8.
    pub log: u32,
    /// The number of keys.
    pub count: u64,
}

/// Where all but the results goes.
#[derive(Clone, Copy)]
pub struct Outputs {
    /// The first key of each run.
    pub unique: *mut u8,
    /// Where each run begins, and behind these the number of keys.
    pub offsets: *mut u32,
    /// 2 to this number are the bytes of an offset: 4 or 8.
    pub log: u32,
    /// The number of runs.
    pub runs: *mut u64,
}

/// Reduces the values of runs. This is the whole body of a kernel that [`keyed!`](crate::keyed!)
/// stamps out.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract).
#[inline(always)]
pub unsafe fn keyed<S: OneArray, R: Reduction<Source = S>>(
    input: S,
    output: *mut R::Raw,
    keys: Keys,
    out: Outputs,
    words: *mut u64,
) {
    grid::launch_dependents();
    grid::wait_for_dependencies();
    let ticket = (&raw mut TICKET).cast::<u32>();
    // SAFETY: the caller's contract.
    unsafe {
        let (workspace, job) = match keys.log {
            0 => reduce::<u8, S, R>(input, output, keys, out, words),
            1 => reduce::<u16, S, R>(input, output, keys, out, words),
            2 => reduce::<u32, S, R>(input, output, keys, out, words),
            _ => reduce::<u64, S, R>(input, output, keys, out, words),
        };
        open::close::<R>(workspace, job, ticket, output, input);
    }
}

/// A tile whose results are in shared memory and wait for the numbers of the tiles before.
#[derive(Clone, Copy)]
struct Waiting {
    /// The tile's number.
    tile: u32,
    /// The number of runs that begin in the tile.
    count: u32,
}

/// Reduces the values of runs of keys of type `K`, except what crosses tiles. Returns the
/// workspace, and the block's first job that is no tile.
///
/// # Safety
/// That of [`keyed`].
#[inline(always)]
unsafe fn reduce<K: Bits, S: OneArray, R: Reduction<Source = S>>(
    input: S,
    output: *mut R::Raw,
    keys: Keys,
    out: Outputs,
    words: *mut u64,
) -> (Workspace, u32) {
    let tid = thread::thread_idx_x();
    let layout = Layout::<K, S::Element, R::Acc>::new();
    let whole = Layout::<K, S::Element, R::Acc>::TILE;
    let source = keys.source.cast::<K>();
    let workspace = Workspace { words, tiles: keys.count.div_ceil(whole.into()) as u32 };
    let (counts, ticket) = ((&raw mut COUNTS).cast::<u32>(), (&raw mut TICKET).cast::<u32>());
    // The tile that has been copied, and the one whose results wait. In the first turn there is
    // neither, but only the one behind.
    let mut next = NONE;
    let mut waiting = Waiting { tile: NONE, count: 0 };
    // The runs of the tiles up to `seen` are added up.
    let (mut before, mut seen) = (0, 0);
    // SAFETY: barriers separate the threads that write shared memory from those that read it. All
    // branches around collective calls are the same in all threads of the block. The rest is the
    // launch's contract.
    unsafe {
        let mut after = workspace.first_ticket(ticket);
        // The tile behind that, which thread 0 has asked for. The answer takes its time.
        let mut claimed = NONE;
        loop {
            control::keep_rolled();
            // Without this the compiler makes a copy of the loop for each of its turns.
            let is_next = control::opaque(next) < workspace.tiles;
            let first = u64::from(next) * u64::from(whole);
            let mut lane = Lane::<K, S>::empty(input);
            if is_next {
                // The first thread looks at the key before the tile.
                let mut last = K::Word::default();
                if tid == 0 && next > 0 {
                    last = source.wrapping_add(first as usize - 1).read().word();
                }
                copy::wait();
                thread::sync_threads();
                lane = layout.lane(input, last, keys.count - first, next == 0);
                lane.count_in(counts);
                if tid == 0 {
                    *ticket = claimed;
                }
            }
            thread::sync_threads();
            let (mut rank, mut count) = (0, 0);
            if is_next {
                (rank, count) = lane.rank(counts);
                after = *ticket;
                if tid == 0 {
                    workspace.give(next, count);
                }
            }
            if after < workspace.tiles {
                layout.stage(source, input.address(), keys.count, after);
                if tid == 0 {
                    claimed = workspace.ticket();
                }
            }
            if control::opaque(waiting.tile) < workspace.tiles {
                let Waiting { tile, count } = waiting;
                let first = u64::from(tile) * u64::from(whole);
                let mut ends = [R::identity(); 2];
                if tid == LAST {
                    ends = layout.join::<R>(count, keys.count - first < whole.into());
                }
                let shares = (&raw mut SHARES).cast();
                before += block_sum(workspace.between(seen, tile), shares);
                seen = tile;
                layout.write::<R>(count, before, first, output, out, input);
                if tid == LAST {
                    Record { before, count, ends }.leave(workspace, tile);
                    if tile == workspace.tiles - 1 {
                        let runs = before + u64::from(count);
                        out.runs.write(runs);
                        write_offset(out.offsets, out.log, runs, keys.count);
                    }
                }
            }
            if is_next {
                thread::sync_threads();
                layout.reduce::<S, R>(&lane, rank);
                waiting = Waiting { tile: next, count };
            } else if after >= workspace.tiles {
                return (workspace, after);
            }
            next = after;
        }
    }
}

/// Writes the result of a run.
///
/// # Safety
/// The output has a place for it.
#[inline(always)]
unsafe fn write<R: Reduction>(acc: R::Acc, output: *mut R::Raw, run: u64, source: R::Source) {
    // SAFETY: the caller's contract. No operation for runs uses a workspace.
    unsafe { R::write(acc, output, run, crate::rows::index, source, core::ptr::null_mut()) };
}

/// The accumulator of the lane `distance` lanes before this one, or of this one if there is none.
///
/// # Safety
/// The whole warp calls this.
#[inline(always)]
unsafe fn shuffle_up<A: Words>(acc: A, distance: u32) -> A {
    let words = acc.to_words();
    // SAFETY: the caller brings the whole warp.
    let shuffle =
        |word| unsafe { cuda_std::warp::warp_shuffle_up(u32::MAX, word, distance, WARP).0 };
    A::from_words(&|i| shuffle(words[i]))
}

/// The reduction of what comes before each lane's own end, from the last lane on that has a head. A
/// lane has a head if its bit in `heads` is set, and `acc` is what it has from there on.
///
/// # Safety
/// The whole warp calls this.
#[inline(always)]
unsafe fn scan<R: Reduction>(acc: R::Acc, heads: u32) -> R::Acc {
    let lane = thread::thread_idx_x() % WARP;
    let until = heads & (u32::MAX >> (WARP - 1 - lane));
    // Without a head, the scan begins at lane 0.
    let begin = if until == 0 { 0 } else { WARP - 1 - until.leading_zeros() };
    let mut scan = acc;
    each(WARP.ilog2() as usize, |step| {
        let distance = 1 << step;
        // SAFETY: the caller brings the whole warp.
        let lower = unsafe { shuffle_up(scan, distance) };
        if lane >= begin + distance {
            scan = R::append(lower, scan);
        }
    });
    scan
}
