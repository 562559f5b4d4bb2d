//! Where the extremes are.
//!
//! A thread has a candidate for each lane of a pack, so that neither waits for the other: the best key that it has had there, and in
//! which pack. Where there are more than two lanes it has one for the whole pack, and keeps the pack too: which of its elements it
//! was is found once, at the end.
//!
//! What is no better than the last one possible is no candidate. So if that is the best there is, all elements are equal, and the
//! first one is the one sought.

use crate::item::{Item, Pack};
use crate::key::{Key, Order, Rank};
use crate::source::One;
use crate::unroll::{each, tree};
use crate::words::Words;
use crate::{Position, Reduction};
use core::marker::PhantomData;

/// An element and where it is, in memory, with zeros between: who copies that reads nothing that was not written.
#[repr(C)]
pub struct Indexed<T: Item> {
    /// The element's bits; a NaN may be another one than the input's.
    pub value: T::Bits,
    /// Its index.
    pub index: T::Bits,
}

/// The best element by the order `O`, and the smallest index that has it. -0 is below +0.
pub struct Arg<T, O>(PhantomData<(T, O)>);

/// The most candidates of a thread.
const MOST: usize = 2;

/// What a thread keeps: for each candidate the best key and the place of its pack, and of a single one the pack.
#[derive(Clone, Copy)]
pub struct Candidates<K> {
    best: [K; MOST],
    place: [u32; MOST],
    pack: Pack,
}

/// The best of several elements: its rank and its position.
#[derive(Clone, Copy)]
pub struct Best<R> {
    rank: R,
    position: Position,
}

impl<R: Rank> Words for Best<R> {
    const COUNT: usize = R::COUNT + 2;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let Position { block, number } = self.position;
        (self.rank, (number, block)).word(i)
    }
    #[inline(always)]
    fn from_words(get: &impl Fn(usize) -> u32) -> Self {
        let (rank, (number, block)) = Words::from_words(get);
        Self { rank, position: Position { block, number } }
    }

    // All but the block.
    const IN_SLOT: usize = R::COUNT + 1;
    #[inline(always)]
    fn from_slot(get: &impl Fn(usize) -> u32, block: u32) -> Self {
        Self { rank: R::from_words(get), position: Position { block, number: get(R::COUNT) } }
    }
}

impl<T: Item, O: Order> Arg<T, O> {
    /// Whether there is one candidate for all lanes.
    const BY_PACK: bool = T::PER_PACK > MOST;
}

impl<T: Item, O: Order> Reduction for Arg<T, O> {
    type Source = One<T>;
    type Thread = Candidates<<T::Key as Key>::Kept>;
    type Acc = Best<<T::Key as Key>::Rank>;
    type Raw = Indexed<T>;

    #[inline(always)]
    fn start() -> Self::Thread {
        Candidates { best: [T::Key::worst::<O>(); MOST], place: [0; MOST], pack: [0; 4] }
    }
    #[inline(always)]
    fn pack(thread: Self::Thread, pack: Pack, place: u32) -> Self::Thread {
        let key = |element| T::element(pack, element).key();
        let mut kept = thread;
        if Self::BY_PACK {
            let (best, taken) = T::Key::keep_all::<O>(kept.best[0], T::PER_PACK, key);
            kept.best[0] = best;
            kept.place[0] = if taken { place } else { kept.place[0] };
            kept.pack = core::array::from_fn(|i| if taken { pack[i] } else { thread.pack[i] });
        } else {
            each(T::PER_PACK, |element| {
                let (best, taken) = T::Key::keep::<O>(kept.best[element], key(element));
                kept.best[element] = best;
                kept.place[element] = if taken { place } else { kept.place[element] };
            });
        }
        kept
    }
    #[inline(always)]
    fn finish(thread: Self::Thread, first: Position) -> Self::Acc {
        let rank = |i: usize| T::Key::rank_of_kept::<O>(thread.best[i]);
        let number = |i: usize, element: usize| thread.place[i] * T::PER_PACK as u32 + element as u32;
        let (rank, number) = if Self::BY_PACK {
            let rank = rank(0);
            let mut found = 0;
            each(T::PER_PACK, |i| {
                // From the last to the first, which stays.
                let element = T::PER_PACK - 1 - i;
                if T::element(thread.pack, element).key().is_kept::<O>(thread.best[0]) {
                    found = element;
                }
            });
            (rank, number(0, found))
        } else {
            tree(T::PER_PACK, |element| (rank(element), number(element, element)), |a, b| if is_before(b, a) { b } else { a })
        };
        Best { rank, position: Position { number: first.number + number, ..first } }
    }
    #[inline(always)]
    fn item(item: T, position: Position) -> Self::Acc {
        Best { rank: item.key().rank::<O>(), position }
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        Best { rank: Rank::MAX, position: Position { block: u32::MAX, number: u32::MAX } }
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let order = |Position { block, number }| u64::from(block) << 32 | u64::from(number);
        if is_before((b.rank, order(b.position)), (a.rank, order(a.position))) { b } else { a }
    }
    #[inline(always)]
    fn append(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        if b.rank < a.rank { b } else { a }
    }
    const IS_IDEMPOTENT: bool = true;
    #[inline(always)]
    unsafe fn redux(acc: Self::Acc, by_block: bool) -> Option<Self::Acc> {
        // SAFETY: the caller's word, and the branch is taken by all lanes.
        unsafe {
            let rank = acc.rank.redux_min()?;
            let Position { block, number } = acc.position;
            let mut is_best = acc.rank == rank;
            let mut first = block;
            if by_block {
                first = Rank::redux_min(if is_best { block } else { u32::MAX })?;
                is_best &= block == first;
            }
            let number = Rank::redux_min(if is_best { number } else { u32::MAX })?;
            Some(Best { rank, position: Position { block: first, number } })
        }
    }
    #[inline(always)]
    fn raw(acc: Self::Acc, index: impl Fn(Position) -> u64) -> Indexed<T> {
        let value = T::of_key(T::Key::of_rank::<O>(acc.rank));
        let is_last = acc.rank == T::Key::rank_of_kept::<O>(T::Key::worst::<O>());
        let index = if is_last { 0 } else { index(acc.position) };
        Indexed { value: value.bits(), index: index.into() }
    }
}

/// Whether a rank and a number are before others: the rank decides, and among equal ones the number.
#[inline(always)]
#[expect(clippy::needless_bitwise_bool, reason = "LLVM would branch, and lanes differ")]
fn is_before<R: Rank, N: Copy + PartialOrd>(a: (R, N), b: (R, N)) -> bool {
    (a.0 < b.0) | ((a.0 == b.0) & (a.1 < b.1))
}
