//! The binary tree over the parts of a row: within a warp by shuffles, and above that by a stack.

use super::THREADS;
use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use cuda_std::ext::control;
use cuda_std::warp;

/// Combines the accumulators of each 2 to `log` neighbouring lanes. The first lane of them gets the
/// result; the values that other lanes get mean nothing.
///
/// # Safety
/// All 32 lanes call this together, with the same `log`, which is 5 at most.
#[inline(always)]
pub(super) unsafe fn lanes<R: Reduction>(acc: R::Acc, log: u32) -> R::Acc {
    let mut acc = acc;
    let mut level = 0;
    while level < log {
        control::keep_rolled();
        let words = acc.to_words();
        // SAFETY: the caller brings the whole warp. An upper lane whose source lane would lie
        // beyond the warp's end gets its own value back, and nobody reads the result of such a
        // lane.
        let get =
            |i: usize| unsafe { warp::warp_shuffle_down(u32::MAX, words[i], 1 << level, WARP).0 };
        acc = R::append(acc, R::Acc::from_words(&get));
        level += 1;
    }
    acc
}

/// The accumulators of subtrees that wait for their right neighbours, one for each level. Each
/// thread has a stack of its own.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    /// The first word of this thread. The next word lies one block further.
    pub words: *mut u32,
}

impl Stack {
    /// Adds subtree number `number`, counted from 0, and gives the accumulator of all of them if it
    /// is the last one. Otherwise the value that is returned means nothing.
    ///
    /// # Safety
    /// The subtrees of smaller numbers were added before, in order, and were not the last.
    #[inline(always)]
    pub(super) unsafe fn push<R: Reduction>(
        self,
        acc: R::Acc,
        number: u32,
        is_last: bool,
    ) -> R::Acc {
        let mut acc = acc;
        let mut words = self.words;
        let mut rest = number;
        // SAFETY: the bits of `number` tell at which levels a subtree waits.
        unsafe {
            while if is_last { rest != 0 } else { rest & 1 == 1 } {
                control::keep_rolled();
                if rest & 1 == 1 {
                    let left = R::Acc::from_words(&|i| *words.add(i * THREADS as usize));
                    acc = R::append(left, acc);
                }
                rest >>= 1;
                words = words.add(R::Acc::COUNT * THREADS as usize);
            }
            if !is_last {
                each(R::Acc::COUNT, |i| *words.add(i * THREADS as usize) = acc.word(i));
            }
        }
        acc
    }
}
