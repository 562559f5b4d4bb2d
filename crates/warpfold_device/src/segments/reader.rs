//! What a lane makes of its part of a segment.

use super::tile::{WORD, padded};
use crate::item::{Item, Pack};
use crate::source::OneArray;
use crate::unroll::each;
use crate::{Position, Reduction};
use cuda_std::ext::control;

/// The accumulator of `count` elements from element `at` of a tile on, whose first element lies
/// `shift` bytes behind `buffer`. The first of them is number `first` of its segment. If the order
/// does not matter, `before` is the accumulator of this lane's parts of the tiles before, and
/// becomes part of the result.
///
/// # Safety
/// The tile has arrived, and has these elements. The other bytes of their words are initialised.
#[inline(always)]
pub(super) unsafe fn part<S: OneArray, R: Reduction<Source = S>>(
    source: S,
    buffer: *const u32,
    shift: u32,
    at: u32,
    count: u32,
    first: u64,
    before: R::Acc,
) -> R::Acc {
    let size = size_of::<S::Element>() as u32;
    let (packs, rest) = (count / S::PER_PACK as u32, count % S::PER_PACK as u32);
    let position = |number: u32| {
        let index = first + u64::from(number);
        Position { block: (index >> 32) as u32, number: index as u32 }
    };
    let mut words = Words::new::<S::Element>(buffer, shift + at * size, count * size);
    let mut kept = if R::IN_ANY_ORDER { R::resume(before, position(0)) } else { R::start() };
    let mut place = 0;
    // SAFETY: the caller's contract.
    unsafe {
        words.begin::<S::Element>();
        while place < packs {
            control::keep_rolled();
            kept = R::pack(kept, source.with_pack(words.pack::<S::Element>()), place);
            place += 1;
        }
        let mut acc = R::finish(kept, position(0));
        let mut tail = words.tail::<S::Element>();
        let mut item = 0;
        while item < rest {
            control::keep_rolled();
            let element;
            (element, tail) = words.element::<S::Element>(tail);
            let position = position(packs * S::PER_PACK as u32 + item);
            acc = R::append_item(acc, source.with_element(element), position);
            item += 1;
        }
        acc
    }
}

/// Reads elements that lie next to each other but need not begin at a word.
struct Words {
    buffer: *const u32,
    /// The word that has the next element.
    next: u32,
    /// The first word behind the elements.
    end: u32,
    /// By how many bits the next element is behind its word. 0 if an element has a word at least.
    bits: u32,
    /// The word number `next`, if an element has less than a word.
    low: u32,
}

impl Words {
    /// What reads so many bytes from byte `at` of a tile on.
    #[inline(always)]
    fn new<T: Item>(buffer: *const u32, at: u32, bytes: u32) -> Self {
        let bits = if is_small::<T>() { at % WORD * 8 } else { 0 };
        // Without an element no word is read, because the tile need not have it.
        let end = if bytes > 0 { (at + bytes).div_ceil(WORD) } else { 0 };
        Self { buffer, next: at / WORD, end, bits, low: 0 }
    }

    /// The word that is `i` words behind the next element's.
    ///
    /// # Safety
    /// The tile has it.
    #[inline(always)]
    unsafe fn word(&self, i: usize) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { *self.buffer.wrapping_add(padded(self.next + i as u32) as usize) }
    }

    /// As [`word`](Self::word), but 0 behind the elements.
    ///
    /// # Safety
    /// The words of the elements have been written.
    #[inline(always)]
    unsafe fn word_if(&self, i: usize) -> u32 {
        // SAFETY: the caller's contract.
        if self.next + (i as u32) < self.end { unsafe { self.word(i) } } else { 0 }
    }

    /// Reads the first word, if an element has less than a word.
    ///
    /// # Safety
    /// The words of the elements have been written.
    #[inline(always)]
    unsafe fn begin<T: Item>(&mut self) {
        if is_small::<T>() {
            // SAFETY: the caller's contract.
            self.low = unsafe { self.word_if(0) };
        }
    }

    /// The next pack of elements.
    ///
    /// # Safety
    /// There is one more pack, and its words have been written.
    #[inline(always)]
    unsafe fn pack<T: Item>(&mut self) -> Pack {
        let mut pack = [0; 4];
        // SAFETY: the caller's contract.
        unsafe {
            if is_small::<T>() {
                let mut low = self.low;
                each(4, |i| {
                    let high = if i < 3 { self.word(i + 1) } else { self.word_if(i + 1) };
                    pack[i] = funnel(low, high, self.bits);
                    low = high;
                });
                self.low = low;
            } else {
                each(4, |i| pack[i] = self.word(i));
            }
        }
        self.next += 4;
        pack
    }

    /// The elements behind the last pack, if an element has less than a word.
    ///
    /// # Safety
    /// The words of the elements have been written.
    #[inline(always)]
    unsafe fn tail<T: Item>(&self) -> Pack {
        let mut pack = [0; 4];
        if is_small::<T>() {
            let mut low = self.low;
            each(4, |i| {
                // SAFETY: the caller's contract.
                let high = unsafe { self.word_if(i + 1) };
                pack[i] = funnel(low, high, self.bits);
                low = high;
            });
        }
        pack
    }

    /// The next element, and the tail without it.
    ///
    /// # Safety
    /// There is one more element, and its words have been written.
    #[inline(always)]
    unsafe fn element<T: Item>(&mut self, tail: Pack) -> (T, Pack) {
        if is_small::<T>() {
            let bits = size_of::<T>() as u32 * 8;
            let mut rest = [0; 4];
            each(4, |i| rest[i] = funnel(tail[i], if i < 3 { tail[(i + 1) % 4] } else { 0 }, bits));
            return (T::element(tail, 0), rest);
        }
        let mut pack = [0; 4];
        // SAFETY: the caller's contract.
        each(size_of::<T>() / WORD as usize, |i| pack[i] = unsafe { self.word(i) });
        self.next += size_of::<T>() as u32 / WORD;
        (T::element(pack, 0), tail)
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
