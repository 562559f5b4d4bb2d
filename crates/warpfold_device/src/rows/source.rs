//! The arrays that the elements of rows come from.

use crate::item::{Item, Pack};
use crate::source::{OneArray, Reach, Source, Two};

/// A source whose packs are read from tiles: one of each array. Of a source of one array, the
/// second of two values is not used.
pub trait RowSource: Source {
    /// The type of the elements of each array.
    type Element: Item;
    /// The addresses of the first elements.
    fn addresses(self) -> [u64; 2];
    /// The source's pack for a pack of each array.
    fn packs(self, packs: [Pack; 2]) -> Self::Pack;
    /// The source's element for the first element in a pack of each array.
    fn items(self, packs: [Pack; 2]) -> Self::Item;
}

impl<S: OneArray> RowSource for S {
    type Element = S::Element;

    #[inline(always)]
    fn addresses(self) -> [u64; 2] {
        [self.address() as u64; 2]
    }
    #[inline(always)]
    fn packs(self, [pack, _]: [Pack; 2]) -> S::Pack {
        self.with_pack(pack)
    }
    #[inline(always)]
    fn items(self, [pack, _]: [Pack; 2]) -> S::Item {
        self.with_element(S::Element::element(pack, 0))
    }
}

impl<T: Item, R: Reach> RowSource for Two<T, R> {
    type Element = T;

    #[inline(always)]
    fn addresses(self) -> [u64; 2] {
        self.starts()
    }
    #[inline(always)]
    fn packs(self, packs: [Pack; 2]) -> [Pack; 2] {
        packs
    }
    #[inline(always)]
    fn items(self, packs: [Pack; 2]) -> [T; 2] {
        packs.map(|pack| T::element(pack, 0))
    }
}
