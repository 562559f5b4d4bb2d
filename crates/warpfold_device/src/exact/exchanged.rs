//! Exact sums of several devices, which become one.

use super::cells::Cells;
use super::item::Rounded;
use super::{Raw, flag};
use crate::exchange::{Exchanged, Ranks};
use core::marker::PhantomData;
use cuda_std::ext::control;
use cuda_std::thread;

/// Exact sums, added and rounded once. Each block has one result.
pub struct CombinedSums<V, const LIMBS: usize>(PhantomData<V>);

impl<V: Rounded, const LIMBS: usize> Exchanged for CombinedSums<V, LIMBS> {
    type Raw = Raw<V, LIMBS>;
    const PER_BLOCK: u32 = 1;
    const HAS_INDEX: bool = false;

    #[inline(always)]
    unsafe fn move_index(_raw: *mut Self::Raw, _base: u64) {}

    #[inline(always)]
    unsafe fn combine(
        raw: impl Fn(u32, u32) -> *const Self::Raw,
        ranks: Ranks,
        _results: u32,
        outputs: impl Fn(u32) -> *mut Self::Raw,
        copies: u32,
    ) {
        // SAFETY: the caller's contract; a barrier separates the writes of the cells from their
        // uses.
        unsafe {
            Cells::<LIMBS>::put_sum(ranks.count, |rank| ranks.has(rank), |rank| raw(rank, 0));
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                let mut minus_zeros = 0;
                let mut rank = 0;
                while rank < ranks.count {
                    control::keep_rolled();
                    if ranks.has(rank) {
                        minus_zeros |= (*raw(rank, 0)).flags & flag::MINUS_ZEROS;
                    }
                    rank += 1;
                }
                let output = outputs(0);
                Cells::<LIMBS>::finish(minus_zeros as usize, output);
                let mut copy = 1;
                while copy < copies {
                    control::keep_rolled();
                    let mut word = 0;
                    while word < size_of::<Self::Raw>() / 4 {
                        control::keep_rolled();
                        let value = output.cast::<u32>().add(word).read();
                        outputs(copy).cast::<u32>().add(word).write(value);
                        word += 1;
                    }
                    copy += 1;
                }
            }
        }
    }
}
