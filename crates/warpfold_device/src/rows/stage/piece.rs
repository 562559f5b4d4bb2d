//! Tiles that are one piece of memory.

use crate::item::{Item, Pack};
use crate::rows::{LINE, PACK, TILE_BYTES, WORD, padded, reader};
use crate::unroll::each;
use crate::warp::WARP;
use core::mem;
use cuda_std::ext::{control, copy, target};

/// Starts the copy of `bytes` bytes from `source` on to the tile at `target`, and returns how far
/// behind `target` the first of them will be, which is less than a line.
///
/// # Safety
/// The whole warp calls this, with its lanes, and no lane uses `target` until the copies have
/// arrived. At `source` are so many bytes of elements, and at `target` is room for them and a line
/// of shared memory more.
#[inline(always)]
pub(crate) unsafe fn copy<T: Item>(target: *mut u8, source: u64, bytes: u32, lane: u32) -> u32 {
    // SAFETY: the caller's contract.
    unsafe {
        if reader::reads_packs::<T>() {
            return in_packs::<T, WARP, true>(target, source, bytes, lane);
        }
        in_words(target, source, bytes, lane);
    }
    0
}

/// Copies packs to packs, by `LANES` neighbouring threads, at least a warp, of which `lane` is the
/// number of this one. A piece that does not begin at a pack lies in the tile as it lies in its
/// line, so that each instruction copies whole lines. The bytes of the first and the last pack that
/// are not copied become 0. `IS_CACHED` says that the copies go by way of the first-level cache,
/// which is faster where neighbouring warps copy neighbouring pieces.
///
/// # Safety
/// That of [`copy`].
#[inline(always)]
pub(crate) unsafe fn in_packs<T: Item, const LANES: u32, const IS_CACHED: bool>(
    target: *mut u8,
    source: u64,
    bytes: u32,
    lane: u32,
) -> u32 {
    let shift = if source.is_multiple_of(PACK.into()) { 0 } else { source as u32 % LINE };
    let (from, end) = (source - u64::from(shift), shift + bytes);
    // SAFETY: the caller's contract.
    unsafe {
        packs::<LANES, IS_CACHED>(
            target,
            from,
            shift.next_multiple_of(PACK),
            end / PACK * PACK,
            lane,
        );
        if !(shift | end).is_multiple_of(PACK) {
            cut::<T>(target, from, (shift, end), lane, padded);
        }
    }
    shift
}

/// Copies what is before the first whole pack of the bytes from `begin` to `end` behind `from`, and
/// what is behind the last one. `from` is at a pack, and the bytes of both packs that are not
/// copied become 0. `place` says how far behind `target` a byte is to be.
///
/// # Safety
/// That of [`copy`], for the elements from `begin` to `end`.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "words are copied to their boundaries")]
pub(in crate::rows) unsafe fn cut<T: Item>(
    target: *mut u8,
    from: u64,
    (begin, end): (u32, u32),
    lane: u32,
    place: impl Fn(u32) -> u32,
) {
    // The bytes in whole packs begin at `first` and end at `last`.
    let (first, last) = (begin.next_multiple_of(PACK), end / PACK * PACK);
    // The first lanes take what is before the first whole pack, and the next ones what is behind
    // the last one: each an element, or a word of one.
    let size = (size_of::<T>() as u32).min(WORD);
    let in_pack = PACK / size;
    let is_head = lane < in_pack;
    let is_cut = if is_head { first > begin } else { first <= last && last < end };
    let pack = if is_head { first.wrapping_sub(PACK) } else { last };
    if lane < 2 * in_pack && is_cut {
        let at = pack + lane % in_pack * size;
        let is_there = begin <= at && at < end;
        // SAFETY: all that is copied lies within the bytes. An element may have zeros as its bytes.
        unsafe {
            let (to, from) = (target.add(place(at) as usize), from + u64::from(at));
            if size == WORD {
                copy::word_if(to.cast(), from as *const u32, is_there);
                if !is_there {
                    to.cast::<u32>().write(0);
                }
            } else {
                let mut item = mem::zeroed();
                if is_there {
                    item = T::load_if(from as *const T, true);
                }
                to.cast::<T>().write(item);
            }
        }
    }
}

/// Starts the copies of the packs from `from` on up to byte number `end`, which are those of a tile
/// at most. `place` says how far behind `target` a byte is to be.
///
/// # Safety
/// That of [`copy`]. `from` is at a pack.
#[inline(always)]
pub(in crate::rows) unsafe fn whole_packs(
    target: *mut u8,
    from: u64,
    end: u32,
    lane: u32,
    place: impl Fn(u32) -> u32,
) {
    let at = lane * PACK;
    let start = from + u64::from(at);
    let mut to = target.wrapping_add(place(at) as usize);
    // SAFETY: the caller's contract. There is a whole number of lines between the packs of a lane,
    // so that all lanes have the same distances between their places.
    each((TILE_BYTES / (WARP * PACK)) as usize, |i| unsafe {
        let further = i as u32 * WARP * PACK;
        let start = start.wrapping_add(further.into()) as *const Pack;
        copy::cached_pack_if(to.cast(), start, at + further < end);
        to = to.wrapping_add(place(WARP * PACK) as usize);
    });
}

/// Copies words, and packs if they lie at packs, to the beginning of the tile.
///
/// # Safety
/// That of [`copy`]. All elements have words.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "words are copied to their boundaries")]
unsafe fn in_words(target: *mut u8, source: u64, bytes: u32, lane: u32) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut done = 0;
        if source.is_multiple_of(PACK.into()) {
            done = bytes / PACK * PACK;
            packs::<WARP, true>(target, source, 0, done, lane);
        }
        let mut at = lane * WORD + done / LINE * LINE;
        while at - lane * WORD < bytes {
            control::keep_rolled();
            let (to, from) = (target.add(padded(at) as usize), source + u64::from(at));
            each(at_once(WARP), |i| {
                let further = i as u32 * WARP * WORD;
                let is_there = done <= at + further && at + further < bytes;
                let to = to.add(padded(further) as usize).cast::<u32>();
                copy::word_if(to, (from + u64::from(further)) as *const u32, is_there);
            });
            at += at_once(WARP) as u32 * WARP * WORD;
        }
    }
}

/// Copies the packs from byte `first` to byte `last` behind `source`.
///
/// # Safety
/// That of [`copy`].
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "packs are copied to their boundaries")]
unsafe fn packs<const LANES: u32, const IS_CACHED: bool>(
    target: *mut u8,
    source: u64,
    first: u32,
    last: u32,
    lane: u32,
) {
    let mut at = lane * PACK;
    // SAFETY: the caller's contract.
    unsafe {
        while at - lane * PACK < last {
            control::keep_rolled();
            let (to, from) = (target.add(padded(at) as usize), source + u64::from(at));
            each(at_once(LANES), |i| {
                let further = i as u32 * LANES * PACK;
                // Only the first copy of a lane may lie before the first pack.
                let is_there = (i > 0 || first <= at) && at + further < last;
                let to = to.add(padded(further) as usize).cast::<Pack>();
                let from = (from + u64::from(further)) as *const Pack;
                if IS_CACHED {
                    copy::cached_pack_if(to, from, is_there);
                } else {
                    copy::pack_if(to, from, is_there);
                }
            });
            at += at_once(LANES) as u32 * LANES * PACK;
        }
    }
}

/// How many copies a lane starts one after the other: those of the longest tile, which lies in one
/// line more than it fills. Below sm_80 each of them needs registers.
#[inline(always)]
fn at_once(lanes: u32) -> usize {
    let copies = (TILE_BYTES + LINE).div_ceil(lanes * PACK) as usize;
    if target::arch() >= 800 { copies } else { 1 }
}
