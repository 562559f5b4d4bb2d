//! What is kept of the elements of a row while they are read.

use warpfold::reducer::{ExactF32, ExactF64};

use super::{element::Element, walk::Fold};

/// Elements that are added in lanes before the sum is corrected.
const BLOCK: usize = 256;
/// Sums that are formed at once, so that one addition need not wait for the one before it.
const LANES: usize = 8;

/// A sum of numbers of 64 bits and the sum of its rounding errors (A. Neumaier).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Corrected {
    sum: f64,
    error: f64,
}

impl Corrected {
    pub(super) fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        let of_x = sum - self.sum;
        self.error += (self.sum - (sum - of_x)) + (x - of_x);
        self.sum = sum;
    }

    pub(super) fn value(self) -> f64 {
        if self.sum.is_finite() && self.error.is_finite() {
            self.sum + self.error
        } else {
            self.sum
        }
    }
}

/// The sum of what `map` makes of the elements of a block.
fn block<T: Copy>(elements: &[T], map: impl Fn(T) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let packs = elements.chunks_exact(LANES);
    let rest = packs.remainder();
    for pack in packs {
        for (lane, &element) in lanes.iter_mut().zip(pack) {
            *lane += map(element);
        }
    }
    for (lane, &element) in lanes.iter_mut().zip(rest) {
        *lane += map(element);
    }
    let [low, high] = [&lanes[..4], &lanes[4..]];
    (low[0] + low[1]) + (low[2] + low[3]) + ((high[0] + high[1]) + (high[2] + high[3]))
}

/// The sum of what a function makes of each element.
pub(super) struct FloatSum<M> {
    total: Corrected,
    map: M,
}

impl<M> FloatSum<M> {
    pub(super) fn new(map: M) -> Self {
        Self { total: Corrected::default(), map }
    }

    pub(super) fn value(&self) -> f64 {
        self.total.value()
    }
}

impl<T: Element, M: Fn(T) -> f64> Fold<T> for FloatSum<M> {
    fn push(&mut self, elements: &[T]) {
        for part in elements.chunks(BLOCK) {
            self.total.add(block(part, &self.map));
        }
    }
}

/// The sum of floats in which each addition is corrected.
#[derive(Default)]
pub(super) struct CompensatedSum(pub(super) Corrected);

impl<T: Element> Fold<T> for CompensatedSum {
    fn push(&mut self, elements: &[T]) {
        for &element in elements {
            self.0.add(element.float());
        }
    }
}

/// The exact sum of floats of at most 32 bits.
pub(super) struct ExactSum32(pub(super) ExactF32);

impl<T: Element> Fold<T> for ExactSum32 {
    fn push(&mut self, elements: &[T]) {
        // An element of at most 32 bits is the same number as an f32.
        self.0 = self.0.combine(&ExactF32::of(elements.iter().map(|x| x.float() as f32)));
    }
}

/// The exact sum of floats of 64 bits.
pub(super) struct ExactSum64(pub(super) ExactF64);

impl<T: Element> Fold<T> for ExactSum64 {
    fn push(&mut self, elements: &[T]) {
        self.0 = self.0.combine(&ExactF64::of(elements.iter().map(|x| x.float())));
    }
}

/// The sum of integers, modulo 2^64.
#[derive(Default)]
pub(super) struct WrappingSum(pub(super) u64);

impl<T: Element> Fold<T> for WrappingSum {
    fn push(&mut self, elements: &[T]) {
        self.0 = elements.iter().fold(self.0, |sum, x| sum.wrapping_add(x.integer()));
    }
}

/// The exact sum of integers.
#[derive(Default)]
pub(super) struct CheckedSum(pub(super) i128);

impl<T: Element> Fold<T> for CheckedSum {
    fn push(&mut self, elements: &[T]) {
        for &element in elements {
            let number = element.integer();
            self.0 += if T::IS_SIGNED { i128::from(number as i64) } else { i128::from(number) };
        }
    }
}

/// The product of integers, modulo 2^64.
pub(super) struct WrappingProduct(pub(super) u64);

impl<T: Element> Fold<T> for WrappingProduct {
    fn push(&mut self, elements: &[T]) {
        self.0 = elements.iter().fold(self.0, |product, x| product.wrapping_mul(x.integer()));
    }
}

/// The product of floats.
pub(super) struct FloatProduct(pub(super) f64);

impl<T: Element> Fold<T> for FloatProduct {
    fn push(&mut self, elements: &[T]) {
        self.0 = elements.iter().fold(self.0, |product, x| product * x.float());
    }
}

/// The product of complex numbers, by the real and the imaginary part.
pub(super) struct ComplexProduct(pub(super) [f64; 2]);

impl<T: Element> Fold<[T; 2]> for ComplexProduct {
    fn push(&mut self, elements: &[[T; 2]]) {
        self.0 = elements.iter().fold(self.0, |[a, b], number| {
            let [c, d] = number.map(T::float);
            [a * c - b * d, a * d + b * c]
        });
    }
}

/// The number of elements for which a condition holds.
pub(super) struct Count<M> {
    pub(super) count: u64,
    condition: M,
}

impl<M> Count<M> {
    pub(super) fn new(condition: M) -> Self {
        Self { count: 0, condition }
    }
}

impl<T: Element, M: Fn(T) -> bool> Fold<T> for Count<M> {
    fn push(&mut self, elements: &[T]) {
        self.count += elements.iter().filter(|&&x| (self.condition)(x)).count() as u64;
    }
}

/// The sum and the number of the elements that are not NaN.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) sum: Corrected,
    pub(super) count: u64,
}

impl<T: Element> Fold<T> for Numbers {
    fn push(&mut self, elements: &[T]) {
        for part in elements.chunks(BLOCK) {
            self.sum.add(block(part, |x: T| if x.is_nan() { 0.0 } else { x.float() }));
            self.count += part.iter().filter(|x| !x.is_nan()).count() as u64;
        }
    }
}

/// The greatest or the least number.
pub(super) struct Extreme<T> {
    is_greatest: bool,
    best: T,
    /// How many elements are no NaNs.
    numbers: u64,
    /// A NaN, if there is one.
    nan: Option<T>,
}

impl<T: Element> Extreme<T> {
    pub(super) fn new(is_greatest: bool) -> Self {
        let best = T::LIMITS[usize::from(!is_greatest)];
        Self { is_greatest, best, numbers: 0, nan: None }
    }

    /// A NaN if there is one, or else the best number.
    pub(super) fn or_nan(&self) -> T {
        self.nan.unwrap_or(self.best)
    }

    /// The best number, or a NaN if there is no number.
    pub(super) fn number(&self) -> T {
        if self.numbers > 0 { self.best } else { self.or_nan() }
    }
}

/// The best of the first value and of elements. NaNs are never better.
fn best<T: Element>(first: T, elements: &[T], is_better: impl Fn(T, T) -> bool) -> T {
    let mut lanes = [first; LANES];
    let choose = |a: T, b: T| if is_better(b, a) { b } else { a };
    let packs = elements.chunks_exact(LANES);
    let rest = packs.remainder();
    for pack in packs {
        for (lane, &element) in lanes.iter_mut().zip(pack) {
            *lane = choose(*lane, element);
        }
    }
    let found = rest.iter().fold(first, |best, &element| choose(best, element));
    lanes.into_iter().fold(found, choose)
}

impl<T: Element> Fold<T> for Extreme<T> {
    fn push(&mut self, elements: &[T]) {
        // A comparison with a NaN is false.
        self.best = if self.is_greatest {
            best(self.best, elements, |new, old| new > old)
        } else {
            best(self.best, elements, |new, old| new < old)
        };
        if !T::IS_FLOAT {
            self.numbers += elements.len() as u64;
            return;
        }
        for part in elements.chunks(BLOCK) {
            let nans = part.iter().filter(|x| x.is_nan()).count();
            self.numbers += (part.len() - nans) as u64;
            if nans > 0 && self.nan.is_none() {
                self.nan = part.iter().copied().find(|x| x.is_nan());
            }
        }
    }
}

/// The index of the greatest or the least element, or of the first NaN. Of equal elements the first
/// one counts.
pub(super) struct Place<T> {
    is_greatest: bool,
    best: Option<(T, u64)>,
    nan: Option<u64>,
    seen: u64,
}

impl<T: Element> Place<T> {
    pub(super) fn new(is_greatest: bool) -> Self {
        Self { is_greatest, best: None, nan: None, seen: 0 }
    }

    pub(super) fn index(&self) -> Option<u64> {
        self.nan.or(self.best.map(|best| best.1))
    }
}

impl<T: Element> Fold<T> for Place<T> {
    fn push(&mut self, elements: &[T]) {
        let is_better = |new: T, old: T| if self.is_greatest { new > old } else { new < old };
        for (number, part) in elements.chunks(BLOCK).enumerate() {
            let start = self.seen + (number * BLOCK) as u64;
            let nan = T::IS_FLOAT && part.iter().filter(|x| x.is_nan()).count() > 0;
            if nan && self.nan.is_none() {
                let place = part.iter().position(|x| x.is_nan());
                self.nan = place.map(|place| start + place as u64);
            }
            if self.nan.is_some() {
                break;
            }
            // Most parts have no better element.
            let first = self.best.map_or(part[0], |best| best.0);
            let found = if self.is_greatest {
                best(first, part, |new, old| new > old)
            } else {
                best(first, part, |new, old| new < old)
            };
            if self.best.is_none_or(|best| is_better(found, best.0)) {
                let place = part.iter().position(|&x| x == found);
                self.best = place.map(|place| (found, start + place as u64));
            }
        }
        self.seen += elements.len() as u64;
    }
}

/// The least and the greatest element.
pub(super) struct Both<T>(pub(super) Extreme<T>, pub(super) Extreme<T>);

impl<T: Element> Both<T> {
    pub(super) fn new() -> Self {
        Self(Extreme::new(false), Extreme::new(true))
    }
}

impl<T: Element> Fold<T> for Both<T> {
    fn push(&mut self, elements: &[T]) {
        self.0.push(elements);
        self.1.push(elements);
    }
}

/// The squared differences of elements from about their mean, and these differences, whose sum
/// corrects for what the mean lacks.
pub(super) struct Deviations {
    mean: f64,
    squares: Corrected,
    differences: Corrected,
    count: u64,
}

impl Deviations {
    pub(super) fn new(mean: f64) -> Self {
        let (squares, differences) = (Corrected::default(), Corrected::default());
        Self { mean, squares, differences, count: 0 }
    }

    /// The sum of the squared deviations divided by the number of elements less `correction`.
    pub(super) fn variance(&self, correction: f64) -> f64 {
        let count = self.count as f64;
        let rest = self.differences.value();
        let squares = self.squares.value() - rest * rest / count;
        // The correction cannot make a sum of squares negative, but its rounding could.
        let squares = if squares < 0.0 { 0.0 } else { squares };
        squares / (count - correction).max(0.0)
    }
}

impl<T: Element> Fold<T> for Deviations {
    fn push(&mut self, elements: &[T]) {
        let mean = self.mean;
        for part in elements.chunks(BLOCK) {
            self.squares.add(block(part, |x: T| (x.float() - mean) * (x.float() - mean)));
            self.differences.add(block(part, |x: T| x.float() - mean));
        }
        self.count += elements.len() as u64;
    }
}

/// The sum of exponentials, relative to the greatest element.
pub(super) struct Exponentials {
    max: f64,
    sum: f64,
    is_nan: bool,
}

impl Exponentials {
    pub(super) fn new() -> Self {
        Self { max: f64::NEG_INFINITY, sum: 0.0, is_nan: false }
    }

    pub(super) fn logarithm(&self) -> f64 {
        if self.is_nan {
            f64::NAN
        } else if self.max.is_infinite() {
            self.max
        } else {
            self.max + self.sum.ln()
        }
    }
}

impl<T: Element> Fold<T> for Exponentials {
    fn push(&mut self, elements: &[T]) {
        for part in elements.chunks(BLOCK) {
            self.is_nan |= part.iter().any(|x| x.is_nan());
            let max = part.iter().fold(self.max, |max, x| max.max(x.float()));
            if max.is_infinite() {
                self.max = max;
                continue;
            }
            if self.sum > 0.0 {
                self.sum *= (self.max - max).exp();
            }
            self.max = max;
            self.sum += block(part, |x: T| (x.float() - max).exp());
        }
    }
}
