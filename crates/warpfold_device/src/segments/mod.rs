//! The skeleton of kernels that reduce segments: rows of any lengths, which lie one behind the
//! other and whose boundaries are an array.
//!
//! *Ranges.* Each warp takes the segments that begin in its range. Where a segment begins is
//! counted in bytes of elements, plus [a few](Boundaries::cost) for each segment before it, so that
//! a range has about the same work wherever segments are short or empty. A range is as long as the
//! longest task, or, in a small array, shorter than a tile by a power of two. So if a segment is
//! longer than a task, its further tasks begin in ranges that follow, equally many ranges apart.
//! A warp finds the task of its range by a search for the first segment that begins there.
//!
//! *Numbers.* In a small array, the search takes longer than everything else. So there may be other
//! warps, which come first and take the segments by their numbers, equally many each. The warp of a
//! range then has at most the task of a segment that begins before the range.
//!
//! *Tiles.* A tile has as many neighbouring segments as fit into it, or it is a tile of one longer
//! segment. A warp copies a tile to shared memory and waits for it. It has one buffer, so that a
//! multiprocessor has room for many warps, and some of them wait for memory while others compute.
//! In a tile of short segments each lane takes a segment, or a part of one if any is longer than a
//! part (`short.rs`).
//!
//! *Waiting.* The task of a segment that begins before the range is the only one that may have to
//! wait for other tasks. The warp does this at last, because otherwise each warp would wait until
//! the warp before it has stopped to wait.
//!
//! *Spans.* Segments may also lie anywhere in the array. The boundaries are then those of all spans
//! one behind the other, and another array says where each span begins. Each span has tiles of its
//! own, as a long segment has.
//!
//! *Boundaries.* They come through a ring in shared memory, those of the next tile together with
//! the elements of this one. They may be wrong. Nothing outside the arrays is read or written then,
//! and the number of the first wrong segment is left in the status.
//!
//! *Order.* Parts, and the tree over them, are those of [`rows`](mod@crate::rows), so that a
//! segment has the bits of a row of the same elements.
//!
//! # The launch's contract
//!
//! A kernel of [`segments!`](crate::segments!) takes `input`, `output`, `slots`, and the fields of
//! [`Boundaries`] and [`Spans`] one by one, and then the parameters that follow the word `with`.
//! There is at least one segment.
//!
//! - Segment `r` is the elements from boundary `r` to boundary `r + 1`. So there is one boundary
//!   more than segments.
//! - The results lie at `output` in the order of the segments, for each segment as many as its
//!   operation has.
//! - The status is 0 before. Boundaries that decrease or are too large are noted there. The results
//!   then have any values, and words of `slots` may be left that are not 0.
//! - The tiles of a task are a power of two, at most 2 to [`LEVELS`]. So many tiles are a range, or
//!   a range is shorter than the one tile of a task. All ranges together have more bytes than all
//!   elements, and the cost of each segment besides.
//! - The block has [`THREADS`] threads and the [dynamic shared memory](shared_bytes) of its rings.
//!   The grid has a warp for each range, and in front of these the
//!   [numbered](Boundaries::numbered) ones.
//! - If there are numbered warps, they take all segments, at least one each. Segments are then
//!   neighbours, and the host knows their number.
//! - If the number of segments is in memory, it is at least 1, [`count`](Boundaries::count) is the
//!   most that it may be, and tiles and ranges are those of so many segments. The first boundary is
//!   then 0, and the last one is the number of elements. The kernel makes ranges shorter if there
//!   are fewer segments, so that there are about as many ranges as the grid has warps.
//! - If segments are spans, boundaries are right, from 0 to the number of elements of all spans.
//!   Tasks of 2 to [`LEVELS`] tiles would do for the ranges. A span that has elements lies within
//!   the array. The kernel makes ranges as long as they must be.
//! - `slots` has two 64-bit words for each range and each 32-bit word of a result.

mod boundaries;
mod reader;
mod ring;
mod share;
mod short;
mod tile;

pub(crate) use boundaries::load;
pub use boundaries::{Boundaries, Spans};
pub use ring::LEAST_RING;

use crate::Reduction;
use crate::item::Item;
use crate::rows::finish::{Meeting, post};
use crate::rows::{PART_BYTES, index, tree};
use crate::source::OneArray;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::{self, Words};
use boundaries::Found;
use core::mem::MaybeUninit;
use cuda_std::ext::{control, copy, grid};
use cuda_std::{shared, thread, warp};
use ring::{Next, Ring};
use tile::{BUFFER, Staged, Tile};

/// Threads of a block.
pub const THREADS: u32 = 64;

/// The most tiles of a task are 2 to this number.
pub const LEVELS: u32 = 10;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// What a warp keeps in shared memory, besides its ring.
#[repr(C)]
struct Shared {
    /// A tile. Its numbers are as long as a pack, so that it begins at one.
    buffer: [MaybeUninit<u128>; BUFFER / size_of::<u128>()],
    /// The accumulator of a task that waits until the warp has done everything else.
    waiting: [MaybeUninit<u32>; words::MOST],
    /// The accumulators of the tiles of a task that wait for others.
    stack: [MaybeUninit<u32>; STACK_WORDS],
}

/// Words of the stack of a warp.
const STACK_WORDS: usize = LEVELS as usize * words::MOST;

const _: () = assert!(short::LONGER * size_of::<u16>() <= STACK_WORDS * size_of::<u32>());

/// Bytes of dynamic shared memory of a block whose rings have so many words.
#[must_use]
pub const fn shared_bytes(ring: u32) -> u32 {
    WARPS as u32 * warp_bytes(ring)
}

/// Bytes of it for each warp.
#[inline(always)]
const fn warp_bytes(ring: u32) -> u32 {
    size_of::<Shared>() as u32 + ring * size_of::<u32>() as u32
}

/// Words of shared memory for the accumulators of a warp, if their order does not matter: one for
/// each lane, which goes on with it from tile to tile, and one in place of [`Shared::waiting`].
const fn list_words_of_warp<R: Reduction>() -> usize {
    (WARP as usize + 1) * R::Acc::COUNT
}

/// These words for all warps of a block, and at least one, because shared memory without a word is
/// refused. A kernel that does not use the word has no shared memory for it.
#[doc(hidden)]
pub const fn list_words<R: Reduction>() -> usize {
    if R::IN_ANY_ORDER { WARPS * list_words_of_warp::<R>() } else { 1 }
}

/// Reduces segments. This is the whole body of a kernel that [`segments!`](crate::segments!) stamps
/// out. If the order of accumulators does not matter ([`Reduction::IN_ANY_ORDER`]), `lists` has
/// room for one of each lane, and one more of each warp.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract), and `lists` is shared memory.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "the memory of each warp begins at a pack")]
pub unsafe fn segments<S: OneArray, R: Reduction<Source = S>>(
    input: S,
    output: *mut R::Raw,
    slots: *mut u64,
    lists: *mut u32,
    boundaries: Boundaries,
) {
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let number = thread::block_idx_x() * WARPS as u32 + warp_of_block;
    // The warps that take segments by their numbers come first. They have no range.
    let range = number.checked_sub(boundaries.numbered);
    if range.is_some_and(|range| range >= boundaries.ranges) {
        return;
    }
    // SAFETY: each warp has its own part of the shared memory. All branches around collective calls
    // are the same in all lanes of a warp. The rest is the launch's contract.
    unsafe {
        let begin = (warp_of_block * warp_bytes(boundaries.ring)) as usize;
        let shared = shared::dynamic_shared_mem::<u8>().add(begin).cast::<Shared>();
        let room = Room::of::<R>(shared, lists, warp_of_block, lane);
        grid::wait_for_dependencies();

        let mut boundaries = boundaries;
        if boundaries.must_be_counted() {
            boundaries = boundaries.counted::<S::Element>();
            if range.is_some_and(|range| range >= boundaries.ranges) {
                return;
            }
        }
        let found = match range {
            None => boundaries.by_number(number),
            Some(range) => boundaries.find::<S::Element>(range, lane),
        };
        work::<S, R>(input, output, slots, room, boundaries, range, found);
    }
}

/// The shared memory of a warp.
#[derive(Clone, Copy)]
struct Room {
    buffer: *mut u8,
    ring: *mut u32,
    stack: tree::Stack,
    longer: *mut u16,
    waiting: *mut u32,
    lane: u32,
}

impl Room {
    /// # Safety
    /// `shared` is the warp's, and `lists` is what [`segments`] has got.
    #[inline(always)]
    unsafe fn of<R: Reduction>(
        shared: *mut Shared,
        lists: *mut u32,
        warp_of_block: u32,
        lane: u32,
    ) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let mut stack = tree::Stack { words: (&raw mut (*shared).stack).cast(), stride: 1 };
            // The list lies in the stack, because no task is under way while the warp works on a
            // tile of short segments.
            let longer = stack.words.cast();
            let mut waiting = (&raw mut (*shared).waiting).cast::<u32>();
            if R::IN_ANY_ORDER {
                let lists = lists.add(warp_of_block as usize * list_words_of_warp::<R>());
                stack = tree::Stack { words: lists.add(lane as usize), stride: WARP as usize };
                waiting = lists.add(WARP as usize * R::Acc::COUNT);
            }
            Self {
                buffer: (&raw mut (*shared).buffer).cast(),
                ring: shared.add(1).cast(),
                stack,
                longer,
                waiting,
                lane,
            }
        }
    }
}

/// Reduces the segments of a warp, which has the range of this number, or takes segments by their
/// numbers.
///
/// # Safety
/// The whole warp calls this, with memory of its own. The launch keeps [its
/// contract](self#the-launchs-contract).
#[inline(always)]
unsafe fn work<S: OneArray, R: Reduction<Source = S>>(
    input: S,
    output: *mut R::Raw,
    slots: *mut u64,
    room: Room,
    boundaries: Boundaries,
    range: Option<u32>,
    found: Found,
) {
    let Room { buffer, stack, longer, waiting, lane, .. } = room;
    let ring = Ring { words: room.ring, size: boundaries.ring, log: boundaries.log - 2, lane };
    let Found { base, count } = found;
    // SAFETY: the caller's contract. All branches around collective calls are the same in all lanes
    // of a warp.
    unsafe {
        let warp = Warp { boundaries, slots, base, count, ring, stack, longer, lane };
        let mut is_waiting = false;
        let mut next = Next { segment: 1, begin: 0, brought: 2 };
        // These boundaries arrive while the warp waits for two of them that it needs at once.
        ring.bring(&mut next, &boundaries, base, count);
        next.begin = boundaries.load(base.wrapping_add(1));
        let task_of = |base| range.and_then(|range| boundaries.task_of::<S::Element>(range, base));
        let mut tile = task_of(base);
        if tile.is_none() {
            copy::wait();
            warp::sync_warp(u32::MAX);
            tile = warp.short::<S::Element>(&mut next);
        }
        while let Some(here) = tile {
            control::keep_rolled();
            // The boundaries of the next tile arrive with this one.
            ring.bring(&mut next, &boundaries, warp.base, warp.count);
            let first = boundaries.place_of(here, base);
            // What the copies make of the lane is made anew for each tile, because it would need
            // registers from tile to tile.
            let lane_again = control::anew(lane);
            let staged = here.stage(first, input.address(), boundaries.task, buffer, lane_again);
            copy::wait();
            warp::sync_warp(u32::MAX);
            if !here.is_long() {
                staged.close::<S::Element>(lane);
                warp::sync_warp(u32::MAX);
                warp.work_short::<S, R>(input, here, staged, output);
            } else if let Some(acc) = warp.work_long::<S, R>(input, here, staged) {
                let tasks = here.tasks::<S::Element>(boundaries.task);
                // Only a task behind the first one of its segment waits.
                let meeting = warp.meeting(tasks);
                let waits = tasks > 1 && meeting.waits::<R::Acc>(here.task);
                is_waiting |= waits;
                if lane > 0 {
                    // Lane 0 has the accumulator.
                } else if waits {
                    each(R::Acc::COUNT, |i| *waiting.wrapping_add(i) = acc.word(i));
                } else if tasks > 1 {
                    let segment = base.wrapping_add(here.first.into());
                    let slot = boundaries.slot_of::<S::Element>(segment, here, here.task);
                    post::<R>(slots, slot, acc);
                } else {
                    warp.write::<R>(input, here.first, acc, output);
                }
            }
            tile = match here.next::<S::Element>(boundaries.task) {
                None => warp.short::<S::Element>(&mut next),
                further => further,
            };
            // The next tile takes the place of this one, and lane 0 may have left an accumulator.
            warp::sync_warp(u32::MAX);
        }
        // The boundaries of the task are read again, for the same reason.
        let base = base & !u64::from(u32::MAX) | u64::from(control::anew(base as u32));
        if is_waiting && let Some(tile) = task_of(base) {
            let acc = R::Acc::from_words(&|i| *waiting.wrapping_add(i));
            let meeting = warp.meeting(tile.tasks::<S::Element>(boundaries.task));
            let are_wrong = |round| boundaries.are_wrong(round);
            let slot_of = |task| boundaries.slot_of::<S::Element>(base, tile, task);
            let (acc, is_whole) =
                meeting.combine::<R>(acc, tile.task, slot_of, |acc| acc, are_wrong);
            if is_whole && lane == 0 {
                warp.write::<R>(input, tile.first, acc, output);
            }
        }
    }
}

/// What a warp knows of its segments, which are counted as in [`Found`].
#[derive(Clone, Copy)]
struct Warp {
    boundaries: Boundaries,
    slots: *mut u64,
    /// The number of segment 0 in the array.
    base: u64,
    /// The number of segments, segment 0 included.
    count: u32,
    ring: Ring,
    stack: tree::Stack,
    /// The list of the longer segments of a tile, which has [`short::LONGER`] places. Segments are
    /// counted from the first one of the tile.
    longer: *mut u16,
    lane: u32,
}

impl Warp {
    /// What the warp needs to meet the others of a segment of so many tasks.
    #[inline(always)]
    fn meeting(&self, tasks: u32) -> Meeting {
        let Self { slots, stack, lane, .. } = *self;
        Meeting { slots, tasks, lanes: WARP, member: 0, members: 0, stack, lane, is_row: true }
    }

    /// The tile that begins with the next segment, if there is one.
    ///
    /// # Safety
    /// The whole warp calls this, and what was brought to the ring has arrived.
    #[inline(always)]
    unsafe fn short<T: Item>(&self, next: &mut Next) -> Option<Tile> {
        let Next { segment: first, begin, brought } = *next;
        if first >= self.count {
            return None;
        }
        // No segment fits if the first one is wrong. Spans are no neighbours, so each of them has
        // tiles of its own.
        let is_inside = begin <= self.boundaries.elements && self.boundaries.spans.are_neighbours();
        // Segments whose ends were brought.
        let there = brought - 1 - first;
        // SAFETY: only boundaries that were brought are read.
        unsafe {
            // How many of so many lanes find, one after the other, that the segments up to theirs
            // fit. Lane 0 looks at the first `step` segments behind `before`.
            let fitting = |before: u32, step: u32, lanes: u32| {
                let segments = before + (self.lane + 1) * step;
                let mut fits = is_inside && self.lane < lanes && segments <= there;
                if fits {
                    let end = self.ring.boundary(first + segments);
                    let is_short = end.wrapping_sub(begin) <= tile::most::<T>();
                    fits = is_short && end <= self.boundaries.elements;
                }
                warp::warp_vote_ballot(u32::MAX, fits).trailing_ones()
            };
            let step = self.ring.capacity().div_ceil(WARP);
            let steps = fitting(0, step, WARP);
            let segments = steps * step + fitting(steps * step, 1, step);
            let taken = segments.max(1);
            let end = self.ring.boundary(first + taken);
            *next = Next { segment: first + taken, begin: end, brought };
            if segments > 0 {
                return Some(Tile::short(first, segments, begin, end.wrapping_sub(begin)));
            }
            if self.boundaries.is_right(begin, end) {
                return Some(Tile::long(first, begin, end - begin, 0));
            }
            // A wrong segment becomes a tile without elements.
            if self.lane == 0 {
                self.boundaries.report(self.base.wrapping_add(first.into()));
            }
            Some(Tile::short(first, 1, begin, 0))
        }
    }

    /// Reduces a tile of a long segment. The last one of a task gives the task's accumulator, which
    /// lane 0 has.
    ///
    /// # Safety
    /// The whole warp calls this, for each tile of a task in order. The tile has arrived.
    #[inline(always)]
    unsafe fn work_long<S: OneArray, R: Reduction<Source = S>>(
        &self,
        source: S,
        tile: Tile,
        staged: Staged,
    ) -> Option<R::Acc> {
        let in_part = PART_BYTES / size_of::<S::Element>() as u32;
        let (before, count) = tile.extent::<S::Element>(self.boundaries.task);
        let skipped = self.lane * in_part;
        let own = count.saturating_sub(skipped).min(in_part);
        let is_last = tile.next::<S::Element>(self.boundaries.task).is_none();
        let are_packs = staged.is_pack::<S::Element>(0);
        // SAFETY: the caller's contract.
        unsafe {
            if !are_packs {
                // A part begins in the line that has the number of its lane.
                staged.close::<S::Element>(self.lane);
            }
            let first = before + u64::from(skipped);
            let before = if R::IN_ANY_ORDER && tile.number > 0 {
                self.stack.top::<R>()
            } else {
                R::identity()
            };
            let acc = reader::part::<S, R>(source, staged, skipped, own, are_packs, first, before);
            if R::IN_ANY_ORDER && !is_last {
                self.stack.keep::<R>(acc);
                return None;
            }
            let acc = tree::lanes::<R>(acc, tree::Parts::Even, WARP);
            if R::IN_ANY_ORDER {
                return Some(acc);
            }
            // Words are chosen, and not accumulators, because LLVM would keep those in local
            // memory.
            let mut words = acc.to_words();
            if self.lane == 0 {
                words = self.stack.push::<R>(acc, tile.number, is_last).to_words();
            }
            is_last.then(|| R::Acc::from_words(&|i| words[i]))
        }
    }

    /// The numbers of the elements of the tile at which a segment begins and ends. A segment with
    /// wrong boundaries is reported, and has no elements.
    ///
    /// # Safety
    /// The tile is one of short segments, and has this one.
    #[inline(always)]
    unsafe fn place_of(&self, tile: Tile, segment: u32) -> (u32, u32) {
        // SAFETY: the caller's contract.
        unsafe {
            // The lower words are enough, except where boundaries are wrong.
            let is_first = segment == tile.first;
            let lower = |segment| self.ring.low(segment).wrapping_sub(tile.begin as u32);
            let offset = if is_first { 0 } else { lower(segment) };
            let until = lower(segment + 1);
            let mut is_right = offset <= until && until <= tile.length as u32;
            if self.ring.has_high() {
                let is_place = |segment, offset: u32| {
                    self.ring.boundary(segment) == tile.begin + u64::from(offset)
                };
                is_right &= is_first || is_place(segment, offset);
                is_right &= is_place(segment + 1, until);
            }
            if is_right {
                return (offset, until);
            }
            let begin = if is_first { tile.begin } else { self.ring.boundary(segment) };
            if !self.boundaries.is_right(begin, self.ring.boundary(segment + 1)) {
                self.boundaries.report(self.base.wrapping_add(segment.into()));
            }
            (0, 0)
        }
    }

    /// Writes the results of a segment.
    ///
    /// # Safety
    /// The segment is one of a tile, and one lane calls this.
    #[inline(always)]
    unsafe fn write<R: Reduction>(
        &self,
        source: R::Source,
        segment: u32,
        acc: R::Acc,
        output: *mut R::Raw,
    ) {
        let row = self.base.wrapping_add(segment.into());
        // SAFETY: the output has a place for each result of each segment.
        unsafe { R::write(acc, output, row, index, source, self.slots) };
    }
}
