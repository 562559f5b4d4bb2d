//! Tiles whose units lie anywhere, or have less than a word.

use super::units::Units;
use super::{List, Stager, copy_unit, put, quotient};
use crate::item::Item;
use crate::rows::{Dim, WORD, padded};
use crate::unroll::each;
use crate::warp::WARP;
use core::mem;
use cuda_std::ext::{control, copy, target};

/// The most units of a stretch that a lane copies one after the other.
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
    pub(super) unsafe fn walk<T: Item>(self, target: *mut u8, units: Units) {
        let Units { start, fast, slow, unit, log } = units;
        let lane = self.lane;
        let is_short = log <= WARP.trailing_zeros();
        let (walked, other) = if is_short { (slow, fast) } else { (fast, slow) };
        let (first, further) = if is_short { (lane >> log, WARP >> log) } else { (lane, WARP) };
        let mut place = if is_short { lane & ((1 << log) - 1) } else { 0 };
        let (mut number, mut at) = (first, lane * unit);
        // Of units at equal distances only narrow elements are copied here.
        let is_even = size_of::<T>() < WORD as usize && fast.is_even && slow.is_even;
        // SAFETY: the caller's contract. Only an array whose dimensions are in the table has units
        // that do not lie at equal distances.
        unsafe {
            let is_whole = is_even || self.is_within_two(walked.list, walked.count);
            loop {
                control::keep_rolled();
                let from = if is_even {
                    let along = u64::from(number).wrapping_mul(walked.stride);
                    let across = u64::from(place).wrapping_mul(other.stride);
                    start.wrapping_add(along).wrapping_add(across)
                } else {
                    self.address([(walked.list, number), (other.list, place)])
                };
                // A lane whose place does not exist has no units.
                let count = if place < other.count { walked.count } else { 0 };
                let end = if is_whole { count } else { count.min(number + 1) };
                let stretch = Stretch { from, at, number, end, further };
                if is_even {
                    let stride = Stride::even(further, walked.stride);
                    stretch.copy::<T>(target, unit, stride, u32::MAX);
                } else {
                    let (stride, left) = self.stride(walked.list.first, number, further);
                    stretch.copy::<T>(target, unit, stride, left);
                }
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

    /// How the address changes from unit number `number` of a tile to each `further` ones behind
    /// it, along an index whose first dimension is number `first`, and how many indices of that
    /// dimension are left at this unit.
    ///
    /// # Safety
    /// The places have been found. The index has two dimensions at least, or no unit passes the end
    /// of the only one.
    #[inline(always)]
    unsafe fn stride(self, first: u32, number: u32, further: u32) -> (Stride, u32) {
        // SAFETY: the caller's contract. The table has a place behind each dimension.
        unsafe {
            let dims = [first, first + 1].map(|i| self.dim(i));
            let size = dims[0].size;
            let here = *self.places.add(first as usize) + u64::from(number);
            let left = clamped(size - (here - quotient(here, size) * size));
            (Stride::new(further, dims), left)
        }
    }

    /// Whether `count` places of a tile along an index do not pass the end of its second dimension.
    ///
    /// # Safety
    /// The places have been found.
    #[inline(always)]
    unsafe fn is_within_two(self, list: List, count: u32) -> bool {
        let List { first, end } = list;
        if first + 2 >= end {
            return true;
        }
        // SAFETY: the caller's contract.
        unsafe {
            let [begin, next] = [first, first + 1].map(|i| *self.places.add(i as usize));
            let last = begin + u64::from(count - 1);
            let passed = quotient(last, self.dim(first).size);
            next + passed < self.dim(first + 1).size
        }
    }
}

/// Units of a lane along one index of a tile, within two dimensions: `number`, and each that is a
/// multiple of `further` behind that and below `end`.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    /// The address of the first unit.
    pub from: u64,
    /// The byte of the tile where that belongs.
    pub at: u32,
    pub number: u32,
    pub end: u32,
    pub further: u32,
}

impl Stretch {
    /// Starts the copies of all units.
    ///
    /// # Safety
    /// The units are there, as `stride` says, and so are their places in the tile at `target`.
    #[inline(always)]
    unsafe fn copy<T: Item>(self, target: *mut u8, unit: u32, stride: Stride, left: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            if size_of::<T>() < WORD as usize && unit < WORD {
                self.elements::<T>(target, unit, stride, left);
            } else {
                self.units(target, unit, stride, left);
            }
        }
    }

    /// As [`copy`](Self::copy), for elements of less than a word.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy).
    #[inline(always)]
    unsafe fn elements<T: Item>(self, target: *mut u8, unit: u32, stride: Stride, mut left: u32) {
        let Self { mut from, mut at, mut number, end, further } = self;
        // SAFETY: the caller's contract.
        unsafe {
            while number < end {
                control::keep_rolled();
                // All elements are loaded before the first of them is written.
                let mut items = [mem::zeroed::<T>(); TOGETHER];
                each(together(), |i| {
                    let is_there = number + i as u32 * further < end;
                    items[i] = T::load_if(from as *const T, is_there);
                    stride.step(&mut from, &mut left);
                });
                each(together(), |i| {
                    if number < end {
                        put(target, at, items[i]);
                    }
                    number += further;
                    at += WARP * unit;
                });
            }
        }
    }

    /// As [`copy`](Self::copy), for units of a word, a pair or a pack.
    ///
    /// # Safety
    /// That of [`copy`](Self::copy).
    #[inline(always)]
    pub(super) unsafe fn units(self, target: *mut u8, unit: u32, stride: Stride, mut left: u32) {
        let Self { mut from, at, mut number, end, further } = self;
        let mut to = target.wrapping_add(padded(at) as usize);
        // SAFETY: the caller's contract.
        unsafe {
            while number < end {
                control::keep_rolled();
                if unit == WORD {
                    each(together(), |_| {
                        copy::word_if(to.cast(), from as *const u32, number < end);
                        number += further;
                        to = to.wrapping_add(padded(WARP * WORD) as usize);
                        stride.step(&mut from, &mut left);
                    });
                } else {
                    each(together(), |_| {
                        copy_unit(to, from, unit, number < end);
                        number += further;
                        to = to.wrapping_add(padded(WARP * unit) as usize);
                        stride.step(&mut from, &mut left);
                    });
                }
            }
        }
    }
}

/// How many units of a stretch a lane copies one after the other. Below sm_80 each copy needs
/// registers.
#[inline(always)]
fn together() -> usize {
    if target::arch() >= 800 { TOGETHER } else { 1 }
}

/// How the address changes from one unit of a walk to the next, within two dimensions.
#[derive(Clone, Copy)]
pub(super) struct Stride {
    /// The size of the first dimension.
    pub size: u32,
    /// How far the index in the first dimension moves, and the bytes of that, and of whole first
    /// dimensions.
    pub rest: u32,
    pub bytes: u64,
    /// The bytes to add where that passes the end of the first dimension.
    pub back: u64,
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
