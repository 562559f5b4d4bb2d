//! Where the extremes are.
//!
//! A thread compares whole packs: it takes a pack's extreme by the instruction for it, and keeps the words of the pack that had the
//! best one so far. Which of the pack's elements it was is found once, at the end. What is compared is a *rank*, an integer that is
//! smaller the better the element is; so one comparison orders numbers, zeros and NaNs.

use crate::reduce::Reduction;
use crate::reduce::item::{Float, Item, Key, Pack, Rank};
use crate::reduce::source::One;
use crate::reduce::unroll::{each, tree};
use core::marker::PhantomData;

/// An element and where it is, in memory, with zeros between: who copies that reads nothing that was not written.
#[repr(C)]
pub struct Indexed<T: Item> {
    /// The element's bits; a NaN may be another one than the input's.
    pub value: T::Bits,
    /// Its index.
    pub index: T::Bits,
}

/// Which of two keys is better.
pub trait Order<K: Key> {
    /// The better one.
    fn better(a: K, b: K) -> K;
    /// Smaller for better keys.
    fn rank(key: K) -> K::Rank;
    /// The inverse of [`rank`](Self::rank); all NaNs become one.
    fn key(rank: K::Rank) -> K;
}

/// Declares orders: whether large keys are better, and the rank of NaNs.
macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $bound:path, $better:ident, $largest:literal, $nan:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl<K: $bound> Order<K> for $name {
            #[inline(always)]
            fn better(a: K, b: K) -> K {
                a.$better(b)
            }
            #[inline(always)]
            fn rank(key: K) -> K::Rank {
                if key.is_nan() {
                    K::Rank::$nan
                } else if $largest {
                    key.rank().reversed()
                } else {
                    key.rank()
                }
            }
            #[inline(always)]
            fn key(rank: K::Rank) -> K {
                let key = K::of_rank(if $largest { rank.reversed() } else { rank });
                if key.is_nan() { K::NAN } else { key }
            }
        }
    )*};
}

orders! {
    /// The smallest number; NaNs only if there is nothing else.
    Smallest: Key, min, false, MAX;
    /// The largest number; NaNs only if there is nothing else.
    Largest: Key, max, true, MAX;
    /// A NaN, or else the smallest number.
    SmallestOrNan: Float, minimum, false, MIN;
    /// A NaN, or else the largest number.
    LargestOrNan: Float, maximum, true, MIN;
}

/// The best element by the order `O`, and the smallest index that has it. -0 is below +0.
pub struct Arg<T, O>(PhantomData<(T, O)>);

/// What a thread keeps: a pack whose best element is the best so far.
#[derive(Clone, Copy)]
pub struct BestPack<R> {
    rank: R,
    pack: Pack,
    place: u32,
}

/// The place of a pack when there was none yet.
const NOWHERE: u32 = u32::MAX;

impl<T: Item, O: Order<T::Key>> Reduction for Arg<T, O> {
    type Source = One<T>;
    type Thread = BestPack<<T::Key as Key>::Rank>;
    type Acc = (<T::Key as Key>::Rank, u64);
    type Raw = Indexed<T>;

    const IS_SHORT: bool = false;

    #[inline(always)]
    fn start() -> Self::Thread {
        BestPack { rank: Rank::MAX, pack: [0; 4], place: NOWHERE }
    }
    #[inline(always)]
    fn pack(thread: Self::Thread, pack: Pack, place: u32) -> Self::Thread {
        let rank = O::rank(tree(T::LANES, |lane| T::lane(pack, lane).key(), O::better));
        // The first pack counts even if all of it has the last rank.
        let better = rank < thread.rank || thread.place == NOWHERE;
        // Field by field: LLVM would keep both structures in memory.
        BestPack {
            rank: if better { rank } else { thread.rank },
            pack: core::array::from_fn(|i| if better { pack[i] } else { thread.pack[i] }),
            place: if better { place } else { thread.place },
        }
    }
    #[inline(always)]
    fn finish(thread: Self::Thread, first: u64) -> Self::Acc {
        let mut found = 0;
        each(T::LANES, |i| {
            // From the last to the first, which stays.
            let lane = T::LANES - 1 - i;
            if O::rank(T::lane(thread.pack, lane).key()) == thread.rank {
                found = lane as u64;
            }
        });
        let index = first + u64::from(thread.place) * T::LANES as u64 + found;
        (thread.rank, if thread.place == NOWHERE { u64::MAX } else { index })
    }
    #[inline(always)]
    fn item(item: T, index: u64) -> Self::Acc {
        (O::rank(item.key()), index)
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        (Rank::MAX, u64::MAX)
    }
    #[inline(always)]
    #[expect(clippy::needless_bitwise_bool, reason = "LLVM would branch, and lanes differ")]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let better = (b.0 < a.0) | ((b.0 == a.0) & (b.1 < a.1));
        (if better { b.0 } else { a.0 }, if better { b.1 } else { a.1 })
    }
    #[inline(always)]
    unsafe fn redux((rank, index): Self::Acc) -> Option<Self::Acc> {
        // SAFETY: the caller's word.
        unsafe {
            let best = rank.redux_min()?;
            let first = Rank::redux_min(if rank == best { index } else { u64::MAX })?;
            Some((best, first))
        }
    }
    #[inline(always)]
    fn raw((rank, index): Self::Acc) -> Indexed<T> {
        Indexed { value: T::of_key(O::key(rank)).bits(), index: index.into() }
    }
}
