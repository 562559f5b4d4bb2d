//! SIMD within a word, `fns`, and `cvt` to `tf32`. The references work on arrays of parts, lists of
//! positions, and doubles.

use proptest::prelude::*;

use crate::{Lanes, check};

fn words() -> impl Strategy<Value = Lanes> {
    let edges = [0, u32::MAX, 0x8000_8000, 0x7fff_8000, 0x80ff_7f01, 0x0102_0304, 1];
    let word = prop_oneof![any::<u32>(), proptest::sample::select(edges.to_vec())];
    proptest::array::uniform32(word.prop_map(u64::from))
}

/// The parts of two words, the first word's first, with or without their signs.
fn split(words: [u64; 2], parts: usize, signed: bool) -> Vec<i64> {
    let bits = 32 / parts;
    let part = |word: u64, i: usize| {
        let part = (word >> (bits * i)) as i64 & ((1 << bits) - 1);
        if signed && part >> (bits - 1) == 1 { part - (1 << bits) } else { part }
    };
    words.into_iter().flat_map(|word| (0..parts).map(move |i| part(word, i))).collect()
}

/// A word of these parts.
fn join(parts: &[i64]) -> u64 {
    let bits = 32 / parts.len();
    let part = |(i, part): (usize, &i64)| (*part as u64 & ((1 << bits) - 1)) << (bits * i);
    parts.iter().enumerate().map(part).sum()
}

fn operation(name: &str, a: i64, b: i64) -> i64 {
    match name {
        "vadd" => a + b,
        "vsub" => a - b,
        // Half of the sum, rounded up from the middle if the sum is positive, and down otherwise.
        "vavrg" => (a + b + i64::from(a + b > 0)).div_euclid(2),
        "vabsdiff" => i64::abs(a - b),
        "vmin" => Ord::min(a, b),
        _ => Ord::max(a, b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn video(a in words(), b in words(), c in words()) {
        let v = [&a, &b, &c];
        for (name, parts) in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"].into_iter().flat_map(|name| [(name, 2), (name, 4)]) {
            for signed in [false, true] {
                let ty = if signed { "s32" } else { "u32" };
                let text = format!("{name}{parts}.{ty}.{ty}.{ty}");
                let each = |a: u64, b: u64| -> Vec<i64> {
                    let (a, b) = (split([a, 0], parts, signed), split([b, 0], parts, signed));
                    (0..parts).map(|i| operation(name, a[i], b[i])).collect()
                };
                check(&format!("{text} %r0, %r1, %r2, %r3;"), 'r', v, |a, b, _| join(&each(a, b)));
                check(&format!("{text}.add %r0, %r1, %r2, %r3;"), 'r', v, |a, b, c| {
                    (c as u32).wrapping_add(each(a, b).iter().sum::<i64>() as u32).into()
                });
                let bits = 32 / parts as u32;
                let (least, most) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                check(&format!("{text}.sat %r0, %r1, %r2, %r3;"), 'r', v, |a, b, _| {
                    join(&each(a, b).iter().map(|value| Ord::clamp(*value, least, most)).collect::<Vec<_>>())
                });
            }
        }
        // Mixed signs, chosen parts, and a mask that keeps parts of the third operand.
        check("vsub4.s32.u32.s32.sat %r0.b20, %r1.b7610, %r2.b0123, %r3;", 'r', v, |a, b, c| {
            let (first, second) = (split([a, b], 4, false), split([a, b], 4, true));
            let mut result = split([c, 0], 4, false)[..4].to_vec();
            result[0] = (first[0] - second[3]).clamp(-128, 127);
            result[2] = (first[6] - second[1]).clamp(-128, 127);
            join(&result)
        });
        check("vadd2.u32.s32.u32.add %r0.h1, %r1.h20, %r2, %r3;", 'r', v, |a, b, c| {
            let value = split([a, b], 2, true)[2] + split([b, 0], 2, false)[1];
            (c as u32).wrapping_add(value as u32).into()
        });
    }

    #[test]
    fn pairs_of_halves(a in words(), b in words()) {
        let v = [&a, &b, &[0; 32]];
        let pairs = |signed: bool, f: fn(i64, i64) -> i64| {
            move |a: u64, b: u64, _: u64| {
                let (a, b) = (split([a, 0], 2, signed), split([b, 0], 2, signed));
                join(&[f(a[0], b[0]), f(a[1], b[1])])
            }
        };
        check("add.u16x2 %r0, %r1, %r2;", 'r', v, pairs(false, |a, b| a + b));
        check("add.s16x2 %r0, %r1, %r2;", 'r', v, pairs(true, |a, b| a + b));
        check("min.u16x2 %r0, %r1, %r2;", 'r', v, pairs(false, Ord::min));
        check("min.s16x2 %r0, %r1, %r2;", 'r', v, pairs(true, Ord::min));
        check("max.u16x2 %r0, %r1, %r2;", 'r', v, pairs(false, Ord::max));
        check("max.s16x2 %r0, %r1, %r2;", 'r', v, pairs(true, Ord::max));
        check("max.relu.s16x2 %r0, %r1, %r2;", 'r', v, pairs(true, |a, b| a.max(b).max(0)));
        check("min.relu.s16x2 %r0, %r1, %r2;", 'r', v, pairs(true, |a, b| a.min(b).max(0)));
    }

    #[test]
    fn ones_are_found(mask in words(), base in proptest::array::uniform32(0u64..34), offset in proptest::array::uniform32(-34i64..35)) {
        let offset = offset.map(|offset| offset as u64);
        check("fns.b32 %r0, %r1, %r2, %r3;", 'r', [&mask, &base, &offset], |mask, base, offset| {
            let mut ones: Vec<u64> = (0..32).filter(|bit| mask >> bit & 1 == 1).collect();
            let offset = offset as i64;
            if offset < 0 {
                ones.reverse();
            }
            ones.retain(|bit| if offset < 0 { *bit <= base } else { *bit >= base });
            let found = match offset {
                0 => ones.first().filter(|bit| **bit == base),
                _ => ones.get(offset.unsigned_abs() as usize - 1),
            };
            found.filter(|_| base < 32).map_or(0xffff_ffff, |bit| *bit)
        });
    }

    /// In units of the last place of the result, a `tf32` is an integer. Doubles compute it
    /// exactly.
    #[test]
    fn tf32(a in words()) {
        let v = [&a, &[0; 32], &[0; 32]];
        let rounded = |round: fn(f64) -> f64, relu: bool| {
            move |a: u64, _: u64, _: u64| {
                let value = f32::from_bits(a as u32);
                if value.is_nan() {
                    return 0x7fff_ffff;
                }
                if relu && value.is_sign_negative() {
                    return 0;
                }
                if value.is_infinite() {
                    return a;
                }
                let exponent = f64::from(value).abs().log2().floor().max(-126.0);
                let unit = 2f64.powi(exponent as i32 - 10);
                u64::from(((round(f64::from(value) / unit) * unit) as f32).to_bits())
            }
        };
        check("cvt.rna.tf32.f32 %r0, %f1;", 'r', v, rounded(f64::round, false));
        check("cvt.rn.tf32.f32 %r0, %f1;", 'r', v, rounded(f64::round_ties_even, false));
        check("cvt.rz.tf32.f32 %r0, %f1;", 'r', v, rounded(f64::trunc, false));
        check("cvt.rn.relu.tf32.f32 %r0, %f1;", 'r', v, rounded(f64::round_ties_even, true));
    }
}

#[test]
fn tf32_rounds_from_the_middle() {
    // 1 + 2^-11 and 1 + 3 * 2^-11 lie in the middle of two values.
    let lanes = |bits: u32| [u64::from(bits); 32];
    for (source, away, even) in [
        (0x3f80_1000, 0x3f80_2000, 0x3f80_0000),
        (0x3f80_3000, 0x3f80_4000, 0x3f80_4000),
        (0xbf80_1000, 0xbf80_2000, 0xbf80_0000),
        (0x7f7f_ffff, 0x7f80_0000, 0x7f80_0000),
        (0x0000_1000, 0x0000_2000, 0),
    ] {
        let v = [&lanes(source), &[0; 32], &[0; 32]];
        check("cvt.rna.tf32.f32 %r0, %f1;", 'r', v, |_, _, _| away);
        check("cvt.rn.tf32.f32 %r0, %f1;", 'r', v, |_, _, _| even);
    }
}
