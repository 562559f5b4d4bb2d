//! The boundaries of segments: where a warp's segments begin, and what is wrong with them.

use super::tile::Tile;
use crate::item::Item;
use crate::rows::TILE_BYTES;
use crate::warp::WARP;
use cuda_std::ext::{atomic, control};
use cuda_std::warp;

/// How many boundaries a lane that waits looks at before it goes on to wait.
const SCANNED: u64 = 1 << 14;

/// The arrays of a launch for segments.
#[derive(Clone, Copy)]
pub struct Boundaries {
    /// Boundary 0, where segment 0 begins. Segment `i` ends where `i + 1` begins.
    pub source: *const u32,
    /// 2 to this number are the bytes of a boundary: 4 or 8.
    pub log: u32,
    /// The number of segments.
    pub count: u64,
    /// Where the number of segments is in memory, or null if `count` is right.
    pub counted: *const u64,
    /// The number that no boundary may exceed: that of the elements if segments are neighbours.
    pub elements: u64,
    /// Where the segments lie in the array.
    pub spans: Spans,
    /// The number of segments divided by the bytes of all of them, with their costs.
    pub density: f32,
    /// Tiles of a task.
    pub task: u32,
    /// 2 to this number are the bytes of a range.
    pub width: u32,
    /// The number of ranges.
    pub ranges: u32,
    /// A segment adds 2 to this number of bytes to where the segments behind it begin.
    pub cost: u32,
    /// The words of the ring of a warp: a power of two, at least [`LEAST_RING`](super::LEAST_RING).
    pub ring: u32,
    /// The number of warps that take segments by their numbers, or 0.
    pub numbered: u32,
    /// How many segments each of these warps takes.
    pub each: u32,
    /// 0, or the bits of the number of a wrong segment, inverted. If several segments are wrong, it
    /// is the first one.
    pub status: *mut u64,
}

/// Segments that need not be neighbours in the array: spans. Boundaries then say where each of them
/// begins in the sequence of all spans, one behind the other.
#[derive(Clone, Copy)]
pub struct Spans {
    /// Where span 0 begins in the array, or null if segments are neighbours.
    pub begins: *const u32,
    /// 2 to this number are the bytes of a begin: 4 or 8.
    pub log: u32,
    /// The number of elements of the array.
    pub elements: u64,
}

impl Spans {
    /// Whether segments are neighbours, so that boundaries say where they lie.
    #[inline(always)]
    pub(super) fn are_neighbours(self) -> bool {
        self.begins.is_null()
    }
}

/// The segments of a warp. Segment 0 is the one before the first that the warp takes.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// The number of segment 0 in the array.
    pub base: u64,
    /// The number of segments, segment 0 included, or 0 if the warp has none but a task of that.
    pub count: u32,
}

impl Boundaries {
    /// Whether the host does not know the number of segments, or not that of their elements.
    #[inline(always)]
    pub(super) fn must_be_counted(&self) -> bool {
        !self.counted.is_null() || !self.spans.are_neighbours()
    }

    /// What is in memory instead of what the host knew: the number of segments, and ranges that are
    /// as short as their number allows. They are shorter than a tile only if those of the host are.
    ///
    /// # Safety
    /// The number is there, or `counted` is null. It is at least 1 and at most `count`, and the
    /// last boundary is the number of elements, of the array or of all spans.
    #[inline(always)]
    pub(super) unsafe fn counted<T>(self) -> Self {
        // SAFETY: the caller's contract.
        let (count, elements) = unsafe {
            let is_known = self.counted.is_null();
            let count = if is_known { self.count } else { atomic::load_relaxed(self.counted) };
            let are_neighbours = self.spans.are_neighbours();
            (count, if are_neighbours { self.elements } else { self.load(count) })
        };
        let total = self.place::<T>(count, elements);
        let mut width = self.width.min(TILE_BYTES.ilog2());
        while total >> width >= self.ranges.into() {
            control::keep_rolled();
            width += 1;
        }
        let task = 1 << width.saturating_sub(TILE_BYTES.ilog2());
        let ranges = (total >> width) as u32 + 1;
        Self { count, density: count as f32 / total as f32, task, width, ranges, ..self }
    }

    /// Boundary number `i`.
    ///
    /// # Safety
    /// There are more boundaries.
    #[inline(always)]
    pub(super) unsafe fn load(&self, i: u64) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { load(self.source, self.log, i) }
    }

    /// The number of the first element of a tile's segment in the array. Segment 0 of the tile's
    /// range is number `base`.
    ///
    /// # Safety
    /// The tile is one of the range.
    #[inline(always)]
    pub(super) unsafe fn place_of(&self, tile: Tile, base: u64) -> u64 {
        if self.spans.are_neighbours() {
            return tile.begin;
        }
        // SAFETY: each span has a begin.
        unsafe { load(self.spans.begins, self.spans.log, base.wrapping_add(tile.first.into())) }
    }

    /// Where segment `i` begins in the sum of all work, if its first element is number `first`.
    #[inline(always)]
    fn place<T>(&self, i: u64, first: u64) -> u64 {
        first.wrapping_mul(size_of::<T>() as u64).wrapping_add(i << self.cost)
    }

    /// The range in which segment `i` begins, if its first element is number `first`.
    #[inline(always)]
    fn range_of<T>(&self, i: u64, first: u64) -> u64 {
        self.place::<T>(i, first) >> self.width
    }

    /// 2 to this number are the ranges from one task of a segment to the next one.
    #[inline(always)]
    pub(super) fn ranges_of_task(&self) -> u32 {
        TILE_BYTES.ilog2().saturating_sub(self.width)
    }

    /// The segments of warp number `warp`, which is one of those that take segments by their
    /// numbers.
    #[inline(always)]
    pub(super) fn by_number(&self, warp: u32) -> Found {
        let first = u64::from(warp) * u64::from(self.each);
        let count = (self.count - first).min(self.each.into());
        Found { base: first.wrapping_sub(1), count: count as u32 + 1 }
    }

    /// The number of the slot of a task of a long segment. `tile` is a tile of this segment, whose
    /// number in the array is `segment`.
    #[inline(always)]
    pub(super) fn slot_of<T>(&self, segment: u64, tile: Tile, task: u32) -> u64 {
        let first = self.range_of::<T>(segment, tile.begin) as u32;
        let range = first + (task << self.ranges_of_task());
        // A range has room for its part of a segment that begins before it, and for one that begins
        // in it.
        2 * u64::from(range) + u64::from(task == 0)
    }

    /// Finds the segments of range number `range`.
    ///
    /// # Safety
    /// The whole warp calls this. The launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn find<T: Item>(&self, range: u32, lane: u32) -> Found {
        let width = 1 << self.width;
        let begin = u64::from(range) << self.width;
        // SAFETY: the caller's contract.
        unsafe {
            let (first, mut last) = self.search::<T>(begin, begin + width, lane);
            if range + 1 == self.ranges {
                // The last range has all that is left.
                last = self.count;
            }
            if first > last || last - first > width {
                // The boundaries are wrong, and no other warp need come by the wrong one.
                self.scan(lane.into(), self.count, WARP.into());
                last = first;
            }
            // Other warps may take all segments by their numbers.
            let count = if self.numbered > 0 { 0 } else { (last - first) as u32 + 1 };
            Found { base: first.wrapping_sub(1), count }
        }
    }

    /// The first tile of the task that segment `base`, the last one before range number `range`,
    /// has in this range.
    ///
    /// # Safety
    /// `base` is the number of a segment, or that before segment 0.
    #[inline(always)]
    pub(super) unsafe fn task_of<T: Item>(&self, range: u32, base: u64) -> Option<Tile> {
        if base == u64::MAX {
            return None;
        }
        // SAFETY: the caller's contract.
        let (begin, end) = unsafe { (self.load(base), self.load(base + 1)) };
        let number = u64::from(range).wrapping_sub(self.range_of::<T>(base, begin));
        let apart = self.ranges_of_task();
        let tile = Tile::long(0, begin, end.wrapping_sub(begin), (number >> apart) as u32);
        let is_begin = number >> apart << apart == number;
        let is_task = is_begin && number >> apart < tile.tasks::<T>(self.task).into();
        (self.is_right(begin, end) && is_task).then_some(tile)
    }

    /// For each of two places, the first segment that begins there or behind, or the number of
    /// segments. The place of the boundary before it is smaller, also if the boundaries are wrong.
    ///
    /// # Safety
    /// The whole warp calls this.
    #[inline(always)]
    unsafe fn search<T: Item>(&self, place: u64, second: u64, lane: u32) -> (u64, u64) {
        let whole = Bracket { low: u64::MAX, high: self.count };
        let (mut a, mut b) = (whole, whole);
        let guess = |place: u64| (place as f32 * self.density) as u64;
        let (guess_a, guess_b) = (guess(place), guess(second));
        // The first step finds one of so few segments without a guess.
        let mut is_guess = whole.size() > WARP.into();
        // The two searches take their steps together, because a step is a wait for memory.
        while is_guess || a.size() > 1 || b.size() > 1 {
            control::keep_rolled();
            let (step_a, step_b) = (a.size() / u64::from(WARP) + 1, b.size() / u64::from(WARP) + 1);
            let probe_a =
                |lane| if is_guess { a.near(guess_a, lane) } else { a.each(step_a, lane) };
            let probe_b =
                |lane| if is_guess { b.near(guess_b, lane) } else { b.each(step_b, lane) };
            // SAFETY: segments below `count` have boundaries. The caller brings the whole warp.
            unsafe {
                let is_behind = |i: u64, high: u64, place: u64| {
                    i >= high || self.place::<T>(i, self.load(i)) >= place
                };
                let is_behind_a = is_behind(probe_a(lane), a.high, place);
                let is_behind_b = is_behind(probe_b(lane), b.high, second);
                let first_a = warp::warp_vote_ballot(u32::MAX, is_behind_a).trailing_zeros();
                let first_b = warp::warp_vote_ballot(u32::MAX, is_behind_b).trailing_zeros();
                (a, b) = (a.narrowed(first_a, &probe_a), b.narrowed(first_b, &probe_b));
            }
            is_guess = false;
        }
        (a.high, b.high)
    }

    /// Whether a segment may have these boundaries.
    #[inline(always)]
    pub(super) fn is_right(&self, begin: u64, end: u64) -> bool {
        begin <= end && end <= self.elements
    }

    /// Notes that segment `i` is wrong.
    ///
    /// # Safety
    /// The launch has a status.
    #[inline(always)]
    pub(super) unsafe fn report(&self, i: u64) {
        // SAFETY: the caller's contract.
        unsafe { atomic::max(self.status, !i) };
    }

    /// Looks for wrong segments from `first` on, and before `end`: at each one that is a multiple
    /// of `step` behind the first.
    ///
    /// # Safety
    /// The launch has a status.
    #[inline(always)]
    unsafe fn scan(&self, first: u64, end: u64, step: u64) {
        let mut i = first;
        // SAFETY: segment `i` has the boundaries `i` and `i + 1`.
        unsafe {
            while i < end.min(self.count) {
                control::keep_rolled();
                if !self.is_right(self.load(i), self.load(i + 1)) {
                    self.report(i);
                    return;
                }
                i += step;
            }
        }
    }

    /// Whether a segment is wrong, so that a task may be missing. A lane that waits asks this again
    /// and again; `round` says how often it has asked.
    #[inline(always)]
    pub(super) fn are_wrong(&self, round: u32) -> bool {
        // SAFETY: the launch has a status.
        unsafe {
            let first = u64::from(round) * SCANNED;
            self.scan(first, first + SCANNED, 1);
            atomic::load_relaxed(self.status) != 0
        }
    }
}

/// Number `i` of an array of numbers of 2 to the power of `log` bytes, 4 or 8.
///
/// # Safety
/// The array has it.
#[inline(always)]
pub(crate) unsafe fn load(source: *const u32, log: u32, i: u64) -> u64 {
    let words = source.wrapping_add(((i << log) >> 2) as usize);
    // SAFETY: the caller's contract.
    unsafe {
        let high = if log == 3 { *words.add(1) } else { 0 };
        u64::from(high) << 32 | u64::from(*words)
    }
}

/// Where a search will end: behind `low`, and at `high` or before. `u64::MAX` stands for the number
/// before 0.
#[derive(Clone, Copy)]
struct Bracket {
    low: u64,
    high: u64,
}

impl Bracket {
    /// How many numbers there are.
    #[inline(always)]
    fn size(self) -> u64 {
        self.high.wrapping_sub(self.low)
    }
    /// The number that a lane looks at if the numbers are divided equally, `step` apart.
    #[inline(always)]
    fn each(self, step: u64, lane: u32) -> u64 {
        self.low.wrapping_add(u64::from(lane + 1) * step).min(self.high)
    }
    /// The number that a lane looks at if the result is likely to be near `guess`.
    #[inline(always)]
    fn near(self, guess: u64, lane: u32) -> u64 {
        const HALF: u32 = WARP / 2;
        let place = if lane < HALF {
            guess.saturating_sub(1 << (HALF - 1 - lane))
        } else {
            guess + ((1 << (lane - HALF)) - 1)
        };
        place.min(self.high)
    }
    /// What is left if `first` is the first lane whose number is not before the result. `probe`
    /// gives the number of a lane.
    #[inline(always)]
    fn narrowed(self, first: u32, probe: &impl Fn(u32) -> u64) -> Self {
        let low = if first > 0 { probe(first - 1) } else { self.low };
        let high = if first < WARP { probe(first) } else { self.high };
        Self { low, high }
    }
}
