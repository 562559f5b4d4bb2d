//! The sum of the exponentials of elements, divided by the exponential of the largest element, in
//! one pass. Because no exponential is larger than 1 then, the sum does not overflow.
//!
//! A thread keeps the largest element so far. When a larger one comes, the sum is multiplied by the
//! exponential of the difference. This happens about as often as the logarithm of the number of
//! packs, so it is in a branch. Exponentials are summed [scaled](Exp::exp_scaled), and a pack's sum
//! is brought to scale when it is added to the thread's.
//!
//! Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.

use crate::Fold;
use crate::exp::Exp;
use crate::item::{Item, Number, Pack};
use crate::source::One;
use crate::unroll::tree;
use core::marker::PhantomData;

/// The largest element, and the sum of the exponentials of the differences from it, as written to
/// memory.
///
/// If all elements are negative infinity, the sum is 0. If an element is positive infinity or NaN,
/// the sum is NaN. The maximum is NaN if an element is NaN. A maximum of zero is +0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MaxAndSum<T> {
    /// The largest element.
    pub max: T,
    /// The sum of the exponentials.
    pub sum: T,
}

/// The largest element and the sum of the exponentials of the differences from it, in the wide
/// type.
pub struct SumExp<T>(PhantomData<T>);

/// What is subtracted from elements of which `max` is the largest: `max`, or the least finite
/// number if all elements are negative infinity. Then no difference of two infinities is NaN.
#[inline(always)]
fn subtrahend<F: Exp>(max: F) -> F {
    if max < F::LOWEST { F::LOWEST } else { max }
}

impl<T: Item<Wide: Exp>> Fold for SumExp<T> {
    type Source = One<T>;
    /// The maximum and the sum. The sum means nothing unless the maximum is finite.
    type Acc = (T::Wide, T::Wide);
    type Raw = MaxAndSum<T::Wide>;

    #[inline(always)]
    fn identity() -> Self::Acc {
        (T::Wide::NEG_INFINITY, T::Wide::ZERO)
    }
    #[inline(always)]
    fn pack((before, mut sum): Self::Acc, pack: Pack) -> Self::Acc {
        let element = |i| T::element(pack, i).wide();
        let max = before.greater_or_nan(tree(T::PER_PACK, element, Exp::greater_or_nan));
        let subtrahend = subtrahend(max);
        if max != before {
            sum = sum.multiply(before.subtract(subtrahend).exp());
        }
        let scaled = |i| element(i).subtract(subtrahend).exp_scaled();
        (max, tree(T::PER_PACK, scaled, Number::add).fma(T::Wide::UNSCALE, sum))
    }
    #[inline(always)]
    fn item(item: T) -> Self::Acc {
        (item.wide(), T::Wide::ONE)
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let max = a.0.greater_or_nan(b.0);
        // The factor of the other one is 1.
        let is_a_smaller = a.0 < b.0;
        let smaller = if is_a_smaller { a.0 } else { b.0 };
        let (of_smaller, of_larger) = if is_a_smaller { (a.1, b.1) } else { (b.1, a.1) };
        let factor = smaller.subtract(subtrahend(max)).exp();
        (max, of_smaller.fma(factor, of_larger))
    }
    #[inline(always)]
    fn raw((max, sum): Self::Acc) -> Self::Raw {
        // The difference of two equal numbers is 0, and that of infinities is NaN.
        let sum = if max < T::Wide::LOWEST { T::Wide::ZERO } else { sum.add(max.subtract(max)) };
        // -0 becomes +0.
        MaxAndSum { max: max.add(T::Wide::ZERO), sum }
    }
}
