//! The exact sum as an operation of the skeletons for rows and segments.
//!
//! Rows are many, so each has a short expansion only, and no long accumulator. If an expansion does
//! not hold the sum of a row, the kernel writes a mark instead, and notes this in the workspace.
//! Behind each such launch comes one of [`repair`](super::repair), which sums marked rows anew. So
//! the `slots` of both launches are a workspace of
//! [`WORKSPACE_WORDS`](super::repair::WORKSPACE_WORDS) words, and the word number [`MARKED`] is no
//! slot.

// Exact results are compared without branches.
#![allow(clippy::needless_bitwise_bool)]

use super::accumulator::try_sum;
use super::expansion::Expansion;
use super::item::{Float, Rounded};
use super::repair::MARKED;
use crate::item::Pack;
use crate::source::One;
use crate::unroll::each;
use crate::{Position, Reduction};
use core::marker::PhantomData;
use cuda_std::ext::{atomic, control};

/// The exact sum of a row, rounded once, or a mark.
pub struct ExactSum<T>(PhantomData<T>);

/// The sum of the elements that a thread has read.
#[derive(Clone, Copy)]
pub struct Reading {
    /// The sum of narrow elements, as long as one `f64` holds it exactly.
    single: f64,
    /// The rest of the sum.
    sum: Expansion,
}

impl<T: Float> Reduction for ExactSum<T> {
    type Source = One<T>;
    type Thread = Reading;
    type Acc = Expansion;
    type Raw = T::Value;
    /// An exact sum has no order. So a thread needs room for one expansion only.
    const IN_ANY_ORDER: bool = true;
    /// As many words as an expansion has.
    const SLOT_WORDS: usize = 7;

    #[inline(always)]
    fn start() -> Reading {
        Reading { single: -0.0, sum: Expansion::EMPTY }
    }
    #[inline(always)]
    fn resume(acc: Expansion, _first: Position) -> Reading {
        Reading { single: -0.0, sum: acc }
    }
    #[inline(always)]
    fn pack(thread: Reading, pack: Pack, _place: u32) -> Reading {
        let Reading { mut single, mut sum } = thread;
        sum.note_elements();
        if !T::IS_NARROW {
            each(T::PER_PACK, |i| sum.add(T::element(pack, i).widen()));
            return Reading { single, sum };
        }
        let mut is_exact = true;
        each(T::PER_PACK, |i| {
            let is_held;
            (single, is_held) = try_sum(single, T::element(pack, i).widen());
            is_exact &= is_held;
        });
        if is_exact {
            return Reading { single, sum };
        }
        // The pack is added once more, one element at a time, behind the single `f64`.
        let (mut x, mut pack, mut left) = (thread.single, pack, T::PER_PACK);
        loop {
            control::keep_rolled();
            sum.add(x);
            if left == 0 {
                break;
            }
            x = T::element(pack, 0).widen();
            pack = without_first::<T>(pack);
            left -= 1;
        }
        Reading { single: -0.0, sum }
    }
    #[inline(always)]
    fn finish(thread: Reading, _first: Position) -> Expansion {
        let Reading { single, mut sum } = thread;
        if T::IS_NARROW {
            sum.add(single);
        }
        sum
    }
    #[inline(always)]
    fn item(item: T, position: Position) -> Expansion {
        Self::append_item(Expansion::EMPTY, item, position)
    }
    #[inline(always)]
    fn append_item(acc: Expansion, item: T, _position: Position) -> Expansion {
        let mut sum = acc;
        sum.note_elements();
        sum.add(item.widen());
        sum
    }
    #[inline(always)]
    fn identity() -> Expansion {
        Expansion::EMPTY
    }
    #[inline(always)]
    fn combine(a: Expansion, b: Expansion) -> Expansion {
        Expansion::combine(a, b)
    }
    #[inline(always)]
    unsafe fn write(
        acc: Expansion,
        output: *mut T::Value,
        row: u64,
        _index: impl Fn(Position) -> u64,
        _source: One<T>,
        workspace: *mut u64,
    ) {
        let value = acc.round::<T::Value>();
        // SAFETY: the caller's contract. The workspace has the word, and threads that write it all
        // write the same.
        unsafe {
            output.add(row as usize).write(value);
            if value.is_mark() {
                atomic::store_relaxed(workspace.add(MARKED), 1);
            }
        }
    }
    #[inline(always)]
    fn raw(acc: Expansion, _index: impl Fn(Position) -> u64) -> T::Value {
        acc.round()
    }
}

/// The pack without its first element, whose place the next one takes.
#[inline(always)]
fn without_first<T>(pack: Pack) -> Pack {
    let bits = size_of::<T>() * 8;
    let mut rest = [0; 4];
    each(4, |i| {
        let (next, over) = if bits < 32 {
            (pack[i] >> bits, if i < 3 { pack[i + 1] << (32 - bits) } else { 0 })
        } else {
            (if i + bits / 32 < 4 { pack[i + bits / 32] } else { 0 }, 0)
        };
        rest[i] = next | over;
    });
    rest
}
