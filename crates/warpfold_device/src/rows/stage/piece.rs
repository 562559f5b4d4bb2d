//! Tiles that are one piece of memory.

use super::{Stager, at_once, put};
use crate::item::{Item, Pack};
use crate::rows::{LINE, PACK, WORD, padded};
use crate::unroll::each;
use crate::warp::WARP;
use core::mem;
use cuda_std::ext::{control, copy};

impl Stager {
    /// Copies `bytes` bytes from `source` on, and returns how far behind `target` the first of them
    /// will be.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "words are copied to their boundaries")]
    pub(super) unsafe fn piece<T: Item>(self, target: *mut u8, source: u64, bytes: u32) -> u32 {
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
}
