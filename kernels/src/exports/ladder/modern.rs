//! Rungs 8 and 9, which need no more than any GPU and rust-cuda have.

use crate::ladder::reduce8::reduce8;
use crate::ladder::reduce9::reduce9;
use crate::op::{Max, Min, Product, Sum};

#[rustfmt::skip]
kernels! {
    input: *const;
    reduce8_sum_i32 = reduce8<i32, Sum>;
    reduce8_min_i32 = reduce8<i32, Min>;
    reduce8_max_i32 = reduce8<i32, Max>;
    reduce8_prod_i32 = reduce8<i32, Product>;
    reduce8_sum_u32 = reduce8<u32, Sum>;
    reduce8_min_u32 = reduce8<u32, Min>;
    reduce8_max_u32 = reduce8<u32, Max>;
    reduce8_prod_u32 = reduce8<u32, Product>;
    reduce8_sum_i64 = reduce8<i64, Sum>;
    reduce8_min_i64 = reduce8<i64, Min>;
    reduce8_max_i64 = reduce8<i64, Max>;
    reduce8_prod_i64 = reduce8<i64, Product>;
    reduce8_sum_u64 = reduce8<u64, Sum>;
    reduce8_min_u64 = reduce8<u64, Min>;
    reduce8_max_u64 = reduce8<u64, Max>;
    reduce8_prod_u64 = reduce8<u64, Product>;
    reduce8_sum_f32 = reduce8<f32, Sum>;
    reduce8_min_f32 = reduce8<f32, Min>;
    reduce8_max_f32 = reduce8<f32, Max>;
    reduce8_prod_f32 = reduce8<f32, Product>;
    reduce8_sum_f64 = reduce8<f64, Sum>;
    reduce8_min_f64 = reduce8<f64, Min>;
    reduce8_max_f64 = reduce8<f64, Max>;
    reduce8_prod_f64 = reduce8<f64, Product>;
    reduce9_sum_i32 = reduce9<i32, Sum>;
    reduce9_min_i32 = reduce9<i32, Min>;
    reduce9_max_i32 = reduce9<i32, Max>;
    reduce9_prod_i32 = reduce9<i32, Product>;
    reduce9_sum_u32 = reduce9<u32, Sum>;
    reduce9_min_u32 = reduce9<u32, Min>;
    reduce9_max_u32 = reduce9<u32, Max>;
    reduce9_prod_u32 = reduce9<u32, Product>;
    reduce9_sum_i64 = reduce9<i64, Sum>;
    reduce9_min_i64 = reduce9<i64, Min>;
    reduce9_max_i64 = reduce9<i64, Max>;
    reduce9_prod_i64 = reduce9<i64, Product>;
    reduce9_sum_u64 = reduce9<u64, Sum>;
    reduce9_min_u64 = reduce9<u64, Min>;
    reduce9_max_u64 = reduce9<u64, Max>;
    reduce9_prod_u64 = reduce9<u64, Product>;
    reduce9_sum_f32 = reduce9<f32, Sum>;
    reduce9_min_f32 = reduce9<f32, Min>;
    reduce9_max_f32 = reduce9<f32, Max>;
    reduce9_prod_f32 = reduce9<f32, Product>;
    reduce9_sum_f64 = reduce9<f64, Sum>;
    reduce9_min_f64 = reduce9<f64, Min>;
    reduce9_max_f64 = reduce9<f64, Max>;
    reduce9_prod_f64 = reduce9<f64, Product>;
}
