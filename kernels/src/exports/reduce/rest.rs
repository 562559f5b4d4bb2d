//! Bits, counts, norms, moments, and sums over pairs.

use warpfold_device::item::{Bf16, F16};
use warpfold_device::op::bits::{And, Bits, Or, Xor};
use warpfold_device::op::count::Count;
use warpfold_device::op::moments::{CountMeanM2, Moments};
use warpfold_device::op::norm::{SumAbs, SumSquares};
use warpfold_device::op::pairs::{Dot, SquaredDistance};

warpfold_device::unary! {
    reduce_and_u8: u8 = Bits<u8, And> => u8, 8;
    reduce_and_u16: u16 = Bits<u16, And> => u16, 8;
    reduce_and_u32: u32 = Bits<u32, And> => u32, 8;
    reduce_and_u64: u64 = Bits<u64, And> => u64, 8;
    reduce_and_u128: u128 = Bits<u128, And> => u128, 4;

    reduce_or_u8: u8 = Bits<u8, Or> => u8, 8;
    reduce_or_u16: u16 = Bits<u16, Or> => u16, 8;
    reduce_or_u32: u32 = Bits<u32, Or> => u32, 8;
    reduce_or_u64: u64 = Bits<u64, Or> => u64, 8;
    reduce_or_u128: u128 = Bits<u128, Or> => u128, 4;

    reduce_xor_u8: u8 = Bits<u8, Xor> => u8, 8;
    reduce_xor_u16: u16 = Bits<u16, Xor> => u16, 8;
    reduce_xor_u32: u32 = Bits<u32, Xor> => u32, 8;
    reduce_xor_u64: u64 = Bits<u64, Xor> => u64, 8;
    reduce_xor_u128: u128 = Bits<u128, Xor> => u128, 4;

    reduce_count_u8: u8 = Count<u8> => u64, 8;
    reduce_count_u16: u16 = Count<u16> => u64, 8;
    reduce_count_u32: u32 = Count<u32> => u64, 8;
    reduce_count_u64: u64 = Count<u64> => u64, 8;
    reduce_count_u128: u128 = Count<u128> => u64, 4;
    reduce_count_f16: F16 = Count<F16> => u64, 8;
    reduce_count_bf16: Bf16 = Count<Bf16> => u64, 8;
    reduce_count_f32: f32 = Count<f32> => u64, 8;
    reduce_count_f64: f64 = Count<f64> => u64, 8;

    reduce_sumabs_i8: i8 = SumAbs<i8> => u64, 8;
    reduce_sumabs_i16: i16 = SumAbs<i16> => u64, 8;
    reduce_sumabs_i32: i32 = SumAbs<i32> => u64, 8;
    reduce_sumabs_i64: i64 = SumAbs<i64> => u64, 8;
    reduce_sumabs_i128: i128 = SumAbs<i128> => u128, 4;
    reduce_sumabs_f16: F16 = SumAbs<F16> => f32, 8;
    reduce_sumabs_bf16: Bf16 = SumAbs<Bf16> => f32, 8;
    reduce_sumabs_f32: f32 = SumAbs<f32> => f32, 8;
    reduce_sumabs_f64: f64 = SumAbs<f64> => f64, 8;

    reduce_sumsq_i8: i8 = SumSquares<i8> => i64, 8;
    reduce_sumsq_u8: u8 = SumSquares<u8> => u64, 8;
    reduce_sumsq_i16: i16 = SumSquares<i16> => i64, 4;
    reduce_sumsq_u16: u16 = SumSquares<u16> => u64, 4;
    reduce_sumsq_i32: i32 = SumSquares<i32> => i64, 8;
    reduce_sumsq_u32: u32 = SumSquares<u32> => u64, 8;
    reduce_sumsq_u64: u64 = SumSquares<u64> => u64, 8;
    reduce_sumsq_u128: u128 = SumSquares<u128> => u128, 4;
    reduce_sumsq_f16: F16 = SumSquares<F16> => f32, 8;
    reduce_sumsq_bf16: Bf16 = SumSquares<Bf16> => f32, 8;
    reduce_sumsq_f32: f32 = SumSquares<f32> => f32, 8;
    reduce_sumsq_f64: f64 = SumSquares<f64> => f64, 8;
}

warpfold_device::unary! {
    reduce_moments_i8: i8 = Moments<i8> => CountMeanM2, 4;
    reduce_moments_u8: u8 = Moments<u8> => CountMeanM2, 4;
    reduce_moments_i16: i16 = Moments<i16> => CountMeanM2, 4;
    reduce_moments_u16: u16 = Moments<u16> => CountMeanM2, 4;
    reduce_moments_i32: i32 = Moments<i32> => CountMeanM2, 4;
    reduce_moments_u32: u32 = Moments<u32> => CountMeanM2, 4;
    reduce_moments_i64: i64 = Moments<i64> => CountMeanM2, 4;
    reduce_moments_u64: u64 = Moments<u64> => CountMeanM2, 4;
    reduce_moments_i128: i128 = Moments<i128> => CountMeanM2, 4;
    reduce_moments_u128: u128 = Moments<u128> => CountMeanM2, 4;
    reduce_moments_f16: F16 = Moments<F16> => CountMeanM2, 4;
    reduce_moments_bf16: Bf16 = Moments<Bf16> => CountMeanM2, 4;
    reduce_moments_f32: f32 = Moments<f32> => CountMeanM2, 4;
    reduce_moments_f64: f64 = Moments<f64> => CountMeanM2, 4;
}

warpfold_device::pairs! {
    reduce_dot_i8: i8 = Dot<i8> => i64, 4;
    reduce_dot_u8: u8 = Dot<u8> => u64, 4;
    reduce_dot_i16: i16 = Dot<i16> => i64, 4;
    reduce_dot_u16: u16 = Dot<u16> => u64, 4;
    reduce_dot_i32: i32 = Dot<i32> => i64, 4;
    reduce_dot_u32: u32 = Dot<u32> => u64, 4;
    reduce_dot_u64: u64 = Dot<u64> => u64, 4;
    reduce_dot_u128: u128 = Dot<u128> => u128, 4;
    reduce_dot_f16: F16 = Dot<F16> => f32, 4;
    reduce_dot_bf16: Bf16 = Dot<Bf16> => f32, 4;
    reduce_dot_f32: f32 = Dot<f32> => f32, 4;
    reduce_dot_f64: f64 = Dot<f64> => f64, 4;

    reduce_ssd_i8: i8 = SquaredDistance<i8> => i64, 4;
    reduce_ssd_u8: u8 = SquaredDistance<u8> => u64, 4;
    reduce_ssd_i16: i16 = SquaredDistance<i16> => i64, 4;
    reduce_ssd_u16: u16 = SquaredDistance<u16> => u64, 4;
    reduce_ssd_i32: i32 = SquaredDistance<i32> => i64, 4;
    reduce_ssd_u32: u32 = SquaredDistance<u32> => u64, 4;
    reduce_ssd_u64: u64 = SquaredDistance<u64> => u64, 4;
    reduce_ssd_u128: u128 = SquaredDistance<u128> => u128, 4;
    reduce_ssd_f16: F16 = SquaredDistance<F16> => f32, 4;
    reduce_ssd_bf16: Bf16 = SquaredDistance<Bf16> => f32, 4;
    reduce_ssd_f32: f32 = SquaredDistance<f32> => f32, 4;
    reduce_ssd_f64: f64 = SquaredDistance<f64> => f64, 4;
}
