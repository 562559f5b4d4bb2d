//! Where runs of equal keys begin, or segments that flags begin.

use super::{MOST, Place, THREADS, place, write_offset};
use crate::item::Item;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use cuda_std::ext::grid;
use cuda_std::{thread, warp};

/// The most loads of a thread.
const MOST_LOADS: usize = 16;

/// A key, which is compared bit for bit, or a flag.
pub trait Bits: Item {
    /// An integer of whole words that holds the bits.
    type Word: Words + PartialEq + Default;
    /// How many elements a thread loads before it uses the first one, at most 16. So a thread has
    /// 64 bytes under way, or 16 elements if these have fewer bytes.
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
    let of_warp = WARP * T::LOADS as u32;
    let first = u64::from(block) * (T::LOADS as u64 * u64::from(THREADS))
        + u64::from(warp_of_block * of_warp);
    // How many elements the warp has.
    let count = n.saturating_sub(first).min(of_warp.into()) as u32;
    let index = |i: usize| i as u32 * WARP + lane;
    let source = input.wrapping_add(first as usize);
    // SAFETY: only elements that are there are read. All branches around collective calls are the
    // same in all lanes of a warp. There is a place for each run, because there are no more runs
    // than elements. The rest is the caller's contract.
    unsafe {
        grid::wait_for_dependencies();
        let mut own = [T::Word::default(); MOST_LOADS];
        each(T::LOADS, |i| {
            let at = source.wrapping_add(index(i) as usize);
            own[i] = T::load_if(at, index(i) < count).word();
        });
        let mut before = T::Word::default();
        if H::LOOKS_BACK {
            // The last lane has what is before the first one.
            let is_there = lane == WARP - 1 && first > 0 && count > 0;
            before = T::load_if(source.wrapping_sub(1), is_there).word();
        }
        let mut heads = [0; MOST_LOADS];
        let mut number = 0;
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
                is_head |= first == 0 && lane == 0;
            }
            heads[i] = warp::warp_vote_ballot(u32::MAX, is_head && index(i) < count);
            number += heads[i].count_ones();
        });

        let Place { before, end } = place(number.into(), MOST, words);
        let lower = (1 << lane) - 1;
        let mut number = 0;
        each(T::LOADS, |i| {
            let run = before + u64::from(number + (heads[i] & lower).count_ones());
            if heads[i] >> lane & 1 != 0 {
                if H::LOOKS_BACK {
                    out.unique.add(run as usize).write(T::of_word(own[i]));
                }
                write_offset(out.offsets, out.log, run, first + u64::from(index(i)));
            }
            number += heads[i].count_ones();
        });
        if block == last && tid == 0 {
            out.runs.write(end);
            write_offset(out.offsets, out.log, end, n);
        }
    }
}
