//! Extremes, and where they are.

use warpfold_device::item::{Bf16, F16};
use warpfold_device::key::{Largest, LargestOrNan, Smallest, SmallestOrNan};
use warpfold_device::op::arg::{Arg, Indexed};
use warpfold_device::op::extreme::{Extreme, Extremes, MinMax};
use warpfold_device::op::norm::MaxAbs;

warpfold_device::unary! {
    reduce_min_i8: i8 = Extreme<i8, Smallest> => i8, 8;
    reduce_min_u8: u8 = Extreme<u8, Smallest> => u8, 8;
    reduce_min_i16: i16 = Extreme<i16, Smallest> => i16, 8;
    reduce_min_u16: u16 = Extreme<u16, Smallest> => u16, 8;
    reduce_min_i32: i32 = Extreme<i32, Smallest> => i32, 8;
    reduce_min_u32: u32 = Extreme<u32, Smallest> => u32, 8;
    reduce_min_i64: i64 = Extreme<i64, Smallest> => i64, 8;
    reduce_min_u64: u64 = Extreme<u64, Smallest> => u64, 8;
    reduce_min_i128: i128 = Extreme<i128, Smallest> => i128, 4;
    reduce_min_u128: u128 = Extreme<u128, Smallest> => u128, 4;
    reduce_min_f16: F16 = Extreme<F16, Smallest> => F16, 8;
    reduce_min_bf16: Bf16 = Extreme<Bf16, Smallest> => Bf16, 8;
    reduce_min_f32: f32 = Extreme<f32, Smallest> => f32, 8;
    reduce_min_f64: f64 = Extreme<f64, Smallest> => f64, 8;

    reduce_max_i8: i8 = Extreme<i8, Largest> => i8, 8;
    reduce_max_u8: u8 = Extreme<u8, Largest> => u8, 8;
    reduce_max_i16: i16 = Extreme<i16, Largest> => i16, 8;
    reduce_max_u16: u16 = Extreme<u16, Largest> => u16, 8;
    reduce_max_i32: i32 = Extreme<i32, Largest> => i32, 8;
    reduce_max_u32: u32 = Extreme<u32, Largest> => u32, 8;
    reduce_max_i64: i64 = Extreme<i64, Largest> => i64, 8;
    reduce_max_u64: u64 = Extreme<u64, Largest> => u64, 8;
    reduce_max_i128: i128 = Extreme<i128, Largest> => i128, 4;
    reduce_max_u128: u128 = Extreme<u128, Largest> => u128, 4;
    reduce_max_f16: F16 = Extreme<F16, Largest> => F16, 8;
    reduce_max_bf16: Bf16 = Extreme<Bf16, Largest> => Bf16, 8;
    reduce_max_f32: f32 = Extreme<f32, Largest> => f32, 8;
    reduce_max_f64: f64 = Extreme<f64, Largest> => f64, 8;

    reduce_minimum_f16: F16 = Extreme<F16, SmallestOrNan> => F16, 8;
    reduce_minimum_bf16: Bf16 = Extreme<Bf16, SmallestOrNan> => Bf16, 8;
    reduce_minimum_f32: f32 = Extreme<f32, SmallestOrNan> => f32, 8;
    reduce_minimum_f64: f64 = Extreme<f64, SmallestOrNan> => f64, 8;

    reduce_maximum_f16: F16 = Extreme<F16, LargestOrNan> => F16, 8;
    reduce_maximum_bf16: Bf16 = Extreme<Bf16, LargestOrNan> => Bf16, 8;
    reduce_maximum_f32: f32 = Extreme<f32, LargestOrNan> => f32, 8;
    reduce_maximum_f64: f64 = Extreme<f64, LargestOrNan> => f64, 8;

    reduce_minmax_i8: i8 = MinMax<i8> => Extremes<i8>, 8;
    reduce_minmax_u8: u8 = MinMax<u8> => Extremes<u8>, 8;
    reduce_minmax_i16: i16 = MinMax<i16> => Extremes<i16>, 8;
    reduce_minmax_u16: u16 = MinMax<u16> => Extremes<u16>, 8;
    reduce_minmax_i32: i32 = MinMax<i32> => Extremes<i32>, 8;
    reduce_minmax_u32: u32 = MinMax<u32> => Extremes<u32>, 8;
    reduce_minmax_i64: i64 = MinMax<i64> => Extremes<i64>, 4 then 2;
    reduce_minmax_u64: u64 = MinMax<u64> => Extremes<u64>, 4 then 2;
    reduce_minmax_i128: i128 = MinMax<i128> => Extremes<i128>, 4 then 2;
    reduce_minmax_u128: u128 = MinMax<u128> => Extremes<u128>, 4 then 2;
    reduce_minmax_f16: F16 = MinMax<F16> => Extremes<F16>, 8;
    reduce_minmax_bf16: Bf16 = MinMax<Bf16> => Extremes<Bf16>, 8;
    reduce_minmax_f32: f32 = MinMax<f32> => Extremes<f32>, 8 then 6;
    reduce_minmax_f64: f64 = MinMax<f64> => Extremes<f64>, 4 then 2;

    reduce_maxabs_i8: i8 = MaxAbs<i8> => u8, 4;
    reduce_maxabs_i16: i16 = MaxAbs<i16> => u16, 4;
    reduce_maxabs_i32: i32 = MaxAbs<i32> => u32, 8;
    reduce_maxabs_i64: i64 = MaxAbs<i64> => u64, 8;
    reduce_maxabs_i128: i128 = MaxAbs<i128> => u128, 4;
    reduce_maxabs_f16: F16 = MaxAbs<F16> => F16, 8;
    reduce_maxabs_bf16: Bf16 = MaxAbs<Bf16> => Bf16, 8;
    reduce_maxabs_f32: f32 = MaxAbs<f32> => f32, 8;
    reduce_maxabs_f64: f64 = MaxAbs<f64> => f64, 8;
}

warpfold_device::unary! {
    reduce_argmin_i8: i8 = Arg<i8, Smallest> => Indexed<i8>, 4;
    reduce_argmin_u8: u8 = Arg<u8, Smallest> => Indexed<u8>, 4;
    reduce_argmin_i16: i16 = Arg<i16, Smallest> => Indexed<i16>, 4;
    reduce_argmin_u16: u16 = Arg<u16, Smallest> => Indexed<u16>, 4;
    reduce_argmin_i32: i32 = Arg<i32, Smallest> => Indexed<i32>, 8;
    reduce_argmin_u32: u32 = Arg<u32, Smallest> => Indexed<u32>, 8;
    reduce_argmin_i64: i64 = Arg<i64, Smallest> => Indexed<i64>, 4;
    reduce_argmin_u64: u64 = Arg<u64, Smallest> => Indexed<u64>, 4;
    reduce_argmin_i128: i128 = Arg<i128, Smallest> => Indexed<i128>, 4;
    reduce_argmin_u128: u128 = Arg<u128, Smallest> => Indexed<u128>, 4;
    reduce_argmin_f16: F16 = Arg<F16, Smallest> => Indexed<F16>, 4;
    reduce_argmin_bf16: Bf16 = Arg<Bf16, Smallest> => Indexed<Bf16>, 4;
    reduce_argmin_f32: f32 = Arg<f32, Smallest> => Indexed<f32>, 8;
    reduce_argmin_f64: f64 = Arg<f64, Smallest> => Indexed<f64>, 4;

    reduce_argmax_i8: i8 = Arg<i8, Largest> => Indexed<i8>, 4;
    reduce_argmax_u8: u8 = Arg<u8, Largest> => Indexed<u8>, 4;
    reduce_argmax_i16: i16 = Arg<i16, Largest> => Indexed<i16>, 4;
    reduce_argmax_u16: u16 = Arg<u16, Largest> => Indexed<u16>, 4;
    reduce_argmax_i32: i32 = Arg<i32, Largest> => Indexed<i32>, 8;
    reduce_argmax_u32: u32 = Arg<u32, Largest> => Indexed<u32>, 8;
    reduce_argmax_i64: i64 = Arg<i64, Largest> => Indexed<i64>, 4;
    reduce_argmax_u64: u64 = Arg<u64, Largest> => Indexed<u64>, 4;
    reduce_argmax_i128: i128 = Arg<i128, Largest> => Indexed<i128>, 4;
    reduce_argmax_u128: u128 = Arg<u128, Largest> => Indexed<u128>, 4;
    reduce_argmax_f16: F16 = Arg<F16, Largest> => Indexed<F16>, 4;
    reduce_argmax_bf16: Bf16 = Arg<Bf16, Largest> => Indexed<Bf16>, 4;
    reduce_argmax_f32: f32 = Arg<f32, Largest> => Indexed<f32>, 8;
    reduce_argmax_f64: f64 = Arg<f64, Largest> => Indexed<f64>, 4;

    reduce_argminimum_f16: F16 = Arg<F16, SmallestOrNan> => Indexed<F16>, 4;
    reduce_argminimum_bf16: Bf16 = Arg<Bf16, SmallestOrNan> => Indexed<Bf16>, 4;
    reduce_argminimum_f32: f32 = Arg<f32, SmallestOrNan> => Indexed<f32>, 8;
    reduce_argminimum_f64: f64 = Arg<f64, SmallestOrNan> => Indexed<f64>, 4;

    reduce_argmaximum_f16: F16 = Arg<F16, LargestOrNan> => Indexed<F16>, 4;
    reduce_argmaximum_bf16: Bf16 = Arg<Bf16, LargestOrNan> => Indexed<Bf16>, 4;
    reduce_argmaximum_f32: f32 = Arg<f32, LargestOrNan> => Indexed<f32>, 8;
    reduce_argmaximum_f64: f64 = Arg<f64, LargestOrNan> => Indexed<f64>, 4;
}
