//! The best few elements, one element after the other.

use warpfold_tools::arrays::Dtype;

use super::{element::Number, order::Key};
use crate::answer::Answer;

/// The most elements that are kept.
const MOST: usize = 8;

/// The best elements and their indices, the best one first. NaNs are behind all numbers.
pub(super) struct Top {
    is_largest: bool,
    n: u64,
    best: Vec<(Key, u64)>,
}

impl Top {
    pub(super) fn new(is_largest: bool) -> Self {
        Self { is_largest, n: 0, best: Vec::new() }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        let is_float = T::NAME.contains('f');
        for &element in elements {
            let key = Key::of(element, is_float);
            // Of equal elements, those before are better.
            let place = self.best.iter().position(|&(kept, _)| self.is_better(key, kept));
            self.best.insert(place.unwrap_or(self.best.len()), (key, self.n));
            self.best.truncate(MOST);
            self.n += 1;
        }
    }

    fn is_better(&self, a: Key, b: Key) -> bool {
        match (a.is_nan(), b.is_nan()) {
            (false, false) if self.is_largest => b.is_below(a),
            (false, false) => a.is_below(b),
            (a_is_nan, b_is_nan) => !a_is_nan && b_is_nan,
        }
    }

    /// The best `k` elements.
    pub(super) fn answer(&self, k: u64, dtype: Dtype) -> Answer {
        let best = self.best.iter().take(k as usize);
        Answer::Ranked(best.map(|&(key, index)| (index, key.value(dtype))).collect())
    }
}
