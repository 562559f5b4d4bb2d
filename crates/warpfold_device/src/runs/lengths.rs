//! Where segments begin, one behind the other, of which only the lengths are known: as an array, or
//! as the distances from the begins of spans to their ends.

use super::{Place, THREADS, place, write_offset};
use crate::item::Item;
use crate::unroll::each;
use crate::warp::{WARP, sum_up_to};
use cuda_std::ext::{atomic, grid};
use cuda_std::{thread, warp};

/// How many lengths a thread loads before it uses the first one.
pub const LENGTHS: u32 = 8;

/// Words of lower blocks that a lane asks for at once. A thread has no registers for more, because
/// it keeps its lengths.
const AT_ONCE: usize = 1;

/// In the status of spans: a wrong span, and not one with too many elements before its end. A wrong
/// span is the greater number, and so the one that is kept.
pub const IS_WRONG: u64 = 1 << 63;

/// What is known of lengths before they are read.
#[derive(Clone, Copy)]
pub struct Lengths<T> {
    /// The first length.
    pub source: *const T,
    /// The number of segments.
    pub count: u64,
    /// The greatest length. A greater one is the bits of a negative number.
    pub greatest: u64,
    /// An offset that is this number or more becomes this number. It is the number of elements and
    /// 1 more, so that a segment which ends behind the elements is seen. It is less than 2^52, so
    /// that the sum of a tile does not overflow.
    pub most: u64,
}

/// What is known of spans before they are read.
#[derive(Clone, Copy)]
pub struct Ends<T> {
    /// Where the first span begins.
    pub begins: *const T,
    /// Where the first span ends.
    pub ends: *const T,
    /// The number of spans.
    pub count: u64,
    /// The number of elements, which no end may exceed. A negative end does.
    pub elements: u64,
    /// The number of elements that all spans together must not have. An offset that is this number
    /// or more becomes this number. It is less than 2^52.
    pub most: u64,
    /// 0, or the number of a span that is wrong, or up to which the spans have too many elements.
    /// All its bits are inverted, except [`IS_WRONG`]. If there are several, it is the first one
    /// that is wrong, or else the first one.
    pub status: *mut u64,
}

/// Where offsets go, and where blocks meet.
#[derive(Clone, Copy)]
pub struct Offsets {
    /// The first offset.
    pub offsets: *mut u32,
    /// 2 to this number are the bytes of an offset: 4 or 8.
    pub log: u32,
    /// The words by which blocks meet.
    pub words: *mut u64,
}

/// Writes where each segment begins, and behind these where the last one ends. This is the whole
/// body of a kernel that [`lengths!`](crate::lengths!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn lengths<T: Item + Into<u64>>(lengths: Lengths<T>, out: Offsets) {
    let Lengths { source, count, greatest, most } = lengths;
    let length = |i: u64, is_there| {
        // SAFETY: only lengths that are there are read.
        let length = unsafe { T::load_if(source.wrapping_add(i as usize), is_there) }.into();
        if length > greatest { most } else { length.min(most) }
    };
    // SAFETY: the caller's contract.
    unsafe { offsets(count, most, length, |_, _| (), out) }
}

/// Writes where each span begins in the sequence of all spans, one behind the other, and behind
/// these where the last one ends. A wrong span has no elements there. This is the whole body of a
/// kernel that [`spans!`](crate::spans!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn spans<T: Item + Into<u64>>(spans: Ends<T>, out: Offsets) {
    let Ends { begins, ends, count, elements, most, status } = spans;
    let length = |i: u64, is_there| {
        // SAFETY: only begins and ends that are there are read. The launch has a status.
        unsafe {
            let begin = T::load_if(begins.wrapping_add(i as usize), is_there).into();
            let end = T::load_if(ends.wrapping_add(i as usize), is_there).into();
            if begin <= end && end <= elements {
                return (end - begin).min(most);
            }
            if is_there {
                atomic::max(status, !i);
            }
            0
        }
    };
    let check = |i: u64, end: u64| {
        if i > 0 && end >= most {
            // SAFETY: the launch has a status.
            unsafe { atomic::max(status, !(i - 1) & !IS_WRONG) };
        }
    };
    // SAFETY: the caller's contract.
    unsafe { offsets(count, most, length, check, out) }
}

/// Writes the sum of all lengths before each of `count` segments, and that of all lengths behind
/// these. No sum exceeds `most`: a greater one becomes `most`. `length` is called with the number
/// of a segment and whether there is such a segment, and `check` with the number of a segment and
/// the sum of the lengths before it.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
unsafe fn offsets(
    count: u64,
    most: u64,
    length: impl Fn(u64, bool) -> u64,
    check: impl Fn(u64, u64),
    out: Offsets,
) {
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
    let first =
        u64::from(block) * u64::from(THREADS * LENGTHS) + u64::from(warp_of_block * WARP * LENGTHS);
    let there = count.saturating_sub(first).min((WARP * LENGTHS).into()) as u32;
    let index = |i: usize| i as u32 * WARP + lane;
    let Offsets { offsets, log, words } = out;
    // SAFETY: all branches around collective calls are the same in all lanes of a warp. The rest is
    // the caller's contract.
    unsafe {
        grid::wait_for_dependencies();
        let mut own = [0; LENGTHS as usize];
        each(LENGTHS as usize, |i| {
            let is_there = index(i) < there;
            let length = length(first + u64::from(index(i)), is_there);
            own[i] = if is_there { length } else { 0 };
        });
        // Each length gives way to the sum of those before it in the warp, because a thread has too
        // few registers for both.
        let mut sum = 0;
        each(LENGTHS as usize, |i| {
            let until = sum_up_to(own[i]);
            own[i] = sum + until - own[i];
            sum += warp::warp_shuffle_idx(u32::MAX, until, WARP - 1, WARP).0;
        });

        let Place { before, end } = place::<AT_ONCE>(sum, most, words);
        each(LENGTHS as usize, |i| {
            if index(i) < there {
                let number = first + u64::from(index(i));
                check(number, before + own[i]);
                write_offset(offsets, log, number, (before + own[i]).min(most));
            }
        });
        if block == last && tid == 0 {
            check(count, end);
            write_offset(offsets, log, count, end.min(most));
        }
    }
}
