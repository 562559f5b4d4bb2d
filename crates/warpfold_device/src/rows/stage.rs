//! Copies tiles from global to shared memory, whatever strides the array has.

mod fold;
pub(crate) mod piece;
mod units;
mod walk;

use super::{Dim, PACK, PAIR, Plan, Staging, TILE_BYTES, Tile, WORD, padded};
use crate::item::{Item, Pack};
use crate::warp::WARP;
use cuda_std::ext::{control, copy, target};
use cuda_std::warp;

/// What a warp needs to copy tiles.
#[derive(Clone, Copy)]
pub(super) struct Stager {
    /// The address of row 0 and step 0.
    pub input: u64,
    /// The first dimensions. There are no others in a matrix, nor in a [fold](Staging::Fold).
    pub dims: [Dim; 3],
    /// The size and the stride of each dimension, if there [is a table](has_table).
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

/// Whether the kernel needs the dimensions in a table.
#[inline(always)]
pub(super) fn has_table(plan: &Plan) -> bool {
    !plan.is_matrix() && (target::arch() < 900 || plan.staging != Staging::Fold as u32)
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
        let is_fold = target::arch() >= 900 && is(Staging::Fold);
        // What the dimensions count: elements, or units of a word, a pair or a pack.
        let (row_unit, step_unit) = match () {
            () if is(Staging::RowUnits) => (plan.unit, size),
            () if is(Staging::StepUnits) || is_fold => (size, plan.unit),
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
            if is_fold {
                let units = units(steps.into(), step_unit) as u32;
                self.fold(target, row, step as u32, (rows, units), plan);
                return 0;
            }
            let is_matrix = plan.is_matrix();
            let start = if is_matrix {
                self.place_in_matrix(row, step)
            } else {
                self.locate(row, step, kept, reduced);
                self.origin(reduced.end)
            };
            if is(Staging::Piece) {
                let bytes = plan.row_at(rows - 1) + (steps - 1) * plan.step + size;
                return piece::copy::<T>(target, start, bytes, self.lane);
            }
            let along = |list: List, count: u32, unit: u32, only: usize| {
                let last = (count * size - 1) >> unit.trailing_zeros();
                let count = if unit == size { count } else { last + 1 };
                let (mut stride, mut is_even) = (self.dims[only].stride, true);
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
            // What follows from these two is computed here. The compiler would compute it before
            // the first copy of any tile, and keep it in registers that it does not have.
            let lane = control::anew(self.lane);
            let log = control::anew(plan.fast);
            let stager = Self { lane, ..self };
            let units = units::Units { start, fast, slow, unit, log };
            if !(fast.is_even && slow.is_even && unit >= WORD) {
                stager.walk::<T>(target, units);
            } else if log <= WARP.trailing_zeros() {
                stager.lines(target, units);
            } else {
                stager.units(target, units);
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
                return (address, self.dims[1].stride as u64);
            }
            let [kept, reduced] = List::both(plan);
            self.locate(row, step, kept, reduced);
            let address = self.address([(kept, unit), (reduced, further)]);
            (address, self.dim(plan.kept).stride as u64)
        }
    }

    /// The address of an element, or a unit, of an array that has two dimensions.
    #[inline(always)]
    fn place_in_matrix(self, row: u64, step: u64) -> u64 {
        let [row_stride, step_stride] = [0, 1].map(|i| self.dims[i].stride as u64);
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
                    place = divided(place, self.dim(i).size).0;
                    i += 1;
                }
                if lane + 1 < end {
                    place = divided(place, self.dim(lane).size).1;
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

    /// The address of the unit, or element, that is so many indices behind the tile's place in each
    /// of two lists of dimensions.
    ///
    /// # Safety
    /// That of [`offset`](Self::offset).
    #[inline(always)]
    unsafe fn address(self, [one, other]: [(List, u32); 2]) -> u64 {
        let (mut address, mut place, mut is_last) = (self.input, one, false);
        loop {
            control::keep_rolled();
            let (list, add) = place;
            // SAFETY: the caller's contract.
            address = address.wrapping_add(unsafe { self.offset(list, add) });
            if is_last {
                return address;
            }
            (place, is_last) = (other, true);
        }
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
}

/// How many copies a lane starts one after the other. Below sm_80 each of them needs registers.
#[inline(always)]
fn at_once() -> usize {
    if target::arch() >= 800 { 8 } else { 1 }
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

/// Quotient and rest of a division. `divisor` is not 0.
///
/// For a division of 64 bits ptxas calls a function, and the kernel then keeps what it needs
/// behind the call in memory.
#[inline(always)]
fn divided(number: u64, divisor: u64) -> (u64, u64) {
    if let (Ok(number), Ok(divisor)) = (u32::try_from(number), u32::try_from(divisor)) {
        let quotient = number / divisor.max(1);
        return (quotient.into(), (number - quotient * divisor).into());
    }
    let (mut quotient, mut rest) = (0, number);
    while rest >= divisor {
        control::keep_rolled();
        let part = part_of_quotient(rest, divisor);
        quotient += part;
        rest -= part * divisor;
    }
    (quotient, rest)
}

/// At least 1, and at most the quotient of two numbers, if that is 1 or more. All but the upper 15
/// bits of the quotient may be missing.
#[inline(always)]
fn part_of_quotient(number: u64, divisor: u64) -> u64 {
    // The upper 32 bits of the number are divided by the upper 16 bits of the divisor, rounded up.
    let shift = 32 - number.leading_zeros().min(32);
    let cut = 48 - divisor.leading_zeros().min(48);
    let upper = (divisor >> cut) as u32 + u32::from(cut > 0);
    let part = u64::from((number >> shift) as u32 / upper.max(1)) << shift;
    (part >> cut).max(1)
}

/// Starts the copy of a unit of a word, a pair or a pack, if it is there.
///
/// # Safety
/// That of [`copy::cached_pack_if`], with an alignment of `unit` bytes.
#[inline(always)]
unsafe fn copy_unit(target: *mut u8, source: u64, unit: u32, is_there: bool) {
    // SAFETY: the caller's contract.
    unsafe {
        copy::cached_pack_if(target.cast(), source as *const Pack, is_there && unit == PACK);
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

#[cfg(test)]
mod tests {
    use super::part_of_quotient;

    #[test]
    fn a_quotient_is_the_sum_of_few_parts() {
        let edges = (0..64).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + 1]);
        let edges = edges.chain([u64::MAX, u64::MAX - 1, 3_000_000_019, 10u64.pow(19)]);
        for number in edges.clone() {
            for divisor in edges.clone().filter(|&divisor| divisor > 0) {
                let (mut quotient, mut rest, mut parts) = (0, number, 0);
                while rest >= divisor {
                    let part = part_of_quotient(rest, divisor);
                    quotient += part;
                    rest =
                        part.checked_mul(divisor).and_then(|part| rest.checked_sub(part)).unwrap();
                    parts += 1;
                }
                assert_eq!((quotient, rest), (number / divisor, number % divisor));
                assert!(parts <= 6, "{number} / {divisor} has {parts} parts");
            }
        }
    }
}
