//! A window that a block has taken, as one of its warps sees it: which runs begin in the warp's
//! part, which of them are reduced here, and what is written of each.

use super::adder;
use super::heads::Heads;
use super::records::Part;
use super::{BYTES_OF_TILE, Keys, LONGER, MOST_MEAN, Outputs, WRITES, Window};
use crate::Reduction;
use crate::item::Item;
use crate::rows::{WORD, index, stage::piece};
use crate::runs::{Bits, write_offset};
use crate::segments::short::Neighbours;
use crate::segments::tile::{Staged, Tile};
use crate::unroll::each;
use crate::warp::WARP;
use core::ptr;
use cuda_std::ext::control;
use cuda_std::{thread, warp};

/// A window that a block has taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub window: Window,
    pub heads: Heads,
    /// The first runs of the warp are reduced here, as a tile: so many.
    pub tiled: u32,
    /// The place at which the tile ends.
    end: u32,
}

impl Taken {
    /// Finds the runs of a window, whose keys were [staged](Keys::stage) to `staged`.
    ///
    /// # Safety
    /// All threads of the block call this, behind a barrier behind the arrival of the keys.
    #[inline(always)]
    pub(super) unsafe fn of<T: Item>(keys: Keys, number: u32, staged: *mut u8) -> Self {
        let window = Window::of(keys, number);
        let staged = keys.staged(staged);
        // SAFETY: the caller's contract.
        let heads = unsafe {
            let heads = match keys.log {
                0 => Heads::find::<u8>(staged.cast(), window),
                1 => Heads::find::<u16>(staged.cast(), window),
                2 => Heads::find::<u32>(staged.cast(), window),
                3 => Heads::find::<u64>(staged.cast(), window),
                _ => Heads::find::<u128>(staged.cast(), window),
            };
            thread::sync_threads();
            heads.count()
        };
        let mut taken = Self { window, heads, tiled: 0, end: heads.end };
        if taken.is_left() || heads.runs == 0 {
            return taken;
        }
        taken.tiled = heads.runs;
        let most = BYTES_OF_TILE / size_of::<T>() as u32;
        if heads.end - heads.first > most {
            taken.tiled -= 1;
            taken.end = heads.last;
        }
        taken
    }

    /// Whether the window is left over as a whole.
    #[inline(always)]
    fn is_left(&self) -> bool {
        self.heads.all * MOST_MEAN <= self.window.count
    }

    /// The number of elements of the tile.
    #[inline(always)]
    pub(super) fn length(&self) -> u32 {
        if self.tiled > 0 { self.end - self.heads.first } else { 0 }
    }

    /// Leaves the warp's part of the window's record.
    ///
    /// # Safety
    /// That of [`Part::leave`].
    #[inline(always)]
    pub(super) unsafe fn leave(&self, words: *mut u64, windows: u32) {
        let (runs, is_left) = (self.heads.runs, self.is_left());
        let part = Part { runs, is_last_left: !is_left && self.tiled < runs, is_left };
        // SAFETY: the caller's contract.
        unsafe { part.leave(words, self.window.number, windows) };
    }

    /// Starts the copy of the tile to `values`.
    ///
    /// # Safety
    /// The whole warp calls this, and no lane uses `values` until the copies have arrived.
    #[inline(always)]
    pub(super) unsafe fn stage<T: Item>(&self, input: *const T, values: *mut u8) -> Staged {
        let mut tile = Staged { buffer: values, begin: 0, end: 0 };
        let bytes = self.length() * size_of::<T>() as u32;
        if bytes > 0 {
            let first = self.window.first + u64::from(self.heads.first);
            let source = input.wrapping_add(first as usize).addr() as u64;
            let lane = thread::thread_idx_x() % WARP;
            // SAFETY: the caller's contract. The runs end in the array.
            tile.begin =
                unsafe { piece::in_packs::<T, WARP, BYTES_OF_TILE>(values, source, bytes, lane) };
            tile.end = tile.begin + bytes;
        }
        tile
    }

    /// Asks for the number of the warp's first run in the array, which [`number`](Self::number)
    /// returns later, so that the answer has time to come.
    ///
    /// # Safety
    /// The whole warp calls this, and the block has [given](adder::give) the number of the window.
    #[inline(always)]
    pub(super) unsafe fn ask(&self, words: *mut u64) -> u64 {
        // The first thread asks in any case, because it takes the next window.
        let tid = thread::thread_idx_x();
        let asks = tid.is_multiple_of(WARP) && (self.heads.runs > 0 || tid == 0);
        // SAFETY: the caller's contract.
        if asks { unsafe { adder::ask(words, self.window.number) } } else { 0 }
    }

    /// The number of the warp's first run in the array, for which the warp waits if the
    /// [answer](Self::ask) does not have it. If the window is the last one, writes how many runs
    /// there are, and where the last one ends.
    ///
    /// # Safety
    /// That of [`ask`](Self::ask).
    #[inline(always)]
    pub(super) unsafe fn number(
        &self,
        answer: u64,
        words: *mut u64,
        keys: Keys,
        out: Outputs,
    ) -> u64 {
        let (tid, mut before) = (thread::thread_idx_x(), 0);
        // SAFETY: the caller's contract.
        unsafe {
            if tid.is_multiple_of(WARP) && (self.heads.runs > 0 || tid == 0) {
                before = adder::before(words, self.window.number, answer);
            }
            if tid == 0 && self.window.number == keys.windows() - 1 {
                let all = before + u64::from(self.heads.all);
                out.runs.write(all);
                write_offset(out.offsets, out.log, all, keys.count);
            }
            before = warp::warp_shuffle_idx(u32::MAX, before, 0, WARP).0;
        }
        before + u64::from(self.heads.before)
    }

    /// Lists where the runs begin, and where the tile ends, counted from the first run on.
    ///
    /// # Safety
    /// The whole warp calls this, and `places` has a place for each run, and one more.
    #[inline(always)]
    pub(super) unsafe fn list(&self, places: *mut u16) {
        let first = self.heads.first;
        // SAFETY: the caller's contract.
        let put =
            |run: u32, at: u32| unsafe { places.add(run as usize).write((at - first) as u16) };
        self.heads.each(put);
        // If the last run is left over, the tile ends where that begins.
        if self.tiled == self.heads.runs && thread::thread_idx_x().is_multiple_of(WARP) {
            put(self.tiled, self.end);
        }
    }

    /// Writes where the runs begin, and their keys. Number `first` in the array is the first run.
    ///
    /// # Safety
    /// The whole warp calls this. The runs are [listed](Self::list), and their keys are where they
    /// were staged to. The outputs have a place for each run.
    #[inline(always)]
    pub(super) unsafe fn write(
        &self,
        first: u64,
        places: *const u16,
        staged: *mut u8,
        keys: Keys,
        out: Outputs,
    ) {
        let place = self.window.first + u64::from(self.heads.first);
        let listed = Listed { places, runs: self.heads.runs, number: first, place };
        let staged = keys.staged(staged);
        let staged = staged.wrapping_add((self.heads.first << keys.log) as usize);
        // SAFETY: the caller's contract.
        unsafe {
            match keys.log {
                0 => listed.write::<u8>(staged.cast(), out),
                1 => listed.write::<u16>(staged.cast(), out),
                2 => listed.write::<u32>(staged.cast(), out),
                3 => listed.write::<u64>(staged.cast(), out),
                _ => listed.write::<u128>(staged.cast(), out),
            }
        }
    }
}

/// Runs whose places are listed.
#[derive(Clone, Copy)]
struct Listed {
    places: *const u16,
    /// How many they are.
    runs: u32,
    /// The number of the first one in the array.
    number: u64,
    /// The number of the key at which it begins.
    place: u64,
}

impl Listed {
    /// Writes where the runs begin, and their keys, of which the first one is at `keys`.
    ///
    /// # Safety
    /// The whole warp calls this. The outputs have a place for each run.
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "keys and offsets are aligned")]
    unsafe fn write<K: Bits>(self, keys: *const K, out: Outputs) {
        let unique = out.unique.cast::<K>().wrapping_add(self.number as usize);
        // SAFETY: the caller's contract.
        unsafe {
            if out.log == 2 {
                let offsets = out.offsets.wrapping_add(self.number as usize);
                self.each(keys, |run, key, at| {
                    unique.add(run).write(key);
                    offsets.add(run).write(self.place as u32 + at);
                });
            } else {
                let offsets = out.offsets.cast::<u64>().wrapping_add(self.number as usize);
                self.each(keys, |run, key, at| {
                    unique.add(run).write(key);
                    offsets.add(run).write(self.place + u64::from(at));
                });
            }
        }
    }

    /// Calls `put` with the number of each run of this lane, and with its key and its place.
    ///
    /// # Safety
    /// The runs have places, and their keys are there.
    #[inline(always)]
    unsafe fn each<K: Bits>(self, keys: *const K, mut put: impl FnMut(usize, K, u32)) {
        let lane = thread::thread_idx_x() % WARP;
        // As many registers hold fewer long keys.
        let at_once = WRITES / size_of::<K>().div_ceil(WORD as usize);
        let mut done = 0;
        while done < self.runs {
            control::keep_rolled();
            // Lanes without a run read the last one, so that all reads are under way together.
            let run = |i: usize| done + i as u32 * WARP + lane;
            let (mut places, mut found) = ([0; WRITES], [K::of_word(Default::default()); WRITES]);
            // SAFETY: the caller's contract.
            unsafe {
                each(at_once, |i| {
                    places[i] = u32::from(*self.places.add(run(i).min(self.runs - 1) as usize));
                });
                each(at_once, |i| found[i] = *keys.add(places[i] as usize));
            }
            each(at_once, |i| {
                if run(i) < self.runs {
                    put(run(i) as usize, found[i], places[i]);
                }
            });
            done += at_once as u32 * WARP;
        }
    }
}

/// The runs of a tile, whose places are listed.
#[derive(Clone, Copy)]
pub(super) struct Tiled {
    pub places: *const u16,
    /// The number of the first one in the array.
    pub number: u64,
    pub longer: *mut u16,
    pub lane: u32,
}

impl Neighbours for Tiled {
    const LONGER: usize = LONGER;

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
        let row = self.number + u64::from(segment);
        // SAFETY: the output has a place for each run. Runs have no slots.
        unsafe { R::write(acc, output, row, index, source, ptr::null_mut()) };
    }
}
