//! What an operation has to say: [`Fold`], and [`Reduction`] behind it.

use crate::source::Source;
use crate::words::Words;

/// Where an element is. Positions are in the order of the elements, by block and then by number.
#[derive(Clone, Copy)]
pub struct Position {
    /// The block that takes it.
    pub block: u32,
    /// Its index, if all indices have 32 bits, so that numbers alone are in order; else its number among the block's elements, from
    /// any.
    pub number: u32,
}

/// What a kernel does to its elements.
///
/// A thread starts with [`start`](Self::start), takes packs in order of their place, and turns what it has into an
/// accumulator; accumulators are combined in pairs, in an order that depends on the shape of the launch only.
pub trait Reduction {
    /// Where the elements are.
    type Source: Source;
    /// What a thread keeps while it reads packs.
    type Thread: Copy;
    /// A partial result, as it goes from thread to thread.
    type Acc: Words;
    /// A partial result, as it is written to memory.
    type Raw;

    /// Before the first pack.
    fn start() -> Self::Thread;
    /// With one more pack, whose place is its number in the block's chunk.
    fn pack(thread: Self::Thread, pack: <Self::Source as Source>::Pack, place: u32) -> Self::Thread;
    /// What the thread has; `first` is the position of the first pack of the block's chunk.
    fn finish(thread: Self::Thread, first: Position) -> Self::Acc;
    /// One element, and where it is.
    fn item(item: <Self::Source as Source>::Item, position: Position) -> Self::Acc;
    /// What changes no accumulator.
    fn identity() -> Self::Acc;
    /// Two accumulators made one.
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The same, where all elements of `a` come before those of `b`.
    #[inline(always)]
    fn append(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        Self::combine(a, b)
    }
    /// Whether an accumulator combined with itself is the same.
    const IS_IDEMPOTENT: bool = false;
    /// What is written of the whole; `index` gives the index of the element at a position.
    fn raw(acc: Self::Acc, index: impl Fn(Position) -> u64) -> Self::Raw;
    /// The accumulators of a warp combined, in each of its lanes, if there is an instruction for that. Unless they are to be
    /// ordered `by_block`, the numbers of their positions are in order.
    ///
    /// # Safety
    /// All 32 lanes call this together.
    #[inline(always)]
    unsafe fn redux(_acc: Self::Acc, _by_block: bool) -> Option<Self::Acc> {
        None
    }
}

/// A reduction whose threads keep an accumulator from the beginning.
pub trait Fold {
    /// See [`Reduction::Source`].
    type Source: Source;
    /// See [`Reduction::Acc`].
    type Acc: Words;
    /// See [`Reduction::Raw`].
    type Raw;

    /// See [`Reduction::identity`].
    fn identity() -> Self::Acc;
    /// The accumulator with all elements of a pack.
    fn pack(acc: Self::Acc, pack: <Self::Source as Source>::Pack) -> Self::Acc;
    /// See [`Reduction::item`].
    fn item(item: <Self::Source as Source>::Item) -> Self::Acc;
    /// See [`Reduction::combine`].
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// See [`Reduction::raw`].
    fn raw(acc: Self::Acc) -> Self::Raw;
    /// See [`Reduction::redux`].
    ///
    /// # Safety
    /// That of [`Reduction::redux`].
    #[inline(always)]
    unsafe fn redux(_acc: Self::Acc) -> Option<Self::Acc> {
        None
    }
}

impl<F: Fold> Reduction for F {
    type Source = F::Source;
    type Thread = F::Acc;
    type Acc = F::Acc;
    type Raw = F::Raw;

    #[inline(always)]
    fn start() -> F::Acc {
        F::identity()
    }
    #[inline(always)]
    fn pack(thread: F::Acc, pack: <F::Source as Source>::Pack, _place: u32) -> F::Acc {
        F::pack(thread, pack)
    }
    #[inline(always)]
    fn finish(thread: F::Acc, _first: Position) -> F::Acc {
        thread
    }
    #[inline(always)]
    fn item(item: <F::Source as Source>::Item, _position: Position) -> F::Acc {
        F::item(item)
    }
    #[inline(always)]
    fn identity() -> F::Acc {
        F::identity()
    }
    #[inline(always)]
    fn combine(a: F::Acc, b: F::Acc) -> F::Acc {
        F::combine(a, b)
    }
    #[inline(always)]
    fn raw(acc: F::Acc, _index: impl Fn(Position) -> u64) -> F::Raw {
        F::raw(acc)
    }
    #[inline(always)]
    unsafe fn redux(acc: F::Acc, _by_block: bool) -> Option<F::Acc> {
        // SAFETY: the caller's word.
        unsafe { F::redux(acc) }
    }
}
