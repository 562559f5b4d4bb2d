//! Where runs of equal keys begin, or segments that flags begin.

use super::{MOST, Place, THREADS, place, write_offset};
use crate::item::Item;
use crate::unroll::each;
use crate::warp::{WARP, sum_up_to};
use crate::words::Words;
use core::mem::MaybeUninit;
use cuda_std::ext::{control, grid};
use cuda_std::{address_space, thread, warp};

/// The most rows of a warp. A row has an element for each lane.
pub const MOST_ROWS: u32 = 256;

/// The heads of the rows of each warp, of which a lane has every 32nd one.
#[address_space(shared)]
static mut HEADS: [MaybeUninit<u32>; (THREADS / WARP * MOST_ROWS) as usize] =
    [const { MaybeUninit::uninit() }; (THREADS / WARP * MOST_ROWS) as usize];

/// The most loads of a thread that are under way at a time.
const MOST_LOADS: usize = 16;

/// Words of lower blocks that a lane asks for at once.
const AT_ONCE: usize = 8;

/// Rows of a step. A warp leaves out what a step without heads need not do, and decides only once
/// for each step.
const STEP: usize = 4;

/// The most keys that a thread reads again at a time: half as many as before, because it also has
/// their places in registers.
const MOST_KEYS: usize = MOST_LOADS / 2;

/// The most heads that a warp lists, so that it need not read their keys again. These are the first
/// ones of its elements.
const LIST: usize = 512;

/// Bytes of the keys of these heads. Long keys are fewer.
const LIST_BYTES: usize = 4 * LIST;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// The keys of the heads that each warp lists.
#[address_space(shared)]
static mut KEYS: [MaybeUninit<u128>; WARPS * LIST_BYTES / 16] =
    [const { MaybeUninit::uninit() }; WARPS * LIST_BYTES / 16];

/// The places of these heads, counted from the first element of the warp.
#[address_space(shared)]
static mut PLACES: [MaybeUninit<u16>; WARPS * LIST] =
    [const { MaybeUninit::uninit() }; WARPS * LIST];

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

/// Finds the runs of `n` elements in tiles that have `rows` rows for each warp. This is the whole
/// body of a kernel that [`runs!`](crate::runs!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn heads<T: Bits, H: Head>(
    input: *const T,
    n: u64,
    rows: u32,
    out: Outputs<T>,
    words: *mut u64,
) {
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
    let most = rows * WARP;
    let first = u64::from(block) * u64::from(most * (THREADS / WARP))
        + u64::from(warp_of_block) * u64::from(most);
    // How many elements the warp has.
    let count = n.saturating_sub(first).min(most.into()) as u32;
    let index = |row: u32| row * WARP + lane;
    let source = input.wrapping_add(first as usize);
    let heads_of_part = (&raw mut HEADS).cast::<u32>().wrapping_add(tid as usize);
    let keys_of_heads =
        (&raw mut KEYS).cast::<u8>().wrapping_add(warp_of_block as usize * LIST_BYTES).cast::<T>();
    let places = (&raw mut PLACES).cast::<u16>().wrapping_add(warp_of_block as usize * LIST);
    let most_listed =
        if H::LOOKS_BACK { LIST.min(LIST_BYTES / size_of::<T>()) } else { LIST } as u32;
    let lower = (1 << lane) - 1;
    // SAFETY: only elements that are there are read. Each thread has places of its own for heads.
    // All branches around collective calls are the same in all lanes of a warp. There is a place
    // for each run, because there are no more runs than elements. The rest is the caller's
    // contract.
    unsafe {
        grid::wait_for_dependencies();
        let mut before = T::Word::default();
        if H::LOOKS_BACK {
            // The last lane has what is before the first one.
            let is_there = lane == WARP - 1 && first > 0 && count > 0;
            before = T::load_if(source.wrapping_sub(1), is_there).word();
        }
        // Each lane keeps the heads of the row that has its number, so that a thread needs one
        // register for a part.
        let (mut heads, mut all) = (0, 0);
        let mut part = heads_of_part;
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
            each(T::LOADS / STEP, |step| {
                let from = step * STEP;
                if (row + from as u32) * WARP >= count {
                    return;
                }
                let mut is_head = [false; STEP];
                each(STEP, |i| {
                    let here = own[from + i];
                    let mut previous = here;
                    if H::LOOKS_BACK {
                        // Words are chosen here, because LLVM would keep longer values in local
                        // memory.
                        previous = T::Word::from_words(&|word| {
                            let given =
                                if lane == WARP - 1 { before.word(word) } else { here.word(word) };
                            let from = lane.wrapping_sub(1) % WARP;
                            warp::warp_shuffle_idx(u32::MAX, given, from, WARP).0
                        });
                        before = here;
                    }
                    let is_first = from + i == 0 && first == 0 && index(row) == 0;
                    let is_there = (from + i) as u32 * WARP < left;
                    is_head[i] = is_there && (is_first || H::is_head(here, previous));
                });
                // Where runs are long, most steps have no head.
                let mut is_any = false;
                each(STEP, |i| is_any |= is_head[i]);
                if !warp::warp_vote_any(u32::MAX, is_any) {
                    return;
                }
                each(STEP, |i| {
                    let row = row + (from + i) as u32;
                    let found = warp::warp_vote_ballot(u32::MAX, is_head[i]);
                    heads = if lane == row % WARP { found } else { heads };
                    let number = all + (found & lower).count_ones();
                    if is_head[i] && number < most_listed {
                        if H::LOOKS_BACK {
                            keys_of_heads.add(number as usize).write(T::of_word(own[from + i]));
                        }
                        places.add(number as usize).write(index(row) as u16);
                    }
                    all += found.count_ones();
                });
            });
            row += T::LOADS as u32;
            if row.is_multiple_of(WARP) || row * WARP >= count {
                *part = heads;
                part = part.wrapping_add(THREADS as usize);
                heads = 0;
            }
        }

        let Place { before, end } = place::<AT_ONCE>(all.into(), MOST, words);
        if block == last && tid == 0 {
            out.runs.write(end);
            write_offset(out.offsets, out.log, end, n);
        }
        let listed = all.min(most_listed);
        let mut number = lane;
        while number < listed {
            control::keep_rolled();
            let run = before + u64::from(number);
            if H::LOOKS_BACK {
                out.unique.add(run as usize).write(*keys_of_heads.add(number as usize));
            }
            let place = *places.add(number as usize);
            write_offset(out.offsets, out.log, run, first + u64::from(place));
            number += WARP;
        }
        if listed == all {
            return;
        }
        // The other heads are found in the bits.
        let (mut heads, mut before_part, mut until) = (0, 0, 0);
        let mut part = heads_of_part;
        let mut row = 0;
        while row * WARP < count {
            control::keep_rolled();
            if row.is_multiple_of(WARP) {
                before_part += warp::warp_shuffle_idx(u32::MAX, until, WARP - 1, WARP).0;
                heads = *part;
                part = part.wrapping_add(THREADS as usize);
                // The heads of the part up to the row that has the number of this lane.
                until = sum_up_to(heads.count_ones());
            }
            let rows = T::LOADS / 2;
            let is_of_these = lane.wrapping_sub(row % WARP) < rows as u32;
            let is_left = heads != 0 && before_part + until > listed;
            if warp::warp_vote_any(u32::MAX, is_of_these && is_left) {
                let here = source.wrapping_add(index(row) as usize);
                let at = first + u64::from(index(row));
                let before_row = before_part + until - heads.count_ones();
                let mut of_row = [0; MOST_KEYS];
                let mut keys = [T::Word::default(); MOST_KEYS];
                each(rows, |i| {
                    let number = row % WARP + i as u32;
                    of_row[i] = warp::warp_shuffle_idx(u32::MAX, heads, number, WARP).0;
                    if H::LOOKS_BACK {
                        // The key is in a cache, because this block has read it.
                        let key = here.wrapping_add(i * WARP as usize);
                        keys[i] = T::load_if(key, of_row[i] >> lane & 1 != 0).word();
                    }
                });
                each(rows, |i| {
                    let row = row % WARP + i as u32;
                    let before_row = warp::warp_shuffle_idx(u32::MAX, before_row, row, WARP).0;
                    let number = before_row + (of_row[i] & lower).count_ones();
                    if of_row[i] >> lane & 1 != 0 && number >= listed {
                        let run = before + u64::from(number);
                        if H::LOOKS_BACK {
                            out.unique.add(run as usize).write(T::of_word(keys[i]));
                        }
                        write_offset(out.offsets, out.log, run, at + i as u64 * u64::from(WARP));
                    }
                });
            }
            row += rows as u32;
        }
    }
}
