//! The greatest or the least few elements of a row.

use super::{element::Element, walk::Fold};

/// The best elements so far, the best one first. A NaN comes after every number, and of equal
/// elements the one with the smaller index comes first.
pub(super) struct Top<T> {
    k: usize,
    is_largest: bool,
    best: Vec<(T, u64)>,
    seen: u64,
}

impl<T: Element> Top<T> {
    pub(super) fn new(k: usize, is_largest: bool) -> Self {
        Self { k, is_largest, best: Vec::with_capacity(k + 1), seen: 0 }
    }

    pub(super) fn best(&self) -> &[(T, u64)] {
        &self.best
    }

    /// Whether `element` comes before `other`, which has a smaller index.
    fn is_before(&self, element: T, other: T) -> bool {
        if element.is_nan() || other.is_nan() {
            return !element.is_nan();
        }
        if self.is_largest { element > other } else { element < other }
    }
}

impl<T: Element> Fold<T> for Top<T> {
    fn push(&mut self, elements: &[T]) {
        for (&element, index) in elements.iter().zip(self.seen..) {
            let is_full = self.best.len() == self.k;
            if is_full && !self.best.last().is_some_and(|last| self.is_before(element, last.0)) {
                continue;
            }
            let place = self.best.partition_point(|&(other, _)| !self.is_before(element, other));
            self.best.insert(place, (element, index));
            self.best.truncate(self.k);
        }
        self.seen += elements.len() as u64;
    }
}
