//! Rungs 10 to 14 and the atomic ones, which use `cuda_std::ext`.

use crate::ladder::atomic::{atomic_block as atomic, atomic_warp as atomicwarp};
use crate::ladder::reduce10::reduce10;
use crate::ladder::reduce11::reduce11;
use crate::ladder::reduce12::reduce12;
use crate::ladder::reduce13::reduce13;
use crate::ladder::reduce14::reduce14;
use crate::op::{Max, Min, Product as Prod, Sum};

kernels! {
    (input: *const, workspace): [reduce10 reduce12] x [sum min max prod] x [i32 u32 i64 u64 f32 f64];
    (input: *const): [reduce11] x [sum min max] x [i32 u32];
    (input: *const): [reduce13] x [sum min max prod] x [i32 u32 i64 u64 f32 f64];
    (input: *const): [reduce14] x [sum min max prod] x [i32 u32 i64 u64 f32 f64] with 4;
    (input: *const): [atomic atomicwarp] x [sum min max] x [i32 u32 i64 u64];
    (input: *const): [atomic atomicwarp] x [sum] x [f32 f64];
}
