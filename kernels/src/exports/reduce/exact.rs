//! Exact sums.

use warpfold_device::exact::{NARROW_LIMBS, Raw, WIDE_LIMBS};
use warpfold_device::item::{Bf16, F16};

warpfold_device::exact! {
    reduce_exact_f16: F16 => Raw<f32, NARROW_LIMBS>, 4;
    reduce_exact_bf16: Bf16 => Raw<f32, NARROW_LIMBS>, 4;
    reduce_exact_f32: f32 => Raw<f32, NARROW_LIMBS>, 4;
    reduce_exact_f64: f64 => Raw<f64, WIDE_LIMBS>, 8;
}
