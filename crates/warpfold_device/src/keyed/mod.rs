//! The skeleton of kernels that reduce the values of runs of equal neighbouring keys, and also find
//! these runs.
//!
//! *Windows.* A block takes a window of neighbouring keys. It finds out which of them begin runs,
//! and gives the number of these runs to a block that adds them up (`adder.rs`). The keys stay in
//! shared memory, because the first key of each run is written when its number is known. Registers
//! would have room for fewer keys, and many keys must be under way to keep the memory busy.
//!
//! *Tiles.* The values of a window come in tiles. A tile begins with a run, and has as many runs as
//! fit. Its runs are reduced as short segments are ([`segments`](mod@crate::segments)), so a run
//! has the bits of a row of the same elements.
//!
//! *What is left over.* A run that does not fit into a tile is left over, and so is one that ends
//! too far behind the window. A window of long runs is left over as a whole, because another kernel
//! is faster there. The window's [record](records) says what is left over. A kernel of
//! [`left!`](crate::left!) takes the records and reduces these runs. It is that of segments, whose
//! ranges are the windows.
//!
//! # The launch's contract
//!
//! A kernel of [`keyed!`](crate::keyed!) takes `input`, `output`, and the fields of [`Keys`] and
//! [`Outputs`], then `words`.
//!
//! - There are as many values as keys, at least two, and less than
//!   [`MOST_RUNS`](records::MOST_RUNS). Both are aligned to their elements.
//! - A window has 2^9 to [`MOST`] keys, and not more than [`BYTES`] of them.
//! - The block has [`THREADS`] threads, and the grid has a block for each window, and one more.
//! - Each output but the last has a place for each key, and the offsets have one more.
//! - `words` has [two 64-bit words](records::WORDS) for each window. All are 0 before the launch,
//!   and hold the records after it.
//! - The blocks start in the order of their numbers, or at least two of them are resident at a
//!   time, because each block waits for block 0, and that waits for all blocks in their order.
//!
//! A kernel of [`left!`](crate::left!) takes `input`, `output`, `slots`, `records`, `offsets`,
//! `log`, `elements`, `task`, `width` and `windows`, which is the number of windows. 2 to the power
//! of `width` are the bytes of the values of a window, of which a task has `task` tiles: 1, or as
//! many as a window. The grid has at least a warp for 32 windows. The rest is the contract of
//! [segments](mod@crate::segments#the-launchs-contract) with a range for each window. All records
//! are 0 after the launch.

mod adder;
mod heads;
pub mod records;

use crate::Reduction;
use crate::rows::{LINE, PACK, TILE_BYTES, index, padded, stage::piece};
use crate::runs::{Bits, write_offset};
use crate::segments::short::Neighbours;
use crate::segments::tile::{Staged, Tile};
use crate::source::OneArray;
use crate::unroll::each;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use core::ptr;
use cuda_std::ext::{control, copy, grid};
use cuda_std::{address_space, thread};
use heads::Heads;
use records::{Long, Record};

/// Threads of a block.
pub const THREADS: u32 = 128;

/// The most keys of a window.
pub const MOST: u32 = 4096;

/// The most bytes of the keys of a window.
pub const BYTES: u32 = 1 << 14;

/// How far behind a window the block looks for the end of the last run, in bytes of keys and in
/// keys.
const BYTES_BEHIND: u32 = LINE;
const KEYS_BEHIND: u32 = WARP;

/// The most bytes and elements of a tile: a few more than a fourth of a window, so that most
/// windows have four tiles.
const BYTES_OF_TILE: u32 = TILE_BYTES + LINE;
const MOST_OF_TILE: u32 = BYTES_OF_TILE / 4;

// The last head of a tile is looked for in 32 rows.
const _: () = assert!(MOST_OF_TILE <= WARP * WARP + WARP);

/// A window whose runs are longer on average is left over as a whole.
const MOST_MEAN: u32 = 32;

/// The most runs of two packs or more that begin in a fourth of a tile, and a few more.
const LONGER_OF_WARP: u32 = 40;

/// If the runs of a tile have so many elements on average, or more, few lanes have a head.
const FEW: u32 = 4;

/// How many runs a thread writes without a branch back.
const WRITES: usize = 4;

/// Warps of a block.
const WARPS: u32 = THREADS / WARP;

/// The keys of a window, of one before it and of those known behind it. They begin in a pack.
#[address_space(shared)]
static mut KEYS: [MaybeUninit<u128>; ((BYTES + BYTES_BEHIND) / PACK) as usize + 2] =
    [const { MaybeUninit::uninit() }; ((BYTES + BYTES_BEHIND) / PACK) as usize + 2];

/// Packs of shared memory for a tile, which may begin anywhere in a line.
const BUFFER: usize = (padded(BYTES_OF_TILE + LINE) / PACK) as usize;

/// The values of a tile.
#[address_space(shared)]
static mut VALUES: [MaybeUninit<u128>; BUFFER] = [const { MaybeUninit::uninit() }; BUFFER];

/// Where the runs of a tile begin, counted from its beginning, and where the last one ends.
#[address_space(shared)]
static mut PLACES: [MaybeUninit<u16>; MOST_OF_TILE as usize + 1] =
    [const { MaybeUninit::uninit() }; MOST_OF_TILE as usize + 1];

/// The numbers of the longer runs that a warp works on.
#[address_space(shared)]
static mut LONGER: [MaybeUninit<u16>; (WARPS * LONGER_OF_WARP) as usize] =
    [const { MaybeUninit::uninit() }; (WARPS * LONGER_OF_WARP) as usize];

/// The number of runs before the window.
#[address_space(shared)]
static mut RUNS_BEFORE: MaybeUninit<u64> = MaybeUninit::uninit();

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
    /// Whether the array ends in the row that begins at a place.
    #[inline(always)]
    fn is_end(self, row: u32) -> bool {
        self.is_last && self.known / WARP * WARP == row
    }
}

/// The runs of a tile.
#[derive(Clone, Copy)]
struct Runs {
    /// Where they begin.
    places: *const u16,
    /// The number of the first one in the array.
    first: u64,
    longer: *mut u16,
    lane: u32,
}

impl Runs {
    /// The number of elements from one run to another one.
    ///
    /// # Safety
    /// The runs have places.
    #[inline(always)]
    unsafe fn elements(self, from: u32, until: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe {
            let place = |run: u32| u32::from(*self.places.add(run as usize));
            place(until) - place(from)
        }
    }
}

impl Neighbours for Runs {
    #[inline(always)]
    fn lane(&self) -> u32 {
        self.lane
    }

    #[inline(always)]
    fn longer(&self) -> *mut u16 {
        self.longer
    }

    #[inline(always)]
    unsafe fn place_of(&self, _tile: Tile, segment: u32) -> (u32, u32) {
        let place = self.places.wrapping_add(segment as usize);
        // SAFETY: the caller's contract.
        unsafe { (u32::from(*place), u32::from(*place.wrapping_add(1))) }
    }

    #[inline(always)]
    unsafe fn write<R: Reduction>(
        &self,
        source: R::Source,
        segment: u32,
        acc: R::Acc,
        output: *mut R::Raw,
    ) {
        let row = self.first + u64::from(segment);
        // SAFETY: the output has a place for each run. Runs have no slots.
        unsafe { R::write(acc, output, row, index, source, ptr::null_mut()) };
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
    let windows = thread::grid_dim_x() - 1;
    // SAFETY: barriers separate the threads that write shared memory from those that read it. All
    // branches around collective calls are the same in all lanes of a warp. The rest is the
    // launch's contract.
    unsafe {
        grid::wait_for_dependencies();
        if thread::block_idx_x() == 0 {
            adder::add_up(words, windows);
            return;
        }
        let number = thread::block_idx_x() - 1;
        let first = u64::from(number) << keys.window;
        let (left, whole) = (keys.count - first, 1 << keys.window);
        let behind = KEYS_BEHIND.min(BYTES_BEHIND >> keys.log);
        let window = Window {
            first,
            count: left.min(whole.into()) as u32,
            known: left.min((whole + behind).into()) as u32,
            log: keys.window,
            is_last: left < u64::from(whole + behind),
        };
        // The key before the window comes too.
        let before = u32::from(first > 0);
        let source = keys.source.addr() as u64 + ((first - u64::from(before)) << keys.log);
        let staged = (&raw mut KEYS).cast::<u8>();
        let shift = heads::stage(staged, source, (window.known + before) << keys.log);
        copy::wait();
        thread::sync_threads();
        let staged = staged.wrapping_add((shift + (before << keys.log)) as usize);
        let in_warp = match keys.log {
            0 => Heads::find::<u8>(staged.cast(), window),
            1 => Heads::find::<u16>(staged.cast(), window),
            2 => Heads::find::<u32>(staged.cast(), window),
            3 => Heads::find::<u64>(staged.cast(), window),
            _ => Heads::find::<u128>(staged.cast(), window),
        };
        thread::sync_threads();
        let heads = Heads::count(in_warp, window);
        if tid == 0 {
            adder::give(words, number, heads.all);
        }
        thread::sync_threads();

        let places = (&raw mut PLACES).cast::<u16>();
        let values = (&raw mut VALUES).cast::<u8>();
        let longer =
            (&raw mut LONGER).cast::<u16>().wrapping_add((warp_of_block * LONGER_OF_WARP) as usize);
        let size = size_of::<S::Element>() as u32;
        // The most elements of a tile, and of a run in it, which has a warp's parts at most.
        let (most, most_of_run) = (MOST_OF_TILE.min(BYTES_OF_TILE / size), TILE_BYTES / size);
        // Only the first head behind the window is known.
        let limit = whole + WARP - 1;
        let mut are_left = heads.all * MOST_MEAN <= window.count;
        let mut long = Long::default();
        // The next run begins at the place. Those before it have been listed.
        let mut place = heads.next(0, whole).unwrap_or(whole);
        let (mut listed, mut done) = (0, 0);
        let mut before = None;
        loop {
            control::keep_rolled();
            let (mut end, mut is_long) = (whole, false);
            if !are_left {
                // A run that fits into a tile, but not into the parts of a warp, begins before
                // `near` and ends behind `far`.
                let (near, far) = (place + WARP, place + most_of_run);
                let fits = |last: u32| {
                    last <= far || heads.before((far + 1).min(whole)) > heads.before(near)
                };
                let last = heads.last(near, (place + most).min(limit)).filter(|&last| fits(last));
                if let Some(last) = last.or_else(|| heads.last(place, near)) {
                    end = last;
                } else if let Some(next) = heads.next(place + 1, whole)
                    && next < whole
                    && long.has_room()
                {
                    (end, is_long) = (next, true);
                } else {
                    are_left = true;
                }
            }
            if are_left && heads.all - listed > MOST_OF_TILE {
                end = place + MOST_OF_TILE;
            }
            let is_tile = !are_left && !is_long;
            let mut tile = Staged { buffer: values, begin: 0, end: 0 };
            if is_tile {
                let bytes = (end - place) * size_of::<S::Element>() as u32;
                let source = input.address().wrapping_add((first + u64::from(place)) as usize);
                let source = source.addr() as u64;
                tile.begin =
                    piece::in_packs::<S::Element, THREADS, false>(values, source, bytes, tid);
                tile.end = tile.begin + bytes;
            }
            let until = heads.before(end.min(whole));
            let runs = until - listed;
            let put = |number: u32, at: u32| {
                let number = number.wrapping_sub(listed);
                if number < runs {
                    places.add(number as usize).write((at - place) as u16);
                }
            };
            if runs * FEW >= end - place {
                heads.many(place, end.min(whole), put);
            } else {
                heads.few(place, end.min(whole), put);
            }
            if tid == 0 {
                if is_tile {
                    places.add(runs as usize).write((end - place) as u16);
                }
                if before.is_none() {
                    *(&raw mut RUNS_BEFORE).cast::<u64>() = adder::before(words, number);
                }
            }
            copy::wait();
            thread::sync_threads();
            let runs_before = before.unwrap_or(*(&raw mut RUNS_BEFORE).cast::<u64>());
            before = Some(runs_before);
            if is_tile && warp_of_block <= BYTES_OF_TILE / LINE / WARP {
                tile.close::<S::Element>(tid);
            }
            let number_of = runs_before + u64::from(listed);
            let found = Found { places, runs, place, first, number: number_of };
            let at = staged.wrapping_add((place << keys.log) as usize);
            match keys.log {
                0 => found.write::<u8>(at, out),
                1 => found.write::<u16>(at.cast(), out),
                2 => found.write::<u32>(at.cast(), out),
                3 => found.write::<u64>(at.cast(), out),
                _ => found.write::<u128>(at.cast(), out),
            }
            if is_tile {
                thread::sync_threads();
                let of_tile = Runs { places, first: number_of, longer, lane };
                // Each warp takes the runs that begin in a fourth of the tile.
                let from = |part: u32| {
                    let place = place + (end - place) * part / WARPS;
                    heads.before(place.min(whole)) - listed
                };
                let first = if warp_of_block == 0 { 0 } else { from(warp_of_block) };
                let last = from(warp_of_block + 1);
                if first < last {
                    let length = of_tile.elements(first, last).into();
                    let part = Tile::short(first, last - first, 0, length);
                    of_tile.work_short::<S, R>(input, part, tile, output);
                }
            }
            if is_long {
                long = long.with(listed);
            }
            if !are_left {
                done = until;
            }
            listed = until;
            place = end;
            if listed == heads.all {
                break;
            }
            // The next tile takes the place of this one.
            thread::sync_threads();
        }
        if tid == 0 {
            let before = before.unwrap_or(0);
            Record { before, done, all: heads.all, long }.leave(words, number);
            if number == windows - 1 {
                let all = before + u64::from(heads.all);
                out.runs.write(all);
                write_offset(out.offsets, out.log, all, keys.count);
            }
        }
    }
}

/// Runs whose places are known.
#[derive(Clone, Copy)]
struct Found {
    /// The places of their heads, counted from `place`.
    places: *const u16,
    /// How many they are.
    runs: u32,
    /// A place of the window.
    place: u32,
    /// The number of the window's first key.
    first: u64,
    /// The number of the first run in the array.
    number: u64,
}

impl Found {
    /// Writes where the runs begin, and their keys, of which that of the place is at `keys`.
    ///
    /// # Safety
    /// All threads of the block call this. The outputs have a place for each run.
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "keys and offsets are aligned")]
    unsafe fn write<K: Bits>(self, keys: *const K, out: Outputs) {
        let unique = out.unique.cast::<K>().wrapping_add(self.number as usize);
        let first = self.first + u64::from(self.place);
        // SAFETY: the caller's contract.
        unsafe {
            if out.log == 2 {
                let offsets = out.offsets.wrapping_add(self.number as usize);
                self.each(|run, at| {
                    unique.add(run).write(*keys.add(at));
                    offsets.add(run).write(first as u32 + at as u32);
                });
            } else {
                let offsets = out.offsets.cast::<u64>().wrapping_add(self.number as usize);
                self.each(|run, at| {
                    unique.add(run).write(*keys.add(at));
                    offsets.add(run).write(first + at as u64);
                });
            }
        }
    }

    /// Calls `put` with the number of each run of this thread, and with its place.
    ///
    /// # Safety
    /// The runs have places.
    #[inline(always)]
    unsafe fn each(self, mut put: impl FnMut(usize, usize)) {
        let mut run = thread::thread_idx_x();
        while run < self.runs {
            control::keep_rolled();
            each(WRITES, |i| {
                let run = (run + i as u32 * THREADS) as usize;
                if run < self.runs as usize {
                    // SAFETY: the caller's contract.
                    put(run, unsafe { *self.places.add(run) }.into());
                }
            });
            run += WRITES as u32 * THREADS;
        }
    }
}
