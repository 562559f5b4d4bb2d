//! The element types that the ladder is built for.

use crate::op::Op;
use cuda_std::warp::WarpShuffleValue;

/// A number that a kernel reduces: `i32`, `u32`, `i64`, `u64`, `f32` or `f64`.
pub trait Element: Copy + WarpShuffleValue {
    /// A pack of as many elements as 128 bits hold.
    type Pack: Pack<Self>;
}

/// Elements that are loaded together, by one 128-bit load.
pub trait Pack<T>: Copy {
    /// The number of elements.
    const LEN: usize;

    /// Combines the elements with `with`, from the first to the last.
    fn fold<O: Op<T>>(self, with: T) -> T
    where
        T: Element;
}

/// `N` elements, aligned as a 128-bit load demands.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Aligned<T, const N: usize>([T; N]);

impl<T: Copy, const N: usize> Pack<T> for Aligned<T, N> {
    const LEN: usize = N;

    #[inline(always)]
    fn fold<O: Op<T>>(self, with: T) -> T
    where
        T: Element,
    {
        let mut folded = with;
        let mut i = 0;
        while i < N {
            folded = O::combine(folded, self.0[i]);
            i += 1;
        }
        folded
    }
}

macro_rules! elements {
    ($($t:ty, $len:literal;)*) => {$(
        impl Element for $t {
            type Pack = Aligned<$t, $len>;
        }
    )*};
}

elements! {
    i32, 4;
    u32, 4;
    f32, 4;
    i64, 2;
    u64, 2;
    f64, 2;
}
