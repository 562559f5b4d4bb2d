//! Loops that are written out. LLVM keeps an array in registers only if each index is a constant.

/// `body` for 0 to `count`, a constant of at most 16.
#[inline(always)]
pub fn each(count: usize, mut body: impl FnMut(usize)) {
    macro_rules! steps {
        ($($i:literal)*) => {$(
            if $i < count {
                body($i);
            }
        )*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

/// `count` values, a power of two up to 16, combined in a tree: a short way for each, and the error of a sum with it.
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
                        values[2 * $width * i] = combine(values[2 * $width * i], values[2 * $width * i + $width]);
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
