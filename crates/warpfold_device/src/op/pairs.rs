//! Sums over pairs of elements.

use crate::Fold;
use crate::item::{Item, Number, Pack};
use crate::source::{Even, Two};
use crate::unroll::tree;
use core::marker::PhantomData;

macro_rules! pair_sums {
    ($($(#[$doc:meta])* $name:ident, $pack:expr, $item:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name<T>(PhantomData<T>);

        impl<T: Item> Fold for $name<T> {
            type Source = Two<T, Even>;
            type Acc = T::Wide;
            type Raw = T::Wide;

            #[inline(always)]
            fn identity() -> T::Wide {
                T::Wide::ZERO
            }
            #[inline(always)]
            fn pack(acc: T::Wide, [left, right]: [Pack; 2]) -> T::Wide {
                acc.add($pack(left, right))
            }
            #[inline(always)]
            fn item([left, right]: [T; 2]) -> T::Wide {
                $item(left.wide(), right.wide())
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
    )*};
}

pair_sums! {
    /// The sum of the products, in the wide type. Integers wrap.
    Dot, T::dot, T::Wide::multiply;
    /// The sum of the squares of the differences, in the wide type. Integers wrap.
    SquaredDistance,
    |left, right| tree(
        T::PER_PACK,
        |i| square_of_difference(T::element(left, i).wide(), T::element(right, i).wide()),
        Number::add,
    ),
    square_of_difference;
}

#[inline(always)]
fn square_of_difference<N: Number>(left: N, right: N) -> N {
    let difference = left.subtract(right);
    difference.multiply(difference)
}
