//! Sums marked rows and segments anew, in long accumulators.
//!
//! The kernels of [`short`](super::short) write a [mark](super::item::Rounded::MARK) where they
//! have no proof of a sum, and note in the workspace that there is a mark. A kernel of this module
//! comes behind them. If there is no mark, it ends at once.
//!
//! Otherwise the elements of all rows, one row behind the other, are cut into equal *chunks*, and a
//! block takes one chunk after the other. It looks for marks among the rows that have elements in
//! its chunk, and sums those elements in its long accumulator. If a row lies in one chunk, the
//! block writes the result. If it lies in several, the blocks add to a long accumulator in the
//! workspace, and the block that draws the last ticket of the row writes the result. Of the rows
//! that begin in a chunk only the last one goes beyond it, so each chunk has one such accumulator.
//!
//! # The launch's contract
//!
//! A kernel of [`repair_rows!`](crate::repair_rows!) or
//! [`repair_segments!`](crate::repair_segments!) takes `input` and `output`, then `slots`, which is
//! the workspace of the launch before, and then the fields of [`Rows`] or [`Segments`].
//!
//! - The workspace has [`WORKSPACE_WORDS`] words of 64 bits. All are 0 before, except number
//!   [`MARKED`], which may be 1. All are 0 behind the launch; if `keeps_note` is not 0, that one
//!   stays as it is.
//! - The output has a result, or a mark, for each row.
//! - All rows have 2^42 elements together, at most. So no cell overflows.
//! - The block has [`THREADS`] threads. The grid may be any.

use super::accumulator::Accumulator;
use super::cells::Cells;
use super::item::{Float, Rounded};
use super::{IS_LAST, Raw, WIDE_LIMBS};
use crate::rows::{DIMS, Dim};
use crate::segments::load;
use crate::unroll::each;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control, grid};
use cuda_std::{address_space, thread, warp};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Words of the workspace of a launch.
pub const WORKSPACE_WORDS: usize = 1 << 19;

/// The number of the word that is 1 if there is a mark. No slot of the launches before has it.
pub const MARKED: usize = WORKSPACE_WORDS - 2;

/// The least elements of a chunk.
const LEAST_CHUNK: u64 = 1 << 16;

/// The most chunks.
const MOST_CHUNKS: u64 = 1 << 12;

/// The number of the word in which blocks count themselves when they have done all.
const DONE: usize = 0;

/// The number of the first word of the accumulators.
const ACCUMULATORS: usize = 1;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// Which rows of each warp have a mark, a bit for each.
#[address_space(shared)]
static mut MARKS: [MaybeUninit<u32>; WARPS] = [const { MaybeUninit::uninit() }; WARPS];

/// The sum of a row, of which only the rounded value is a result.
#[address_space(shared)]
static mut SUM: MaybeUninit<Raw<f64, WIDE_LIMBS>> = MaybeUninit::uninit();

/// Rows whose elements can be counted one row behind the other.
///
/// # Safety
/// Each row has a begin and an end. If these are right, the elements between them can be read.
pub unsafe trait Pieces: Copy {
    /// The type of the elements.
    type Element: Float;
    /// The number of rows.
    ///
    /// # Safety
    /// The launch keeps [its contract](self#the-launchs-contract), as for all methods.
    unsafe fn count(self) -> u64;
    /// The number of elements of all rows.
    ///
    /// # Safety
    /// That of [`count`](Self::count).
    unsafe fn total(self, count: u64) -> u64;
    /// Which element of all rows is the first one of row `row`, or the number behind the last
    /// element of all rows, if `row` is the number of rows.
    ///
    /// # Safety
    /// There is such a row.
    unsafe fn begin(self, row: u64) -> u64;
    /// The row that has the element with this number, if there is one.
    ///
    /// # Safety
    /// That of [`count`](Self::count).
    unsafe fn row_of(self, element: u64, count: u64) -> u64;
    /// The address from which [`read`](Self::read) counts the elements of a row.
    ///
    /// # Safety
    /// There is such a row.
    unsafe fn address(self, row: u64) -> *const Self::Element;
    /// Element number `i` of a row whose address is `address`.
    ///
    /// # Safety
    /// The row has the element.
    unsafe fn read(self, address: *const Self::Element, i: u64) -> Self::Element;
}

/// The rows of an array, as [`rows`](mod@crate::rows) has them.
#[derive(Clone, Copy)]
pub struct Rows<T> {
    /// The address of the array.
    pub input: *const T,
    /// The number of the first row of this launch. The output begins with its result.
    pub first: u64,
    /// The number of rows of this launch.
    pub rows: u64,
    /// Elements of a row.
    pub length: u64,
    /// The number of dimensions of the rows.
    pub kept: u32,
    /// The number of dimensions of the elements of a row.
    pub reduced: u32,
    /// The dimensions of the rows, and then those of the elements. In each list the first one
    /// changes fastest. Strides are in bytes.
    pub dims: [Dim; DIMS],
}

impl<T> Rows<T> {
    /// The bytes from the first index to number `index` of the dimensions from `from` to `to`.
    #[inline(always)]
    fn offset(&self, from: u32, to: u32, index: u64) -> usize {
        let (mut rest, mut offset) = (index, 0u64);
        each(DIMS, |i| {
            let number = i as u32;
            // Most arrays have few dimensions, and a division takes time.
            if from <= number && number < to && rest > 0 {
                let Dim { size, stride } = self.dims[i];
                let size = if number + 1 == to { u64::MAX } else { size.max(1) };
                let (quotient, digit) =
                    if size > rest { (0, rest) } else { (rest / size, rest % size) };
                offset = offset.wrapping_add(digit.wrapping_mul(stride as u64));
                rest = quotient;
            }
        });
        offset as usize
    }
}

// SAFETY: the launch's contract says so.
unsafe impl<T: Float> Pieces for Rows<T> {
    type Element = T;
    #[inline(always)]
    unsafe fn count(self) -> u64 {
        self.rows
    }
    #[inline(always)]
    unsafe fn total(self, count: u64) -> u64 {
        count * self.length
    }
    #[inline(always)]
    unsafe fn begin(self, row: u64) -> u64 {
        row * self.length
    }
    #[inline(always)]
    unsafe fn row_of(self, element: u64, _count: u64) -> u64 {
        element / self.length.max(1)
    }
    #[inline(always)]
    unsafe fn address(self, row: u64) -> *const T {
        self.input.wrapping_byte_add(self.offset(0, self.kept, self.first + row))
    }
    #[inline(always)]
    unsafe fn read(self, address: *const T, i: u64) -> T {
        let offset = self.offset(self.kept, self.kept + self.reduced, i);
        // SAFETY: the caller's contract.
        unsafe { address.wrapping_byte_add(offset).read() }
    }
}

/// The segments of an array, as [`segments`](mod@crate::segments) has them.
#[derive(Clone, Copy)]
pub struct Segments<T> {
    /// The address of the array.
    pub input: *const T,
    /// Boundary 0. Segment `i` ends where `i + 1` begins.
    pub boundaries: *const u32,
    /// 2 to this number are the bytes of a boundary: 4 or 8.
    pub log: u32,
    /// The number of segments.
    pub count: u64,
    /// Where the number of segments is in memory, or null if `count` is right.
    pub counted: *const u64,
    /// The number that no boundary may exceed, if segments are neighbours.
    pub elements: u64,
    /// Where span 0 begins in the array, or null if segments are neighbours.
    pub begins: *const u32,
    /// 2 to this number are the bytes of a begin: 4 or 8.
    pub begin_log: u32,
}

// SAFETY: the launch's contract says so, and boundaries that are right do not exceed the elements.
unsafe impl<T: Float> Pieces for Segments<T> {
    type Element = T;
    #[inline(always)]
    unsafe fn count(self) -> u64 {
        if self.counted.is_null() {
            return self.count;
        }
        // SAFETY: the number is there.
        unsafe { atomic::load_relaxed(self.counted) }
    }
    #[inline(always)]
    unsafe fn total(self, count: u64) -> u64 {
        // SAFETY: the boundaries of spans are right, and the last one is that of all elements.
        if self.begins.is_null() { self.elements } else { unsafe { self.begin(count) } }
    }
    #[inline(always)]
    unsafe fn begin(self, row: u64) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { load(self.boundaries, self.log, row) }
    }
    #[inline(always)]
    unsafe fn row_of(self, element: u64, count: u64) -> u64 {
        let (mut low, mut high) = (0, count);
        while low < high {
            control::keep_rolled();
            let middle = low.midpoint(high);
            // SAFETY: there is one boundary more than segments.
            if unsafe { self.begin(middle + 1) } > element {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
    #[inline(always)]
    unsafe fn address(self, row: u64) -> *const T {
        // SAFETY: each segment has a boundary, and each span a begin.
        let first = unsafe {
            if self.begins.is_null() {
                self.begin(row)
            } else {
                load(self.begins, self.begin_log, row)
            }
        };
        self.input.wrapping_add(first as usize)
    }
    #[inline(always)]
    unsafe fn read(self, address: *const T, i: u64) -> T {
        // SAFETY: the caller's contract.
        unsafe { address.wrapping_add(i as usize).read() }
    }
}

/// Sums the marked rows. This is the whole body of a kernel that
/// [`repair_rows!`](crate::repair_rows!) or [`repair_segments!`](crate::repair_segments!) stamps
/// out.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract).
#[inline(always)]
pub unsafe fn repair<P: Pieces, const LIMBS: usize>(
    pieces: P,
    output: *mut <P::Element as Float>::Value,
    workspace: *mut u64,
    keeps_note: bool,
) {
    grid::launch_dependents();
    grid::wait_for_dependencies();
    let marks = (&raw mut MARKS).cast::<u32>();
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    // SAFETY: all branches around barriers are the same in all threads of a block, and those around
    // ballots in all lanes of a warp. The rest is the launch's contract.
    unsafe {
        let marked = workspace.add(MARKED);
        if atomic::load_relaxed(marked) == 0 {
            return;
        }
        // The note is cleared when all threads have read it.
        thread::sync_threads();
        let count = pieces.count();
        let total = pieces.total(count);
        let chunk = total.div_ceil(MOST_CHUNKS).max(LEAST_CHUNK);
        let mut from = u64::from(thread::block_idx_x()) * chunk;
        while from < total {
            control::keep_rolled();
            let to = (from + chunk).min(total);
            let mut row = pieces.row_of(from, count);
            while row < count && pieces.begin(row) < to {
                control::keep_rolled();
                let own = row + u64::from(tid);
                let is_marked =
                    own < count && pieces.begin(own) < to && (*output.add(own as usize)).is_mark();
                let ballot = warp::warp_vote_ballot(u32::MAX, is_marked);
                if tid.is_multiple_of(WARP) {
                    *marks.add((tid / WARP) as usize) = ballot;
                }
                thread::sync_threads();
                let mut i = 0;
                while i < THREADS {
                    control::keep_rolled();
                    let left = *marks.add((i / WARP) as usize) >> (i % WARP);
                    if left == 0 {
                        i = (i / WARP + 1) * WARP;
                        continue;
                    }
                    i += left.trailing_zeros();
                    let part = Part { row: row + u64::from(i), from, to, chunk, total };
                    part.sum::<P, LIMBS>(pieces, output, workspace);
                    i += 1;
                }
                thread::sync_threads();
                row += u64::from(THREADS);
            }
            from += u64::from(blocks) * chunk;
        }
        if tid == 0 {
            thread::device_fence();
            let drawn = atomic::inc(workspace.add(DONE).cast(), blocks - 1);
            thread::device_fence();
            if drawn == blocks - 1 && !keeps_note {
                atomic::store_relaxed(marked, 0);
            }
        }
    }
}

/// The part of a row that lies in a chunk.
#[derive(Clone, Copy)]
struct Part {
    row: u64,
    /// The first element of the chunk, counted over all rows.
    from: u64,
    /// The end of the chunk.
    to: u64,
    /// Elements of a chunk.
    chunk: u64,
    /// The number of elements of all rows.
    total: u64,
}

impl Part {
    /// Sums the part, and writes the result if this is the last part of the row.
    ///
    /// # Safety
    /// All threads of the block call this together. The rest is that of [`repair`].
    #[inline(always)]
    unsafe fn sum<P: Pieces, const LIMBS: usize>(
        self,
        pieces: P,
        output: *mut <P::Element as Float>::Value,
        workspace: *mut u64,
    ) {
        let Self { row, from, to, chunk, total } = self;
        let tid = thread::thread_idx_x();
        let drew_last = (&raw mut IS_LAST).cast::<u32>();
        // SAFETY: barriers separate clearing the block's cells, adding to them, and reading them.
        // The cells in the workspace are read after a fence, the ticket and another fence.
        unsafe {
            let (begin, end) = (pieces.begin(row), pieces.begin(row + 1));
            if begin >= end || end > total || end <= from {
                // The boundaries are wrong.
                return;
            }
            Cells::<LIMBS>::clear();
            thread::sync_threads();
            let address = pieces.address(row);
            let mut sum = Accumulator::<LIMBS>::EMPTY;
            let mut i = begin.max(from) + u64::from(tid);
            while i < end.min(to) {
                control::keep_rolled();
                sum.add(pieces.read(address, i - begin).widen());
                i += u64::from(THREADS);
            }
            let [high, low] = sum.parts();
            Cells::<LIMBS>::add(high);
            Cells::<LIMBS>::add(low);
            if tid == 0 {
                // A sum of -0s alone is always proven.
                Cells::<LIMBS>::note_numbers();
            }
            thread::sync_threads();

            let (first, last) = (begin / chunk, (end - 1) / chunk);
            let mut is_last = true;
            if first < last {
                let slot = ACCUMULATORS + first as usize * (Cells::<LIMBS>::LEN + 1);
                let ticket = workspace.add(slot);
                let cells = ticket.add(1);
                Cells::<LIMBS>::add_to_grid(cells);
                thread::sync_threads();
                if tid == 0 {
                    thread::device_fence();
                    let drawn = atomic::inc(ticket.cast(), (last - first) as u32);
                    thread::device_fence();
                    *drew_last = u32::from(u64::from(drawn) == last - first);
                }
                thread::sync_threads();
                is_last = *drew_last != 0;
                if is_last {
                    Cells::<LIMBS>::take_from_grid(cells);
                    thread::sync_threads();
                }
            }
            if tid == 0 && is_last {
                let sum = (&raw mut SUM).cast::<Raw<<P::Element as Float>::Value, LIMBS>>();
                Cells::<LIMBS>::finish(1, sum);
                output.add(row as usize).write((*sum).value);
            }
            // The cells are cleared for the next row.
            thread::sync_threads();
        }
    }
}
