//! Sums and products.

use warpfold_device::item::{Bf16, F16};
use warpfold_device::grid_reduction::Ticket;
use warpfold_device::op::careful::{Compensated, Exact, SumAndError, WideSum};
use warpfold_device::op::sum::{Product, Sum, Wrapping};

warpfold_device::unary! {
    reduce_sum_i8: i8 = Sum<i8> => i64, 8;
    reduce_sum_u8: u8 = Sum<u8> => u64, 8;
    reduce_sum_i16: i16 = Sum<i16> => i64, 8;
    reduce_sum_u16: u16 = Sum<u16> => u64, 8;
    reduce_sum_i32: i32 = Sum<i32> => i64, 8;
    reduce_sum_u32: u32 = Sum<u32> => u64, 8;
    reduce_sum_u64: u64 = Sum<u64> => u64, 8;
    reduce_sum_u128: u128 = Sum<u128> => u128, 8;
    reduce_sum_f16: F16 = Sum<F16> => f32, 8;
    reduce_sum_bf16: Bf16 = Sum<Bf16> => f32, 8;
    reduce_sum_f32: f32 = Sum<f32> => f32, 8;
    reduce_sum_f64: f64 = Sum<f64> => f64, 8;

    reduce_product_i8: i8 = Product<i8> => i64, 4;
    reduce_product_u8: u8 = Product<u8> => u64, 4;
    reduce_product_i16: i16 = Product<i16> => i64, 4;
    reduce_product_u16: u16 = Product<u16> => u64, 4;
    reduce_product_i32: i32 = Product<i32> => i64, 8;
    reduce_product_u32: u32 = Product<u32> => u64, 8;
    reduce_product_u64: u64 = Product<u64> => u64, 8;
    reduce_product_u128: u128 = Product<u128> => u128, 4;
    reduce_product_f16: F16 = Product<F16> => f32, 8;
    reduce_product_bf16: Bf16 = Product<Bf16> => f32, 8;
    reduce_product_f32: f32 = Product<f32> => f32, 8;
    reduce_product_f64: f64 = Product<f64> => f64, 8;

    reduce_compensated_f16: F16 = Compensated<F16> => SumAndError<f32>, 4;
    reduce_compensated_bf16: Bf16 = Compensated<Bf16> => SumAndError<f32>, 4;
    reduce_compensated_f32: f32 = Compensated<f32> => SumAndError<f32>, 8;
    reduce_compensated_f64: f64 = Compensated<f64> => SumAndError<f64>, 8;

    reduce_wide_f16: F16 = WideSum<F16> => f64, 8;
    reduce_wide_bf16: Bf16 = WideSum<Bf16> => f64, 8;
    reduce_wide_f32: f32 = WideSum<f32> => f64, 8 then 6;

    reduce_checked_i64: i64 = Exact<i64> => i128, 4;
    reduce_checked_u64: u64 = Exact<u64> => u128, 4;
    reduce_checked_i128: i128 = Exact<i128> => [u64; 3], 4;
    reduce_checked_u128: u128 = Exact<u128> => [u64; 3], 4;
}

warpfold_device::unary! {
    reduce_wrapping_u32: u32 = Wrapping => u32, 8, Ticket;
}
