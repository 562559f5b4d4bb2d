//! Loops that are written out, because LLVM keeps an array in registers only if each index is a
//! constant.

/// Calls `body` with each number from 0 to `count` - 1. `count` is a constant of at most 24;
/// numbers from 24 on are left out.
///
/// ```
/// let mut sum = 0;
/// warpfold_device::unroll::each(4, |i| sum += i);
/// assert_eq!(sum, 6);
/// ```
#[inline(always)]
pub fn each(count: usize, mut body: impl FnMut(usize)) {
    macro_rules! steps {
        ($($i:literal)*) => {$(
            if $i < count {
                body($i);
            }
        )*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);
}

/// The values of `get` for 0 to `count` - 1, combined in a tree. `count` is a constant, a power of
/// two up to 16. Each value goes through few combinations, so a sum of floats has a small error.
///
/// ```
/// use warpfold_device::unroll::tree;
///
/// // 0 and 1 are combined, then 2 and 3, and then the two results.
/// assert_eq!(tree(4, |i| i, |a, b| 10 * a + b), 10 * 1 + 23);
/// ```
#[inline(always)]
pub fn tree<A: Copy>(count: usize, get: impl Fn(usize) -> A, combine: impl Fn(A, A) -> A) -> A {
    let mut values = [get(0); 16];
    each(count, |i| {
        if i > 0 {
            values[i] = get(i);
        }
    });
    macro_rules! level {
        ($width:literal) => {
            if $width < count {
                each(8, |i| {
                    if 2 * $width * i < count {
                        values[2 * $width * i] =
                            combine(values[2 * $width * i], values[2 * $width * i + $width]);
                    }
                });
            }
        };
    }
    level!(1);
    level!(2);
    level!(4);
    level!(8);
    values[0]
}
