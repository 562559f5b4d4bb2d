//! Where runs of equal keys begin, or segments that flags begin.

use super::{MOST, Place, THREADS, place, write_offset};
use crate::item::Item;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use cuda_std::ext::{control, grid};
use cuda_std::{thread, warp};

/// Rows of a warp's tile. A row has an element for each lane.
const ROWS: u32 = WARP;

/// Elements of a tile.
pub const TILE: u32 = THREADS * ROWS;

/// The most loads of a thread that are under way at a time.
const MOST_LOADS: usize = 16;

/// The most keys that a thread reads again at a time: half as many as before, because it also has
/// their places in registers.
const MOST_KEYS: usize = MOST_LOADS / 2;

/// A key, which is compared bit for bit, or a flag.
pub trait Bits: Item {
    /// An integer of whole words that holds the bits.
    type Word: Words + PartialEq + Default;
    /// How many elements a thread loads before it uses the first one, a power of two up to 16. So a
    /// thread has 64 bytes under way, or 16 elements if these have fewer bytes.
    const LOADS: usize;
    /// The bits, and zeros above them.
    fn word(self) -> Self::Word;
    /// The inverse of [`word`](Self::word).
    fn of_word(word: Self::Word) -> Self;
}

macro_rules! bits {
    ($($t:ty as $word:ty, $loads:literal;)*) => {$(
        impl Bits for $t {
            type Word = $word;
            const LOADS: usize = $loads;
            #[inline(always)]
            fn word(self) -> $word {
                self as $word
            }
            #[inline(always)]
            fn of_word(word: $word) -> Self {
                word as $t
            }
        }
    )*};
}

bits! {
    u8 as u32, 16;
    u16 as u32, 16;
    u32 as u32, 16;
    u64 as u64, 8;
    u128 as u128, 4;
}

/// What begins a run. The first element always does.
pub trait Head {
    /// Whether it depends on the element before.
    const LOOKS_BACK: bool;
    /// Whether an element with these bits begins a run. `before` is the element before it, or
    /// anything if that is not asked for.
    fn is_head<W: PartialEq + Default>(own: W, before: W) -> bool;
}

/// Each key that differs from the key before it begins a run.
pub struct Change;

impl Head for Change {
    const LOOKS_BACK: bool = true;
    #[inline(always)]
    fn is_head<W: PartialEq + Default>(own: W, before: W) -> bool {
        own != before
    }
}

/// Each flag that is not 0 begins a segment.
pub struct Flag;

impl Head for Flag {
    const LOOKS_BACK: bool = false;
    #[inline(always)]
    fn is_head<W: PartialEq + Default>(own: W, _before: W) -> bool {
        own != W::default()
    }
}

/// Where the results go. No address is used for a result that is not there.
#[derive(Clone, Copy)]
pub struct Outputs<T> {
    /// The first element of each run, or null if it is not wanted.
    pub unique: *mut T,
    /// Where each run begins, and behind these the number of elements.
    pub offsets: *mut u32,
    /// 2 to this number are the bytes of an offset: 4 or 8.
    pub log: u32,
    /// The number of runs.
    pub runs: *mut u64,
}

/// Finds the runs of `n` elements. This is the whole body of a kernel that
/// [`runs!`](crate::runs!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn heads<T: Bits, H: Head>(input: *const T, n: u64, out: Outputs<T>, words: *mut u64) {
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
    let first =
        u64::from(block) * u64::from(TILE) + u64::from(warp_of_block) * u64::from(ROWS * WARP);
    // How many elements the warp has.
    let count = n.saturating_sub(first).min((ROWS * WARP).into()) as u32;
    let index = |row: u32| row * WARP + lane;
    let source = input.wrapping_add(first as usize);
    // SAFETY: only elements that are there are read. All branches around collective calls are the
    // same in all lanes of a warp. There is a place for each run, because there are no more runs
    // than elements. The rest is the caller's contract.
    unsafe {
        grid::wait_for_dependencies();
        let mut before = T::Word::default();
        if H::LOOKS_BACK {
            // The last lane has what is before the first one.
            let is_there = lane == WARP - 1 && first > 0 && count > 0;
            before = T::load_if(source.wrapping_sub(1), is_there).word();
        }
        // Each lane keeps the heads of the row that has its number, so that a thread needs one
        // register for a tile.
        let mut heads = 0;
        let mut row = 0;
        while row * WARP < count {
            control::keep_rolled();
            let here = source.wrapping_add(index(row) as usize);
            let left = count.saturating_sub(index(row));
            let mut own = [T::Word::default(); MOST_LOADS];
            each(T::LOADS, |i| {
                let further = i as u32 * WARP;
                own[i] = T::load_if(here.wrapping_add(further as usize), further < left).word();
            });
            each(T::LOADS, |i| {
                let mut previous = own[i];
                if H::LOOKS_BACK {
                    // Words are chosen here, because LLVM would keep longer values in local memory.
                    previous = T::Word::from_words(&|word| {
                        let given =
                            if lane == WARP - 1 { before.word(word) } else { own[i].word(word) };
                        warp::warp_shuffle_idx(u32::MAX, given, lane.wrapping_sub(1) % WARP, WARP).0
                    });
                    before = own[i];
                }
                let mut is_head = H::is_head(own[i], previous);
                if i == 0 {
                    is_head |= first == 0 && index(row) == 0;
                }
                let is_there = i as u32 * WARP < left;
                let found = warp::warp_vote_ballot(u32::MAX, is_head && is_there);
                heads = if lane == row + i as u32 { found } else { heads };
            });
            row += T::LOADS as u32;
        }
        let number = heads.count_ones();
        let mut until = number;
        each(WARP.ilog2() as usize, |step| {
            let (lower, is_lane) = warp::warp_shuffle_up(u32::MAX, until, 1 << step, WARP);
            until += if is_lane { lower } else { 0 };
        });
        let all = warp::warp_shuffle_idx(u32::MAX, until, WARP - 1, WARP).0;

        let Place { before, end } = place(all.into(), MOST, words);
        let lower = (1 << lane) - 1;
        let mut row = 0;
        while row * WARP < count {
            control::keep_rolled();
            let rows = T::LOADS / 2;
            let is_of_these = lane.wrapping_sub(row) < rows as u32;
            if warp::warp_vote_any(u32::MAX, is_of_these && heads != 0) {
                let here = source.wrapping_add(index(row) as usize);
                let at = first + u64::from(index(row));
                let mut of_row = [0; MOST_KEYS];
                let mut keys = [T::Word::default(); MOST_KEYS];
                each(rows, |i| {
                    let number = row + i as u32;
                    of_row[i] = warp::warp_shuffle_idx(u32::MAX, heads, number, WARP).0;
                    if H::LOOKS_BACK {
                        // The key is in a cache, because this block has read it.
                        let key = here.wrapping_add(i * WARP as usize);
                        keys[i] = T::load_if(key, of_row[i] >> lane & 1 != 0).word();
                    }
                });
                each(rows, |i| {
                    let row = row + i as u32;
                    let of_warp = warp::warp_shuffle_idx(u32::MAX, until - number, row, WARP).0;
                    let run = before + u64::from(of_warp + (of_row[i] & lower).count_ones());
                    if of_row[i] >> lane & 1 != 0 {
                        if H::LOOKS_BACK {
                            out.unique.add(run as usize).write(T::of_word(keys[i]));
                        }
                        write_offset(out.offsets, out.log, run, at + i as u64 * u64::from(WARP));
                    }
                });
            }
            row += rows as u32;
        }
        if block == last && tid == 0 {
            out.runs.write(end);
            write_offset(out.offsets, out.log, end, n);
        }
    }
}
