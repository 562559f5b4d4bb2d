//! Reductions that write what a caller asks for, and not a raw result: a mean instead of a sum, a
//! variance instead of moments, an index instead of an element and its index.
//!
//! The thread that would write a raw result makes the result of it. So a call is one launch, where
//! [`finish`](mod@crate::finish) needs a second one, and a launch costs the host some microseconds.
//! The arithmetic is that of [`finish`](mod@crate::finish), with the same bits.

use crate::finish::{Value, step, variance, write};
use crate::item::{Item, Pack};
use crate::op::arg::Indexed;
use crate::op::moments::CountMeanM2;
use crate::source::{One, OneArray, Source};
use crate::{Position, Reduction};
use core::marker::PhantomData;
use cuda_std::ext::math;
use cuda_std::ext::streaming::Policy;

/// What is made of a raw result.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// What is computed, of [`step`].
    pub step: u32,
    /// The type of the result, of [`store`](crate::finish::store).
    pub store: u32,
    /// A number that some steps take.
    pub a: f64,
}

/// A raw result of which results are made.
pub trait Makes {
    /// The result before it is stored. A step that the raw result does not have is
    /// [`COPY`](step::COPY).
    fn make(self, how: How) -> Value;
}

/// A sum, or a sum of squares: [`COPY`](step::COPY), [`DIVIDE`](step::DIVIDE) and
/// [`ROOT`](step::ROOT).
macro_rules! sums {
    ($($t:ty),*) => {$(
        impl Makes for $t {
            #[inline(always)]
            fn make(self, how: How) -> Value {
                let x = f64::from(self);
                let float = match how.step {
                    step::DIVIDE => x / how.a,
                    step::ROOT => math::sqrt_f64(x),
                    _ => x,
                };
                Value { float, integer: 0 }
            }
        }
    )*};
}

sums!(f32, f64);

/// [`COPY`](step::COPY), which is the mean, [`VARIANCE`](step::VARIANCE) and
/// [`DEVIATION`](step::DEVIATION).
impl Makes for CountMeanM2 {
    #[inline(always)]
    fn make(self, how: How) -> Value {
        let variance = || variance(self.m2, self.count as f64, how.a);
        let float = match how.step {
            step::VARIANCE => variance(),
            step::DEVIATION => math::sqrt_f64(variance()),
            _ => self.mean,
        };
        Value { float, integer: 0 }
    }
}

/// A count: [`COPY`](step::COPY), [`IS_ANY`](step::IS_ANY), and [`IS_ALL`](step::IS_ALL), for
/// which [`How::a`] is the number of elements, below 2^53.
impl Makes for u64 {
    #[inline(always)]
    fn make(self, how: How) -> Value {
        let integer = match how.step {
            step::IS_ANY => u64::from(self > 0),
            step::IS_ALL => u64::from(self as f64 >= how.a),
            _ => self,
        };
        Value { float: 0.0, integer }
    }
}

/// [`COPY`](step::COPY), which is the index.
impl<T: Item> Makes for Indexed<T> {
    #[inline(always)]
    fn make(self, _how: How) -> Value {
        Value { float: 0.0, integer: self.parts().1 }
    }
}

/// An array, with what is made of its raw results.
#[derive(Clone, Copy)]
pub struct Making<S> {
    array: S,
    how: How,
}

impl<T> Making<One<T>> {
    /// The array at this address. The other arguments are the fields of [`How`].
    #[inline(always)]
    pub fn new(array: *const T, step: u32, store: u32, a: f64) -> Self {
        Self { array: One(array), how: How { step, store, a } }
    }
}

impl<S: Source> Source for Making<S> {
    type Item = S::Item;
    type Pack = S::Pack;
    const PER_PACK: usize = S::PER_PACK;
    const ARRAYS: usize = S::ARRAYS;

    #[inline(always)]
    fn to_boundary(self) -> usize {
        self.array.to_boundary()
    }
    #[inline(always)]
    fn skip(self, elements: usize) -> Self {
        Self { array: self.array.skip(elements), ..self }
    }
    #[inline(always)]
    unsafe fn item_if(self, index: usize, valid: bool) -> S::Item {
        // SAFETY: the caller vouches for the elements.
        unsafe { self.array.item_if(index, valid) }
    }
    #[inline(always)]
    unsafe fn pack(self, index: usize, policy: Policy) -> S::Pack {
        // SAFETY: the caller vouches for the elements.
        unsafe { self.array.pack(index, policy) }
    }
    #[inline(always)]
    unsafe fn pack_if(self, index: usize, policy: Option<Policy>, valid: bool) -> S::Pack {
        // SAFETY: the caller vouches for the elements.
        unsafe { self.array.pack_if(index, policy, valid) }
    }
    #[inline(always)]
    unsafe fn prefetch_if(self, index: usize, valid: bool) {
        // SAFETY: the caller vouches for the elements.
        unsafe { self.array.prefetch_if(index, valid) }
    }
}

impl<S: OneArray> OneArray for Making<S> {
    type Element = S::Element;

    #[inline(always)]
    fn address(self) -> *const S::Element {
        self.array.address()
    }
    #[inline(always)]
    fn with_pack(self, pack: Pack) -> S::Pack {
        self.array.with_pack(pack)
    }
    #[inline(always)]
    fn with_element(self, element: S::Element) -> S::Item {
        self.array.with_element(element)
    }
}

/// The reduction `R`, which writes results. A kernel has the address of the first one as that of a
/// raw result, whatever their type is.
pub struct Made<R>(PhantomData<R>);

impl<R: Reduction<Raw: Makes>> Reduction for Made<R> {
    type Source = Making<R::Source>;
    type Thread = R::Thread;
    type Acc = R::Acc;
    type Raw = R::Raw;

    const IS_IDEMPOTENT: bool = R::IS_IDEMPOTENT;
    const IN_ANY_ORDER: bool = R::IN_ANY_ORDER;
    const RESULTS: usize = R::RESULTS;
    const SLOT_WORDS: usize = R::SLOT_WORDS;

    #[inline(always)]
    fn start() -> R::Thread {
        R::start()
    }
    #[inline(always)]
    fn pack(thread: R::Thread, pack: <R::Source as Source>::Pack, place: u32) -> R::Thread {
        R::pack(thread, pack, place)
    }
    #[inline(always)]
    fn finish(thread: R::Thread, first: Position) -> R::Acc {
        R::finish(thread, first)
    }
    #[inline(always)]
    fn item(item: <R::Source as Source>::Item, position: Position) -> R::Acc {
        R::item(item, position)
    }
    #[inline(always)]
    fn identity() -> R::Acc {
        R::identity()
    }
    #[inline(always)]
    fn combine(a: R::Acc, b: R::Acc) -> R::Acc {
        R::combine(a, b)
    }
    #[inline(always)]
    fn append(a: R::Acc, b: R::Acc) -> R::Acc {
        R::append(a, b)
    }
    #[inline(always)]
    fn resume(acc: R::Acc, first: Position) -> R::Thread {
        R::resume(acc, first)
    }
    #[inline(always)]
    fn append_item(acc: R::Acc, item: <R::Source as Source>::Item, position: Position) -> R::Acc {
        R::append_item(acc, item, position)
    }
    #[inline(always)]
    unsafe fn write(
        acc: R::Acc,
        output: *mut R::Raw,
        row: u64,
        index: impl Fn(Position) -> u64,
        source: Self::Source,
        _workspace: *mut u64,
    ) {
        let how = source.how;
        let value = R::raw(acc, index).make(how);
        // SAFETY: the caller's contract.
        unsafe { write(value, how.store, output.cast(), row as usize) };
    }
    #[inline(always)]
    fn raw(acc: R::Acc, index: impl Fn(Position) -> u64) -> R::Raw {
        R::raw(acc, index)
    }
    #[inline(always)]
    fn raw_of_items(acc: R::Acc, index: impl Fn(Position) -> u64) -> R::Raw {
        R::raw_of_items(acc, index)
    }
    #[inline(always)]
    unsafe fn redux(acc: R::Acc, by_block: bool) -> Option<R::Acc> {
        // SAFETY: the caller brings the whole warp.
        unsafe { R::redux(acc, by_block) }
    }
}
