//! Rungs 10 to 14 and the atomic ones, which use `cuda_std::ext`.

use crate::ladder::atomic::{atomic_block, atomic_warp};
use crate::ladder::reduce10::reduce10;
use crate::ladder::reduce11::reduce11;
use crate::ladder::reduce12::reduce12;
use crate::op::{Max, Min, Product, Sum};

#[rustfmt::skip]
kernels_with_workspace! {
    reduce10_sum_i32 = reduce10<i32, Sum>;
    reduce10_min_i32 = reduce10<i32, Min>;
    reduce10_max_i32 = reduce10<i32, Max>;
    reduce10_prod_i32 = reduce10<i32, Product>;
    reduce10_sum_u32 = reduce10<u32, Sum>;
    reduce10_min_u32 = reduce10<u32, Min>;
    reduce10_max_u32 = reduce10<u32, Max>;
    reduce10_prod_u32 = reduce10<u32, Product>;
    reduce10_sum_i64 = reduce10<i64, Sum>;
    reduce10_min_i64 = reduce10<i64, Min>;
    reduce10_max_i64 = reduce10<i64, Max>;
    reduce10_prod_i64 = reduce10<i64, Product>;
    reduce10_sum_u64 = reduce10<u64, Sum>;
    reduce10_min_u64 = reduce10<u64, Min>;
    reduce10_max_u64 = reduce10<u64, Max>;
    reduce10_prod_u64 = reduce10<u64, Product>;
    reduce10_sum_f32 = reduce10<f32, Sum>;
    reduce10_min_f32 = reduce10<f32, Min>;
    reduce10_max_f32 = reduce10<f32, Max>;
    reduce10_prod_f32 = reduce10<f32, Product>;
    reduce10_sum_f64 = reduce10<f64, Sum>;
    reduce10_min_f64 = reduce10<f64, Min>;
    reduce10_max_f64 = reduce10<f64, Max>;
    reduce10_prod_f64 = reduce10<f64, Product>;
    reduce12_sum_i32 = reduce12<i32, Sum>;
    reduce12_min_i32 = reduce12<i32, Min>;
    reduce12_max_i32 = reduce12<i32, Max>;
    reduce12_prod_i32 = reduce12<i32, Product>;
    reduce12_sum_u32 = reduce12<u32, Sum>;
    reduce12_min_u32 = reduce12<u32, Min>;
    reduce12_max_u32 = reduce12<u32, Max>;
    reduce12_prod_u32 = reduce12<u32, Product>;
    reduce12_sum_i64 = reduce12<i64, Sum>;
    reduce12_min_i64 = reduce12<i64, Min>;
    reduce12_max_i64 = reduce12<i64, Max>;
    reduce12_prod_i64 = reduce12<i64, Product>;
    reduce12_sum_u64 = reduce12<u64, Sum>;
    reduce12_min_u64 = reduce12<u64, Min>;
    reduce12_max_u64 = reduce12<u64, Max>;
    reduce12_prod_u64 = reduce12<u64, Product>;
    reduce12_sum_f32 = reduce12<f32, Sum>;
    reduce12_min_f32 = reduce12<f32, Min>;
    reduce12_max_f32 = reduce12<f32, Max>;
    reduce12_prod_f32 = reduce12<f32, Product>;
    reduce12_sum_f64 = reduce12<f64, Sum>;
    reduce12_min_f64 = reduce12<f64, Min>;
    reduce12_max_f64 = reduce12<f64, Max>;
    reduce12_prod_f64 = reduce12<f64, Product>;
}

#[rustfmt::skip]
kernels! {
    input: *const;
    reduce11_sum_i32 = reduce11<i32, Sum>;
    reduce11_min_i32 = reduce11<i32, Min>;
    reduce11_max_i32 = reduce11<i32, Max>;
    reduce11_sum_u32 = reduce11<u32, Sum>;
    reduce11_min_u32 = reduce11<u32, Min>;
    reduce11_max_u32 = reduce11<u32, Max>;
    atomic_sum_i32 = atomic_block<i32, Sum>;
    atomic_min_i32 = atomic_block<i32, Min>;
    atomic_max_i32 = atomic_block<i32, Max>;
    atomic_sum_u32 = atomic_block<u32, Sum>;
    atomic_min_u32 = atomic_block<u32, Min>;
    atomic_max_u32 = atomic_block<u32, Max>;
    atomic_sum_i64 = atomic_block<i64, Sum>;
    atomic_min_i64 = atomic_block<i64, Min>;
    atomic_max_i64 = atomic_block<i64, Max>;
    atomic_sum_u64 = atomic_block<u64, Sum>;
    atomic_min_u64 = atomic_block<u64, Min>;
    atomic_max_u64 = atomic_block<u64, Max>;
    atomic_sum_f32 = atomic_block<f32, Sum>;
    atomic_sum_f64 = atomic_block<f64, Sum>;
    atomicwarp_sum_i32 = atomic_warp<i32, Sum>;
    atomicwarp_min_i32 = atomic_warp<i32, Min>;
    atomicwarp_max_i32 = atomic_warp<i32, Max>;
    atomicwarp_sum_u32 = atomic_warp<u32, Sum>;
    atomicwarp_min_u32 = atomic_warp<u32, Min>;
    atomicwarp_max_u32 = atomic_warp<u32, Max>;
    atomicwarp_sum_i64 = atomic_warp<i64, Sum>;
    atomicwarp_min_i64 = atomic_warp<i64, Min>;
    atomicwarp_max_i64 = atomic_warp<i64, Max>;
    atomicwarp_sum_u64 = atomic_warp<u64, Sum>;
    atomicwarp_min_u64 = atomic_warp<u64, Min>;
    atomicwarp_max_u64 = atomic_warp<u64, Max>;
    atomicwarp_sum_f32 = atomic_warp<f32, Sum>;
    atomicwarp_sum_f64 = atomic_warp<f64, Sum>;
}
