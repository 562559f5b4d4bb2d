//! Integer instructions, compared with Rust's own operations.

use proptest::prelude::*;

use crate::{Lanes, check};

/// Random bits. The values at the edges are as likely as all other values together.
fn word() -> impl Strategy<Value = u64> {
    let edges = [
        0,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
    ];
    let wide = [0xffff_ffff, 0x1_0000_0000, i64::MAX as u64, i64::MIN as u64, u64::MAX];
    prop_oneof![any::<u64>(), proptest::sample::select([&edges[..], &wide[..]].concat()), 0u64..70]
}

fn lanes() -> impl Strategy<Value = Lanes> {
    proptest::array::uniform32(word())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn arithmetic(a in lanes(), b in lanes(), c in lanes()) {
        let v = [&a, &b, &c];
        check("add.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as u32).wrapping_add(b as u32)));
        check("sub.u64 %d0, %d1, %d2;", 'd', v, |a, b, _| a.wrapping_sub(b));
        check("sub.s16 %h0, %h1, %h2;", 'h', v, |a, b, _| u64::from((a as u16).wrapping_sub(b as u16)));
        check("mul.lo.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as u32).wrapping_mul(b as u32)));
        check("mul.hi.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| {
            u64::from((i64::from(a as i32) * i64::from(b as i32) >> 32) as u32)
        });
        check("mul.hi.u64 %d0, %d1, %d2;", 'd', v, |a, b, _| (u128::from(a) * u128::from(b) >> 64) as u64);
        check("mul.hi.s64 %d0, %d1, %d2;", 'd', v, |a, b, _| (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64);
        check("mul.wide.s32 %d0, %r1, %r2;", 'd', v, |a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64);
        check("mul.wide.u16 %r0, %h1, %h2;", 'r', v, |a, b, _| u64::from(u32::from(a as u16) * u32::from(b as u16)));
        check("mad.lo.s32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))
        });
        check("mad.wide.s32 %d0, %r1, %r2, %d3;", 'd', v, |a, b, c| {
            (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
        });
        check("mad.hi.u32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            u64::from(((u64::from(a as u32) * u64::from(b as u32) >> 32) as u32).wrapping_add(c as u32))
        });
        check("add.sat.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as i32).saturating_add(b as i32) as u32));
        let bytes = |word: u64| (word as u32).to_le_bytes();
        check("dp4a.s32.u32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            let products = bytes(a).into_iter().zip(bytes(b)).map(|(a, b)| i64::from(a as i8) * i64::from(b));
            u64::from((products.sum::<i64>() + i64::from(c as u32)) as u32)
        });
        check("dp2a.hi.u32.s32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            let products = (0..2).map(|i| i64::from((a >> (16 * i)) as u16) * i64::from(bytes(b)[2 + i] as i8));
            u64::from((products.sum::<i64>() + i64::from(c as u32)) as u32)
        });
        check("sad.s32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            u64::from((a as i32).abs_diff(b as i32).wrapping_add(c as u32))
        });
        check("min.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as i32).min(b as i32) as u32));
        check("min.relu.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as i32).min(b as i32).max(0) as u32));
        check("max.relu.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as i32).max(b as i32).max(0) as u32));
        check("max.u64 %d0, %d1, %d2;", 'd', v, |a, b, _| a.max(b));
        check("max.s16 %h0, %h1, %h2;", 'h', v, |a, b, _| u64::from((a as i16).max(b as i16) as u16));
        check("abs.s32 %r0, %r1;", 'r', v, |a, _, _| u64::from((a as i32).wrapping_abs() as u32));
        check("neg.s64 %d0, %d1;", 'd', v, |a, _, _| (a as i64).wrapping_neg() as u64);
    }

    #[test]
    fn division(a in lanes(), b in lanes(), c in lanes()) {
        let v = [&a, &b, &c];
        check("or.b32 %r2, %r2, 1;\ndiv.u32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from(a as u32 / (b as u32 | 1)));
        check("or.b32 %r2, %r2, 1;\nrem.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| {
            u64::from((a as i32).wrapping_rem(b as i32 | 1) as u32)
        });
        check("or.b64 %d2, %d2, 1;\ndiv.s64 %d0, %d1, %d2;", 'd', v, |a, b, _| {
            (a as i64).wrapping_div(b as i64 | 1) as u64
        });
        check("or.b64 %d2, %d2, 1;\nrem.u64 %d0, %d1, %d2;", 'd', v, |a, b, _| a % (b | 1));
    }

    #[test]
    fn carries_make_wide_sums(a in lanes(), b in lanes(), c in lanes()) {
        let v = [&a, &b, &c];
        let split = "mov.b64 {%r4, %r5}, %d1;\nmov.b64 {%r6, %r7}, %d2;\n";
        check(
            &format!("{split}add.cc.u32 %r4, %r4, %r6;\naddc.u32 %r5, %r5, %r7;\nmov.b64 %d0, {{%r4, %r5}};"),
            'd', v, |a, b, _| a.wrapping_add(b),
        );
        check(
            &format!("{split}sub.cc.u32 %r4, %r4, %r6;\nsubc.u32 %r5, %r5, %r7;\nmov.b64 %d0, {{%r4, %r5}};"),
            'd', v, |a, b, _| a.wrapping_sub(b),
        );
        // If subtractions and additions are mixed, a subtraction without a borrow sets the carry.
        check("sub.cc.u32 %r4, %r1, %r2;\naddc.u32 %r0, %r3, 0;", 'r', v, |a, b, c| {
            u64::from((c as u32).wrapping_add(u32::from(a as u32 >= b as u32)))
        });
        check("add.cc.u32 %r4, %r1, %r2;\nsubc.u32 %r0, %r3, 0;", 'r', v, |a, b, c| {
            u64::from((c as u32).wrapping_sub(u32::from((a as u32).checked_add(b as u32).is_some())))
        });
        check("sub.cc.u64 %d4, %d1, %d2;\nsubc.cc.u64 %d4, %d3, 1;\naddc.u32 %r0, 0, 0;", 'r', v, |a, b, c| {
            u64::from(u128::from(c) > u128::from(a < b))
        });
        check("add.cc.u64 %d4, %d1, %d2;\naddc.cc.u64 %d4, %d3, -1;\naddc.u32 %r0, 0, 0;", 'r', v, |a, b, c| {
            let (sum, _) = c.overflowing_add(u64::MAX);
            let carry = a.overflowing_add(b).1;
            u64::from(c.overflowing_add(u64::MAX).1 || sum.overflowing_add(u64::from(carry)).1)
        });
    }

    #[test]
    fn bits(a in lanes(), b in lanes(), c in lanes()) {
        let v = [&a, &b, &c];
        check("and.b32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from(a as u32 & b as u32));
        check("xor.b64 %d0, %d1, %d2;", 'd', v, |a, b, _| a ^ b);
        check("not.b16 %h0, %h1;", 'h', v, |a, _, _| u64::from(!(a as u16)));
        check("cnot.b32 %r0, %r1;", 'r', v, |a, _, _| u64::from(a as u32 == 0));
        check("popc.b64 %r0, %d1;", 'r', v, |a, _, _| u64::from(a.count_ones()));
        check("clz.b32 %r0, %r1;", 'r', v, |a, _, _| u64::from((a as u32).leading_zeros()));
        check("brev.b64 %d0, %d1;", 'd', v, |a, _, _| a.reverse_bits());
        check("bfind.u32 %r0, %r1;", 'r', v, |a, _, _| u64::from((a as u32).checked_ilog2().unwrap_or(u32::MAX)));
        check("bfind.s64 %r0, %d1;", 'r', v, |a, _, _| {
            let magnitude = if (a as i64) < 0 { !a } else { a };
            u64::from(magnitude.checked_ilog2().unwrap_or(u32::MAX))
        });
        check("shl.b32 %r0, %r1, %r2;", 'r', v, |a, b, _| u64::from((a as u32).checked_shl(b as u32).unwrap_or(0)));
        check("shr.s64 %d0, %d1, %r2;", 'd', v, |a, b, _| (a as i64 >> (b as u32).min(63)) as u64);
        check("shr.u16 %h0, %h1, %r2;", 'h', v, |a, b, _| u64::from((a as u16).checked_shr(b as u32).unwrap_or(0)));
        check("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            ((a & 0xffff_ffff | b << 32) << (c & 31)) >> 32
        });
        check("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| {
            (a & 0xffff_ffff | b << 32) >> (c as u32).min(32) & 0xffff_ffff
        });
        check("lop3.b32 %r0, %r1, %r2, %r3, 0xca;", 'r', v, |a, b, c| u64::from((a & b | !a & c) as u32));
        check("prmt.b32 %r0, %r1, %r2, 0x7a14;", 'r', v, |a, b, _| {
            let bytes = [(a as u32).to_le_bytes(), (b as u32).to_le_bytes()].concat();
            let sign = if bytes[2] & 0x80 == 0 { 0 } else { 0xff };
            u64::from(u32::from_le_bytes([bytes[4], bytes[1], sign, bytes[7]]))
        });
    }

    /// The PTX ISA defines `bfe` and `bfi` by loops over bits. These are the loops.
    #[test]
    fn bit_fields(a in lanes(), b in lanes(), c in lanes()) {
        fn extract(a: u64, pos: u64, len: u64, width: u64, signed: bool) -> u64 {
            let (pos, len) = (pos & 0xff, len & 0xff);
            let sign = signed && len != 0 && a >> (pos + len - 1).min(width - 1) & 1 == 1;
            (0..width).fold(0, |field, i| {
                let bit = if i < len && pos + i < width { a >> (pos + i) & 1 == 1 } else { sign };
                field | u64::from(bit) << i
            })
        }
        let v = [&a, &b, &c];
        check("bfe.u32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| extract(a, b, c, 32, false));
        check("bfe.s32 %r0, %r1, %r2, %r3;", 'r', v, |a, b, c| extract(a, b, c, 32, true));
        check("bfe.u64 %d0, %d1, %r2, %r3;", 'd', v, |a, b, c| extract(a, b, c, 64, false));
        check("bfe.s64 %d0, %d1, %r2, %r3;", 'd', v, |a, b, c| extract(a, b, c, 64, true));
        check("bfi.b32 %r0, %r1, %r2, %r3, 7;", 'r', v, |a, b, c| {
            let pos = c & 0xff;
            (0..7).filter(|i| pos + i < 32).fold(b & 0xffff_ffff, |word, i| {
                word & !(1 << (pos + i)) | (a >> i & 1) << (pos + i)
            })
        });
    }

    #[test]
    fn comparisons_and_selection(a in lanes(), b in lanes(), c in lanes()) {
        let v = [&a, &b, &c];
        check("setp.lt.s32 %p0, %r1, %r2;", 'p', v, |a, b, _| u64::from((a as i32) < b as i32));
        check("setp.hi.u64 %p0, %d1, %d2;", 'p', v, |a, b, _| u64::from(a > b));
        check("setp.eq.b16 %p0, %h1, %h2;", 'p', v, |a, b, _| u64::from(a as u16 == b as u16));
        // The instruction has both destinations. Its third predicate and its guard are overwritten
        // by the results.
        check(
            "setp.lt.u32 %p0, %r1, %r3;\nsetp.ne.u32 %p1, %r2, 0;\n@%p0 setp.lt.and.u32 %p1|%p0, %r1, %r2, %p1;\n\
             selp.u32 %r0, 2, 0, %p1;\n@%p0 add.u32 %r0, %r0, 1;",
            'r', v, |a, b, c| {
                let (a, b, c) = (a as u32, b as u32, c as u32);
                let (mut p0, mut p1) = (a < c, b != 0);
                if p0 {
                    (p1, p0) = (a < b && p1, a >= b && p1);
                }
                u64::from(p1) * 2 + u64::from(p0)
            },
        );
        check("setp.lt.s32 %p1, %r1, 0;\nselp.b32 %r0, %r2, %r3, %p1;", 'r', v, |a, b, c| {
            u64::from(if (a as i32) < 0 { b as u32 } else { c as u32 })
        });
        check("slct.u64.s32 %d0, %d1, %d2, %r3;", 'd', v, |a, b, c| if c as i32 >= 0 { a } else { b });
        check("set.ge.u32.s32 %r0, %r1, %r2;", 'r', v, |a, b, _| if a as i32 >= b as i32 { 0xffff_ffff } else { 0 });
    }

    #[test]
    fn conversions(a in lanes(), b in lanes(), c in lanes()) {
        let v = [&a, &b, &c];
        check("cvt.s64.s32 %d0, %r1;", 'd', v, |a, _, _| i64::from(a as i32) as u64);
        check("cvt.s32.s8 %r0, %r1;", 'r', v, |a, _, _| u64::from(i32::from(a as i8) as u32));
        check("cvt.s8.s32 %r0, %r1;", 'r', v, |a, _, _| u64::from(i32::from(a as i8) as u32));
        check("cvt.u8.u32 %r0, %r1;", 'r', v, |a, _, _| u64::from(a as u8));
        check("cvt.sat.s8.s32 %r0, %r1;", 'r', v, |a, _, _| u64::from((a as i32).clamp(-128, 127) as u32));
        check("cvt.sat.u16.s64 %h0, %d1;", 'h', v, |a, _, _| (a as i64).clamp(0, 65535) as u64);
        check("cvt.rn.f32.s32 %f0, %r1;", 'f', v, |a, _, _| u64::from((a as i32 as f32).to_bits()));
        check("cvt.rn.f64.u64 %g0, %d1;", 'g', v, |a, _, _| (a as f64).to_bits());
        check("cvt.rn.f32.u64 %f0, %d1;", 'f', v, |a, _, _| u64::from((a as f32).to_bits()));
        // Rounding towards zero gives the largest float that is not above the integer.
        check("cvt.rz.f32.u64 %f0, %d1;", 'f', v, |a, _, _| {
            let near = a as f32;
            u64::from(if near as u128 > u128::from(a) { near.next_down() } else { near }.to_bits())
        });
        check("cvt.rp.f64.s64 %g0, %d1;", 'g', v, |a, _, _| {
            let near = a as i64 as f64;
            if (near as i128) < i128::from(a as i64) { near.next_up() } else { near }.to_bits()
        });
    }
}
