//! Minima and maxima.

use crate::item::{Item, Pack};
use crate::key::{Key, Largest, Order, Rank, Smallest, lower};
use crate::source::One;
use crate::{Position, Reduction};
use core::marker::PhantomData;

/// The property of an element by which elements are compared.
pub trait Measure<T> {
    /// The type in which the property is compared.
    type Key: Key;
    /// The type in which the property is written to memory.
    type Raw;
    /// The property of an element.
    fn key(item: T) -> Self::Key;
    /// The result that has this key.
    fn raw(key: Self::Key) -> Self::Raw;
}

/// The element itself as the property by which elements are compared.
pub struct Itself;

impl<T: Item> Measure<T> for Itself {
    type Key = T::Key;
    type Raw = T;
    #[inline(always)]
    fn key(item: T) -> T::Key {
        item.key()
    }
    #[inline(always)]
    fn raw(key: T::Key) -> T {
        T::of_key(key)
    }
}

/// The best element by the order `O`. For floats this is IEEE 754-2019 `minimumNumber` or
/// `maximumNumber` if NaNs lose, and `minimum` or `maximum` if they win.
pub struct Extreme<T, O, M = Itself>(PhantomData<(T, O, M)>);

impl<T: Item, O: Order, M: Measure<T>> Reduction for Extreme<T, O, M> {
    type Source = One<T>;
    type Thread = <M::Key as Key>::Kept;
    type Acc = <M::Key as Key>::Rank;
    type Raw = M::Raw;

    #[inline(always)]
    fn start() -> Self::Thread {
        M::Key::worst::<O>()
    }
    #[inline(always)]
    fn pack(thread: Self::Thread, pack: Pack, _place: u32) -> Self::Thread {
        M::Key::keep_all::<O>(thread, T::PER_PACK, |i| M::key(T::element(pack, i))).0
    }
    #[inline(always)]
    fn finish(thread: Self::Thread, _first: Position) -> Self::Acc {
        M::Key::rank_of_kept::<O>(thread)
    }
    #[inline(always)]
    fn item(item: T, _position: Position) -> Self::Acc {
        M::key(item).rank::<O>()
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        Rank::MAX
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        lower(a, b)
    }
    const IS_IDEMPOTENT: bool = true;
    #[inline(always)]
    unsafe fn redux(acc: Self::Acc, _by_block: bool) -> Option<Self::Acc> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_min() }
    }
    #[inline(always)]
    fn raw(acc: Self::Acc, _index: impl Fn(Position) -> u64) -> M::Raw {
        M::raw(M::Key::of_rank::<O>(acc))
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
    const IS_IDEMPOTENT: bool = true;
    #[inline(always)]
    unsafe fn redux((min, max): Self::Acc, _by_block: bool) -> Option<Self::Acc> {
        // SAFETY: the caller brings the whole warp.
        unsafe { Some((min.redux_min()?, max.redux_min()?)) }
    }
    #[inline(always)]
    fn raw((min, max): Self::Acc, index: impl Fn(Position) -> u64) -> Extremes<T> {
        Extremes { min: Min::<T>::raw(min, &index), max: Max::<T>::raw(max, &index) }
    }
}
