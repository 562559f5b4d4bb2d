//! The binary tree over the parts of a row: within a warp by shuffles, and above that by a stack.

use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use cuda_std::ext::control;
use cuda_std::warp;

/// The parts of the rows of a warp. Neighbouring lanes have neighbouring parts.
#[derive(Clone, Copy)]
pub(crate) enum Parts {
    /// Each row has as many, a power of two, and begins at a lane that is a multiple of it. Where
    /// a part is missing, its lane has the identity.
    Even,
    /// This lane has the part number `number` of `count`.
    Uneven { number: u32, count: u32 },
}

/// Combines the accumulators of the parts of each row, which are `most` at most. The lane of the
/// first part gets the result; the values that other lanes get mean nothing.
///
/// # Safety
/// All 32 lanes call this together, with the same `most`, which is 32 at most.
#[inline(always)]
pub(crate) unsafe fn lanes<R: Reduction>(acc: R::Acc, parts: Parts, most: u32) -> R::Acc {
    let mut acc = acc;
    let mut distance = 1;
    while distance < most {
        control::keep_rolled();
        let words = acc.to_words();
        let has_right = match parts {
            Parts::Even => true,
            Parts::Uneven { number, count } => number + distance < count,
        };
        // Words are chosen here, and not accumulators, because LLVM would keep those in local
        // memory.
        let right = R::Acc::from_words(&|i| {
            // SAFETY: the caller brings the whole warp. A lane whose source lane would lie beyond
            // the warp's end gets its own value back, and nobody reads the result of such a lane,
            // or its part has no right neighbour.
            let word = unsafe { warp::warp_shuffle_down(u32::MAX, words[i], distance, WARP).0 };
            if has_right { word } else { R::identity().word(i) }
        });
        acc = R::append(acc, right);
        distance *= 2;
    }
    acc
}

/// The accumulators of subtrees that wait for their right neighbours, one for each level, or a
/// single one for all of them if the order does not matter. Each thread has a stack of its own.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    /// The first word of this thread.
    pub words: *mut u32,
    /// How many words further the next one is.
    pub stride: usize,
}

impl Stack {
    /// Adds subtree number `number`, counted from 0, and gives the accumulator of all of them if it
    /// is the last one. Otherwise the value that is returned means nothing.
    ///
    /// # Safety
    /// The subtrees of smaller numbers were added before, in order, and were not the last.
    #[inline(always)]
    pub(crate) unsafe fn push<R: Reduction>(
        self,
        acc: R::Acc,
        number: u32,
        is_last: bool,
    ) -> R::Acc {
        let mut acc = acc;
        if R::IN_ANY_ORDER {
            // SAFETY: the accumulator of all subtrees before is there, if there are any.
            unsafe {
                if number > 0 {
                    acc = R::combine(self.top::<R>(), acc);
                }
                if !is_last {
                    self.keep::<R>(acc);
                }
            }
            return acc;
        }
        let mut words = self.words;
        let mut rest = number;
        // SAFETY: the bits of `number` tell at which levels a subtree waits.
        unsafe {
            while if is_last { rest != 0 } else { rest & 1 == 1 } {
                control::keep_rolled();
                if rest & 1 == 1 {
                    let left = R::Acc::from_words(&|i| *words.add(i * self.stride));
                    acc = R::append(left, acc);
                }
                rest >>= 1;
                words = words.add(R::Acc::COUNT * self.stride);
            }
            if !is_last {
                each(R::Acc::COUNT, |i| *words.add(i * self.stride) = acc.word(i));
            }
        }
        acc
    }

    /// The accumulator in the first place.
    ///
    /// # Safety
    /// This thread has [kept](Self::keep) it.
    #[inline(always)]
    pub(crate) unsafe fn top<R: Reduction>(self) -> R::Acc {
        // SAFETY: the caller's contract.
        R::Acc::from_words(&|i| unsafe { *self.words.add(i * self.stride) })
    }

    /// Keeps an accumulator in the first place.
    ///
    /// # Safety
    /// The stack has a place.
    #[inline(always)]
    pub(crate) unsafe fn keep<R: Reduction>(self, acc: R::Acc) {
        // SAFETY: the caller's contract.
        each(R::Acc::COUNT, |i| unsafe { *self.words.add(i * self.stride) = acc.word(i) });
    }
}
