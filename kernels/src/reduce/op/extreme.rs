//! Minima and maxima.

use crate::reduce::Fold;
use crate::reduce::item::{Float, Item, Key, Pack};
use crate::reduce::source::One;
use crate::reduce::unroll::tree;
use core::marker::PhantomData;

/// Operations on the elements' keys, whose result is an element.
macro_rules! extremes {
    ($($(#[$doc:meta])* $name:ident: $bound:path, $combine:ident, $identity:ident, $redux:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name<T>(PhantomData<T>);

        impl<T: Item<Key: $bound>> Fold for $name<T> {
            type Source = One<T>;
            type Acc = T::Key;
            type Raw = T;

            #[inline(always)]
            fn identity() -> T::Key {
                T::Key::$identity
            }
            #[inline(always)]
            fn pack(acc: T::Key, pack: Pack) -> T::Key {
                acc.$combine(tree(T::LANES, |lane| T::lane(pack, lane).key(), T::Key::$combine))
            }
            #[inline(always)]
            fn item(item: T) -> T::Key {
                item.key()
            }
            #[inline(always)]
            fn combine(a: T::Key, b: T::Key) -> T::Key {
                a.$combine(b)
            }
            #[inline(always)]
            fn raw(acc: T::Key) -> T {
                T::of_key(acc)
            }
            #[inline(always)]
            unsafe fn redux(acc: T::Key) -> Option<T::Key> {
                // SAFETY: the caller's word.
                unsafe { acc.$redux() }
            }
        }
    )*};
}

extremes! {
    /// The smallest element: of floats IEEE 754-2019 `minimumNumber`, which drops NaNs. All NaNs give a NaN.
    Min: Key, min, MIN_IDENTITY, redux_min;
    /// The largest element: of floats IEEE 754-2019 `maximumNumber`, which drops NaNs. All NaNs give a NaN.
    Max: Key, max, MAX_IDENTITY, redux_max;
    /// The smallest float, or a NaN if there is one: IEEE 754-2019 `minimum`.
    Minimum: Float, minimum, INFINITY, redux_minimum;
    /// The largest float, or a NaN if there is one: IEEE 754-2019 `maximum`.
    Maximum: Float, maximum, NEG_INFINITY, redux_maximum;
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

/// [`Min`] and [`Max`] at once.
pub struct MinMax<T>(PhantomData<T>);

impl<T: Item> Fold for MinMax<T> {
    type Source = One<T>;
    type Acc = (T::Key, T::Key);
    type Raw = Extremes<T>;

    #[inline(always)]
    fn identity() -> Self::Acc {
        (T::Key::MIN_IDENTITY, T::Key::MAX_IDENTITY)
    }
    #[inline(always)]
    fn pack((min, max): Self::Acc, pack: Pack) -> Self::Acc {
        (Min::<T>::pack(min, pack), Max::<T>::pack(max, pack))
    }
    #[inline(always)]
    fn item(item: T) -> Self::Acc {
        (item.key(), item.key())
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        (a.0.min(b.0), a.1.max(b.1))
    }
    #[inline(always)]
    unsafe fn redux((min, max): Self::Acc) -> Option<Self::Acc> {
        // SAFETY: the caller's word.
        unsafe { Some((min.redux_min()?, max.redux_max()?)) }
    }
    #[inline(always)]
    fn raw((min, max): Self::Acc) -> Extremes<T> {
        Extremes { min: T::of_key(min), max: T::of_key(max) }
    }
}
