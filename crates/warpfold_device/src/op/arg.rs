//! The best element and its index.
//!
//! If a pack has at most two elements, a thread keeps a candidate for each place in a pack, so that
//! neither of the two comparisons waits for the other. A candidate is the best key at this place so
//! far, and the pack that it came in. If a pack has more elements, the thread keeps one candidate
//! for the whole pack, and the pack itself; it finds the element within the pack once, at the end
//! (bench/NOTEBOOK.md, attempt 28; H100, argmin f32 of 2^20: a candidate for each place 3.03 us,
//! one for the pack 2.90).
//!
//! An element that is no better than the worst possible key never becomes a candidate. So if the
//! worst key is the result, all elements are equal, and the index of the result is 0.

use crate::item::{Item, Pack};
use crate::key::{Key, Order, Rank};
use crate::source::One;
use crate::unroll::{each, tree};
use crate::words::Words;
use crate::{Position, Reduction};
use core::marker::PhantomData;

/// An element and its index, as written to memory. The bits of the element are widened by zeros, so
/// that a program that copies the pair reads no byte that was never written.
#[repr(C)]
pub struct Indexed<T: Item> {
    /// The element's bits. A NaN may have other bits than the NaN in the input.
    pub value: T::Bits,
    /// The element's index.
    pub index: T::Bits,
}

impl<T: Item> Indexed<T> {
    /// The element and its index.
    #[inline(always)]
    pub fn parts(&self) -> (T, u64) {
        // SAFETY: the element's bits, and the lower 64 bits of the index, are the lowest bits of
        // their fields, and the device is little-endian.
        unsafe {
            (
                (&raw const self.value).cast::<T>().read(),
                (&raw const self.index).cast::<u64>().read(),
            )
        }
    }
}

/// The best element by the order `O`, and the smallest index at which it stands. -0 is below +0.
pub struct Arg<T, O>(PhantomData<(T, O)>);

/// The most candidates of a thread.
const MOST: usize = 2;

/// The state of a thread: for each candidate the best key and the place of its pack. A single
/// candidate has its pack as well.
#[derive(Clone, Copy)]
pub struct Candidates<K> {
    best: [K; MOST],
    place: [u32; MOST],
    pack: Pack,
}

/// The best of several elements, by its rank and its position.
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

    // All words except the one that holds the block.
    const IN_SLOT: usize = R::COUNT + 1;
    #[inline(always)]
    fn from_slot(get: &impl Fn(usize) -> u32, block: u32) -> Self {
        Self { rank: R::from_words(get), position: Position { block, number: get(R::COUNT) } }
    }
}

impl<T: Item, O: Order> Arg<T, O> {
    /// Whether there is one candidate for the whole pack.
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
        let number =
            |i: usize, element: usize| thread.place[i] * T::PER_PACK as u32 + element as u32;
        let (rank, number) = if Self::BY_PACK {
            let rank = rank(0);
            let mut found = 0;
            each(T::PER_PACK, |i| {
                // The search goes from the last element to the first, so that the first equal one
                // stays.
                let element = T::PER_PACK - 1 - i;
                if T::element(thread.pack, element).key().is_kept::<O>(thread.best[0]) {
                    found = element;
                }
            });
            (rank, number(0, found))
        } else {
            tree(
                T::PER_PACK,
                |element| (rank(element), number(element, element)),
                |a, b| if is_before(b, a) { b } else { a },
            )
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
        // SAFETY: the caller brings the whole warp, and all lanes take the branch.
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
    #[inline(always)]
    fn raw_of_items(acc: Self::Acc, index: impl Fn(Position) -> u64) -> Indexed<T> {
        let value = T::of_key(T::Key::of_rank::<O>(acc.rank));
        Indexed { value: value.bits(), index: index(acc.position).into() }
    }
}

/// Whether `a` is before `b`, where both are a rank and a number. The rank decides, and the number
/// decides between equal ranks.
#[inline(always)]
#[expect(clippy::needless_bitwise_bool, reason = "LLVM would branch, and lanes differ")]
fn is_before<R: Rank, N: Copy + PartialOrd>(a: (R, N), b: (R, N)) -> bool {
    (a.0 < b.0) | ((a.0 == b.0) & (a.1 < b.1))
}
