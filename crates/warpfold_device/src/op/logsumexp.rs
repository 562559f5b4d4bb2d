//! The sum of the exponentials of elements, divided by the exponential of the largest element, in
//! one pass. Because no exponential is larger than 1 then, the sum does not overflow.
//!
//! A thread subtracts a *reference* from all elements, which is the largest element so far or a
//! little less. Only if an element exceeds the reference by more than [`Exp::MOST`], the largest
//! element becomes the new one, and the sum is multiplied by the exponential of the difference. So
//! few warps have a lane that multiplies. Exponentials are summed [scaled](Exp::exp_scaled), and a
//! pack's sum is brought to scale when it is added to the thread's.
//!
//! Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.

use crate::exp::Exp;
use crate::item::{Item, Number, Pack};
use crate::source::One;
use crate::unroll::tree;
use crate::{Position, Reduction};
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

/// What a thread keeps of its elements.
#[derive(Clone, Copy)]
pub struct Running<F> {
    max: F,
    reference: F,
    /// The sum of the exponentials of the differences from the reference. It means nothing unless
    /// the maximum is finite.
    sum: F,
}

impl<T: Item<Wide: Exp>> Reduction for SumExp<T> {
    type Source = One<T>;
    type Thread = Running<T::Wide>;
    /// The maximum and the sum. The sum means nothing unless the maximum is finite.
    type Acc = (T::Wide, T::Wide);
    type Raw = MaxAndSum<T::Wide>;

    #[inline(always)]
    fn start() -> Self::Thread {
        Running { max: T::Wide::NEG_INFINITY, reference: T::Wide::LOWEST, sum: T::Wide::ZERO }
    }
    #[inline(always)]
    fn pack(thread: Self::Thread, pack: Pack, _place: u32) -> Self::Thread {
        let Running { max, mut reference, mut sum } = thread;
        let element = |i| T::element(pack, i).wide();
        let max = max.greater_or_nan(tree(T::PER_PACK, element, Exp::greater_or_nan));
        if max > reference.add(T::Wide::MOST) {
            sum = sum.multiply(reference.subtract(max).exp());
            reference = max;
        }
        let scaled = |i| element(i).subtract(reference).exp_scaled();
        let sum = tree(T::PER_PACK, scaled, Number::add).fma(T::Wide::UNSCALE, sum);
        Running { max, reference, sum }
    }
    #[inline(always)]
    fn finish(Running { max, reference, sum }: Self::Thread, _first: Position) -> Self::Acc {
        let mut sum = sum;
        // Most parts of one pack or less have no other reference than their maximum.
        if reference < max {
            sum = sum.multiply(reference.subtract(max).exp());
        }
        (max, sum)
    }
    #[inline(always)]
    fn item(item: T, _position: Position) -> Self::Acc {
        (item.wide(), T::Wide::ONE)
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        (T::Wide::NEG_INFINITY, T::Wide::ZERO)
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        let max = a.0.greater_or_nan(b.0);
        // The factor of the other one is 1.
        let (of_smaller, of_larger) = if a.0 < b.0 { (a.1, b.1) } else { (b.1, a.1) };
        // The difference of equal infinities is NaN, and the factor is 0 then.
        let factor = a.0.subtract(b.0).negated_magnitude().exp();
        (max, of_smaller.fma(factor, of_larger))
    }
    #[inline(always)]
    fn raw((max, sum): Self::Acc, _index: impl Fn(Position) -> u64) -> Self::Raw {
        // The difference of two equal numbers is 0, and that of infinities is NaN.
        let sum = if max < T::Wide::LOWEST { T::Wide::ZERO } else { sum.add(max.subtract(max)) };
        // -0 becomes +0.
        MaxAndSum { max: max.add(T::Wide::ZERO), sum }
    }
}
