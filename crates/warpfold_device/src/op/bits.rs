//! Bitwise operations. A thread combines the words of packs as they are, and separates the elements
//! only at the end.

use crate::item::{Item, Pack};
use crate::source::One;
use crate::unroll::tree;
use crate::words::Words;
use crate::{Position, Reduction};
use core::marker::PhantomData;
use cuda_std::ext::{redux, target};

/// An operation on the bits of words.
pub trait Bitwise {
    /// The identity, that is, the word that changes no other. Its bits are all 1 or all 0.
    const IDENTITY: u32;
    /// The operation.
    fn combine(a: u32, b: u32) -> u32;
    /// Combines the words of a warp and gives the result to each lane.
    ///
    /// # Safety
    /// All 32 lanes call this together, on sm_80 or later.
    unsafe fn redux(word: u32) -> u32;
}

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident = $operator:tt, $identity:expr, $redux:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Bitwise for $name {
            const IDENTITY: u32 = $identity;
            #[inline(always)]
            fn combine(a: u32, b: u32) -> u32 {
                a $operator b
            }
            #[inline(always)]
            unsafe fn redux(word: u32) -> u32 {
                // SAFETY: the caller brings the whole warp, on a device that has the instruction.
                unsafe { redux::$redux(u32::MAX, word) }
            }
        }
    )*};
}

bitwise! {
    /// The bits that all elements have.
    And = &, u32::MAX, and_u32;
    /// The bits that any element has.
    Or = |, 0, or_u32;
    /// The bits that an odd number of elements have.
    Xor = ^, 0, xor_u32;
}

/// The elements combined by `O`.
pub struct Bits<T, O>(PhantomData<(T, O)>);

impl<T: Unsigned, O: Bitwise> Reduction for Bits<T, O> {
    type Source = One<T>;
    type Thread = Pack;
    type Acc = T::Key;
    type Raw = T;

    #[inline(always)]
    fn start() -> Pack {
        [O::IDENTITY; 4]
    }
    #[inline(always)]
    fn pack(thread: Pack, pack: Pack, _place: u32) -> Pack {
        core::array::from_fn(|i| O::combine(thread[i], pack[i]))
    }
    #[inline(always)]
    fn finish(thread: Pack, _first: Position) -> T::Key {
        T::combine_elements::<O>(thread)
    }
    #[inline(always)]
    fn item(item: T, _position: Position) -> T::Key {
        item.key()
    }
    #[inline(always)]
    fn identity() -> T::Key {
        T::combine_elements::<O>(Self::start())
    }
    #[inline(always)]
    fn combine(a: T::Key, b: T::Key) -> T::Key {
        T::combine::<O>(a, b)
    }
    #[inline(always)]
    fn raw(acc: T::Key, _index: impl Fn(Position) -> u64) -> T {
        T::of_key(acc)
    }
    #[inline(always)]
    unsafe fn redux(acc: T::Key, _by_block: bool) -> Option<T::Key> {
        // SAFETY: the caller brings the whole warp, and the architecture has the instruction.
        (target::arch() >= 800).then(|| Words::from_words(&|i| unsafe { O::redux(acc.word(i)) }))
    }
}

/// An unsigned integer, whose keys are combined word by word.
pub trait Unsigned: Item {
    /// Combines two keys.
    #[inline(always)]
    fn combine<O: Bitwise>(a: Self::Key, b: Self::Key) -> Self::Key {
        Words::from_words(&|i| O::combine(a.word(i), b.word(i)))
    }
    /// Combines the keys of a pack.
    #[inline(always)]
    fn combine_elements<O: Bitwise>(pack: Pack) -> Self::Key {
        tree(Self::PER_PACK, |i| Self::element(pack, i).key(), Self::combine::<O>)
    }
}

impl Unsigned for u8 {}
impl Unsigned for u16 {}
impl Unsigned for u32 {}
impl Unsigned for u64 {}
impl Unsigned for u128 {}
