//! The number of elements that are not zero.

use crate::Fold;
use crate::item::{Bf16, F16, Item, Number, Pack};
use crate::source::One;
use crate::unroll::each;
use core::marker::PhantomData;

/// The number of elements that are not zero. NaNs count; -0 does not.
pub struct Count<T>(PhantomData<T>);

/// A type whose elements can be told from zero.
pub trait Zero: Item {
    /// Whether the element is not zero.
    fn is_some(self) -> bool;

    /// How many elements of a pack are not zero.
    #[inline(always)]
    fn count(pack: Pack) -> u32 {
        let mut count = 0;
        each(Self::PER_PACK, |i| count += u32::from(Self::element(pack, i).is_some()));
        count
    }
}

/// The number of fields of a pack that are not zero. The highest bit of a field counts only if
/// `highest_counts` is true; for a float it is the sign. `below_highest` has all bits of each field
/// except the highest one. Adding it to the fields without their highest bit sets that bit in each
/// field that is not zero, and carries into no other field.
#[inline(always)]
fn fields(pack: Pack, below_highest: u32, highest_counts: bool) -> u32 {
    let mut count = 0;
    each(4, |i| {
        let highest = if highest_counts { pack[i] } else { 0 };
        let some = ((pack[i] & below_highest) + below_highest) | highest;
        count += (some & !below_highest).count_ones();
    });
    count
}

macro_rules! zeros {
    ($($t:ty, $is_some:expr $(, $below_highest:literal, $highest_counts:literal)?;)*) => {$(
        impl Zero for $t {
            #[inline(always)]
            fn is_some(self) -> bool {
                $is_some(self)
            }
            $(
                #[inline(always)]
                fn count(pack: Pack) -> u32 {
                    fields(pack, $below_highest, $highest_counts)
                }
            )?
        }
    )*};
}

zeros! {
    u8, |x| x != 0, 0x7f7f_7f7f, true;
    u16, |x| x != 0, 0x7fff_7fff, true;
    u32, |x| x != 0;
    u64, |x| x != 0;
    u128, |x| x != 0;
    F16, |x: F16| x.0 & 0x7fff != 0, 0x7fff_7fff, false;
    Bf16, |x: Bf16| x.0 & 0x7fff != 0, 0x7fff_7fff, false;
    f32, |x: f32| x.to_bits() << 1 != 0;
    f64, |x: f64| x.to_bits() << 1 != 0;
}

impl<T: Zero> Fold for Count<T> {
    type Source = One<T>;
    type Acc = u64;
    type Raw = u64;

    #[inline(always)]
    fn identity() -> u64 {
        0
    }
    #[inline(always)]
    fn pack(acc: u64, pack: Pack) -> u64 {
        acc + u64::from(T::count(pack))
    }
    #[inline(always)]
    fn item(item: T) -> u64 {
        item.is_some().into()
    }
    #[inline(always)]
    fn combine(a: u64, b: u64) -> u64 {
        a + b
    }
    #[inline(always)]
    fn raw(acc: u64) -> u64 {
        acc
    }
    #[inline(always)]
    unsafe fn redux(acc: u64) -> Option<u64> {
        // SAFETY: the caller brings the whole warp.
        unsafe { acc.redux_sum() }
    }
}
