//! What a lane makes of its part of a segment.

use super::tile::Staged;
use crate::item::{Item, Pack};
use crate::rows::{PACK, WORD, padded};
use crate::source::OneArray;
use crate::unroll::each;
use crate::{Position, Reduction};
use cuda_std::ext::{control, copy};

/// The accumulator of `count` elements, of which the first is number `at` of a tile and number
/// `first` of its segment. `are_packs` says that this element begins at a pack of shared memory, in
/// all lanes of the warp. If the order does not matter, `before` is the accumulator of this lane's
/// parts of the tiles before, and becomes part of the result.
///
/// # Safety
/// The tile has these elements. Unless `are_packs`, it has been [closed](Staged::close), and if the
/// lane did not do so for all lines in which its packs begin, a barrier was behind that.
#[inline(always)]
pub(super) unsafe fn part<S: OneArray, R: Reduction<Source = S>>(
    source: S,
    tile: Staged,
    at: u32,
    count: u32,
    are_packs: bool,
    first: u64,
    before: R::Acc,
) -> R::Acc {
    let size = size_of::<S::Element>() as u32;
    let (packs, rest) = (count / S::PER_PACK as u32, count % S::PER_PACK as u32);
    let position = |number: u32| {
        let index = first + u64::from(number);
        Position { block: (index >> 32) as u32, number: index as u32 }
    };
    let at = tile.begin + at * size;
    // Without an element no word is read, because the tile need not have it.
    let end = if count > 0 { at + count * size } else { 0 };
    let mut reader = Reader { tile: tile.buffer, at, end, low: 0 };
    let mut kept = if R::IN_ANY_ORDER { R::resume(before, position(0)) } else { R::start() };
    let mut place = 0;
    // SAFETY: the caller's contract.
    unsafe {
        reader.begin::<S::Element>();
        while place < packs {
            control::keep_rolled();
            kept = R::pack(kept, source.with_pack(reader.pack::<S::Element>(are_packs)), place);
            place += 1;
        }
        let mut acc = R::finish(kept, position(0));
        let mut tail = reader.tail::<S::Element>();
        let mut item = 0;
        while item < rest {
            control::keep_rolled();
            let element = tail.next::<S::Element>();
            let position = position(packs * S::PER_PACK as u32 + item);
            acc = R::append_item(acc, source.with_element(element), position);
            item += 1;
        }
        acc
    }
}

/// Reads elements that are neighbours. The bytes of a pack lie next to each other in shared memory,
/// because the pack behind each line is there twice.
struct Reader {
    tile: *const u8,
    /// How many bytes behind the beginning of the tile the next element lies.
    at: u32,
    /// How many bytes behind the beginning of the tile the elements end.
    end: u32,
    /// The word that has the next element, if an element has less than a word.
    low: u32,
}

impl Reader {
    /// Where the word with the next element is.
    #[inline(always)]
    fn word<T>(&self) -> *const u32 {
        let at = if is_small::<T>() { self.at / WORD * WORD } else { self.at };
        self.tile.wrapping_add(padded(at) as usize).cast()
    }

    /// Word number `i` behind the one with the next element, or 0 if it lies behind the elements.
    ///
    /// # Safety
    /// The tile has been closed.
    #[inline(always)]
    unsafe fn word_if<T>(&self, i: usize) -> u32 {
        let is_there = self.at / WORD * WORD + i as u32 * WORD < self.end;
        // SAFETY: the caller's contract.
        if is_there { unsafe { *self.word::<T>().wrapping_add(i) } } else { 0 }
    }

    /// Reads the first word, if an element has less than a word.
    ///
    /// # Safety
    /// That of [`part`].
    #[inline(always)]
    unsafe fn begin<T: Item>(&mut self) {
        if is_small::<T>() {
            // SAFETY: the caller's contract.
            self.low = unsafe { self.word_if::<T>(0) };
        }
    }

    /// The next pack of elements.
    ///
    /// # Safety
    /// There is one more pack, and the rest is the contract of [`part`].
    #[inline(always)]
    unsafe fn pack<T: Item>(&mut self, are_packs: bool) -> Pack {
        let words = self.word::<T>();
        let mut pack = [0; 4];
        // SAFETY: the caller's contract.
        unsafe {
            if size_of::<T>() as u32 >= PACK || are_packs {
                pack = copy::read_pack(words.cast());
            } else if is_small::<T>() {
                let mut low = self.low;
                each(4, |i| {
                    let is_last = i == 3;
                    let high =
                        if is_last { self.word_if::<T>(4) } else { *words.wrapping_add(i + 1) };
                    pack[i] = funnel(low, high, self.at % WORD * 8);
                    low = high;
                });
                self.low = low;
            } else {
                each(4, |i| pack[i] = *words.wrapping_add(i));
            }
        }
        self.at += PACK;
        pack
    }

    /// The elements behind the last pack.
    ///
    /// # Safety
    /// That of [`part`].
    #[inline(always)]
    unsafe fn tail<T: Item>(&self) -> Tail {
        let mut pack = [0; 4];
        if is_small::<T>() {
            // SAFETY: the caller's contract.
            unsafe {
                let mut low = self.word_if::<T>(0);
                each(4, |i| {
                    let high = self.word_if::<T>(i + 1);
                    pack[i] = funnel(low, high, self.at % WORD * 8);
                    low = high;
                });
            }
        }
        Tail { pack, words: self.word::<T>() }
    }
}

/// Elements that are fewer than a pack.
struct Tail {
    /// The elements, if one has less than a word.
    pack: Pack,
    /// Where the next element is, otherwise.
    words: *const u32,
}

impl Tail {
    /// Takes the next element.
    ///
    /// # Safety
    /// There is one more element, and the rest is the contract of [`part`].
    #[inline(always)]
    unsafe fn next<T: Item>(&mut self) -> T {
        let mut pack = [0; 4];
        if is_small::<T>() {
            pack = self.pack;
            let bits = size_of::<T>() as u32 * 8;
            each(4, |i| self.pack[i] = funnel(pack[i], if i < 3 { pack[i + 1] } else { 0 }, bits));
        } else {
            let count = size_of::<T>() / WORD as usize;
            // SAFETY: the caller's contract.
            each(count, |i| pack[i] = unsafe { *self.words.wrapping_add(i) });
            self.words = self.words.wrapping_add(count);
        }
        T::element(pack, 0)
    }
}

/// Whether an element has less than a word.
#[inline(always)]
const fn is_small<T>() -> bool {
    size_of::<T>() < WORD as usize
}

/// The lower word of two, shifted right by up to 31 bits.
#[inline(always)]
fn funnel(low: u32, high: u32, bits: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> bits) as u32
}
