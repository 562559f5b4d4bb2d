//! What a lane makes of its part of a segment.

use super::tile::Staged;
use crate::item::{Item, Pack};
use crate::rows::{PACK, WORD, padded};
use crate::source::{OneArray, Source};
use crate::unroll::each;
use crate::words::Words;
use crate::{Position, Reduction};
use cuda_std::ext::{control, copy};
use cuda_std::warp;

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
    // SAFETY: the caller's contract.
    unsafe {
        let mut part = Part::<R>::begin(tile, at, count, first, before);
        if are_packs_light::<R>() && are_packs {
            while part.left >= AT_A_TIME as u32 * S::PER_PACK as u32 {
                control::keep_rolled();
                part.packs(source);
            }
        }
        while part.has_pack() {
            control::keep_rolled();
            part.pack(source, are_packs);
        }
        let mut acc = R::finish(part.kept, position(first));
        let mut tail = part.reader.tail::<S::Element>();
        let mut item = 0;
        while item < part.left {
            control::keep_rolled();
            let position = position(first + u64::from(part.done + item));
            let element = tail.next::<S::Element>();
            acc = R::append_item(acc, source.with_element(element), position);
            item += 1;
        }
        acc
    }
}

/// The accumulator of a whole segment of less than two packs, which [`part`] would also make, but
/// here no loop is needed. The first element of the segment is number `at` of a tile.
///
/// # Safety
/// The whole warp calls this. The tile has these elements and has been [closed](Staged::close), and
/// a barrier was behind that.
#[inline(always)]
pub(super) unsafe fn shorter<S: OneArray, R: Reduction<Source = S>>(
    source: S,
    tile: Staged,
    at: u32,
    count: u32,
) -> R::Acc {
    // SAFETY: the caller's contract.
    unsafe {
        let mut part = Part::<R>::begin(tile, at, count, 0, R::identity());
        if warp::warp_vote_any(u32::MAX, part.has_pack()) {
            let is_apart = part.has_pack() && !tile.is_pack::<S::Element>(at);
            let are_packs = !warp::warp_vote_any(u32::MAX, is_apart);
            if part.has_pack() {
                part.pack(source, are_packs);
            }
        }
        let mut acc = R::finish(part.kept, position(0));
        let mut tail = part.reader.tail::<S::Element>();
        each(S::PER_PACK - 1, |i| {
            if (i as u32) < part.left {
                let position = position(u64::from(part.done + i as u32));
                let element = tail.next::<S::Element>();
                acc = R::append_item(acc, source.with_element(element), position);
            }
        });
        acc
    }
}

/// How many packs a lane reads before it uses the first one, if they are
/// [light](are_packs_light).
const AT_A_TIME: usize = 4;

/// Whether a kernel has more code for the most frequent cases. It is short for elements of a word
/// or more, and for accumulators of up to two words.
pub(super) const fn is_brief<R: Reduction>() -> bool {
    <R::Source as Source>::PER_PACK <= 4 && R::Acc::COUNT <= 2
}

/// Whether a lane takes several packs at a time. With more than two words between packs, as sums
/// of exponentials have them, registers would not be enough.
const fn are_packs_light<R: Reduction>() -> bool {
    is_brief::<R>() && size_of::<R::Thread>() <= 2 * WORD as usize
}

/// A lane's part of a segment, of which some packs have been read.
struct Part<R: Reduction> {
    reader: Reader,
    kept: R::Thread,
    /// The number of elements that have been read.
    done: u32,
    /// The number of elements that have not been read.
    left: u32,
}

impl<S: OneArray, R: Reduction<Source = S>> Part<R> {
    /// A part of which nothing has been read. The parameters are those of [`part`].
    ///
    /// # Safety
    /// That of [`part`].
    #[inline(always)]
    unsafe fn begin(tile: Staged, at: u32, count: u32, first: u64, before: R::Acc) -> Self {
        let size = size_of::<S::Element>() as u32;
        let at = tile.begin + at * size;
        // Without an element no word is read, because the tile need not have it.
        let end = if count > 0 { at + count * size } else { 0 };
        let mut reader = Reader { tile: tile.buffer, at, end, low: 0 };
        // SAFETY: the caller's contract.
        unsafe { reader.begin::<S::Element>() };
        let kept = if R::IN_ANY_ORDER { R::resume(before, position(first)) } else { R::start() };
        Self { reader, kept, done: 0, left: count }
    }

    /// Whether there is one more pack.
    #[inline(always)]
    fn has_pack(&self) -> bool {
        self.left >= S::PER_PACK as u32
    }

    /// Takes the next [`AT_A_TIME`] packs, which begin at packs of shared memory.
    ///
    /// [`pack`](Self::pack) is no case of this function, because then LLVM would keep the packs of
    /// some operations in local memory.
    ///
    /// # Safety
    /// There are so many, and the rest is the contract of [`part`].
    #[inline(always)]
    unsafe fn packs(&mut self, source: S) {
        let in_pack = S::PER_PACK as u32;
        let number = self.done / in_pack;
        let mut packs = [[0; 4]; AT_A_TIME];
        // SAFETY: the caller's contract.
        each(AT_A_TIME, |i| packs[i] = unsafe { self.reader.pack::<S::Element>(true) });
        each(AT_A_TIME, |i| {
            self.kept = R::pack(self.kept, source.with_pack(packs[i]), number + i as u32);
        });
        self.done += AT_A_TIME as u32 * in_pack;
        self.left -= AT_A_TIME as u32 * in_pack;
    }

    /// Takes the next pack. `are_packs` says that it begins at a pack of shared memory, in all
    /// lanes of the warp that take one.
    ///
    /// # Safety
    /// There is one more, and the rest is the contract of [`part`].
    #[inline(always)]
    unsafe fn pack(&mut self, source: S, are_packs: bool) {
        let in_pack = S::PER_PACK as u32;
        // SAFETY: the caller's contract.
        let pack = unsafe { self.reader.pack::<S::Element>(are_packs) };
        self.kept = R::pack(self.kept, source.with_pack(pack), self.done / in_pack);
        self.done += in_pack;
        self.left -= in_pack;
    }
}

/// The position of element number `index` of a segment.
#[inline(always)]
fn position(index: u64) -> Position {
    Position { block: (index >> 32) as u32, number: index as u32 }
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
