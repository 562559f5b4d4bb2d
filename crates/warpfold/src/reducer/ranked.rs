//! The best few elements with their indices, which kernels leave in memory and calls return.

use std::{fmt, ops::Deref, slice};

use bytemuck::{Pod, Zeroable};

use super::{Indexed, Item};

/// The index of a place that no element has taken.
const NONE: u64 = u64::MAX;

/// Up to `K` elements with their indices, the best one first: the raw result and the output of
/// [`TopK`](super::TopK) and [`BottomK`](super::BottomK). It is a slice, whose length is the number
/// of elements that there are.
///
/// In memory there are always `K` pairs as [`Indexed`] describes them. In a pair that no element
/// has taken, all bits of the index are 1, and those of the value are 0.
///
/// ```
/// use warpfold::{Device, TopK};
///
/// let best = Device::simulator().reduce(&[2u8, 9, 4, 9], TopK::<3>)?;
/// assert_eq!(best.len(), 3);
/// assert_eq!(best.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 3, 2]);
/// assert_eq!(best[2].value, 4);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Ranked<T: Item, const K: usize>([Indexed<T>; K]);

impl<T: Item, const K: usize> Ranked<T, K> {
    /// No elements.
    pub(super) fn empty() -> Self {
        Self([Indexed::new(T::zero(), NONE); K])
    }

    /// The elements that there are, the best one first.
    pub fn as_slice(&self) -> &[Indexed<T>] {
        let len = self.0.iter().position(|place| place.index == NONE).unwrap_or(K);
        &self.0[..len]
    }

    /// The same elements in an input that has `start` more elements in front.
    pub(super) fn moved(self, start: u64) -> Self {
        Self(self.0.map(|place| if place.index == NONE { place } else { place.moved(start) }))
    }

    /// The best elements of both lists. `choose` returns the better one of two elements, which have
    /// different indices.
    pub(super) fn merged(
        self,
        other: Self,
        choose: fn(Indexed<T>, Indexed<T>) -> Indexed<T>,
    ) -> Self {
        let mut merged = Self::empty();
        let (mut left, mut right) = (self.as_slice(), other.as_slice());
        for place in &mut merged.0 {
            let is_left = match (left.first(), right.first()) {
                (Some(&a), Some(&b)) => choose(a, b).index == a.index,
                (a, _) => a.is_some(),
            };
            let from = if is_left { &mut left } else { &mut right };
            let Some((&best, rest)) = from.split_first() else { break };
            (*place, *from) = (best, rest);
        }
        merged
    }
}

impl<T: Item, const K: usize> Deref for Ranked<T, K> {
    type Target = [Indexed<T>];

    fn deref(&self) -> &[Indexed<T>] {
        self.as_slice()
    }
}

impl<'a, T: Item, const K: usize> IntoIterator for &'a Ranked<T, K> {
    type Item = &'a Indexed<T>;
    type IntoIter = slice::Iter<'a, Indexed<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl<T: Item, const K: usize> PartialEq for Ranked<T, K> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Item, const K: usize> fmt::Debug for Ranked<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

// SAFETY: all bytes 0 are a valid value of an array of `Zeroable` values.
unsafe impl<T: Item, const K: usize> Zeroable for Ranked<T, K> {}
// SAFETY: an array of values of one `Pod` type, and nothing else.
unsafe impl<T: Item, const K: usize> Pod for Ranked<T, K> {}
