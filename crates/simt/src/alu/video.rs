//! SIMD within a word: the video instructions on bytes and halves, and integer arithmetic on pairs
//! of halves. Also `fns`, and `cvt` to `tf32`.

use crate::ptx::ast::{IntBinaryOp, Tf32Rounding, Video, VideoOp, VideoResult};
use crate::registers::{AluFn, alu};

/// `add min max` on the halves of a word. With `.relu`, `x` is 1.
pub(crate) fn packed(op: IntBinaryOp, signed: bool) -> Option<AluFn> {
    macro_rules! halves {
        ($ty:ty, |$a:ident, $b:ident| $body:expr) => {
            alu!(|a: u32, b: u32| [relu: number] -> u32 {
                let half = |shift: u32| {
                    let ($a, $b) = ((a >> shift) as $ty, (b >> shift) as $ty);
                    let result: $ty = $body;
                    let result = if relu == 1 { result.max(0) } else { result };
                    u32::from(result as u16) << shift
                };
                half(0) | half(16)
            })
        };
    }
    Some(match (op, signed) {
        (IntBinaryOp::Add, _) => halves!(u16, |a, b| a.wrapping_add(b)),
        (IntBinaryOp::Min, false) => halves!(u16, |a, b| a.min(b)),
        (IntBinaryOp::Min, true) => halves!(i16, |a, b| a.min(b)),
        (IntBinaryOp::Max, false) => halves!(u16, |a, b| a.max(b)),
        (IntBinaryOp::Max, true) => halves!(i16, |a, b| a.max(b)),
        _ => return None,
    })
}

/// `fns`: the position of the `c`-th one of the mask `a`, counted from bit `b` on, upwards or (for
/// a negative `c`) downwards. It is all ones if there is none.
pub(crate) fn nth_set() -> AluFn {
    fn nth(mask: u32, base: u32, offset: i32) -> Option<u32> {
        let upwards = |mask: u32, from: u32, n: u32| {
            let ones = (0..n.saturating_sub(1).min(32))
                .fold(mask & u32::MAX << from, |ones, _| ones & ones.wrapping_sub(1));
            (ones != 0).then(|| ones.trailing_zeros())
        };
        match (base, offset) {
            (32.., _) => None,
            (_, 0) => (mask >> base & 1 == 1).then_some(base),
            (_, 1..) => upwards(mask, base, offset.unsigned_abs()),
            _ => upwards(mask.reverse_bits(), 31 - base, offset.unsigned_abs()).map(|n| 31 - n),
        }
    }
    alu!(|a: u32, b: u32, c: i32| -> u32 { nth(a, b, c).unwrap_or(u32::MAX) })
}

/// The part `index` of the words `a` and `b`, of which `a` has the first parts.
#[inline(always)]
fn part(a: u32, b: u32, index: u32, width: u32, signed: bool) -> i64 {
    let both = u64::from(a) | u64::from(b) << 32;
    let up = 64 - width;
    let raised = both >> (index * width) << up;
    if signed { raised as i64 >> up } else { (raised >> up) as i64 }
}

/// One SIMD instruction on `PARTS` parts of a word.
#[inline(always)]
fn parts<const PARTS: u32>(
    [a, b, c]: [u32; 3],
    video: u32,
    compute: impl Fn(i64, i64) -> i64,
) -> u32 {
    let video = Video::from_bits(video);
    let width = 32 / PARTS;
    let ones = (1u64 << width) as u32 - 1;
    let mut result = c;
    for i in (0..PARTS).filter(|i| video.mask >> i & 1 == 1) {
        let of =
            |selection: [u8; 4], signed| part(a, b, selection[i as usize].into(), width, signed);
        let value = compute(of(video.a, video.a_signed), of(video.b, video.b_signed));
        let value = match video.result {
            VideoResult::Sum => {
                result = result.wrapping_add(value as u32);
                continue;
            }
            VideoResult::Wrapped => value,
            VideoResult::Unsigned => value.clamp(0, ones.into()),
            VideoResult::Signed => value.clamp(-1 << (width - 1), (1 << (width - 1)) - 1),
        };
        result = result & !(ones << (i * width)) | (value as u32 & ones) << (i * width);
    }
    result
}

/// `vadd2`, `vabsdiff4` and similar instructions. `x` holds a [`Video`].
pub(crate) fn simd(op: VideoOp, bytes: bool) -> AluFn {
    macro_rules! both {
        (|$a:ident, $b:ident| $body:expr) => {
            if bytes {
                alu!(|a: u32, b: u32, c: u32| [x: number] -> u32 {
                    parts::<4>([a, b, c], x, |$a, $b| $body)
                })
            } else {
                alu!(|a: u32, b: u32, c: u32| [x: number] -> u32 {
                    parts::<2>([a, b, c], x, |$a, $b| $body)
                })
            }
        };
    }
    match op {
        VideoOp::Add => both!(|a, b| a + b),
        VideoOp::Sub => both!(|a, b| a - b),
        // One is added before the shift only if the sum is not negative.
        VideoOp::Average => both!(|a, b| (a + b + i64::from(a + b >= 0)) >> 1),
        VideoOp::AbsoluteDifference => both!(|a, b| (a - b).abs()),
        VideoOp::Min => both!(|a, b| a.min(b)),
        VideoOp::Max => both!(|a, b| a.max(b)),
    }
}

/// `cvt` from `f32` to `tf32`, which has 10 bits of fraction. With `.relu`, `x` is 1.
pub(crate) fn to_tf32(rounding: Tf32Rounding) -> AluFn {
    const DROPPED: u32 = (1 << 13) - 1;
    fn round(a: f32, relu: u32, add: impl Fn(u32) -> u32) -> u32 {
        if a.is_nan() {
            return 0x7fff_ffff;
        }
        if relu == 1 && a.is_sign_negative() {
            return 0;
        }
        let bits = a.to_bits();
        if a.is_infinite() { bits } else { bits.wrapping_add(add(bits)) & !DROPPED }
    }
    match rounding {
        Tf32Rounding::NearestAway => {
            alu!(|a: f32| [relu: number] -> u32 { round(a, relu, |_| (DROPPED >> 1) + 1) })
        }
        Tf32Rounding::NearestEven => alu!(|a: f32| [relu: number] -> u32 {
            round(a, relu, |bits| (DROPPED >> 1) + (bits >> 13 & 1))
        }),
        Tf32Rounding::Zero => alu!(|a: f32| [relu: number] -> u32 { round(a, relu, |_| 0) }),
    }
}
