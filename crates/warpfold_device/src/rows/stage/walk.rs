//! Tiles whose units lie anywhere, or have less than a word.

use super::{Along, List, Stager, copy_unit, put, quotient};
use crate::item::Item;
use crate::rows::{Dim, WORD, padded};
use crate::unroll::each;
use crate::warp::WARP;
use core::mem;
use cuda_std::ext::{control, copy, target};

/// How many units of a stretch a lane copies one after the other.
const TOGETHER: usize = 4;

impl Stager {
    /// As [`units`](Self::units), wherever the units lie, and also if they have less than a word.
    ///
    /// The lanes walk along one of the two indices. Where a line has at most as many places as the
    /// warp has lanes, each lane keeps its place in the lines, and goes from line to line.
    /// Otherwise the warp takes one line after the other, and goes along each of them.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    pub(super) unsafe fn walk<T: Item>(
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
            let mut to = target.wrapping_add(padded(at) as usize);
            loop {
                control::keep_rolled();
                let is_there =
                    |i: usize| number + i as u32 * further < count && (i == 0 || is_whole);
                if is_narrow {
                    // All elements are loaded before the first of them is written.
                    let mut items = [mem::zeroed::<T>(); TOGETHER];
                    each(together, |i| {
                        items[i] = T::load_if(from as *const T, is_there(i));
                        stride.step(&mut from, &mut left);
                    });
                    each(together, |i| {
                        if is_there(i) {
                            put(target, at + i as u32 * WARP * unit, items[i]);
                        }
                    });
                } else if unit == WORD {
                    each(together, |i| {
                        copy::word_if(to.cast(), from as *const u32, is_there(i));
                        to = to.wrapping_add(padded(WARP * WORD) as usize);
                        stride.step(&mut from, &mut left);
                    });
                } else {
                    each(together, |i| {
                        copy_unit(to, from, unit, is_there(i));
                        to = to.wrapping_add(padded(WARP * unit) as usize);
                        stride.step(&mut from, &mut left);
                    });
                }
                number += together as u32 * further;
                at += together as u32 * WARP * unit;
                if !is_whole || number - first >= walked.count {
                    return;
                }
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
