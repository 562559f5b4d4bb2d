//! The best few elements and their indices.
//!
//! An accumulator is a list of the best elements so far, the best one first. A list is a function
//! of the elements alone, because no two elements have the same rank and the same number. So lists
//! may be combined in any order, and a thread keeps one list for all parts that it takes of a row:
//! the longer the list has been kept, the fewer elements are better than its last one.
//!
//! One kernel serves the smallest and the largest elements, and each count up to `N`, because the
//! host says with each launch what it asks for ([`Asked`]). Each pack and each element takes that
//! along.

use crate::item::{Item, Pack};
use crate::key::{Key, Largest, Rank, Smallest, lower};
use crate::op::arg::Indexed;
use crate::source::{Along, One};
use crate::unroll::{each, tree};
use crate::words::Words;
use crate::{Position, Reduction};
use core::marker::PhantomData;
use cuda_std::ext::control;

/// The best `N` elements, or fewer, where `N` is a power of two up to 8. NaNs are worse than all
/// numbers, and -0 is below +0. Of equal elements, the one with the smaller index is better.
///
/// A row or a segment has fewer than 2^32 elements.
pub struct Top<T, const N: usize>(PhantomData<T>);

/// What the host asks of a kernel of [`Top`].
#[derive(Clone, Copy, Default)]
pub struct Asked(
    /// The number of elements in the lowest 8 bits, and in bit 8 whether the largest ones are best.
    pub u32,
);

impl Asked {
    /// The number of elements that are written for each row or segment.
    #[inline(always)]
    fn count(self) -> u32 {
        self.0 & 0xff
    }
    /// The rank of an element.
    #[inline(always)]
    fn rank<K: Key>(self, key: K) -> K::Rank {
        if self.is_largest() { key.rank::<Largest>() } else { key.rank::<Smallest>() }
    }
    /// The inverse of [`rank`](Self::rank).
    #[inline(always)]
    fn of_rank<K: Key>(self, rank: K::Rank) -> K {
        if self.is_largest() { K::of_rank::<Largest>(rank) } else { K::of_rank::<Smallest>(rank) }
    }
    #[inline(always)]
    fn is_largest(self) -> bool {
        self.0 >> 8 & 1 == 1
    }
}

/// An array of which the host asks for the best elements.
pub type Asking<T> = Along<T, Asked>;

impl<T> Asking<T> {
    /// The array at `address`, and the number in [`Asked`].
    #[inline(always)]
    pub fn new(address: *const T, asked: u32) -> Self {
        Self { array: One(address), value: Asked(asked) }
    }
}

/// The number of a place in a list that no element has taken.
const NONE: u32 = u32::MAX;

/// The best elements by their ranks and numbers, in order. A place that no element has taken has
/// the worst rank and the greatest number.
#[derive(Clone, Copy)]
pub struct List<R, const N: usize> {
    ranks: [R; N],
    numbers: [u32; N],
}

/// A list, and the number of the first element of the part that a thread reads.
#[derive(Clone, Copy)]
pub struct Reading<R, const N: usize> {
    list: List<R, N>,
    first: u32,
}

impl<R: Rank, const N: usize> List<R, N> {
    const EMPTY: Self = Self { ranks: [R::MAX; N], numbers: [NONE; N] };

    /// Place `i` of the list.
    #[inline(always)]
    fn place(self, i: usize) -> (R, u32) {
        (self.ranks[i], self.numbers[i])
    }
    #[inline(always)]
    fn set(&mut self, i: usize, (rank, number): (R, u32)) {
        self.ranks[i] = rank;
        self.numbers[i] = number;
    }
    /// Whether an element belongs into the list.
    #[inline(always)]
    fn takes(self, rank: R, number: u32) -> bool {
        rank.is_before(number, self.place(N - 1))
    }
    /// The list with one more element, which takes its place, or none if it is too bad.
    #[inline(always)]
    fn insert(self, rank: R, number: u32) -> Self {
        let mut list = self;
        // All comparisons are with the list as it was, so that none waits for another.
        let mut is_better = [false; N];
        each(N, |i| is_better[i] = rank.is_before(number, self.place(i)));
        each(N, |i| {
            let moved = if i > 0 && is_better[i - 1] { self.place(i - 1) } else { (rank, number) };
            list.set(i, choose(is_better[i], moved, self.place(i)));
        });
        list
    }
    /// The best elements of two lists.
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        let mut list = self;
        // The better one of the best and the worst, and so on inwards: these are the best elements
        // of both lists, in an order that falls and rises once.
        each(N, |i| list.set(i, better(self.place(i), other.place(N - 1 - i))));
        // Such an order is sorted by exchanges at distances of N / 2, N / 4 and so on.
        each(3, |level| {
            let distance = N >> (level + 1);
            if distance > 0 {
                each(N, |i| {
                    if i & distance == 0 {
                        let (a, b) = (list.place(i), list.place(i + distance));
                        let is_sorted = a.0.is_before(a.1, b);
                        list.set(i, choose(is_sorted, a, b));
                        list.set(i + distance, choose(is_sorted, b, a));
                    }
                });
            }
        });
        list
    }
}

/// The better one of two elements.
#[inline(always)]
fn better<R: Rank>(a: (R, u32), b: (R, u32)) -> (R, u32) {
    choose(a.0.is_before(a.1, b), a, b)
}

/// `a` if `is_first` is true, else `b`. Their parts are chosen one by one, so that LLVM keeps them
/// in registers.
#[inline(always)]
fn choose<R: Copy>(is_first: bool, a: (R, u32), b: (R, u32)) -> (R, u32) {
    (if is_first { a.0 } else { b.0 }, if is_first { a.1 } else { b.1 })
}

impl<R: Rank, const N: usize> Words for List<R, N> {
    const COUNT: usize = N * (R::COUNT + 1);
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let ranks = N * R::COUNT;
        if i < ranks {
            self.ranks[i / R::COUNT].word(i % R::COUNT)
        } else {
            self.numbers[i - ranks]
        }
    }
    #[inline(always)]
    fn from_words(get: &impl Fn(usize) -> u32) -> Self {
        let mut list = Self::EMPTY;
        each(N, |i| list.ranks[i] = R::from_words(&|word| get(i * R::COUNT + word)));
        each(N, |i| list.numbers[i] = get(N * R::COUNT + i));
        list
    }
}

impl<T: Item, const N: usize> Reduction for Top<T, N> {
    type Source = Asking<T>;
    type Thread = Reading<<T::Key as Key>::Rank, N>;
    type Acc = List<<T::Key as Key>::Rank, N>;
    type Raw = Indexed<T>;

    const IN_ANY_ORDER: bool = true;
    const RESULTS: usize = N;

    #[inline(always)]
    fn start() -> Self::Thread {
        Reading { list: List::EMPTY, first: 0 }
    }
    #[inline(always)]
    fn resume(acc: Self::Acc, first: Position) -> Self::Thread {
        Reading { list: acc, first: first.number }
    }
    #[inline(always)]
    fn pack(thread: Self::Thread, (pack, asked): (Pack, Asked), place: u32) -> Self::Thread {
        let Reading { mut list, first } = thread;
        let rank = |pack, i| asked.rank(T::element(pack, i).key());
        let mut number = first + place * T::PER_PACK as u32;
        let end = number + T::PER_PACK as u32;
        if list.takes(tree(T::PER_PACK, |i| rank(pack, i), lower), number) {
            // The elements go through the first place of the pack, so that the code which inserts
            // them exists once.
            let mut rest = pack;
            while number < end {
                control::keep_rolled();
                let rank = rank(rest, 0);
                if list.takes(rank, number) {
                    list = list.insert(rank, number);
                }
                rest = without_first::<T>(rest);
                number += 1;
            }
        }
        Reading { list, ..thread }
    }
    #[inline(always)]
    fn finish(thread: Self::Thread, first: Position) -> Self::Acc {
        let mut list = thread.list;
        let further = first.number.wrapping_sub(thread.first);
        each(N, |i| {
            let number = list.numbers[i];
            list.numbers[i] = if number == NONE { NONE } else { number.wrapping_add(further) };
        });
        list
    }
    #[inline(always)]
    fn item(item: (T, Asked), position: Position) -> Self::Acc {
        Self::append_item(List::EMPTY, item, position)
    }
    #[inline(always)]
    fn append_item(acc: Self::Acc, (item, asked): (T, Asked), position: Position) -> Self::Acc {
        acc.insert(asked.rank(item.key()), position.number)
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        List::EMPTY
    }
    #[inline(always)]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        a.merge(b)
    }
    #[inline(always)]
    fn raw(acc: Self::Acc, _index: impl Fn(Position) -> u64) -> Indexed<T> {
        indexed(acc.place(0), Asked(1))
    }
    #[inline(always)]
    unsafe fn write(
        acc: Self::Acc,
        output: *mut Indexed<T>,
        row: u64,
        _index: impl Fn(Position) -> u64,
        source: Asking<T>,
        _workspace: *mut u64,
    ) {
        let asked = source.value;
        let output = output.wrapping_add((row * u64::from(asked.count())) as usize);
        each(N, |i| {
            if (i as u32) < asked.count() {
                // SAFETY: the output has a place for each element that is asked for.
                unsafe { output.wrapping_add(i).write(indexed(acc.place(i), asked)) };
            }
        });
    }
}

/// An element and its index. If there is no element, all bits of the index are 1, and those of the
/// value are 0.
#[inline(always)]
fn indexed<T: Item>((rank, number): (<T::Key as Key>::Rank, u32), asked: Asked) -> Indexed<T> {
    let is_there = number != NONE;
    let value = T::of_key(asked.of_rank(rank)).bits();
    Indexed {
        value: if is_there { value } else { 0u64.into() },
        index: (if is_there { u64::from(number) } else { u64::MAX }).into(),
    }
}

/// The pack without its first element: all others move down by one place.
#[inline(always)]
fn without_first<T: Item>(pack: Pack) -> Pack {
    let mut rest = [0; 4];
    let (words, bits) = (size_of::<T>() / 4, size_of::<T>() as u32 * 8);
    each(4, |i| {
        rest[i] = if words > 0 {
            if i + words < 4 { pack[i + words] } else { 0 }
        } else {
            let next = if i < 3 { pack[i + 1] } else { 0 };
            pack[i] >> (bits % 32) | next << ((32 - bits % 32) % 32)
        };
    });
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: &[i32]) -> List<i32, 4> {
        values.iter().enumerate().fold(List::EMPTY, |list, (i, &x)| list.insert(x, i as u32))
    }

    #[test]
    fn a_list_is_in_order_and_ties_go_to_the_smaller_number() {
        let places = |list: List<i32, 4>| [0, 1, 2, 3].map(|i| list.place(i));
        assert_eq!(places(list(&[5, 1, 5, 1, 9])), [(1, 1), (1, 3), (5, 0), (5, 2)]);
        assert_eq!(
            places(list(&[i32::MAX, 3])),
            [(3, 1), (i32::MAX, 0), (i32::MAX, NONE), (i32::MAX, NONE)]
        );
    }

    #[test]
    fn merged_lists_are_the_list_of_all() {
        let values: [i32; 12] = [4, 4, 7, 0, 3, 3, 9, 0, 1, 4, 2, 2];
        for cut in 0..=12 {
            let (left, right) = values.split_at(cut);
            let mut right = list(right);
            for number in right.numbers.iter_mut().filter(|number| **number != NONE) {
                *number += cut as u32;
            }
            let (merged, all) = (list(left).merge(right), list(&values));
            assert_eq!((merged.ranks, merged.numbers), (all.ranks, all.numbers), "{cut}");
            let again = List::<i32, 4>::from_words(&|i| merged.word(i));
            assert_eq!((again.ranks, again.numbers), (all.ranks, all.numbers));
        }
    }

    #[test]
    fn a_pack_gives_its_elements_one_by_one() {
        let pack = [0x0403_0201, 0x0807_0605, 0x0c0b_0a09, 0x100f_0e0d];
        assert_eq!(without_first::<u8>(pack), [0x0504_0302, 0x0908_0706, 0x0d0c_0b0a, 0x0010_0f0e]);
        assert_eq!(without_first::<u16>(pack)[0], 0x0605_0403);
        assert_eq!(without_first::<f32>(pack), [pack[1], pack[2], pack[3], 0]);
        assert_eq!(without_first::<u64>(pack), [pack[2], pack[3], 0, 0]);
    }
}
