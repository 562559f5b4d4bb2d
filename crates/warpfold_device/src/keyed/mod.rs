//! The skeleton of kernels that reduce the values of runs of equal neighbouring keys, and also find
//! these runs.
//!
//! *Windows.* A block takes a window of neighbouring keys. Each of its warps finds out which keys
//! of a fourth of the window begin runs, and the block gives the number of all these runs to a
//! block that adds them up (`adder.rs`). The keys stay in shared memory, because the first key of
//! each run is written when its number is known. Registers would have room for fewer keys, and many
//! keys must be under way to keep the memory busy.
//!
//! *Tiles.* The runs that begin in the fourth of a warp are one tile, whose values the warp copies
//! to shared memory. They are reduced as short segments are ([`segments`](mod@crate::segments)), so
//! a run has the bits of a row of the same elements.
//!
//! *What is left over.* The last run of a tile is left over if it ends too far behind the fourth of
//! its warp. A window of long runs is left over as a whole, because another kernel is faster there.
//! The window's [record](records) says what is left over. A kernel of [`left!`](crate::left!) takes
//! the records and reduces these runs. It is that of segments, whose ranges are the windows, or
//! several neighbouring ones.
//!
//! *Turns.* In a large array a block takes one window after the other, and two of them are under
//! way in it: it finds the runs of the next one, before it asks for the number of the runs of this
//! one and reduces them. So it need not wait for this number, and the keys and values of one window
//! arrive while those of the other are used. A block takes a window only when it has the number of
//! the one before. If blocks waited for numbers while they have windows whose runs nobody has found
//! yet, they would wait for each other one by one. (bench/NOTEBOOK.md, attempt 121.)
//!
//! # The launch's contract
//!
//! A kernel of [`keyed!`](crate::keyed!) takes `input`, `output`, and the fields of [`Keys`] and
//! [`Outputs`], then `words`.
//!
//! - There are as many values as keys, at least two, and less than 2^62. Both are aligned to their
//!   elements.
//! - A window has 2^9 to [`MOST`] keys, not more than [`BYTES`] of them, and not more than
//!   [`BYTES`] of values.
//! - The block has [`THREADS`] threads. The grid has at least two blocks, and at most one more than
//!   there are windows.
//! - Each output but the last has a place for each key, and the offsets have one more.
//! - `words` has [two 64-bit words](records::WORDS) for each window, and one more. All are 0 before
//!   the launch, and hold the records after it.
//! - The blocks start in the order of their numbers, or at least two of them are resident at a
//!   time, because each block waits for block 0, and that waits for all windows in their order.
//!
//! A kernel of [`left!`](crate::left!) takes `input`, `output`, `slots`, the fields of
//! [`Records`](records::Records), then `offsets`, `log`, `elements`, `task` and `width`. 2 to the
//! power of `width` are the bytes of the values of a group of windows, of which a task has `task`
//! tiles: 1, or as many as the group. The grid has so many warps that none takes more than 32
//! windows. The rest is the contract of [segments](mod@crate::segments#the-launchs-contract) with a
//! range for each group. All words are 0 after the launch.

mod adder;
mod heads;
pub mod records;
mod taken;

use crate::Reduction;
use crate::rows::{LINE, PACK, TILE_BYTES, padded};
use crate::segments::short::Neighbours;
use crate::segments::tile::{Staged, Tile};
use crate::source::OneArray;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control, copy, grid};
use cuda_std::{address_space, thread, warp};
use taken::{Taken, Tiled};

/// Threads of a block.
pub const THREADS: u32 = 128;

/// The most keys of a window.
pub const MOST: u32 = 2048;

/// The most bytes of the keys of a window, and of its values.
pub const BYTES: u32 = 1 << 13;

/// How far behind a window the block looks for the end of the last run, in bytes of keys and in
/// keys.
const BYTES_BEHIND: u32 = 4 * LINE;
const KEYS_BEHIND: u32 = WARPS * WARP;

/// The most bytes of a tile: those of a fourth of a window, and some behind it.
const BYTES_OF_TILE: u32 = BYTES / WARPS + 4 * LINE;

// Each run of a tile has at most a warp's parts.
const _: () = assert!(BYTES_OF_TILE <= TILE_BYTES);

/// A window whose runs are longer on average is left over as a whole.
const MOST_MEAN: u32 = 128;

/// The most runs of a warp.
const MOST_OF_WARP: usize = (MOST / WARPS) as usize;

/// The most runs of two packs or more of a warp.
const LONGER: usize = (BYTES_OF_TILE / (2 * PACK)) as usize;

/// How many runs a lane writes without a branch back.
const WRITES: usize = 4;

/// Warps of a block.
const WARPS: u32 = THREADS / WARP;

/// Packs of shared memory for the keys of a window, for one before it and for those known behind
/// it.
const KEYS: usize = ((BYTES + BYTES_BEHIND) / PACK) as usize + 2;

/// Packs of shared memory for a tile, which may begin anywhere in a line.
const VALUES: usize = (padded(BYTES_OF_TILE + LINE) / PACK) as usize;

/// What a block keeps in shared memory.
#[repr(C)]
struct Shared {
    /// The keys of two windows, which begin in packs.
    keys: [[MaybeUninit<u128>; KEYS]; 2],
    warps: [OfWarp; WARPS as usize],
    /// The number of the next window.
    next: MaybeUninit<u32>,
}

/// What a warp keeps in shared memory.
#[repr(C)]
struct OfWarp {
    /// The values of a tile.
    values: [MaybeUninit<u128>; VALUES],
    /// Where the runs begin, counted from the first one on, and where the last one ends.
    places: [MaybeUninit<u16>; MOST_OF_WARP + 8],
    /// The numbers of the longer runs.
    longer: [MaybeUninit<u16>; LONGER + 4],
}

#[address_space(shared)]
static mut SHARED: MaybeUninit<Shared> = MaybeUninit::uninit();

/// The keys of a launch.
#[derive(Clone, Copy)]
pub struct Keys {
    /// The first key.
    pub source: *const u8,
    /// 2 to this number are the bytes of a key: 1 to 16.
    pub log: u32,
    /// The number of keys.
    pub count: u64,
    /// 2 to this number are the keys of a window.
    pub window: u32,
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

/// The keys that a block takes.
#[derive(Clone, Copy)]
struct Window {
    /// The number of the window.
    number: u32,
    /// The number of the first key.
    first: u64,
    /// The number of keys of the window.
    count: u32,
    /// The number of keys of the window and of those behind it that are known.
    known: u32,
    /// 2 to this number are the keys of a window.
    log: u32,
    /// Whether no key is behind the known ones.
    is_last: bool,
}

impl Window {
    #[inline(always)]
    fn of(keys: Keys, number: u32) -> Self {
        let first = u64::from(number) << keys.window;
        let whole = 1 << keys.window;
        let known = whole + KEYS_BEHIND.min(BYTES_BEHIND >> keys.log);
        let left = (keys.count - first).min(1 << 31) as u32;
        let (count, is_last) = (left.min(whole), left < known);
        Self { number, first, count, known: left.min(known), log: keys.window, is_last }
    }
}

impl Keys {
    /// The number of windows.
    #[inline(always)]
    fn windows(self) -> u32 {
        ((self.count - 1) >> self.window) as u32 + 1
    }

    /// Starts the copies of the keys of a window, and of those before and behind it that are known.
    /// Other keys in the same packs come too, because whole packs are faster to copy.
    ///
    /// # Safety
    /// All threads of the block call this, and none uses the keys in shared memory until the copies
    /// have arrived.
    #[inline(always)]
    unsafe fn stage(self, number: u32, target: *mut u8) {
        let (begin, shift) = (self.source.addr() as u64, self.source.addr() as u32 % PACK);
        // Whole windows are whole packs. The pack before the window comes first, unless there is no
        // window before.
        let skipped = u64::from(number) << (self.window + self.log);
        let from = (begin - u64::from(shift) + skipped).wrapping_sub(PACK.into());
        let first = if number > 0 { 0 } else { PACK + shift };
        let known = (1 << self.window) + KEYS_BEHIND.min(BYTES_BEHIND >> self.log);
        let most = (PACK + shift + (known << self.log)).next_multiple_of(PACK);
        let left = begin.wrapping_add(self.count << self.log).wrapping_sub(from);
        // SAFETY: the caller's contract.
        unsafe { heads::stage(target, from, first, left.min(most.into()) as u32) };
    }

    /// Where the first key of a window is in shared memory, behind the pack that was staged first.
    #[inline(always)]
    fn staged(self, target: *mut u8) -> *mut u8 {
        target.wrapping_add((PACK + self.source.addr() as u32 % PACK) as usize)
    }
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
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let (windows, blocks) = (keys.windows(), thread::grid_dim_x() - 1);
    // SAFETY: barriers separate the threads that write shared memory from those that read it, and a
    // warp has memory of its own besides. All branches around collective calls are the same in all
    // lanes of a warp, and those around barriers in all warps. The rest is the launch's contract.
    unsafe {
        let shared = (&raw mut SHARED).cast::<Shared>();
        let next = (&raw mut (*shared).next).cast::<u32>();
        let own = (&raw mut (*shared).warps).cast::<OfWarp>().add(warp_of_block as usize);
        let values = (&raw mut (*own).values).cast::<u8>();
        let places = (&raw mut (*own).places).cast::<u16>();
        let longer = (&raw mut (*own).longer).cast::<u16>();
        grid::wait_for_dependencies();
        if thread::block_idx_x() == 0 {
            adder::add_up(words, windows);
            return;
        }
        // If there are more windows than blocks, a block takes the next one that no block has.
        let take = || {
            if blocks < windows { atomic::add(records::turn(words, windows), 1) } else { windows }
        };
        let mut number = thread::block_idx_x() - 1;
        if blocks < windows {
            if tid == 0 {
                *next = take();
            }
            thread::sync_threads();
            number = *next;
        }
        // Where the keys of every second window are.
        let staged = |turn: u32| (&raw mut (*shared).keys[turn as usize]).cast::<u8>();
        let mut turn = 0;
        if number < windows {
            keys.stage(number, staged(turn));
        }
        // The window before, and where its values will be.
        let mut before: Option<(Taken, Staged)> = None;
        loop {
            control::keep_rolled();
            let mut answer = 0;
            if let Some((taken, _)) = &before {
                answer = taken.ask(words);
            }
            copy::wait();
            thread::sync_threads();
            let has_number = before.is_none() || adder::is_sum(answer);
            let mut here = None;
            let mut further = windows;
            if number < windows {
                if tid == 0 && has_number {
                    further = take();
                }
                let taken = Taken::of::<S::Element>(keys, number, staged(turn));
                if tid == 0 {
                    adder::give(words, number, taken.heads.all);
                }
                here = Some(taken);
            }
            let mut first_run = 0;
            if let Some((taken, _)) = &before {
                first_run = taken.number(answer, words, keys, out);
            }
            if tid == 0 {
                // The runs of this window have been found, and those of the one before have
                // numbers.
                let is_late = here.is_some() && !has_number;
                *next = if is_late { take() } else { further };
            }
            if let Some((taken, tile)) = &before {
                tile.close::<S::Element>(lane);
                warp::sync_warp(u32::MAX);
                taken.write(first_run, places, staged(1 - turn), keys, out);
            }
            // No warp needs the keys of the window before any more.
            thread::sync_threads();
            let further = *next;
            if further < windows {
                keys.stage(further, staged(1 - turn));
            }
            if let Some((taken, staged)) = &before
                && taken.tiled > 0
            {
                let runs = Tiled { places, number: first_run, longer, lane };
                let tile = Tile::short(0, taken.tiled, 0, taken.length().into());
                runs.work_short::<S, R>(input, tile, *staged, output);
                // The next values and places take the place of these.
                warp::sync_warp(u32::MAX);
            }
            let Some(taken) = here else { break };
            let tile = taken.stage(input.address(), values);
            taken.leave(words, windows);
            taken.list(places);
            before = Some((taken, tile));
            number = further;
            turn = 1 - turn;
        }
    }
}
