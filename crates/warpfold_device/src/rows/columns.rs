//! Columns whose elements go straight from global memory into registers.
//!
//! Where neighbouring rows are neighbours in memory, they are *columns* there. Then a lane takes a
//! few of them and goes down step by step, so that a warp reads whole lines, and neither copies nor
//! waits for the other lanes stand between the memory and the arithmetic. A lane puts the elements
//! of each column together to packs. So all operations come in the same order as in a tile in
//! shared memory, and the bits of the results are the same.
//!
//! The buffer of the warp is free meanwhile, and so is the stack of each thread. The buffer has the
//! accumulators of the lane's columns, and behind these a stack for each column of the first half,
//! in which the tiles of a task meet. Those of the other half share the stack of the thread.

use super::source::RowSource;
use super::stage::Stager;
use super::{BUFFER, LEVELS, PART_BYTES, Plan, Tile, WORD, tree};
use crate::item::Pack;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use crate::{Position, Reduction};
use cuda_std::ext::{control, packed, streaming};

/// The words of a buffer that each lane has for itself.
const WORDS: usize = BUFFER / (WORD * WARP) as usize;

/// Bytes that the loads of a lane bring at a time.
const AT_ONCE: usize = 128;

/// The most columns of a lane.
const MOST: usize = 8;

/// How many columns a lane takes, or 0 if the kernel has no way for columns. The host decides in
/// the same way.
///
/// The columns of a lane are 8 bytes of a step, or 4 where their accumulators would take too many
/// registers.
pub const fn columns<S: RowSource, R: Reduction<Source = S>>() -> usize {
    let (size, words) = (size_of::<S::Element>(), R::SLOT_WORDS);
    let mut count = if size > 8 { 1 } else { 8 / size };
    if count * words > 16 {
        count /= 2;
    }
    let is_possible = S::ARRAYS == 1 && !R::IN_ANY_ORDER && (count + 1) * words <= WORDS;
    if is_possible { count } else { 0 }
}

/// The place of a column of a lane in the buffer that begins at `buffer`. Its words lie as many
/// words apart as a warp has lanes.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "a buffer begins at a pack")]
pub(super) fn place(buffer: *mut u8, words: usize, column: u32, lane: u32) -> *mut u32 {
    buffer.cast::<u32>().wrapping_add(words * (column * WARP) as usize + lane as usize)
}

/// For how many accumulators of `words` words there is room in the stack of each column, if a lane
/// takes `columns` columns. The host decides in the same way.
#[inline(always)]
const fn levels(columns: usize, words: usize) -> u32 {
    let (near, far) = (columns.div_ceil(2), columns / 2);
    let in_buffer = ((WORDS / words - columns) / near) as u32;
    let in_stack = if far > 0 { LEVELS / far as u32 } else { LEVELS };
    if in_buffer < in_stack { in_buffer } else { in_stack }
}

/// How many lanes of a team finish a column together, if lanes take so many columns. Where a column
/// has more than 4 teams, all lanes of the team have work.
#[inline(always)]
pub(super) fn lanes_of_column(plan: &Plan, columns: u32) -> u32 {
    let all = (plan.lanes << plan.team) / columns;
    if plan.tasks > 4 << plan.team { all.clamp(1, WARP) } else { 1 }
}

/// The logarithm of a power of two.
#[inline(always)]
pub(super) fn log(x: u32) -> u32 {
    u32::BITS - 1 - x.leading_zeros()
}

/// What a warp needs to reduce columns.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub stager: Stager,
    /// The buffer of the warp.
    pub buffer: *mut u8,
    /// The stack of this thread.
    pub stack: tree::Stack,
}

impl Columns {
    /// Reduces a tile. After the last tile of a task, the [`place`] of each column has the
    /// accumulator of the task.
    ///
    /// # Safety
    /// The kernel has a way for columns, and the whole warp calls this, for each tile of a task in
    /// order. The launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn work<S: RowSource, R: Reduction<Source = S>>(
        self,
        source: S,
        here: Tile,
        plan: &Plan,
    ) {
        let count = columns::<S, R>();
        let lane = self.stager.lane;
        // SAFETY: the caller's contract. Each lane has its own places in the buffer, and all of
        // them take the same branches around the shuffles.
        unsafe {
            let accs = self.part::<S, R>(source, here, plan);
            each(count, |column| {
                let place = place(self.buffer, R::Acc::COUNT, column as u32, lane);
                each(R::Acc::COUNT, |i| *place.add(i * WARP as usize) = accs[column].word(i));
            });
            let (near, levels) = (count.div_ceil(2) as u32, levels(count, R::Acc::COUNT));
            let mut column = 0;
            while column < count as u32 {
                control::keep_rolled();
                let place = place(self.buffer, R::Acc::COUNT, column, lane);
                let acc = R::Acc::from_words(&|i| *place.add(i * WARP as usize));
                let acc = tree::lanes::<R>(acc, tree::Parts::Even, plan.lanes);
                let stack = if column < near {
                    let first = count as u32 + column * levels;
                    let words = self::place(self.buffer, R::Acc::COUNT, first, lane);
                    tree::Stack { words, stride: WARP as usize }
                } else {
                    let first = ((column - near) * levels) as usize * R::Acc::COUNT;
                    let tree::Stack { words, stride } = self.stack;
                    tree::Stack { words: words.add(first * stride), stride }
                };
                let acc = stack.push::<R>(acc, here.number, here.is_last(plan));
                each(R::Acc::COUNT, |i| *place.add(i * WARP as usize) = acc.word(i));
                column += 1;
            }
        }
    }

    /// The accumulators of this lane's part of each of its columns.
    ///
    /// # Safety
    /// That of [`work`](Self::work).
    #[inline(always)]
    unsafe fn part<S: RowSource, R: Reduction<Source = S>>(
        self,
        source: S,
        here: Tile,
        plan: &Plan,
    ) -> [R::Acc; MOST] {
        let columns = columns::<S, R>();
        let size = size_of::<S::Element>();
        let unit_bytes = columns * size;
        // Steps whose loads are under way together.
        let at_once = AT_ONCE / unit_bytes;
        let lane = self.stager.lane;
        let (unit, number) = (lane >> log(plan.lanes), lane & (plan.lanes - 1));
        let most = PART_BYTES / size as u32;
        let first = number * most;
        let is_there = unit * (columns as u32) < here.rows(plan);
        let steps = if is_there { here.steps(plan) } else { 0 };
        let count = steps.saturating_sub(first).min(most);
        let position = |number: u32| {
            let index = here.step(plan) + u64::from(first + number);
            Position { block: (index >> 32) as u32, number: index as u32 }
        };
        let mut kept = [R::start(); MOST];
        let (mut step, mut place) = (0, 0);
        // SAFETY: the caller's contract. Only elements below `count` are read.
        unsafe {
            let (mut from, stride) =
                self.stager.unit::<S::Element>(here, unit, first, unit_bytes as u32, plan);
            let further =
                |from: u64, steps: usize| from.wrapping_add((steps as u64).wrapping_mul(stride));
            while step + at_once as u32 <= count {
                control::keep_rolled();
                let mut units = [[0; 4]; AT_ONCE / 4];
                each_unit(at_once, |i| {
                    units[i] = load(from, unit_bytes);
                    from = further(from, 1);
                });
                // ptxas would use some units before it loads others, and a lane would wait for
                // memory several times. Now each word needs all loads. The mask is 0, but neither
                // compiler knows it.
                let mut mask = 0;
                each_unit(at_once, |i| mask |= units[i][0]);
                mask &= plan.fast;
                each_unit(at_once, |i| each(unit_bytes / 4, |word| units[i][word] ^= mask));
                // One loop, because LLVM would not write out a loop in another one.
                each(AT_ONCE / size_of::<Pack>(), |i| {
                    let (number, column) = (i / columns, i % columns);
                    let pack = pack(&units, number * S::PER_PACK, column, size);
                    let place = place + number as u32;
                    kept[column] = R::pack(kept[column], source.packs([pack; 2]), place);
                });
                place += (at_once / S::PER_PACK) as u32;
                step += at_once as u32;
            }
            // The end of a row has fewer steps.
            while step + S::PER_PACK as u32 <= count {
                control::keep_rolled();
                let mut units = [[0; 4]; AT_ONCE / 4];
                each(S::PER_PACK, |i| units[i] = load(further(from, i), unit_bytes));
                from = further(from, S::PER_PACK);
                each(columns, |column| {
                    let pack = pack(&units, 0, column, size);
                    kept[column] = R::pack(kept[column], source.packs([pack; 2]), place);
                });
                place += 1;
                step += S::PER_PACK as u32;
            }
            let mut accs = [R::identity(); MOST];
            each(columns, |column| accs[column] = R::finish(kept[column], position(0)));
            while step < count {
                control::keep_rolled();
                let units = [load(from, unit_bytes); AT_ONCE / 4];
                from = further(from, 1);
                each(columns, |column| {
                    let item = source.items([element(units[0], column, size); 2]);
                    accs[column] = R::append_item(accs[column], item, position(step));
                });
                step += 1;
            }
            accs
        }
    }
}

/// Calls `turn` for 0 to `count` - 1. There are two loops, because [`each`] writes out 24 turns at
/// most, and there are 32 units of 4 bytes. The loops have no closure in common, because LLVM may
/// make a function of a long one.
#[inline(always)]
fn each_unit(count: usize, mut turn: impl FnMut(usize)) {
    each(count.min(24), &mut turn);
    each(count.saturating_sub(24), |i| turn(24 + i));
}

/// Loads the first `bytes` bytes of a unit: 4, 8 or 16.
///
/// # Safety
/// They are there, at a boundary of so many bytes.
#[inline(always)]
unsafe fn load(from: u64, bytes: usize) -> Pack {
    // SAFETY: the caller's contract.
    unsafe {
        match bytes {
            4 => [streaming::load_near_u32(from as *const u32), 0, 0, 0],
            8 => {
                let both = streaming::load_near_u64(from as *const u64);
                [both as u32, (both >> 32) as u32, 0, 0]
            }
            _ => streaming::load_unhinted_pack_if(from as *const Pack, true),
        }
    }
}

/// The element of a column in a unit, in the lowest bits of a pack.
#[inline(always)]
fn element(unit: Pack, column: usize, size: usize) -> Pack {
    let bits = column * size * 8;
    match size {
        1 => [(unit[bits / 32] >> (bits % 32)) & 0xff, 0, 0, 0],
        2 => [(unit[bits / 32] >> (bits % 32)) & 0xffff, 0, 0, 0],
        4 => [unit[column], 0, 0, 0],
        _ => unit,
    }
}

/// The pack of a column whose first element is in unit number `first`. Each step has a unit.
#[inline(always)]
fn pack(units: &[Pack; AT_ONCE / 4], first: usize, column: usize, size: usize) -> Pack {
    let mut pack = [0; 4];
    each(4, |word| {
        pack[word] = match size {
            1 => {
                // The byte of the column in each of four steps.
                let byte = column as u32 % 4;
                let pair = |step: usize| {
                    let [a, b] = [0, 1].map(|i| units[first + 4 * word + step + i][column / 4]);
                    packed::permute(a, b, (4 + byte) << 4 | byte)
                };
                packed::permute(pair(0), pair(2), 0x5410)
            }
            2 => {
                let [a, b] = [0, 1].map(|i| units[first + 2 * word + i][column / 2]);
                packed::permute(a, b, if column.is_multiple_of(2) { 0x5410 } else { 0x7632 })
            }
            4 => units[first + word][column],
            8 => units[first + word / 2][word % 2],
            _ => units[first][word],
        };
    });
    pack
}
