//! Integers: every result is exact, modulo a power of two.

use rand::{Rng, rngs::StdRng};
use warpfold::device::Pod;

use crate::{Bench, ELEMENTS, at, same};

/// An integer type. The reference computes with all types modulo 2^128.
trait Integer: Pod + Ord {
    const NAME: &str;
    const SIGNED: bool;
    /// A random integer. Extremes and small integers are frequent.
    fn random(random: &mut StdRng) -> Self;
    /// The integer, sign-extended to 128 bits.
    fn extended(self) -> u128;
    fn magnitude(self) -> u128;
    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($t:ident $signed:literal $magnitude:expr;)*) => {$(
        impl Integer for $t {
            const NAME: &str = stringify!($t);
            const SIGNED: bool = $signed;
            fn random(random: &mut StdRng) -> Self {
                match random.random_range(0..8) {
                    0 => $t::MIN,
                    1 => $t::MAX,
                    2 => 0,
                    3 => random.random_range(0..4),
                    _ => random.random(),
                }
            }
            fn extended(self) -> u128 {
                self as u128
            }
            fn magnitude(self) -> u128 {
                $magnitude(self)
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers! {
    i8 true |x: i8| x.unsigned_abs().into();
    u8 false u128::from;
    i16 true |x: i16| x.unsigned_abs().into();
    u16 false u128::from;
    i32 true |x: i32| x.unsigned_abs().into();
    u32 false u128::from;
    i64 true |x: i64| x.unsigned_abs().into();
    u64 false u128::from;
    i128 true i128::unsigned_abs;
    u128 false |x| x;
}

pub(crate) fn all(bench: &Bench, random: &mut StdRng) {
    macro_rules! each {
        ($($t:ty)*) => {$(
            of_type::<$t>(bench, random);
        )*};
    }
    each!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128);
}

/// The result of an operation modulo 2^128, of which the raw result has the lower bytes.
type Expected<T> = fn(&mut dyn Iterator<Item = T>) -> u128;
type ExpectedOfPairs<T> = fn(&mut dyn Iterator<Item = (T, T)>) -> u128;

fn of_type<T: Integer>(bench: &Bench, random: &mut StdRng) {
    let values: Vec<T> = (0..ELEMENTS).map(|_| T::random(random)).collect();
    let others: Vec<T> = (0..ELEMENTS).map(|_| T::random(random)).collect();
    let size = size_of::<T>();
    // Sums have 8 bytes, or 16 for elements of 16 bytes.
    let wide = size.max(8);
    let folds: [(&str, usize, Expected<T>); 11] = [
        ("sum", wide, |x| x.fold(0, |sum: u128, x| sum.wrapping_add(x.extended()))),
        // The elements are odd, because all products would soon be 0 otherwise.
        ("product", wide, |x| x.fold(1, |product: u128, x| product.wrapping_mul(x.extended()))),
        ("sumsq", wide, |x| {
            x.fold(0, |sum: u128, x| sum.wrapping_add(x.extended().wrapping_mul(x.extended())))
        }),
        ("sumabs", wide, |x| x.fold(0, |sum: u128, x| sum.wrapping_add(x.magnitude()))),
        ("maxabs", size, |x| x.map(T::magnitude).max().unwrap()),
        ("min", size, |x| x.min().unwrap().extended()),
        ("max", size, |x| x.max().unwrap().extended()),
        ("and", size, |x| x.fold(u128::MAX, |and, x| and & x.extended())),
        ("or", size, |x| x.fold(0, |or, x| or | x.extended())),
        ("xor", size, |x| x.fold(0, |xor, x| xor ^ x.extended())),
        ("count", 8, |x| x.filter(|x| x.extended() != 0).count() as u128),
    ];
    for (op, bytes, expected) in folds {
        // An operation whose kernel is shared with the unsigned type is tested with the unsigned
        // type. Unsigned integers need no kernels of absolute values.
        let of_unsigned = match op {
            "sumabs" | "maxabs" if !T::SIGNED => continue,
            "sumabs" | "maxabs" | "min" | "max" => false,
            "and" | "or" | "xor" | "count" => true,
            _ => size >= 8,
        };
        if of_unsigned && T::SIGNED {
            continue;
        }
        let odd: Vec<T>;
        let values = if op == "product" {
            odd = values
                .iter()
                .copied()
                .filter(|x| x.extended() % 2 == 1)
                .cycle()
                .take(ELEMENTS)
                .collect();
            &odd
        } else {
            &values
        };
        bench.run(&format!("reduce_{op}_{}", T::NAME), [values], |[x], raw| {
            same(raw, &expected(&mut x.iter().copied()).to_le_bytes()[..bytes])
        });
    }
    if !T::SIGNED || size < 8 {
        let pairs: [(&str, ExpectedOfPairs<T>); 2] = [
            ("dot", |x| {
                x.fold(0, |sum, (a, b)| sum.wrapping_add(a.extended().wrapping_mul(b.extended())))
            }),
            ("ssd", |x| {
                let square = |(a, b): (T, T)| {
                    let difference = a.extended().wrapping_sub(b.extended());
                    difference.wrapping_mul(difference)
                };
                x.map(square).fold(0, u128::wrapping_add)
            }),
        ];
        for (op, expected) in pairs {
            bench.run(&format!("reduce_{op}_{}", T::NAME), [&values, &others], |[x, y], raw| {
                same(
                    raw,
                    &expected(&mut x.iter().copied().zip(y.iter().copied())).to_le_bytes()[..wide],
                )
            });
        }
    }
    if T::NAME == "u32" {
        bench.run("reduce_wrapping_u32", [&values], |[x], raw| {
            let sum = x.iter().fold(0, |sum: u128, x| sum.wrapping_add(x.extended()));
            same(raw, &(sum as u32).to_le_bytes())
        });
    }
    if size >= 8 {
        bench.run(&format!("reduce_checked_{}", T::NAME), [&values], |[x], raw| {
            checked(x, raw, size)
        });
    }
    if !T::SIGNED {
        let other = *others.iter().find(|&&other| other != values[0]).unwrap();
        let bounds = [values[0].min(other), values[0].max(other)];
        let bits = bounds.map(T::extended);
        bench.run_within(T::NAME, &values, bits, |&x| x >= bounds[0] && x <= bounds[1]);
        // An interval may go around the end of the type, as those of signed integers do.
        let around = [bits[1], bits[0]];
        bench.run_within(T::NAME, &values, around, |&x| x >= bounds[1] || x <= bounds[0]);
    }
    where_they_are(bench, &values);
    moments(bench, &values);
}

/// Compares the exact sum, which has 128 bits, or 192 bits for elements of 16 bytes.
fn checked<T: Integer>(values: &[T], raw: &[u8], size: usize) -> Result<(), String> {
    let (mut low, mut high) = (0u128, 0u64);
    for value in values {
        let (sum, carry) = low.overflowing_add(value.extended());
        let extension = if T::SIGNED && value.extended() >> 127 == 1 { u64::MAX } else { 0 };
        (low, high) = (sum, high.wrapping_add(extension).wrapping_add(carry.into()));
    }
    same(raw, &low.to_le_bytes())?;
    if size == 16 { same(&raw[16..], &high.to_le_bytes()) } else { Ok(()) }
}

fn where_they_are<T: Integer>(bench: &Bench, values: &[T]) {
    let size = size_of::<T>();
    // In one sample all elements are equal, so the first index must win; in the other they differ.
    let alike = vec![values[0]; ELEMENTS];
    for values in [values, &alike] {
        let indexed = |raw: &[u8], x: &[T], index: usize| {
            same(raw, &x[index].extended().to_le_bytes()[..size])?;
            same(&raw[size.max(8)..], &(index as u64).to_le_bytes())
        };
        bench.run(&format!("reduce_argmin_{}", T::NAME), [values], |[x], raw| {
            indexed(raw, x, (0..x.len()).min_by_key(|&i| x[i]).unwrap())
        });
        bench.run(&format!("reduce_argmax_{}", T::NAME), [values], |[x], raw| {
            indexed(raw, x, (0..x.len()).rev().max_by_key(|&i| x[i]).unwrap())
        });
    }
    bench.run(&format!("reduce_minmax_{}", T::NAME), [values], |[x], raw| {
        same(raw, &x.iter().min().unwrap().extended().to_le_bytes()[..size])?;
        same(&raw[size..], &x.iter().max().unwrap().extended().to_le_bytes()[..size])
    });
}

/// Compares count, mean and sum of squared deviations with a computation in two passes.
fn moments<T: Integer>(bench: &Bench, values: &[T]) {
    bench.run(&format!("reduce_moments_{}", T::NAME), [values], |[x], raw| {
        let values: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        crate::floats::check_moments(&values, at(raw, 0), at(raw, 8), at(raw, 16))
    });
}
