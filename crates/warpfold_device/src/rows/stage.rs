//! Copies tiles from global to shared memory, whatever strides the array has.

use super::{Dim, LINE, PACK, Plan, Staging, TILE_BYTES, Tile, WORD, padded};
use crate::item::{Item, Pack};
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{control, copy, target};
use cuda_std::warp;

/// What a warp needs to copy tiles.
#[derive(Clone, Copy)]
pub(super) struct Stager {
    /// The address of row 0 and step 0.
    pub input: u64,
    /// The two dimensions, if there are two.
    pub matrix: [Dim; 2],
    /// The size and the stride of each dimension, if there are more than two.
    pub table: *const u64,
    /// Where the tile begins: its index in each dimension. The warp has these places for itself.
    pub places: *mut u64,
    pub lane: u32,
    /// The most bytes of a tile.
    pub tile_bytes: u32,
}

/// One of the two lists of dimensions.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    end: u32,
}

impl List {
    /// The dimensions of the rows, and those of the steps.
    #[inline(always)]
    fn both(plan: &Plan) -> [Self; 2] {
        let end = plan.kept + plan.reduced;
        [Self { first: 0, end: plan.kept }, Self { first: plan.kept, end }]
    }
}

/// Units of a tile along one of its two indices: their first dimension, how many there are, and
/// whether they lie in that dimension at equal distances.
#[derive(Clone, Copy)]
struct Along {
    list: List,
    count: u32,
    stride: u64,
    is_even: bool,
}

impl Stager {
    /// Starts the copy of a tile to `target`. Returns how many bytes behind `target` the first
    /// element will be.
    ///
    /// # Safety
    /// The whole warp calls this, and no lane uses `target` until the copies have arrived. The
    /// launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn stage<T: Item>(self, target: *mut u8, tile: Tile, plan: &Plan) -> u32 {
        let size = size_of::<T>() as u32;
        let (rows, steps) = (tile.rows(plan), tile.steps(plan));
        if steps == 0 {
            return 0;
        }
        let is = |staging: Staging| plan.staging == staging as u32;
        // What the dimensions count: elements, or units of a word or a pack.
        let (row_unit, step_unit) = match () {
            () if is(Staging::RowUnits) => (plan.unit, size),
            () if is(Staging::StepUnits) => (size, plan.unit),
            () => (size, size),
        };
        let units = |count: u64, unit: u32| {
            if unit == size { count } else { (count * u64::from(size)) >> unit.trailing_zeros() }
        };
        let row = units(tile.row(plan), row_unit);
        let step = units(tile.step(plan), step_unit);
        let [kept, reduced] = List::both(plan);
        // SAFETY: the caller's contract.
        unsafe {
            let is_matrix = plan.is_matrix();
            let start = if is_matrix {
                let [row_stride, step_stride] = self.matrix.map(|dim| dim.stride);
                let offset = row.wrapping_mul(row_stride as u64);
                self.input.wrapping_add(offset.wrapping_add(step.wrapping_mul(step_stride as u64)))
            } else {
                self.locate(row, step, kept, reduced);
                let offset = self.offset(kept, 0).wrapping_add(self.offset(reduced, 0));
                self.input.wrapping_add(offset)
            };
            if is(Staging::Piece) {
                let bytes = (rows - 1) * plan.row_step + (steps - 1) * plan.step + size;
                return self.piece::<T>(target, start, bytes);
            }
            let along = |list: List, count: u32, unit: u32, only: usize| {
                let last = (count * size - 1) >> unit.trailing_zeros();
                let count = if unit == size { count } else { last + 1 };
                let (mut stride, mut is_even) = (self.matrix[only].stride, true);
                if !is_matrix {
                    let dim = self.dim(list.first);
                    stride = dim.stride;
                    is_even = list.end - list.first == 1
                        || *self.places.add(list.first as usize) + u64::from(count) <= dim.size;
                }
                Along { list, count, stride: stride as u64, is_even }
            };
            let of_rows = along(kept, rows, row_unit, 0);
            let of_steps = along(reduced, steps, step_unit, 1);
            let by_rows = is(Staging::RowUnits) || is(Staging::RowElements);
            let (fast, slow) = if by_rows { (of_rows, of_steps) } else { (of_steps, of_rows) };
            let unit = if by_rows { row_unit } else { step_unit };
            self.units::<T>(target, start, fast, slow, unit, plan.fast);
        }
        0
    }

    /// The address of a unit of columns, and the bytes from its step to the next one. The unit has
    /// number `unit` in the tile, the step number `further`, and the first dimension of the rows
    /// counts units of `bytes` bytes.
    ///
    /// # Safety
    /// The whole warp calls this. The launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn unit<T: Item>(
        self,
        tile: Tile,
        unit: u32,
        further: u32,
        bytes: u32,
        plan: &Plan,
    ) -> (u64, u64) {
        let row = (tile.row(plan) * size_of::<T>() as u64) >> bytes.trailing_zeros();
        let step = tile.step(plan);
        // SAFETY: the caller's contract.
        unsafe {
            if plan.is_matrix() {
                let [row_stride, step_stride] = self.matrix.map(|dim| dim.stride as u64);
                let across = (row + u64::from(unit)).wrapping_mul(row_stride);
                let down = (step + u64::from(further)).wrapping_mul(step_stride);
                return (self.input.wrapping_add(across.wrapping_add(down)), step_stride);
            }
            let [kept, reduced] = List::both(plan);
            self.locate(row, step, kept, reduced);
            let offset = self.offset(kept, unit).wrapping_add(self.offset(reduced, further));
            (self.input.wrapping_add(offset), self.dim(plan.kept).stride as u64)
        }
    }

    /// Finds the place of a tile in each dimension. Each lane does it for one of them.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage). No size is 0.
    #[inline(always)]
    unsafe fn locate(self, row: u64, step: u64, kept: List, reduced: List) {
        let lane = self.lane;
        let is_kept = lane < kept.end;
        let mut place = if is_kept { row } else { step };
        let List { first, end } = if is_kept { kept } else { reduced };
        // SAFETY: the table has the dimensions up to `end`, and a place for each.
        unsafe {
            // The places of the tile before are not read any more.
            warp::sync_warp(u32::MAX);
            if lane < reduced.end {
                let mut i = first;
                while i < lane {
                    control::keep_rolled();
                    place /= self.dim(i).size.max(1);
                    i += 1;
                }
                if lane + 1 < end {
                    place %= self.dim(lane).size.max(1);
                }
                *self.places.add(lane as usize) = place;
            }
            warp::sync_warp(u32::MAX);
        }
    }

    /// The dimension number `i`.
    ///
    /// # Safety
    /// The table has it.
    #[inline(always)]
    unsafe fn dim(self, i: u32) -> Dim {
        let entry = self.table.wrapping_add(2 * i as usize);
        // SAFETY: the caller's contract.
        unsafe { Dim { size: *entry, stride: *entry.add(1) as i64 } }
    }

    /// The offset in bytes of the place that is `add` indices behind the tile's in a list of
    /// dimensions. `add` is at most [`TILE_BYTES`].
    ///
    /// # Safety
    /// The places have been found.
    #[inline(always)]
    unsafe fn offset(self, list: List, add: u32) -> u64 {
        let mut carry = u64::from(add);
        let mut offset = 0u64;
        let mut i = list.first;
        // SAFETY: the list's dimensions are in the table.
        unsafe {
            loop {
                control::keep_rolled();
                let Dim { size, stride } = self.dim(i);
                let place = *self.places.add(i as usize) + carry;
                if i + 1 == list.end {
                    return offset.wrapping_add(place.wrapping_mul(stride as u64));
                }
                // The sum of a place and a carry is below `size + TILE_BYTES`, so that a division
                // of 32 bits is enough.
                carry = if size <= TILE_BYTES.into() {
                    u64::from(place as u32 / (size as u32).max(1))
                } else {
                    u64::from(place >= size)
                };
                let rest = place - carry * size;
                offset = offset.wrapping_add(rest.wrapping_mul(stride as u64));
                i += 1;
            }
        }
    }

    /// Copies `bytes` bytes from `source` on, and returns how far the first of them is from a word.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "words and packs are copied to their boundaries")]
    unsafe fn piece<T: Item>(self, target: *mut u8, source: u64, bytes: u32) -> u32 {
        let lane = self.lane;
        let shift = if size_of::<T>() < 4 { source as u32 % WORD } else { 0 };
        let from = source - u64::from(shift);
        // The bytes in whole words begin at `first` and end at `end`.
        let (first, end) = (shift.next_multiple_of(WORD), (shift + bytes) / WORD * WORD);
        // Below sm_80 each copy needs registers.
        let at_once = if target::arch() >= 800 { 8 } else { 1 };
        // SAFETY: all that is copied lies within the bytes.
        unsafe {
            let mut done = 0;
            if source.is_multiple_of(PACK.into()) {
                done = end / PACK * PACK;
                let mut at = lane * PACK;
                while at - lane * PACK < done {
                    control::keep_rolled();
                    let (to, from) = (target.add(padded(at) as usize), from + u64::from(at));
                    each(at_once, |i| {
                        let further = i * (WARP * PACK) as usize;
                        let is_there = at + (further as u32) < done;
                        let to = to.add(padded(further as u32) as usize).cast::<Pack>();
                        copy::pack_if(
                            to,
                            (from as *const u8).wrapping_add(further).cast(),
                            is_there,
                        );
                    });
                    at += at_once as u32 * WARP * PACK;
                }
            }
            let start = first.max(done);
            let mut at = lane * WORD;
            let skipped = start / LINE * LINE;
            at += skipped;
            while at - lane * WORD < end {
                control::keep_rolled();
                let (to, from) = (target.add(padded(at) as usize), from + u64::from(at));
                each(at_once, |i| {
                    let further = i * (WARP * WORD) as usize;
                    let place = at + further as u32;
                    let is_there = start <= place && place < end;
                    let to = to.add(padded(further as u32) as usize).cast::<u32>();
                    copy::word_if(to, (from as *const u8).wrapping_add(further).cast(), is_there);
                });
                at += at_once as u32 * WARP * WORD;
            }
            if size_of::<T>() < 4 {
                // The elements outside of whole words: the first lanes take those before the
                // first word, and the next ones those behind the last.
                let per_word = WORD / size_of::<T>() as u32;
                let is_head = lane < per_word;
                let begin = if is_head { 0 } else { end.max(first) };
                let at = begin + lane % per_word * size_of::<T>() as u32;
                let limit = if is_head { first.min(shift + bytes) } else { shift + bytes };
                if lane < 2 * per_word && at >= shift && at < limit {
                    put(target, at, T::load_if((from + u64::from(at)) as *const T, true));
                }
            }
        }
        shift
    }

    /// As [`units`](Self::units), if the warp takes whole lines at a time, and all units lie at
    /// equal distances. Then each lane stays at its place along the faster index.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "units are copied to their boundaries")]
    unsafe fn lines(
        self,
        target: *mut u8,
        start: u64,
        fast: Along,
        slow: Along,
        unit: u32,
        log: u32,
    ) {
        let (at, mut line) = (self.lane & ((1 << log) - 1), self.lane >> log);
        let lines = WARP >> log;
        let along = u64::from(at).wrapping_mul(fast.stride);
        let across = u64::from(line).wrapping_mul(slow.stride);
        let mut from = start.wrapping_add(along).wrapping_add(across);
        let further = u64::from(lines).wrapping_mul(slow.stride);
        // A lane whose place does not exist has no lines.
        let count = if at < fast.count { slow.count } else { 0 };
        let mut to = target.wrapping_add(padded(self.lane * unit) as usize);
        let step = padded(WARP * unit) as usize;
        let mut done = 0;
        // Below sm_80 each copy needs registers.
        let at_once = if target::arch() >= 800 { 8 } else { 1 };
        macro_rules! copy {
            ($copy:path, $t:ty) => {
                while done < self.tile_bytes {
                    control::keep_rolled();
                    each(at_once, |_| {
                        $copy(to.cast::<$t>(), from as *const $t, line < count);
                        line += lines;
                        from = from.wrapping_add(further);
                        to = to.wrapping_add(step);
                    });
                    done += at_once as u32 * WARP * unit;
                }
            };
        }
        // SAFETY: the addresses are those of elements of the array where they are used.
        unsafe {
            if unit == PACK {
                copy!(copy::pack_if, Pack);
            } else {
                copy!(copy::word_if, u32);
            }
        }
    }

    /// Copies a tile that begins at `start` unit by unit. Along the faster index, a tile has 2 to
    /// `log` places for units of `unit` bytes.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    unsafe fn units<T: Item>(
        self,
        target: *mut u8,
        start: u64,
        fast: Along,
        slow: Along,
        unit: u32,
        log: u32,
    ) {
        let mut number = self.lane;
        let is_even = fast.is_even && slow.is_even;
        // SAFETY: the addresses are those of elements of the array where they are used.
        unsafe {
            if is_even && unit >= WORD && log <= WARP.trailing_zeros() {
                return self.lines(target, start, fast, slow, unit, log);
            }
            while number * unit < self.tile_bytes {
                control::keep_rolled();
                let (at, line) = (number & ((1 << log) - 1), number >> log);
                let is_there = at < fast.count && line < slow.count;
                let from = if is_even {
                    let along = u64::from(at).wrapping_mul(fast.stride);
                    start
                        .wrapping_add(along.wrapping_add(u64::from(line).wrapping_mul(slow.stride)))
                } else {
                    self.input
                        .wrapping_add(self.offset(fast.list, at))
                        .wrapping_add(self.offset(slow.list, line))
                };
                let place = number * unit;
                if unit == PACK {
                    let to = target.add(padded(place) as usize);
                    copy::pack_if(to.cast(), from as *const Pack, is_there);
                } else if unit == WORD || size_of::<T>() >= 4 {
                    let to = target.add(padded(place) as usize);
                    copy::word_if(to.cast(), from as *const u32, is_there);
                } else if is_there {
                    put(target, place, T::load_if(from as *const T, true));
                }
                number += WARP;
            }
        }
    }
}

/// Writes an element of less than a word to the place `at` bytes behind `target`.
///
/// # Safety
/// The place is there, and only this lane uses it.
#[inline(always)]
unsafe fn put<T: Item>(target: *mut u8, at: u32, item: T) {
    // SAFETY: the caller's contract.
    unsafe { target.add(padded(at) as usize).cast::<T>().write(item) };
}
