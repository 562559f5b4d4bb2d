//! The sum and the number of the elements that are not NaN.

use crate::item::{Item, Number, Pack};
use crate::source::One;
use crate::unroll::{each, tree};
use crate::{Position, Reduction};
use core::marker::PhantomData;

/// The number and the sum of the elements that are not NaN, as written to memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CountAndSum {
    /// The number of elements that are not NaN.
    pub count: u64,
    /// Their sum. A sum of `f32` has all digits here.
    pub sum: f64,
}

/// The sum of the elements that are not NaN, in their wide type, and how many there are.
pub struct NanSum<T>(PhantomData<T>);

/// The number that an element adds to the sum, and whether it counts.
#[inline(always)]
fn counted<F: Number + PartialOrd>(x: F) -> (F, bool) {
    let is_number = x.partial_cmp(&x).is_some();
    (if is_number { x } else { F::ZERO }, is_number)
}

impl<T: Item<Wide: Into<f64> + PartialOrd>> Reduction for NanSum<T> {
    type Source = One<T>;
    /// A thread has fewer than 2^32 elements.
    type Thread = (u32, T::Wide);
    type Acc = (u64, T::Wide);
    type Raw = CountAndSum;

    #[inline(always)]
    fn start() -> Self::Thread {
        (0, T::Wide::ZERO)
    }
    #[inline(always)]
    fn pack((mut count, sum): Self::Thread, pack: Pack, _place: u32) -> Self::Thread {
        let element = |i| counted(T::element(pack, i).wide());
        each(T::PER_PACK, |i| count += u32::from(element(i).1));
        (count, sum.add(tree(T::PER_PACK, |i| element(i).0, Number::add)))
    }
    #[inline(always)]
    fn finish((count, sum): Self::Thread, _first: Position) -> Self::Acc {
        (count.into(), sum)
    }
    #[inline(always)]
    fn item(item: T, _position: Position) -> Self::Acc {
        let (number, is_number) = counted(item.wide());
        (is_number.into(), number)
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        (0, T::Wide::ZERO)
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        (a.0 + b.0, a.1.add(b.1))
    }
    #[inline(always)]
    fn raw((count, sum): Self::Acc, _index: impl Fn(Position) -> u64) -> CountAndSum {
        CountAndSum { count, sum: sum.into() }
    }
}
