//! Minima and maxima.

use crate::reduce::item::{Item, Pack};
use crate::reduce::key::{Key, Largest, Order, Rank, Smallest, lower};
use crate::reduce::source::One;
use crate::reduce::{Position, Reduction};
use core::marker::PhantomData;

/// The best element: of floats IEEE 754-2019 `minimumNumber` or `maximumNumber`, where NaNs lose, `minimum` or `maximum`, where they
/// win.
pub struct Extreme<T, O>(PhantomData<(T, O)>);

impl<T: Item, O: Order> Reduction for Extreme<T, O> {
    type Source = One<T>;
    type Thread = <T::Key as Key>::Kept;
    type Acc = <T::Key as Key>::Rank;
    type Raw = T;

    #[inline(always)]
    fn start() -> Self::Thread {
        T::Key::none::<O>()
    }
    #[inline(always)]
    fn pack(thread: Self::Thread, pack: Pack, _place: u32) -> Self::Thread {
        T::Key::keep_all::<O>(thread, T::LANES, |lane| T::lane(pack, lane).key()).0
    }
    #[inline(always)]
    fn finish(thread: Self::Thread, _first: Position) -> Self::Acc {
        T::Key::rank_of_kept::<O>(thread)
    }
    #[inline(always)]
    fn item(item: T, _position: Position) -> Self::Acc {
        item.key().rank::<O>()
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        Rank::MAX
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        lower(a, b)
    }
    #[inline(always)]
    unsafe fn redux(acc: Self::Acc, _of_blocks: bool) -> Option<Self::Acc> {
        // SAFETY: the caller's word.
        unsafe { acc.redux_min() }
    }
    #[inline(always)]
    fn raw(acc: Self::Acc, _index: impl Fn(Position) -> u64) -> T {
        T::of_key(T::Key::of_rank::<O>(acc))
    }
}

/// Two extremes in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extremes<T> {
    /// The smallest element.
    pub min: T,
    /// The largest element.
    pub max: T,
}

/// The smallest and the largest element at once.
pub struct MinMax<T>(PhantomData<T>);

/// The smallest element.
type Min<T> = Extreme<T, Smallest>;
/// The largest element.
type Max<T> = Extreme<T, Largest>;

impl<T: Item> Reduction for MinMax<T> {
    type Source = One<T>;
    type Thread = (<T::Key as Key>::Kept, <T::Key as Key>::Kept);
    type Acc = (<T::Key as Key>::Rank, <T::Key as Key>::Rank);
    type Raw = Extremes<T>;

    #[inline(always)]
    fn start() -> Self::Thread {
        (Min::<T>::start(), Max::<T>::start())
    }
    #[inline(always)]
    fn pack((min, max): Self::Thread, pack: Pack, place: u32) -> Self::Thread {
        (Min::<T>::pack(min, pack, place), Max::<T>::pack(max, pack, place))
    }
    #[inline(always)]
    fn finish((min, max): Self::Thread, first: Position) -> Self::Acc {
        (Min::<T>::finish(min, first), Max::<T>::finish(max, first))
    }
    #[inline(always)]
    fn item(item: T, position: Position) -> Self::Acc {
        (Min::<T>::item(item, position), Max::<T>::item(item, position))
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        (Rank::MAX, Rank::MAX)
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        (lower(a.0, b.0), lower(a.1, b.1))
    }
    #[inline(always)]
    unsafe fn redux((min, max): Self::Acc, _of_blocks: bool) -> Option<Self::Acc> {
        // SAFETY: the caller's word.
        unsafe { Some((min.redux_min()?, max.redux_min()?)) }
    }
    #[inline(always)]
    fn raw((min, max): Self::Acc, index: impl Fn(Position) -> u64) -> Extremes<T> {
        Extremes { min: Min::<T>::raw(min, &index), max: Max::<T>::raw(max, &index) }
    }
}
