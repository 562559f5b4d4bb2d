//! A grid that reduces the shard of its device, and whose last block then exchanges the raw result
//! with other devices, in one launch.
//!
//! The first warp of the last block does for one result what a block of
//! [`exchange`](super::exchange) does for many. It uses the same mailboxes in the same way, so that
//! devices of one call may launch either kernel: a device whose shard is empty reduces nothing.
//!
//! # The launch's contract
//!
//! That of [a reduction](crate#the-launchs-contract) for everything up to `slots`, and that of [an
//! exchange](super#the-launchs-contract) of one result for the rest.

use super::{Call, Combined, Exchanged, FromRaw, next, room, slot, status_of, wait, words_of};
use crate::grid_reduction::{GridReduction, Polled};
use crate::item::{Bf16, F16, Item};
use crate::key::{Largest, LargestOrNan, Order};
use crate::op::arg::Arg;
use crate::op::bits::{Bits, Bitwise, Unsigned};
use crate::op::careful::{Compensated, Exact, WideSum};
use crate::op::count::{Count, Zero};
use crate::op::extreme::{Extreme, MinMax};
use crate::op::logsumexp::SumExp;
use crate::op::moments::{Moments, Sampled};
use crate::op::nansum::NanSum;
use crate::op::norm::{MaxAbs, Signed, SumAbs, SumSquares};
use crate::op::pairs::{Dot, SquaredDistance};
use crate::op::sum::{Product, Sum, Wrapping};
use crate::op::within::{Compared, CountWithin};
use crate::warp::WARP;
use crate::{Position, Reduction};
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control};
use cuda_std::{address_space, thread, warp};

/// The most words of 32 bits of a raw result.
const MOST_WORDS: usize = 8;

/// A raw result of each rank, in the first [`words_of`] words.
#[repr(C, align(16))]
struct Staged([MaybeUninit<u32>; MOST_WORDS * super::MOST_RANKS]);

/// The raw results of the ranks, one behind the other.
#[address_space(shared)]
static mut STAGED: Staged =
    Staged([const { MaybeUninit::uninit() }; MOST_WORDS * super::MOST_RANKS]);

/// The place of word number `word` of the result of a rank.
#[inline(always)]
fn place<Raw>(rank: u32, word: u32) -> *mut u32 {
    const { assert!(words_of::<Raw>() as usize <= MOST_WORDS) };
    let staged = (&raw mut STAGED).cast::<u32>();
    staged.wrapping_add((rank * words_of::<Raw>() + word) as usize)
}

/// Blocks combine as [`Polled`] says, and the last one exchanges the raw result with other devices.
pub struct Posted;

impl<R: CombinedAs> GridReduction<R> for Posted {
    type Output = Call<R::Raw>;

    #[inline(always)]
    unsafe fn reduce(
        acc: R::Acc,
        call: Call<R::Raw>,
        slots: *mut u64,
        by_block: bool,
        index: impl Fn(Position) -> u64,
        source: R::Source,
    ) {
        let is_first = thread::thread_idx_x() < WARP;
        let is_last = thread::block_idx_x() + 1 == thread::grid_dim_x();
        let staged = place::<R::Raw>(call.rank, 0);
        let mut mailbox = [0; 2];
        // SAFETY: the caller's contract. The grids that this one depends on have ended, because
        // each thread has waited for them before it has read elements. The first thread of the last
        // block alone writes the place of the own result.
        unsafe {
            if is_last && is_first {
                // Both words are under way while the block combines its accumulators. The mailbox
                // is chosen behind the branch, because in all other blocks nobody needs it
                // (bench/NOTEBOOK.md, attempt 93).
                let own = call.mailboxes.of(control::anew(call.rank));
                mailbox = [atomic::load_relaxed(own.add(1)), atomic::load_relaxed_system(own)];
                if thread::thread_idx_x() == 0 {
                    // A result of fewer than 32 bits takes a word, too.
                    staged.write(0);
                }
            }
            let index = |position| index(position) + call.base;
            <Polled as GridReduction<R>>::reduce(
                acc,
                staged.cast(),
                slots,
                by_block,
                index,
                source,
            );
            if is_last && is_first {
                post::<R::How>(&call, mailbox);
            }
        }
    }
}

/// Exchanges the raw result that lane 0 has staged. `count` is the number of the last call, and
/// `status` that of the mailbox.
///
/// # Safety
/// The lanes of one warp call this together, and the launch keeps [its
/// contract](self#the-launchs-contract).
#[inline(always)]
unsafe fn post<E: Exchanged>(call: &Call<E::Raw>, [count, status]: [u64; 2]) {
    let &Call { rank, ranks, mailboxes, .. } = call;
    let words = const { words_of::<E::Raw>() };
    let (lane, own, count) = (thread::thread_idx_x(), mailboxes.of(rank), next(count as u32));
    let place = |rank: u32, word: u32| place::<E::Raw>(rank, word);
    let set = 2 + (count % 2 * ranks.count * room::<E>()) as usize;
    let slot = |mailbox: *mut u64, of: u32, word: u32| slot::<E>(mailbox, set, of, word);
    let all = words * ranks.count;
    // SAFETY: lanes write places of their own, and the warp meets before other lanes read them. All
    // lanes have the same status, because one access has read it for all of them.
    unsafe {
        // A rank that did not come in an earlier call is not waited for again.
        if status != 0 {
            return;
        }
        warp::sync_warp(u32::MAX);
        let mut word = lane;
        while word < all {
            control::keep_rolled();
            let (peer, word_of) = (word / words, word % words);
            if peer != rank {
                let value = u64::from(*place(rank, word_of));
                let tagged = u64::from(count) << 32 | value;
                atomic::store_relaxed_system(slot(mailboxes.of(peer), rank, word_of), tagged);
            }
            word += WARP;
        }
        let mut word = lane;
        let mut has_come = true;
        while word < all {
            control::keep_rolled();
            let (peer, word_of) = (word / words, word % words);
            if peer != rank {
                let (value, came) = wait(slot(own, peer, word_of), count, call.limit);
                if !came {
                    atomic::store_relaxed_system(own, status_of(peer));
                    has_come = false;
                    break;
                }
                *place(peer, word_of) = value;
            }
            word += WARP;
        }
        if !warp::warp_vote_all(u32::MAX, has_come) {
            return;
        }
        warp::sync_warp(u32::MAX);
        let raw = |rank, _| place(rank, 0).cast_const().cast::<E::Raw>();
        E::combine(raw, ranks, 1, |_| call.output, 1);
        if lane == 0 {
            atomic::store_relaxed(own.add(1), count.into());
        }
    }
}

/// How the raw results of a reduction are combined with those of other devices.
pub trait CombinedAs: Reduction {
    /// The way to combine them.
    type How: Exchanged<Raw = Self::Raw>;
}

/// Raw results that become accumulators of the same reduction.
macro_rules! as_themselves {
    ($([$($of:ident: $bound:ident),*] $reduction:ty;)*) => {$(
        impl<$($of: $bound),*> CombinedAs for $reduction
        where
            Self: FromRaw,
        {
            type How = Combined<Self>;
        }
    )*};
}

as_themselves! {
    [T: Item] Sum<T>;
    [T: Item] Product<T>;
    [] Wrapping;
    [] Exact<u128>;
    [T: Item] Compensated<T>;
    [T: Item] SumExp<T>;
    [T: Item, O: Order] Extreme<T, O>;
    [T: Item] MinMax<T>;
    [T: Unsigned, O: Bitwise] Bits<T, O>;
    [T: Item, O: Order] Arg<T, O>;
}

/// Raw results that are combined as those of another reduction, which are of the same type. The
/// kernels that only exchange results combine them in the same way.
macro_rules! as_others {
    ($([$($of:ident: $bound:ident)?] $reduction:ty => $how:ty;)*) => {$(
        impl<$($of: $bound)?> CombinedAs for $reduction
        where
            Self: Reduction<Raw = <$how as Reduction>::Raw>,
            $how: FromRaw,
        {
            type How = Combined<$how>;
        }
    )*};
}

as_others! {
    [T: Signed] SumAbs<T> => Sum<<T::Abs as Item>::Wide>;
    [T: Item] SumSquares<T> => Sum<T::Wide>;
    [T: Item] Dot<T> => Sum<T::Wide>;
    [T: Item] SquaredDistance<T> => Sum<T::Wide>;
    [T: Zero] Count<T> => Sum<u64>;
    [T: Compared] CountWithin<T> => Sum<u64>;
    [T: Item] WideSum<T> => Sum<f64>;
    [] Exact<i64> => Sum<i128>;
    [] Exact<u64> => Sum<u128>;
    [] Exact<i128> => Exact<u128>;
    [T: Item] NanSum<T> => NanSum<f64>;
    [T: Sampled] Moments<T> => Moments<f64>;
    [] MaxAbs<i8> => Extreme<u8, Largest>;
    [] MaxAbs<i16> => Extreme<u16, Largest>;
    [] MaxAbs<i32> => Extreme<u32, Largest>;
    [] MaxAbs<i64> => Extreme<u64, Largest>;
    [] MaxAbs<i128> => Extreme<u128, Largest>;
    [] MaxAbs<F16> => Extreme<F16, LargestOrNan>;
    [] MaxAbs<Bf16> => Extreme<Bf16, LargestOrNan>;
    [] MaxAbs<f32> => Extreme<f32, LargestOrNan>;
    [] MaxAbs<f64> => Extreme<f64, LargestOrNan>;
}
