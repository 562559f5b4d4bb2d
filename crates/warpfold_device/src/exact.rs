//! The exact sum of floats, rounded once: the same bits on every device, for any grid, in any
//! order.
//!
//! No addition loses anything. A thread keeps its sum as an unevaluated sum of `f64`s. For each
//! addition to these, the thread either proves that the addition is exact, or computes the rounding
//! error, which is again an `f64` (D. E. Knuth, *The Art of Computer Programming*, vol. 2, 4.2.2,
//! theorem B; O. Møller 1965). Errors that do not fit into the thread's `f64`s go to the block's
//! long accumulator, which is made of integers. In the end the sums of the threads go there too,
//! and from there to the grid's long accumulator. The block that draws the last ticket passes on
//! the carries and rounds to nearest even.
//!
//! So ordinary data costs a few additions for each element, and memory stays busy meanwhile. If the
//! magnitudes of the numbers in a batch differ by a factor of more than about 2^29 (`f64`: 2^53),
//! the thread adds the batch once more, one number at a time. If magnitudes differ by a factor of
//! more than 2^106, the smaller numbers go to the long accumulator, which costs most.
//!
//! # The launch's contract
//!
//! A kernel takes `input`, `n`, `chunk`, `keep`, `output` and `slots`. The contract is that of the
//! [other kernels](crate#the-launchs-contract), with these differences: `n` may be 0, packs are
//! counted from the first one, `chunk` may be any number of packs that is not 0 and holds fewer
//! than 2^30 elements, and `slots` holds 74 words of 64 bits, whatever the grid is. No block waits
//! for another.

mod accumulator;
mod cells;
mod entry;
mod exchanged;
mod expansion;
pub mod item;
pub mod repair;
pub mod short;

use self::accumulator::Accumulator;
use self::cells::Cells;
pub use self::cells::{NARROW_LIMBS, WIDE_LIMBS};
pub use self::exchanged::CombinedSums;
use self::item::Float;
use crate::source::{One, Source};
use crate::unroll::each;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::ext::streaming::Policy;
use cuda_std::ext::{atomic, control, grid, target};
use cuda_std::{address_space, thread, warp};

/// The most loads of a thread that are in flight at once on devices before sm_90, because that
/// keeps their code short. No such device was measured.
const OLD_LOADS: usize = 2;

/// The bits of [`Raw::flags`]. They tell which kinds of numbers the input had.
pub mod flag {
    /// There was a NaN.
    pub const NAN: u32 = 1;
    /// There was positive infinity.
    pub const POSITIVE_INFINITY: u32 = 2;
    /// There was negative infinity.
    pub const NEGATIVE_INFINITY: u32 = 4;
    /// There was a number other than -0.
    pub const NUMBERS: u32 = 8;
    /// There were numbers, and all were -0.
    pub const MINUS_ZEROS: u32 = 16;
}

/// An exact sum.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Raw<V, const LIMBS: usize> {
    /// The sum, rounded to nearest even. It is 0 if there are no numbers, -0 if all numbers are -0,
    /// and NaN if there is a NaN or infinities of both signs.
    pub value: V,
    /// The kinds of numbers that there were, as [`flag`]s.
    pub flags: u32,
    /// The sum of the finite numbers in two's complement, the lowest limb first. The unit is
    /// `2^-1074` for `f64` and `2^-210` for the other types.
    pub limbs: [u32; LIMBS],
}

/// 1 if the block drew the last ticket, else 0.
#[address_space(shared)]
// PTX contains the variable's name, and the committed PTX is to stay as it is, byte for byte, when
// this module moves.
#[unsafe(export_name = "_RNvNtNtC7kernels6reduce5exact7IS_LAST")]
static mut IS_LAST: [MaybeUninit<u32>; 1] = [const { MaybeUninit::uninit() }; 1];

/// Writes the exact sum of the grid's elements to `output`. This is the whole body of a kernel that
/// [`exact!`](crate::exact!) stamps out.
///
/// `LOADS` is the number of packs that a thread asks for at once.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract).
#[inline(always)]
pub unsafe fn exact<T: Float, const LIMBS: usize, const LOADS: usize>(
    input: *const T,
    n: usize,
    chunk: usize,
    keep: f32,
    output: *mut Raw<T::Value, LIMBS>,
    slots: *mut u64,
) {
    grid::launch_dependents();
    let is_last = (&raw mut IS_LAST).cast::<u32>();
    let blocks = thread::grid_dim_x();
    let tid = thread::thread_idx_x();
    // SAFETY: barriers separate clearing the block's cells, adding to them, and reading them. The
    // grid's cells are read after a fence, the ticket and another fence.
    unsafe {
        Cells::<LIMBS>::clear();
        thread::sync_threads();

        let parts = warp_sum(chunk_sum::<T, LIMBS, LOADS>(input, n, chunk, keep)).parts();
        if tid.is_multiple_of(WARP) {
            let mut part = 0;
            while part < 2 {
                control::no_unroll();
                Cells::<LIMBS>::add(if part == 0 { parts[0] } else { parts[1] });
                part += 1;
            }
            if parts[0].to_bits() != (-0.0f64).to_bits() {
                Cells::<LIMBS>::note_numbers();
            }
        }
        thread::sync_threads();

        if blocks > 1 {
            let cells = slots.add(1);
            Cells::<LIMBS>::add_to_grid(cells);
            thread::sync_threads();
            if tid == 0 {
                thread::device_fence();
                let drawn = atomic::inc(slots.cast(), blocks - 1);
                thread::device_fence();
                *is_last = u32::from(drawn == blocks - 1);
            }
            thread::sync_threads();
            if *is_last == 0 {
                return;
            }
            Cells::<LIMBS>::take_from_grid(cells);
            thread::sync_threads();
        }
        if tid == 0 {
            Cells::<LIMBS>::finish(n, output);
        }
    }
}

/// The sum of the thread's elements.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract), and the block's cells are cleared.
#[inline(always)]
unsafe fn chunk_sum<T: Float, const LIMBS: usize, const LOADS: usize>(
    input: *const T,
    n: usize,
    chunk: usize,
    keep: f32,
) -> Accumulator<LIMBS> {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let source = One(input);
    let head = source.to_boundary().min(n);
    let packs = (n - head) / T::PER_PACK;
    let tail = head + packs * T::PER_PACK;
    // A block may have no packs.
    let begin = (block * chunk).min(packs);
    let count = (packs - begin).min(chunk) as u32;
    // Devices before sm_90 get fewer loads, because that keeps their code short.
    let loads = if target::arch() >= 900 { LOADS } else { LOADS.min(OLD_LOADS) };

    let policy = Policy::keep(keep);
    let mut sum = Accumulator::EMPTY;
    // SAFETY: packs below `count` are the block's and begin at a boundary, and there are elements
    // before `head` and from `tail` to `n`.
    unsafe {
        let part = source.skip(head + begin * T::PER_PACK);
        part.prefetch_if(tid as usize, tid < count);
        grid::wait_for_dependencies();

        let mut first = tid;
        while first < count {
            control::no_unroll();
            let mut batch = [T::MINUS_ZEROS; LOADS];
            let place = |load: usize| first + load as u32 * threads;
            if place(loads - 1) < count {
                each(loads, |load| batch[load] = part.pack(place(load) as usize, policy));
            } else {
                each(loads, |load| {
                    let is_there = place(load) < count;
                    let pack = part.pack_if(place(load) as usize, Some(policy), is_there);
                    batch[load] = if is_there { pack } else { T::MINUS_ZEROS };
                });
            }

            let mut attempt = sum;
            let mut is_exact = true;
            each(loads, |load| {
                each(T::PER_PACK, |i| is_exact &= attempt.try_add(T::element(batch[load], i)));
            });
            if is_exact {
                sum = attempt;
            } else {
                // The batch is added once more, one number at a time. The number in the single
                // `f64` is added first, so that the single `f64` is free for a new sum.
                let mut x = sum.take_single();
                let mut i = 0;
                loop {
                    control::no_unroll();
                    // The next number is being loaded while this one is added.
                    let place = place(i / T::PER_PACK);
                    let is_there = i < loads * T::PER_PACK && place < count;
                    let next =
                        part.item_if(place as usize * T::PER_PACK + i % T::PER_PACK, is_there);
                    sum.add(x);
                    if !is_there {
                        break;
                    }
                    x = next.widen();
                    i += 1;
                }
            }
            first += loads as u32 * threads;
        }

        // The elements before the first pack and after the last one. There are only a few of each.
        let mut x = sum.take_single();
        let mut edge = 0;
        loop {
            control::no_unroll();
            sum.add(x);
            if edge == 2 {
                break;
            }
            let (from, to, is_here) =
                if edge == 0 { (0, head, block == 0) } else { (tail, n, block + 1 == blocks) };
            let is_one = is_here && (tid as usize) < to - from;
            let item = source.item_if(from + tid as usize, is_one);
            x = if is_one { item.widen() } else { -0.0 };
            edge += 1;
        }
    }
    sum
}

/// The sum of the warp's elements. Only lane 0 gets it. No thread may have a number left in its
/// single `f64`.
///
/// # Safety
/// All 32 lanes call this together, and the block's cells are cleared.
#[inline(always)]
unsafe fn warp_sum<const LIMBS: usize>(sum: Accumulator<LIMBS>) -> Accumulator<LIMBS> {
    let mut sum = sum;
    let mut parts = sum.parts();
    let mut step = 0;
    while step < 2 * WARP.ilog2() {
        control::no_unroll();
        // Even steps add the high parts, odd steps the low ones.
        let delta = (WARP / 2) >> (step / 2);
        if step.is_multiple_of(2) {
            parts = sum.parts();
        }
        // SAFETY: the caller brings the whole warp.
        unsafe {
            let x = warp::warp_shuffle_down(u32::MAX, parts[0], delta, WARP).0;
            // Only the lanes whose sum is wanted add, because errors go to the cells. A low part of
            // +0 changes no sum.
            if thread::thread_idx_x() % WARP < delta && (step.is_multiple_of(2) || x != 0.0) {
                sum.add(x);
            }
        }
        parts[0] = parts[1];
        step += 1;
    }
    sum
}
