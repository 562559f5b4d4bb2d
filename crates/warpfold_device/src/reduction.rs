//! The traits that define an operation: [`Fold`], and [`Reduction`], which is more general.

use crate::source::Source;
use crate::words::Words;

/// Where an element is. Positions have the order of the elements: by block, and then by number.
#[derive(Clone, Copy)]
pub struct Position {
    /// The block that takes the element.
    pub block: u32,
    /// The element's index if all indices have 32 bits, because numbers alone then have the order
    /// of the elements. Otherwise the element's number among those of its block, counted from any
    /// start.
    pub number: u32,
}

/// What a kernel does to its elements, in the long form. [`Fold`] is the short form, and suits most
/// operations.
///
/// A thread begins with [`start`](Self::start), takes packs in the order of their places, and at
/// the end turns its state into an accumulator. Accumulators are combined in pairs, in an order
/// that depends on the shape of the launch only.
pub trait Reduction {
    /// The array or arrays that hold the elements.
    type Source: Source;
    /// The state of a thread while it reads packs.
    type Thread: Copy;
    /// A partial result, as it goes from thread to thread.
    type Acc: Words;
    /// A partial result, as it is written to memory.
    type Raw;

    /// The state of a thread before its first pack.
    fn start() -> Self::Thread;
    /// The state of a thread after one more pack. `place` is the pack's number in the block's
    /// chunk.
    fn pack(thread: Self::Thread, pack: <Self::Source as Source>::Pack, place: u32)
    -> Self::Thread;
    /// The accumulator of all packs that the thread has read. `first` is the position of the first
    /// element of the block's chunk.
    fn finish(thread: Self::Thread, first: Position) -> Self::Acc;
    /// The accumulator of one element, which is at `position`.
    fn item(item: <Self::Source as Source>::Item, position: Position) -> Self::Acc;
    /// The accumulator that changes no other when the two are combined.
    fn identity() -> Self::Acc;
    /// Combines two accumulators into one.
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// As [`combine`](Self::combine), but all elements of `a` come before those of `b`.
    #[inline(always)]
    fn append(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        Self::combine(a, b)
    }
    /// Whether an accumulator stays the same when it is combined with itself.
    const IS_IDEMPOTENT: bool = false;
    /// Whether the result does not depend on the order in which accumulators are combined. Then a
    /// thread of a kernel for rows or segments goes on with its accumulator from tile to tile, and
    /// needs room for one accumulator only.
    const IN_ANY_ORDER: bool = false;
    /// The most raw results that a row or a segment has.
    const RESULTS: usize = 1;
    /// For how many words of an accumulator the host leaves room in a slot. It knows the raw
    /// results alone, unless it is told otherwise.
    const SLOT_WORDS: usize = {
        let words = Self::RESULTS * size_of::<Self::Raw>() / 4;
        if words < 2 { 2 } else { words }
    };
    /// The state of a thread that has the accumulator `acc` and goes on with the element at
    /// `first`. It is called if [`IN_ANY_ORDER`](Self::IN_ANY_ORDER) is true.
    #[inline(always)]
    fn resume(_acc: Self::Acc, _first: Position) -> Self::Thread {
        Self::start()
    }
    /// The accumulator `acc` with one element more, which comes after all others.
    #[inline(always)]
    fn append_item(
        acc: Self::Acc,
        item: <Self::Source as Source>::Item,
        position: Position,
    ) -> Self::Acc {
        Self::append(acc, Self::item(item, position))
    }
    /// Writes the results of row or segment number `row` of `source`. `workspace` is what the
    /// launch has as `slots`.
    ///
    /// # Safety
    /// `output` has a place for each result of each row. One lane calls this.
    #[inline(always)]
    unsafe fn write(
        acc: Self::Acc,
        output: *mut Self::Raw,
        row: u64,
        index: impl Fn(Position) -> u64,
        _source: Self::Source,
        _workspace: *mut u64,
    ) {
        // SAFETY: the caller's contract.
        unsafe { output.add(row as usize).write(Self::raw(acc, index)) };
    }
    /// The result as it is written to memory. `index` gives the index of the element at a position.
    fn raw(acc: Self::Acc, index: impl Fn(Position) -> u64) -> Self::Raw;
    /// As [`raw`](Self::raw), for an accumulator that was made by [`item`](Self::item),
    /// [`identity`](Self::identity) and [`combine`](Self::combine) alone. Its position is always
    /// that of an element, because no state of a thread has come in between.
    #[inline(always)]
    fn raw_of_items(acc: Self::Acc, index: impl Fn(Position) -> u64) -> Self::Raw {
        Self::raw(acc, index)
    }
    /// Combines the accumulators of a warp and gives the result to each lane, or returns `None` if
    /// the device has no instruction for that. If `by_block` is false, the numbers in the
    /// accumulators' positions are enough to order the elements, and the blocks need not be
    /// compared.
    ///
    /// # Safety
    /// All 32 lanes call this together.
    #[inline(always)]
    unsafe fn redux(_acc: Self::Acc, _by_block: bool) -> Option<Self::Acc> {
        None
    }
}

/// A reduction whose threads keep an accumulator from the beginning. Each `Fold` is a
/// [`Reduction`].
pub trait Fold {
    /// See [`Reduction::Source`].
    type Source: Source;
    /// See [`Reduction::Acc`].
    type Acc: Words;
    /// See [`Reduction::Raw`].
    type Raw;

    /// See [`Reduction::identity`].
    fn identity() -> Self::Acc;
    /// The accumulator after all elements of one more pack.
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
        // SAFETY: the caller brings the whole warp.
        unsafe { F::redux(acc) }
    }
}
