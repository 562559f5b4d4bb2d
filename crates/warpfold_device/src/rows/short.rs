//! Tiles of short rows, of which a lane takes one after the other.
//!
//! No lane waits for another one, and no lane is left without work where a row has a few elements
//! more than a part. All operations come in the same order as in the general way, which takes up to
//! three times as many instructions for such a tile.

use super::reader::{self, PACKS};
use super::single::Single;
use super::source::RowSource;
use super::stage::piece;
use super::{LINE, PACK, PART_BYTES, Plan, Staging, Tile, WORD, index, padded, part};
use crate::Reduction;
use crate::item::{Item, Pack};
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{control, copy, grid, packed, target};
use cuda_std::warp;

/// Whether lanes take the rows of a tile that has been staged as columns: rows that are neighbours
/// in memory, of a part each. Sums over a few arrays of the same size are like that.
#[inline(always)]
pub(super) fn are_columns<S: RowSource, R: Reduction<Source = S>>(plan: &Plan) -> bool {
    let is = |staging: Staging| plan.staging == staging as u32;
    target::arch() >= 900
        && S::ARRAYS == 1
        && !R::IN_ANY_ORDER
        && (is(Staging::RowUnits) || is(Staging::RowElements))
        && plan.lanes == 1
        && plan.tiles == 1
        && plan.step.is_multiple_of(LINE)
}

/// Reduces the rows of a tile of columns that lies at `tile`.
///
/// # Safety
/// They [are columns](are_columns), and the tile has arrived. The rest is that of
/// [`rows`](super::rows).
#[inline(always)]
pub(super) unsafe fn columns<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    output: *mut R::Raw,
    slots: *mut u64,
    tile: *const u8,
    lane: u32,
    here: Tile,
    plan: &Plan,
) {
    let (first, rows, count) = (here.row(plan), here.rows(plan), here.steps(plan));
    // The compiler would compute what follows from this before the first copy, and keep it in
    // registers that it does not have.
    let step = padded(control::anew(plan.step)) as usize;
    // SAFETY: the caller's contract. Only elements below `count` are read.
    unsafe {
        Rows { source, output, slots, first, count: rows, lane }.reduce::<R>(|row| {
            let at = padded(row * size_of::<S::Element>() as u32);
            let from = |number: u32| tile.wrapping_add(at as usize + number as usize * step);
            let pack = |place: u32| {
                [reader::apart::<S::Element>(from(place * S::PER_PACK as u32), step); 2]
            };
            let item = |item: u32| [reader::alone::<S::Element>(from(item)); 2];
            part::elements::<S, R>(source, (R::start(), 0), (count, 0), pack, item)
        });
    }
}

/// Copies a tile of a launch with [`Staging::ShortRows`], and reduces its rows.
///
/// # Safety
/// The whole warp calls this before it has waited for the launch before. The launch keeps
/// [its contract](super#the-launchs-contract).
#[inline(always)]
#[expect(clippy::needless_pass_by_value, reason = "no field of a value lies in local memory")]
pub(super) unsafe fn rows<S: RowSource, R: Reduction<Source = S>>(single: Single<'_, S, R::Raw>) {
    let Single { source, output, slots, from, tile, lane, first, rows, plan } = single;
    let row_bytes = plan.length as u32 * size_of::<S::Element>() as u32;
    let are_packs = row_bytes.is_multiple_of(PACK);
    // Without a gap behind each line, lanes read words of different banks, unless their rows lie a
    // multiple of two packs apart.
    let gap = if row_bytes.is_multiple_of(2 * PACK) { PACK } else { 0 };
    let tile = Lines { tile, gap };
    grid::wait_for_dependencies();
    // SAFETY: the caller's contract. No lane waits for another one behind the barrier.
    unsafe {
        tile.copy::<S::Element>(from, rows * row_bytes, lane);
        copy::wait();
        warp::sync_warp(u32::MAX);
        // Each kind of rows has a loop of its own, of which the compiler knows more.
        let each_row = Rows { source, output, slots, first, count: rows, lane };
        if are_packs {
            each_row.reduce::<R>(|row| tile.row::<S, R, true>(source, row * row_bytes, plan));
        } else {
            each_row.reduce::<R>(|row| tile.row::<S, R, false>(source, row * row_bytes, plan));
        }
    }
}

/// The rows of a tile, and where their results go.
#[derive(Clone, Copy)]
struct Rows<S, Raw> {
    source: S,
    output: *mut Raw,
    slots: *mut u64,
    /// The number of the first row among all.
    first: u64,
    count: u32,
    lane: u32,
}

impl<S: RowSource, Raw> Rows<S, Raw> {
    /// Writes what `reduce` makes of the rows of this lane.
    ///
    /// # Safety
    /// There are places for the results.
    #[inline(always)]
    unsafe fn reduce<R: Reduction<Source = S, Raw = Raw>>(self, reduce: impl Fn(u32) -> R::Acc) {
        let Self { source, output, slots, first, count, lane } = self;
        let mut row = lane;
        while row < count {
            control::keep_rolled();
            let acc = reduce(row);
            // SAFETY: the caller's contract.
            unsafe { R::write(acc, output, first + u64::from(row), index, source, slots) };
            row += WARP;
        }
    }
}

/// A tile of neighbours that begins at a pack, in lines of shared memory.
#[derive(Clone, Copy)]
struct Lines {
    tile: *mut u8,
    /// The bytes behind each line that are left out: a pack, or none.
    gap: u32,
}

impl Lines {
    /// How far behind the beginning of the buffer byte number `at` is.
    #[inline(always)]
    fn place(self, at: u32) -> u32 {
        at + at / LINE * self.gap
    }

    /// Starts the copy of `bytes` bytes from `from` on. What is left of a last pack becomes 0.
    ///
    /// # Safety
    /// That of [`piece::copy`]. `from` is at a pack.
    #[inline(always)]
    unsafe fn copy<T: Item>(self, from: u64, bytes: u32, lane: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            let place = |at| self.place(at);
            piece::whole_packs(self.tile, from, bytes / PACK * PACK, lane, place);
            if !bytes.is_multiple_of(PACK) {
                piece::cut::<T>(self.tile, from, (0, bytes), lane, place);
            }
        }
    }

    /// The accumulator of the row that begins at byte number `at`. `ARE_PACKS` says that all
    /// rows begin at packs and have whole ones.
    ///
    /// # Safety
    /// The row has arrived.
    #[inline(always)]
    unsafe fn row<S: RowSource, R: Reduction<Source = S>, const ARE_PACKS: bool>(
        self,
        source: S,
        at: u32,
        plan: &Plan,
    ) -> R::Acc {
        let size = size_of::<S::Element>() as u32;
        let in_part = PART_BYTES / size;
        let (length, has_two) = (plan.length as u32, plan.lanes > 1);
        // SAFETY: the caller's contract.
        unsafe {
            if size >= WORD {
                let mut left = R::identity();
                if has_two {
                    // A lane that reads a whole part at once waits for shared memory once.
                    let mut packs = [[0; 4]; PACKS];
                    each(PACKS, |i| {
                        packs[i] = self.pack::<S::Element, ARE_PACKS>(at + i as u32 * PACK);
                    });
                    left = part::whole::<S, R>(source, packs, 0);
                }
                let before = if has_two { in_part } else { 0 };
                let last = (length - before, before);
                let acc = self.part::<S, R, ARE_PACKS>(source, at + before * size, last);
                return if has_two { R::append(left, acc) } else { acc };
            }
            let (mut left, mut before) = (R::identity(), 0);
            loop {
                control::keep_rolled();
                let count = (length - before).min(in_part);
                let part = (count, before);
                let acc = self.part::<S, R, ARE_PACKS>(source, at + before * size, part);
                if before + count == length {
                    return if has_two { R::append(left, acc) } else { acc };
                }
                (left, before) = (acc, in_part);
            }
        }
    }

    /// The accumulator of a part that begins at byte number `at`. It has `count` elements, and
    /// `before` elements of its row are before it.
    ///
    /// # Safety
    /// The elements have arrived.
    #[inline(always)]
    unsafe fn part<S: RowSource, R: Reduction<Source = S>, const ARE_PACKS: bool>(
        self,
        source: S,
        at: u32,
        (count, before): (u32, u32),
    ) -> R::Acc {
        let in_pack = S::PER_PACK as u32;
        // What the compiler knows here is not computed.
        let count = if ARE_PACKS { count / in_pack * in_pack } else { count };
        // SAFETY: the caller's contract.
        let pack =
            |number: u32| [unsafe { self.pack::<S::Element, ARE_PACKS>(at + number * PACK) }; 2];
        let item = |number: u32| {
            let at = at + number * size_of::<S::Element>() as u32;
            // SAFETY: the caller's contract. Without whole packs, there are no gaps.
            [unsafe { reader::alone::<S::Element>(self.tile.wrapping_add(at as usize)) }; 2]
        };
        part::elements::<S, R>(source, (R::start(), 0), (count, before.into()), pack, item)
    }

    /// The pack of elements from byte number `at` on.
    ///
    /// # Safety
    /// They have arrived.
    #[inline(always)]
    unsafe fn pack<T: Item, const ARE_PACKS: bool>(self, at: u32) -> Pack {
        // SAFETY: the caller's contract. Without whole packs, there are no gaps.
        unsafe {
            if ARE_PACKS {
                copy::read_pack(self.tile.wrapping_add(self.place(at) as usize).cast())
            } else {
                words::<T>(self.tile, at)
            }
        }
    }
}

/// The pack of elements from byte number `at` of a tile without gaps on.
///
/// # Safety
/// They have arrived, and all bytes of the words that have some of them have been written.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "words lie at their boundaries")]
unsafe fn words<T: Item>(tile: *const u8, at: u32) -> Pack {
    let word = |at: u32| tile.wrapping_add((at / WORD * WORD) as usize).cast::<u32>();
    let from = word(at);
    let mut words = [0; 5];
    // SAFETY: the caller's contract.
    unsafe {
        each(4, |i| words[i] = *from.wrapping_add(i));
        if size_of::<T>() < WORD as usize {
            // Elements that begin at a word have none in the word behind them.
            words[4] = *word(at + PACK - 1);
            let bytes = 0x3210 + 0x1111 * (at % WORD);
            each(4, |i| words[i] = packed::permute(words[i], words[i + 1], bytes));
        }
    }
    [words[0], words[1], words[2], words[3]]
}
