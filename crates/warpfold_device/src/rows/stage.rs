//! Copies tiles from global to shared memory, whatever strides the array has.

use super::{Dim, LINE, PACK, PAIR, Plan, Staging, TILE_BYTES, Tile, WORD, padded};
use crate::item::{Item, Pack};
use crate::unroll::each;
use crate::warp::WARP;
use core::mem;
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
                self.place_in_matrix(row, step)
            } else {
                self.locate(row, step, kept, reduced);
                self.origin(reduced.end)
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
            let is_short = plan.fast <= WARP.trailing_zeros();
            if fast.is_even && slow.is_even && unit >= WORD {
                if is_short {
                    self.lines(target, start, fast, slow, unit, plan.fast);
                } else {
                    self.units(target, start, fast, slow, unit, plan.fast);
                }
            } else {
                self.walk::<T>(target, start, fast, slow, unit, plan.fast);
            }
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
                let address =
                    self.place_in_matrix(row + u64::from(unit), step + u64::from(further));
                return (address, self.matrix[1].stride as u64);
            }
            let [kept, reduced] = List::both(plan);
            self.locate(row, step, kept, reduced);
            let offset = self.offset(kept, unit).wrapping_add(self.offset(reduced, further));
            (self.input.wrapping_add(offset), self.dim(plan.kept).stride as u64)
        }
    }

    /// The address of an element, or a unit, of an array that has two dimensions.
    #[inline(always)]
    fn place_in_matrix(self, row: u64, step: u64) -> u64 {
        let [row_stride, step_stride] = self.matrix.map(|dim| dim.stride as u64);
        let offset = row.wrapping_mul(row_stride).wrapping_add(step.wrapping_mul(step_stride));
        self.input.wrapping_add(offset)
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

    /// The address of the tile's first unit, or element. There are so many dimensions.
    ///
    /// # Safety
    /// The places have been found.
    #[inline(always)]
    unsafe fn origin(self, dims: u32) -> u64 {
        let (mut address, mut i) = (self.input, 0);
        // SAFETY: the dimensions are in the table.
        unsafe {
            while i < dims {
                control::keep_rolled();
                let place = *self.places.add(i as usize);
                address = address.wrapping_add(place.wrapping_mul(self.dim(i).stride as u64));
                i += 1;
            }
        }
        address
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
                carry = quotient(place, size);
                let rest = place - carry * size;
                offset = offset.wrapping_add(rest.wrapping_mul(stride as u64));
                i += 1;
            }
        }
    }

    /// Copies `bytes` bytes from `source` on, and returns how far behind `target` the first of them
    /// will be.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    unsafe fn piece<T: Item>(self, target: *mut u8, source: u64, bytes: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe {
            if size_of::<T>() < WORD as usize {
                return self.narrow_piece::<T>(target, source, bytes);
            }
            let mut done = 0;
            if source.is_multiple_of(PACK.into()) {
                done = bytes / PACK * PACK;
                self.copy_packs(target, source, 0, done);
            }
            let mut at = self.lane * WORD + done / LINE * LINE;
            while at - self.lane * WORD < bytes {
                control::keep_rolled();
                let (to, from) = (target.add(padded(at) as usize), source + u64::from(at));
                each(at_once(), |i| {
                    let further = i as u32 * WARP * WORD;
                    let is_there = done <= at + further && at + further < bytes;
                    let to = to.add(padded(further) as usize).cast::<u32>();
                    copy::word_if(to, (from + u64::from(further)) as *const u32, is_there);
                });
                at += at_once() as u32 * WARP * WORD;
            }
        }
        0
    }

    /// As [`piece`](Self::piece), if an element has less than a word. Packs are copied to packs.
    /// The bytes of the first and the last pack that are not copied become 0, so that a lane may
    /// read these packs as a whole.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    unsafe fn narrow_piece<T: Item>(self, target: *mut u8, source: u64, bytes: u32) -> u32 {
        let lane = self.lane;
        let shift = source as u32 % PACK;
        let (from, end) = (source - u64::from(shift), shift + bytes);
        // The bytes in whole packs begin at `first` and end at `last`.
        let (first, last) = (shift.next_multiple_of(PACK), end / PACK * PACK);
        // SAFETY: all that is copied lies within the bytes. An element may have zeros as its bytes.
        unsafe {
            self.copy_packs(target, from, first, last);
            // The first lanes take the elements before the first whole pack, and the next ones
            // those behind the last.
            let in_pack = PACK / size_of::<T>() as u32;
            let is_head = lane < in_pack;
            let is_cut = if is_head { first > 0 } else { first <= last && last < end };
            let at = if is_head { 0 } else { last } + lane % in_pack * size_of::<T>() as u32;
            if lane < 2 * in_pack && is_cut {
                let mut item = mem::zeroed();
                if shift <= at && at < end {
                    item = T::load_if((from + u64::from(at)) as *const T, true);
                }
                put(target, at, item);
            }
        }
        shift
    }

    /// Copies the packs from byte `first` to byte `last` behind `source`.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "packs are copied to their boundaries")]
    unsafe fn copy_packs(self, target: *mut u8, source: u64, first: u32, last: u32) {
        let mut at = self.lane * PACK;
        // SAFETY: the caller's contract.
        unsafe {
            while at - self.lane * PACK < last {
                control::keep_rolled();
                let (to, from) = (target.add(padded(at) as usize), source + u64::from(at));
                each(at_once(), |i| {
                    let further = i as u32 * WARP * PACK;
                    let is_there = first <= at + further && at + further < last;
                    let to = to.add(padded(further) as usize).cast::<Pack>();
                    copy::pack_if(to, (from + u64::from(further)) as *const Pack, is_there);
                });
                at += at_once() as u32 * WARP * PACK;
            }
        }
    }

    /// Whether the places of a tile along an index, for which there are two dimensions at least,
    /// do not pass the end of the second one.
    ///
    /// # Safety
    /// The places have been found.
    #[inline(always)]
    unsafe fn is_within_two(self, along: Along) -> bool {
        let List { first, end } = along.list;
        // SAFETY: the caller's contract.
        unsafe {
            let [begin, next] = [first, first + 1].map(|i| *self.places.add(i as usize));
            let last = begin + u64::from(along.count - 1);
            let passed = quotient(last, self.dim(first).size);
            first + 2 == end || next + passed < self.dim(first + 1).size
        }
    }

    /// As [`units`](Self::units), if the warp takes whole lines at a time. Then each lane stays at its
    /// place along the faster index.
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
        macro_rules! copy {
            ($copy:path, $t:ty) => {
                while done < slow.count {
                    control::keep_rolled();
                    each(at_once(), |_| {
                        $copy(to.cast::<$t>(), from as *const $t, line < count);
                        line += lines;
                        from = from.wrapping_add(further);
                        to = to.wrapping_add(step);
                    });
                    done += at_once() as u32 * lines;
                }
            };
        }
        // SAFETY: the addresses are those of elements of the array where they are used.
        unsafe {
            match unit {
                PACK => copy!(copy::pack_if, Pack),
                PAIR => copy!(copy::pair_if, [u32; 2]),
                _ => copy!(copy::word_if, u32),
            }
        }
    }

    /// Copies a tile that begins at `start` unit by unit, if all units lie at equal distances, and
    /// are words or packs. Along the faster index, a tile has 2 to `log` places for units of `unit`
    /// bytes, which are a line.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "units are copied to their boundaries")]
    unsafe fn units(
        self,
        target: *mut u8,
        start: u64,
        fast: Along,
        slow: Along,
        unit: u32,
        log: u32,
    ) {
        let mut number = self.lane;
        let step = padded(WARP * unit) as usize;
        // SAFETY: the addresses are those of elements of the array where they are used.
        unsafe {
            while number - self.lane < slow.count << log {
                control::keep_rolled();
                let mut to = target.add(padded(number * unit) as usize);
                each(at_once(), |i| {
                    let number = number + i as u32 * WARP;
                    let (at, line) = (number & ((1 << log) - 1), number >> log);
                    let is_there = at < fast.count && line < slow.count;
                    let along = u64::from(at).wrapping_mul(fast.stride);
                    let across = u64::from(line).wrapping_mul(slow.stride);
                    copy_unit(to, start.wrapping_add(along.wrapping_add(across)), unit, is_there);
                    to = to.wrapping_add(step);
                });
                number += at_once() as u32 * WARP;
            }
        }
    }

    /// As [`units`](Self::units), wherever the units lie, and also if they have less than a word.
    ///
    /// The lanes walk along one of the two indices. Where a line has at most as many places as the
    /// warp has lanes, each lane keeps its place in the lines, and goes from line to line.
    /// Otherwise the warp takes one line after the other, and goes along each of them.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    unsafe fn walk<T: Item>(
        self,
        target: *mut u8,
        start: u64,
        fast: Along,
        slow: Along,
        unit: u32,
        log: u32,
    ) {
        let lane = self.lane;
        let is_short = log <= WARP.trailing_zeros();
        let (walked, other) = if is_short { (slow, fast) } else { (fast, slow) };
        let (first, further) = if is_short { (lane >> log, WARP >> log) } else { (lane, WARP) };
        let mut place = if is_short { lane & ((1 << log) - 1) } else { 0 };
        let (mut number, mut at) = (first, lane * unit);
        // SAFETY: the caller's contract. Only an array whose dimensions are in the table has units
        // that do not lie at equal distances.
        unsafe {
            let is_whole = walked.is_even || self.is_within_two(walked);
            loop {
                control::keep_rolled();
                let from = if fast.is_even && slow.is_even {
                    let along = u64::from(number).wrapping_mul(walked.stride);
                    start
                        .wrapping_add(along)
                        .wrapping_add(u64::from(place).wrapping_mul(other.stride))
                } else {
                    let along = self.offset(walked.list, number);
                    self.input.wrapping_add(along).wrapping_add(self.offset(other.list, place))
                };
                // A lane whose place does not exist has no units.
                let count = if place < other.count { walked.count } else { 0 };
                let stretch = Stretch { from, at, walked, count, number, further, is_whole };
                self.stretch::<T>(target, stretch, unit);
                number += further;
                at += WARP * unit;
                if is_whole || number - first >= walked.count {
                    place += 1;
                    if is_short || place >= other.count {
                        return;
                    }
                    (number, at) = (first, (lane + (place << log)) * unit);
                }
            }
        }
    }

    /// Copies a stretch.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "units are copied to their boundaries")]
    unsafe fn stretch<T: Item>(self, target: *mut u8, stretch: Stretch, unit: u32) {
        let Stretch { mut from, mut at, walked, count, mut number, further, is_whole } = stretch;
        let first = number;
        // SAFETY: a walk that is not even has two dimensions in the table at least. The addresses
        // are those of elements of the array where they are used.
        unsafe {
            let mut stride = Stride::even(further, walked.stride);
            let mut left = u32::MAX;
            if !walked.is_even {
                let dim = walked.list.first;
                let dims = [dim, dim + 1].map(|i| self.dim(i));
                stride = Stride::new(further, dims);
                let here = *self.places.add(dim as usize) + u64::from(number);
                left = clamped(dims[0].size - (here - quotient(here, dims[0].size) * dims[0].size));
            }
            // Below sm_80 each copy needs registers.
            let together = if target::arch() >= 800 { TOGETHER } else { 1 };
            let is_narrow = size_of::<T>() < WORD as usize && unit < WORD;
            loop {
                control::keep_rolled();
                let mut items = [mem::zeroed::<T>(); TOGETHER];
                let is_there =
                    |i: usize| number + i as u32 * further < count && (i == 0 || is_whole);
                let to = |i: usize| target.add(padded(at + i as u32 * WARP * unit) as usize);
                each(together, |i| {
                    if is_narrow {
                        items[i] = T::load_if(from as *const T, is_there(i));
                    } else {
                        copy_unit(to(i), from, unit, is_there(i));
                    }
                    stride.step(&mut from, &mut left);
                });
                // All elements are loaded before the first of them is written.
                each(together, |i| {
                    if is_narrow && is_there(i) {
                        to(i).cast::<T>().write(items[i]);
                    }
                });
                number += together as u32 * further;
                at += together as u32 * WARP * unit;
                if !is_whole || number - first >= walked.count {
                    return;
                }
            }
        }
    }
}

/// How many units of a stretch a lane copies one after the other.
const TOGETHER: usize = 4;

/// How many copies a lane starts one after the other. Below sm_80 each of them needs registers.
#[inline(always)]
fn at_once() -> usize {
    if target::arch() >= 800 { 8 } else { 1 }
}

/// The units of a lane along one index of a tile, from one of them on.
#[derive(Clone, Copy)]
struct Stretch {
    /// The address of the first unit.
    from: u64,
    /// The byte of the tile where that belongs.
    at: u32,
    walked: Along,
    /// The units have the numbers below `count`: `number`, and each that is a multiple of
    /// `further` behind that.
    count: u32,
    number: u32,
    further: u32,
    /// Whether all of them lie within two dimensions. Otherwise only the first one is copied.
    is_whole: bool,
}

/// How the address changes from one unit of a walk to the next, within two dimensions.
#[derive(Clone, Copy)]
struct Stride {
    /// The size of the first dimension.
    size: u32,
    /// How far the index in the first dimension moves, and the bytes of that, and of whole first
    /// dimensions.
    rest: u32,
    bytes: u64,
    /// The bytes to add where that passes the end of the first dimension.
    back: u64,
}

impl Stride {
    /// For units at equal distances.
    #[inline(always)]
    fn even(further: u32, stride: u64) -> Self {
        let bytes = u64::from(further).wrapping_mul(stride);
        Self { size: u32::MAX, rest: 0, bytes, back: 0 }
    }
    /// For units in these dimensions, each `further` indices from the last one.
    #[inline(always)]
    fn new(further: u32, [low, high]: [Dim; 2]) -> Self {
        let size = clamped(low.size).max(1);
        let (whole, rest) = (further / size, further % size);
        let [low_stride, high_stride] = [low, high].map(|dim| dim.stride as u64);
        let bytes = u64::from(rest).wrapping_mul(low_stride);
        Self {
            size,
            rest,
            bytes: bytes.wrapping_add(u64::from(whole).wrapping_mul(high_stride)),
            back: high_stride.wrapping_sub(low.size.wrapping_mul(low_stride)),
        }
    }
    /// Goes from one unit to the next. `left` is how many indices of the first dimension are left,
    /// that of the unit included.
    #[inline(always)]
    fn step(self, from: &mut u64, left: &mut u32) {
        *from = from.wrapping_add(self.bytes);
        if self.rest < *left {
            *left -= self.rest;
        } else {
            *left += self.size - self.rest;
            *from = from.wrapping_add(self.back);
        }
    }
}

/// A size or a rest of it in 32 bits. A larger one is not used up within a tile.
#[inline(always)]
fn clamped(size: u64) -> u32 {
    size.min(1 << 31) as u32
}

/// How many whole dimensions of `size` indices are below `place`, which is below
/// `size + TILE_BYTES`, so that a division of 32 bits is enough.
#[inline(always)]
fn quotient(place: u64, size: u64) -> u64 {
    if size <= TILE_BYTES.into() {
        u64::from(place as u32 / (size as u32).max(1))
    } else {
        u64::from(place >= size)
    }
}

/// Starts the copy of a unit of a word, a pair or a pack, if it is there.
///
/// # Safety
/// That of [`copy::pack_if`], with an alignment of `unit` bytes.
#[inline(always)]
unsafe fn copy_unit(target: *mut u8, source: u64, unit: u32, is_there: bool) {
    // SAFETY: the caller's contract.
    unsafe {
        copy::pack_if(target.cast(), source as *const Pack, is_there && unit == PACK);
        copy::pair_if(target.cast(), source as *const [u32; 2], is_there && unit == PAIR);
        copy::word_if(target.cast(), source as *const u32, is_there && unit == WORD);
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
