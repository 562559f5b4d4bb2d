//! What a lane makes of its part of a row.

use super::source::RowSource;
use super::{LINE, PACK, PART_BYTES, Plan, Tile, Tiles, WORD, padded};
use crate::item::{Item, Pack};
use crate::unroll::each;
use crate::warp::WARP;
use crate::{Position, Reduction};
use cuda_std::ext::{control, copy, packed, target};

/// The number of packs of a whole part.
const PACKS: usize = (PART_BYTES / PACK) as usize;

/// What a lane takes of a tile.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The number of the row in the tile.
    pub row: u32,
    /// The number of the part in the row.
    pub number: u32,
    /// Whether there is such a row.
    pub is_row: bool,
}

/// The accumulator of this lane's part of a row of a tile. If the order does not matter, `before`
/// is the accumulator of this lane's parts of the tiles before, and becomes part of the result.
///
/// # Safety
/// The tile of each array has been copied to `tiles`, and all copies have arrived.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "a line of shared memory begins at a pack")]
pub(super) unsafe fn part<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    tiles: Tiles,
    share: Share,
    before: R::Acc,
    here: Tile,
    [plan, second]: [&Plan; 2],
) -> R::Acc {
    let Tiles { start: [tile, second_tile], shift: [shift, second_shift] } = tiles;
    let is_pair = S::ARRAYS == 2;
    let most = PART_BYTES / S::ARRAYS as u32 / size_of::<S::Element>() as u32;
    let first = share.number * most;
    let there = if share.is_row { here.steps(plan) } else { 0 };
    let count = there.saturating_sub(first).min(most);
    let (packs, rest) = (count / S::PER_PACK as u32, count % S::PER_PACK as u32);
    let mut at = shift + share.row * plan.row_step + first * plan.step;
    let mut second_at = second_shift + share.row * second.row_step + first * second.step;
    let position = |number: u32| {
        let index = here.step(plan) + u64::from(first + number);
        Position { block: (index >> 32) as u32, number: index as u32 }
    };
    let run = Run::of::<S::Element>(plan.step, shift | plan.row_step);
    // Most parts are whole. Their packs are read all at once, because a lane then waits for shared
    // memory once and not eight times. Older devices have too few registers for that, and packs of
    // many narrow elements gain nothing, because their arithmetic takes longer than the wait.
    // Nor is there a gain if a thread goes on with a list.
    let is_full = !is_pair
        && target::arch() >= 900
        && size_of::<S::Element>() >= WORD as usize
        && count == most
        && !R::IN_ANY_ORDER;
    let full = |packs: [Pack; PACKS]| {
        let mut kept = R::start();
        each(PACKS, |i| kept = R::pack(kept, source.packs([packs[i]; 2]), i as u32));
        R::finish(kept, position(0))
    };
    let mut kept = if R::IN_ANY_ORDER { R::resume(before, position(0)) } else { R::start() };
    let mut place = 0;
    // SAFETY: the elements below `count` are in the tile.
    unsafe {
        // A part is a line of shared memory.
        if is_full && run.is_whole && plan.row_step.is_multiple_of(LINE) {
            let from = tile.add(padded(at) as usize).cast::<Pack>();
            let mut packs = [[0; 4]; PACKS];
            each(PACKS, |i| packs[i] = copy::read_pack(from.add(i)));
            return full(packs);
        }
        // A part is a column of 32, and the distance of its elements is a constant.
        let column_step = WARP * size_of::<S::Element>() as u32;
        if is_full && plan.step == column_step {
            let from = tile.add(padded(at) as usize);
            let mut packs = [[0; 4]; PACKS];
            each(PACKS, |i| {
                each(S::PER_PACK, |k| {
                    let number = (i * S::PER_PACK + k) as u32;
                    put::<S::Element>(&mut packs[i], k, from, number * padded(column_step));
                });
            });
            return full(packs);
        }
        while place < packs {
            control::keep_rolled();
            let mut both = [[0; 4]; 2];
            both[0] = pack::<S::Element>(tile, at, plan.step, run);
            if is_pair {
                let step = second.step;
                let run = Run::of::<S::Element>(step, second_shift | second.row_step);
                both[1] = pack::<S::Element>(second_tile, second_at, step, run);
                second_at += S::PER_PACK as u32 * step;
            }
            kept = R::pack(kept, source.packs(both), place);
            place += 1;
            at += S::PER_PACK as u32 * plan.step;
        }
        let mut acc = R::finish(kept, position(0));
        let mut item = 0;
        while item < rest {
            control::keep_rolled();
            let mut elements = [[0; 4]; 2];
            put::<S::Element>(&mut elements[0], 0, tile, padded(at));
            if is_pair {
                put::<S::Element>(&mut elements[1], 0, second_tile, padded(second_at));
                second_at += second.step;
            }
            let position = position(packs * S::PER_PACK as u32 + item);
            acc = R::append_item(acc, source.items(elements), position);
            item += 1;
            at += plan.step;
        }
        acc
    }
}

/// How the elements of a pack lie in a tile.
#[derive(Clone, Copy)]
struct Run {
    /// Each pack is a pack of shared memory.
    is_whole: bool,
    /// The elements are neighbours, and have less than a word each. A pack of them may lie in two
    /// packs of shared memory.
    is_narrow: bool,
    /// The elements lie at equal distances, in the padded tile too.
    is_even: bool,
}

impl Run {
    /// For elements that lie `step` bytes apart. `begin` is a multiple of a pack if each row begins
    /// at a pack.
    #[inline(always)]
    fn of<T>(step: u32, begin: u32) -> Self {
        let are_neighbours = step == size_of::<T>() as u32;
        Self {
            is_whole: are_neighbours && begin.is_multiple_of(PACK),
            is_narrow: are_neighbours && step < WORD,
            is_even: step.is_multiple_of(LINE),
        }
    }
}

/// The pack whose first element lies `at` bytes behind `tile`, and its others `step` bytes apart.
///
/// # Safety
/// The elements are there. The packs of shared memory that have narrow ones have been written.
#[inline(always)]
unsafe fn pack<T: Item>(tile: *const u8, at: u32, step: u32, run: Run) -> Pack {
    let mut pack = [0; 4];
    // SAFETY: the caller's contract.
    unsafe {
        if run.is_whole {
            pack = read(tile, at);
        } else if size_of::<T>() < WORD as usize && run.is_narrow {
            let first = at & !(PACK - 1);
            // A pack that begins at a pack of shared memory may have none behind it.
            let last = (at + PACK - 1) & !(PACK - 1);
            pack = joined(read(tile, first), read(tile, last), at);
        } else if run.is_even {
            let (first, step) = (padded(at), padded(step));
            each(T::PER_PACK, |i| put::<T>(&mut pack, i, tile, first + i as u32 * step));
        } else {
            each(T::PER_PACK, |i| put::<T>(&mut pack, i, tile, padded(at + i as u32 * step)));
        }
    }
    pack
}

/// The pack of shared memory `at` bytes behind the beginning of a tile.
///
/// # Safety
/// It has been written.
#[inline(always)]
unsafe fn read(tile: *const u8, at: u32) -> Pack {
    // SAFETY: the caller's contract.
    unsafe { copy::read_pack(tile.wrapping_add(padded(at) as usize).cast()) }
}

/// The pack that begins at byte number `at` of a tile, which lies in the pack `low`. The next pack
/// is `high`, or `low` again.
#[inline(always)]
fn joined(low: Pack, high: Pack, at: u32) -> Pack {
    let mut words = [0; 8];
    each(4, |i| (words[i], words[4 + i]) = (low[i], high[i]));
    // The words are moved by two, then by one, and then by bytes. LLVM would make a branch a choice
    // of addresses, and the words would need memory.
    let mask = |bit: u32| 0u32.wrapping_sub(at / bit % 2);
    let choose = |mask: u32, moved: u32, stays: u32| moved & mask | stays & !mask;
    let (two, one) = (mask(2 * WORD), mask(WORD));
    each(6, |i| words[i] = choose(two, words[i + 2], words[i]));
    each(5, |i| words[i] = choose(one, words[i + 1], words[i]));
    let bytes = 0x3210 + 0x1111 * (at % WORD);
    let mut pack = [0; 4];
    each(4, |i| pack[i] = packed::permute(words[i], words[i + 1], bytes));
    pack
}

/// Puts the element that lies `at` bytes behind `tile` into place `i` of a pack, in which this
/// place is 0.
///
/// # Safety
/// The element is there.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "an element is aligned in the tile")]
unsafe fn put<T: Item>(pack: &mut Pack, i: usize, tile: *const u8, at: u32) {
    let place = tile.wrapping_add(at as usize);
    let bits = i * size_of::<T>() * 8;
    // SAFETY: the caller's contract. An element lies within a line, so that its words are
    // neighbours.
    unsafe {
        match size_of::<T>() {
            1 => pack[bits / 32] |= u32::from(*place) << (bits % 32),
            2 => pack[bits / 32] |= u32::from(*place.cast::<u16>()) << (bits % 32),
            size => each(size / 4, |word| pack[bits / 32 + word] = *place.cast::<u32>().add(word)),
        }
    }
}
