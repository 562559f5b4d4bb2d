//! Floats of 16 bits, compared bit for bit with a search through all of them. NaN is always
//! `0x7fff` here.

use proptest::prelude::*;

use crate::nearest::{BF16, F16, Format, Mode};
use crate::{Lanes, check, kernel, run};
use simt::LaunchConfig;

/// Random bits, numbers near 1, and the edges of both formats, in both halves of a word.
fn words() -> impl Strategy<Value = Lanes> {
    let edges = [
        0, 1, 0x3ff, 0x400, 0x3bff, 0x3c00, 0x7bff, 0x7c00, 0x7e00, 0x7f, 0x80, 0x3f80, 0x7f7f,
        0x7f80, 0x7fff,
    ];
    let half = prop_oneof![
        any::<u16>(),
        (0x3800u16..0x4400, any::<bool>())
            .prop_map(|(bits, negative)| bits | u16::from(negative) << 15),
        (proptest::sample::select(edges.to_vec()), any::<bool>())
            .prop_map(|(bits, negative)| bits | u16::from(negative) << 15),
    ];
    proptest::array::uniform32(
        (half.clone(), half).prop_map(|(low, high)| u64::from(low) | u64::from(high) << 16),
    )
}

/// Checks an instruction on single values and on pairs. `text` has `TY` in the place of the type,
/// and `D`, `A`, `B` and `C` in the places of its operands.
#[track_caller]
fn each(
    text: &str,
    format: &'static Format,
    sources: [&Lanes; 3],
    expected: impl Fn(u16, u16, u16) -> u16 + Copy,
) {
    let name = if format.infinity() == 0x7c00 { "f16" } else { "bf16" };
    let body = |ty: &str, class: char| {
        let with = |text: String, (operand, number): (char, u32)| {
            text.replace(operand, &format!("%{class}{number}"))
        };
        [('D', 0), ('A', 1), ('B', 2), ('C', 3)]
            .into_iter()
            .fold(text.to_owned(), with)
            .replace("TY", ty)
    };
    check(&body(name, 'h'), 'h', sources, |a, b, c| expected(a as u16, b as u16, c as u16).into());
    check(&body(&format!("{name}x2"), 'r'), 'r', sources, |a, b, c| {
        let half = |shift| {
            u64::from(expected((a >> shift) as u16, (b >> shift) as u16, (c >> shift) as u16))
        };
        half(0) | half(16) << 16
    });
}

/// The result of `.relu`: `-0` and negative numbers become `+0`.
fn relu(bits: u16) -> u16 {
    if bits >> 15 == 1 { 0 } else { bits }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn arithmetic_rounds_once(a in words(), b in words(), c in words()) {
        let v = [&a, &b, &c];
        for format in [&*F16, &*BF16] {
            let value = |bits| format.value(bits);
            each("add.TY D, A, B;", format, v, |a, b, _| format.nearest_sum(value(a), value(b)));
            each("sub.rn.TY D, A, B;", format, v, |a, b, _| format.nearest_sum(value(a), -value(b)));
            each("mul.TY D, A, B;", format, v, |a, b, _| format.round(value(a) * value(b), Mode::Nearest));
            let fma = |a, b, c| format.nearest_sum(value(a) * value(b), value(c));
            each("fma.rn.TY D, A, B, C;", format, v, fma);
            each("fma.rn.relu.TY D, A, B, C;", format, v, |a, b, c| relu(fma(a, b, c)));
        }
    }

    #[test]
    fn saturation_and_flushing(a in words(), b in words(), c in words()) {
        let v = [&a, &b, &c];
        let flush = |bits: u16| if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits };
        let product = |a, b| F16.value(a) * F16.value(b);
        each("mul.sat.TY D, A, B;", &F16, v, |a, b, _| {
            let product = product(a, b);
            F16.round(if product > 0.0 { product.min(1.0) } else { 0.0 }, Mode::Nearest)
        });
        each("add.ftz.TY D, A, B;", &F16, v, |a, b, _| {
            flush(F16.nearest_sum(F16.value(flush(a)), F16.value(flush(b))))
        });
        each("mul.ftz.TY D, A, B;", &F16, v, |a, b, _| {
            let (product, least) = (product(flush(a), flush(b)), F16.value(0x400));
            // A value stays if it rounds up to the least normal number even with an unlimited
            // exponent range.
            let kept = product.is_nan() || F16.value(F16.round(product * 1024.0, Mode::Nearest)).abs() >= least * 1024.0;
            let rounded = F16.round(product, Mode::Nearest);
            if kept { rounded } else { rounded & 0x8000 }
        });
        each("neg.ftz.TY D, A;", &F16, v, |a, _, _| if a & 0x7fff > 0x7c00 { 0x7fff } else { flush(a) ^ 0x8000 });
        each("abs.TY D, A;", &BF16, v, |a, _, _| if a & 0x7fff > 0x7f80 { 0x7fff } else { a & 0x7fff });
    }

    #[test]
    fn least_and_greatest(a in words(), b in words(), c in words()) {
        let v = [&a, &b, &c];
        for format in [&*F16, &*BF16] {
            let is_nan = |bits| format.value(bits).is_nan();
            // The order of these keys is the order of the numbers, with -0 before +0.
            let key = |bits: u16| if bits >> 15 == 1 { !i32::from(bits & 0x7fff) } else { i32::from(bits) };
            let least = |a: u16, b: u16| match (is_nan(a), is_nan(b)) {
                (true, true) => 0x7fff,
                (true, false) => b,
                (false, true) => a,
                _ => if key(a) < key(b) { a } else { b },
            };
            each("min.TY D, A, B;", format, v, |a, b, _| least(a, b));
            each("max.NaN.TY D, A, B;", format, v, |a, b, _| {
                if is_nan(a) || is_nan(b) { 0x7fff } else { a ^ b ^ least(a, b) }
            });
            each("min.xorsign.abs.TY D, A, B;", format, v, |a, b, _| {
                let magnitude = least(a & 0x7fff, b & 0x7fff);
                if is_nan(magnitude) { 0x7fff } else { magnitude | (a ^ b) & 0x8000 }
            });
        }
    }

    #[test]
    fn comparisons(a in words(), b in words(), c in words()) {
        let v = [&a, &b, &c];
        for (name, format, one) in [("f16", &*F16, 0x3c00), ("bf16", &*BF16, 0x3f80)] {
            let less = |a: u64, b: u64, shift: u32| {
                format.value((a >> shift) as u16) < format.value((b >> shift) as u16)
            };
            check(&format!("setp.lt.{name} %p0, %h1, %h2;"), 'p', v, |a, b, _| less(a, b, 0).into());
            check(&format!("setp.geu.{name} %p0, %h1, %h2;"), 'p', v, |a, b, _| (!less(a, b, 0)).into());
            check(&format!("set.lt.{name}.{name} %h0, %h1, %h2;"), 'h', v, |a, b, _| u64::from(less(a, b, 0)) * one);
            // Each half has a result of its own, and neither result is the complement of the other.
            let text = format!(
                "setp.lt.{name}x2 %p1|%p2, %r1, %r2; selp.b32 %r0, 1, 0, %p1; selp.b32 %r4, 2, 0, %p2; or.b32 %r0, %r0, %r4;"
            );
            check(&text, 'r', v, |a, b, _| u64::from(less(a, b, 0)) | u64::from(less(a, b, 16)) << 1);
            check(&format!("set.lt.u32.{name}x2 %r0, %r1, %r2;"), 'r', v, |a, b, _| {
                u64::from(less(a, b, 0)) * 0xffff | u64::from(less(a, b, 16)) * 0xffff_0000
            });
        }
    }

    #[test]
    fn conversions(a in proptest::array::uniform32(any::<u64>()), halves in words()) {
        for (name, format) in [("f16", &*F16), ("bf16", &*BF16)] {
            for (modifier, mode) in [("rn", Mode::Nearest), ("rz", Mode::Zero), ("rm", Mode::Down), ("rp", Mode::Up)] {
                let v = [&a, &halves, &halves];
                let single = |a: u64| f64::from(f32::from_bits(a as u32));
                check(&format!("cvt.{modifier}.{name}.f32 %h0, %f1;"), 'h', v, |a, _, _| {
                    format.round(single(a), mode).into()
                });
                check(&format!("cvt.{modifier}.{name}.f64 %h0, %g1;"), 'h', v, |a, _, _| {
                    format.round(f64::from_bits(a), mode).into()
                });
                check(&format!("cvt.{modifier}.{name}.s32 %h0, %r1;"), 'h', v, |a, _, _| {
                    format.round(f64::from(a as i32), mode).into()
                });
            }
            let v = [&halves, &a, &halves];
            // PTX does not define the bits of a NaN, so NaN is left out.
            let numbers = halves.map(|word| if format.value(word as u16).is_nan() { 0 } else { word });
            check(&format!("cvt.f64.{name} %g0, %h1;"), 'g', [&numbers, &a, &a], |a, _, _| {
                format.value(a as u16).to_bits()
            });
            check(&format!("cvt.rni.s16.{name} %h0, %h1;"), 'h', v, |a, _, _| {
                u64::from(format.value(a as u16).round_ties_even() as i16 as u16)
            });
            check(&format!("cvt.rn.relu.{name}x2.f32 %r0, %f2, %f3;"), 'r', [&halves, &a, &halves], |_, b, c| {
                let half = |word: u64| {
                    u64::from(relu(format.round(f32::from_bits(word as u32).into(), Mode::Nearest)))
                };
                half(b) << 16 | half(c)
            });
        }
    }
}

/// The product lies in the middle between two numbers, and the third operand is so small that `f64`
/// cannot hold the sum.
#[test]
fn a_tiny_term_decides_a_tie() {
    let [above_one, tiny] = [0x3f81u64, 0x0080];
    let fma = |c: u64, expected: u64| {
        // (1 + 2^-7) * 1.5 = 1.5 + 3 * 2^-8.
        // This lies in the middle between 1.5 + 2^-7 and 1.5 + 2^-6.
        let (a, b, c) = ([above_one; 32], [0x3fc0; 32], [c; 32]);
        check("fma.rn.bf16 %h0, %h1, %h2, %h3;", 'h', [&a, &b, &c], |_, _, _| expected);
    };
    fma(0, 0x3fc2);
    fma(tiny, 0x3fc2);
    fma(tiny | 0x8000, 0x3fc1);
}

#[test]
fn atomics_add_one_value_or_two() {
    let module = kernel(
        "",
        "mul.wide.u32 %d1, %r10, 8;\nadd.s64 %d1, %d11, %d1;\n\
         mov.b32 %r1, 0x3c004000;\nmov.b16 %h1, 0x4040;\n\
         atom.global.add.noftz.f16x2 %r2, [%d1], %r1;\natom.global.add.noftz.f16x2 %r2, [%d1], %r1;\n\
         red.global.add.noftz.bf16 [%d1+4], %h1;\natom.add.noftz.bf16 %h2, [%d1+4], %h1;\nst.global.b16 [%d1+6], %h2;",
    );
    let config = LaunchConfig { workers: Some(1), ..LaunchConfig::new(1, 32) };
    let result = run(&module, &config, &[], 32).unwrap_or_else(|error| panic!("{error}"));
    // From the low bits on, these are twice 2 and twice 1, then twice 3, and the 3 before the
    // second addition.
    assert_eq!(result, [0x4040_40c0_4000_4400; 32]);
}
