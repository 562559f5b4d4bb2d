//! Sums and products of elements, in their wide type.

use crate::Fold;
use crate::item::{Item, Number, Pack};
use crate::source::One;
use core::marker::PhantomData;

/// The sum. Integers are summed in 64 bits, or in 128 bits if they have 128, and the sum wraps. So
/// the sum of 8-, 16- and 32-bit integers is exact for up to 2^32 elements. Halves are summed in
/// `f32`.
pub struct Sum<T>(PhantomData<T>);

impl<T: Item> Fold for Sum<T> {
    type Source = One<T>;
    type Acc = T::Wide;
    type Raw = T::Wide;

    #[inline(always)]
    fn identity() -> T::Wide {
        T::Wide::ZERO
    }
    #[inline(always)]
    fn pack(acc: T::Wide, pack: Pack) -> T::Wide {
        acc.add(T::sum(pack))
    }
    #[inline(always)]
    fn item(item: T) -> T::Wide {
        item.wide()
    }
    #[inline(always)]
    fn combine(a: T::Wide, b: T::Wide) -> T::Wide {
        a.add(b)
    }
    #[inline(always)]
    fn raw(acc: T::Wide) -> T::Wide {
        acc
    }
    #[inline(always)]
    unsafe fn redux(acc: T::Wide) -> Option<T::Wide> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_sum() }
    }
}

/// The sum of 32-bit integers in 32 bits. It wraps.
pub struct Wrapping;

impl Fold for Wrapping {
    type Source = One<u32>;
    type Acc = u32;
    type Raw = u32;

    #[inline(always)]
    fn identity() -> u32 {
        0
    }
    #[inline(always)]
    fn pack(acc: u32, pack: Pack) -> u32 {
        acc.wrapping_add(pack[0]).wrapping_add(pack[1]).wrapping_add(pack[2]).wrapping_add(pack[3])
    }
    #[inline(always)]
    fn item(item: u32) -> u32 {
        item
    }
    #[inline(always)]
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn raw(acc: u32) -> u32 {
        acc
    }
    #[inline(always)]
    unsafe fn redux(acc: u32) -> Option<u32> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_sum() }
    }
}

/// The product, in the same type as [`Sum`]. Integers wrap.
pub struct Product<T>(PhantomData<T>);

impl<T: Item> Fold for Product<T> {
    type Source = One<T>;
    type Acc = T::Wide;
    type Raw = T::Wide;

    #[inline(always)]
    fn identity() -> T::Wide {
        T::Wide::ONE
    }
    #[inline(always)]
    fn pack(acc: T::Wide, pack: Pack) -> T::Wide {
        acc.multiply(T::product(pack))
    }
    #[inline(always)]
    fn item(item: T) -> T::Wide {
        item.wide()
    }
    #[inline(always)]
    fn combine(a: T::Wide, b: T::Wide) -> T::Wide {
        a.multiply(b)
    }
    #[inline(always)]
    fn raw(acc: T::Wide) -> T::Wide {
        acc
    }
}
