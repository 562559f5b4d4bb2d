//! The production kernels, named `reduce_<op>_<type>` for whole arrays, `rows_<op>_<type>` for
//! rows, `segments_<op>_<type>` for segments and `bins_<op>_<type>` for bins. `runs_<what>_<type>`
//! find segments, and `keyed_<op>_<type>` reduce runs of keys. `made_<op>_<type>` and
//! `maderows_<op>_<type>` reduce whole arrays and rows, and make results of their raw results.
//! `fused_<op>_<type>` reduces the shards of several devices together, and `exchange_<op>_<type>`
//! and `direct_<op>_<type>` combine the raw results of several devices. Each is a PTX module of its
//! own.
//!
//! If two types give the same bits, there is one kernel, and the host maps the other type to it:
//!
//! - For signed integers, `sum`, `product`, `sumsq`, `dot` and `ssd` of 64 and 128 bits, and
//!   `wrapping`, `and`, `or`, `xor` and `count` of all widths, use the kernels of the unsigned type
//!   of the same width.
//! - For unsigned integers, `sumabs` is `sum` and `maxabs` is `max`.
//! - For signed integers, `within` uses the kernels of the unsigned type, too.
//! - For integers, `minimum` and `maximum` are `min` and `max`, and `argminimum` and `argmaximum`
//!   are `argmin` and `argmax`.
//!
//! # Loads in flight
//!
//! The number after `=> raw result` is how many loads of 16 bytes a thread asks for before it uses
//! the first. All measurements are in bench/NOTEBOOK.md, in microseconds for each call:
//!
//! - Eight suit most elements (attempts 11, 25 and 31; H100, minmax f32 of 2^24: four 18.6, eight
//!   17.5; H200, min f64 of 128 MiB: four 30.2, eight 28.0).
//! - Four suit `minmax` of 64 bits (attempt 25; H100, 2^12 elements: eight 2.2, four 1.9), and
//!   kernels that with eight would need more registers than a thread has.
//! - The word `then` is followed by the number of loads in flight after the whole rounds. Usually
//!   it is four (attempt 39; H100, argmin f64 of 8 MiB: two 3.62, four 3.53). Six are for the
//!   kernels in which ptxas used the first load of a whole round before it asked for the last
//!   (attempt 39; H100, minmax f32 of 2^24: four 18.5, six 17.2). Two are for `minmax` of 64 and
//!   128 bits, because one round's arithmetic then runs while the other round's loads are under way
//!   (attempt 30; H100, minmax f64 of 2^20: 3.65 to 3.40).
//! - Four are for `logsumexp`, because so much arithmetic hides the loads, and its code would be
//!   almost twice as long with eight. Not measured.
//! - Four are for `nansum` of halves, because with eight ptxas uses the first load of a whole round
//!   before it asks for the sixth. Not measured.
//! - Three are for `ssd` of i8, because with four ptxas spills registers for sm_120.

use warpfold_device::exact::short::ExactSum;
use warpfold_device::exact::{CombinedSums, NARROW_LIMBS, Raw, WIDE_LIMBS};
use warpfold_device::exchange::Combined;
use warpfold_device::grid_reduction::Ticket;
use warpfold_device::item::{Bf16, F16};
use warpfold_device::key::{Largest, LargestOrNan, Smallest, SmallestOrNan};
use warpfold_device::made::{Made, Making};
use warpfold_device::op::arg::{Arg, Indexed};
use warpfold_device::op::bits::{self, Bits};
use warpfold_device::op::careful::{Compensated, Exact as Checked, SumAndError, WideSum as Wide};
use warpfold_device::op::count::Count;
use warpfold_device::op::extreme::{Extreme, Extremes, MinMax as Minmax};
use warpfold_device::op::logsumexp::{MaxAndSum, SumExp as Logsumexp};
use warpfold_device::op::moments::{CountMeanM2, Moments};
use warpfold_device::op::nansum::{CountAndSum, NanSum as Nansum};
use warpfold_device::op::norm::{MaxAbs as Maxabs, SumAbs as Sumabs, SumSquares as Sumsq};
use warpfold_device::op::pairs::{Dot, SquaredDistance as Ssd};
use warpfold_device::op::sum::{Product, Sum, Wrapping};
use warpfold_device::op::top::{Asking, Top};
use warpfold_device::op::within::{CountWithin, Within};
use warpfold_device::runs::heads::{Change, Flag};

type Min<T> = Extreme<T, Smallest>;
type Max<T> = Extreme<T, Largest>;
type Minimum<T> = Extreme<T, SmallestOrNan>;
type Maximum<T> = Extreme<T, LargestOrNan>;
type Argmin<T> = Arg<T, Smallest>;
type Argmax<T> = Arg<T, Largest>;
type Argminimum<T> = Arg<T, SmallestOrNan>;
type Argmaximum<T> = Arg<T, LargestOrNan>;
type Top4<T> = Top<T, 4>;
type Top8<T> = Top<T, 8>;
type And<T> = Bits<T, bits::And>;
type Or<T> = Bits<T, bits::Or>;
type Xor<T> = Bits<T, bits::Xor>;

/// Stamps out the kernels of an operation over one array: for the whole array, for its shards, for
/// its rows, and for its segments.
macro_rules! single {
    ($($name:ident, $type:ident: $t:ty = $op:ty => $raw:ty, $loads:literal $(then $rest:literal)? $(, $way:ty)?;)*) => {$(
        pastey::paste! {
            warpfold_device::unary! {
                [<reduce_ $name _ $type:lower>]: $t = $op => $raw, $loads $(then $rest)? $(, $way)?;
            }
            warpfold_device::fused! {
                [<fused_ $name _ $type:lower>]: $t = $op => $raw, $loads $(then $rest)?;
            }
            warpfold_device::rows! { [<rows_ $name _ $type:lower>]: $t = $op => $raw; }
            warpfold_device::single_rows! {
                [<rows_ $name _ $type:lower _single>]: $t = $op => $raw;
            }
            warpfold_device::segments! { [<segments_ $name _ $type:lower>]: $t = $op => $raw; }
        }
    )*};
}

/// Stamps out both kernels for raw results that are combined in one way.
macro_rules! exchanges {
    ($($name:ident: $how:ty => $raw:ty;)*) => {
        pastey::paste! {
            warpfold_device::exchange! { $([<exchange_ $name>]: $how => $raw;)* }
            warpfold_device::direct! { $([<direct_ $name>]: $how => $raw;)* }
        }
    };
}

/// Stamps out a kernel for each combination in `arrays: [operations] x [types] => raw result, loads
/// in flight [then loads after whole rounds];`. The raw result may contain `T`, the type of the
/// element. Kernels for bins, and those of lists, have no loads in flight.
macro_rules! kernels {
    ($($arrays:ident: $ops:tt x $types:tt => $raw:ident $(<$t:ident>)? $(, $loads:literal $(then $rest:literal)?)?;)*) => {$(
        kernels!(@ops $arrays $ops $types ($raw $($t)?) ($($loads $(then $rest)?)?));
    )*};
    (@ops $arrays:ident [$($op:ident)*] $types:tt $raw:tt $loads:tt) => {$(
        kernels!(@types $arrays $op $types $raw $loads);
    )*};
    (@types $arrays:ident $op:ident [$($t:ident)*] $raw:tt $loads:tt) => {$(
        kernels!(@kernel $arrays $op $t $raw $loads);
    )*};
    (@kernel $arrays:ident $op:ident $t:ident (T) $loads:tt) => {
        kernels!(@stamp $arrays $op $t ($t) $loads);
    };
    (@kernel $arrays:ident $op:ident $t:ident ($raw:ident) $loads:tt) => {
        kernels!(@stamp $arrays $op $t ($raw) $loads);
    };
    (@kernel $arrays:ident $op:ident $t:ident ($raw:ident T) $loads:tt) => {
        kernels!(@stamp $arrays $op $t ($raw<$t>) $loads);
    };
    (@stamp unary $op:ident $t:ident ($raw:ty) ($($loads:tt)*)) => {
        pastey::paste! {
            single! { $op, $t: $t = [<$op:camel>]<$t> => $raw, $($loads)*; }
        }
    };
    (@stamp lists $op:ident $t:ident ($raw:ty) ()) => {
        pastey::paste! {
            warpfold_device::rows! {
                [<rows_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw,
                    with (asked: u32) |array| Asking::new(array, asked);
            }
            warpfold_device::segments! {
                [<segments_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw,
                    with (asked: u32) |array| Asking::new(array, asked);
            }
        }
    };
    (@stamp made $op:ident $t:ident ($raw:ty) ($($loads:tt)*)) => {
        pastey::paste! {
            warpfold_device::unary! {
                [<made_ $op _ $t:lower>]: $t = Made<[<$op:camel>]<$t>> => $raw, $($loads)*
                    with (step: u32, store: u32, a: f64)
                    |array| Making::new(array, step, store, a);
            }
            warpfold_device::rows! {
                [<maderows_ $op _ $t:lower>]: $t = Made<[<$op:camel>]<$t>> => $raw,
                    with (step: u32, store: u32, a: f64)
                    |array| Making::new(array, step, store, a);
            }
            warpfold_device::single_rows! {
                [<maderows_ $op _ $t:lower _single>]: $t = Made<[<$op:camel>]<$t>> => $raw,
                    with (step: u32, store: u32, a: f64)
                    |array| Making::new(array, step, store, a);
            }
        }
    };
    (@stamp exchange $op:ident $t:ident ($raw:ty) ()) => {
        pastey::paste! {
            exchanges! { [<$op _ $t:lower>]: Combined<[<$op:camel>]<$t>> => $raw; }
        }
    };
    (@stamp bins $op:ident $t:ident ($raw:ty) ()) => {
        pastey::paste! {
            warpfold_device::bins! { [<bins_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw; }
        }
    };
    (@stamp keyed $op:ident $t:ident ($raw:ty) ()) => {
        pastey::paste! {
            warpfold_device::keyed! { [<keyed_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw; }
        }
    };
    (@stamp pairs $op:ident $t:ident ($raw:ty) ($($loads:tt)*)) => {
        pastey::paste! {
            warpfold_device::pairs! { [<reduce_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw, $($loads)*; }
            warpfold_device::fused_pairs! { [<fused_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw, $($loads)*; }
            warpfold_device::row_pairs! { [<rows_ $op _ $t:lower>]: $t = [<$op:camel>]<$t> => $raw; }
        }
    };
}

// Sums and products.
kernels! {
    unary: [sum] x [i8 i16 i32] => i64, 8;
    unary: [sum] x [u8 u16 u32 u64] => u64, 8;
    unary: [sum] x [u128] => u128, 8;
    unary: [product] x [i8 i16] => i64, 4;
    unary: [product] x [i32] => i64, 8;
    unary: [product] x [u8 u16] => u64, 4;
    unary: [product] x [u32 u64] => u64, 8;
    unary: [product] x [u128] => u128, 4;
    unary: [sum product] x [F16 Bf16 f32] => f32, 8;
    unary: [sum product] x [f64] => f64, 8;
    unary: [nansum] x [F16 Bf16] => CountAndSum, 4;
    unary: [nansum] x [f32 f64] => CountAndSum, 8;
    unary: [wide] x [F16 Bf16] => f64, 8;
    unary: [wide] x [f32] => f64, 8 then 6;
    unary: [checked] x [i64] => i128, 4;
    unary: [checked] x [u64] => u128, 4;
}

single! {
    compensated, F16: F16 = Compensated<F16> => SumAndError<f32>, 4;
    compensated, Bf16: Bf16 = Compensated<Bf16> => SumAndError<f32>, 4;
    compensated, f32: f32 = Compensated<f32> => SumAndError<f32>, 8;
    compensated, f64: f64 = Compensated<f64> => SumAndError<f64>, 8;
    logsumexp, F16: F16 = Logsumexp<F16> => MaxAndSum<f32>, 4;
    logsumexp, Bf16: Bf16 = Logsumexp<Bf16> => MaxAndSum<f32>, 4;
    logsumexp, f32: f32 = Logsumexp<f32> => MaxAndSum<f32>, 4;
    logsumexp, f64: f64 = Logsumexp<f64> => MaxAndSum<f64>, 4;
    checked, i128: i128 = Checked<i128> => [u64; 3], 4;
    checked, u128: u128 = Checked<u128> => [u64; 3], 4;
    wrapping, u32: u32 = Wrapping => u32, 8, Ticket;
}

/// Stamps out the kernels of the exact sum: for whole arrays with so many loads in flight, and for
/// rows and segments, each with one that sums again where the first one has no proof.
macro_rules! exact {
    ($($t:ident => $value:ty, $limbs:ident, $loads:literal;)*) => {$(
        pastey::paste! {
            warpfold_device::exact! {
                [<reduce_exact_ $t:lower>]: $t => Raw<$value, $limbs>, $loads;
            }
            warpfold_device::rows! { [<rows_exact_ $t:lower>]: $t = ExactSum<$t> => $value; }
            warpfold_device::segments! { [<segments_exact_ $t:lower>]: $t = ExactSum<$t> => $value; }
            warpfold_device::repair_rows! { [<rows_repair_ $t:lower>]: $t => $value, $limbs; }
            warpfold_device::repair_segments! { [<segments_repair_ $t:lower>]: $t => $value, $limbs; }
        }
    )*};
}

exact! {
    F16 => f32, NARROW_LIMBS, 4;
    Bf16 => f32, NARROW_LIMBS, 4;
    f32 => f32, NARROW_LIMBS, 4;
    f64 => f64, WIDE_LIMBS, 8;
}

// Extremes, and where they are.
kernels! {
    unary: [min max] x [i8 u8 i16 u16 i32 u32 i64 u64 F16 Bf16 f32 f64] => T, 8;
    unary: [min max] x [i128 u128] => T, 4;
    unary: [minimum maximum] x [F16 Bf16 f32 f64] => T, 8;
    unary: [minmax] x [i8 u8 i16 u16 i32 u32 F16 Bf16] => Extremes<T>, 8;
    unary: [minmax] x [f32] => Extremes<T>, 8 then 6;
    unary: [minmax] x [i64 u64 i128 u128 f64] => Extremes<T>, 4 then 2;
    unary: [argmin argmax] x [i32 u32 f32] => Indexed<T>, 8;
    unary: [argmin argmax] x [i8 u8 i16 u16 i64 u64 i128 u128 F16 Bf16 f64] => Indexed<T>, 4;
    unary: [argminimum argmaximum] x [f32] => Indexed<T>, 8;
    unary: [argminimum argmaximum] x [F16 Bf16 f64] => Indexed<T>, 4;
    unary: [maxabs] x [i8] => u8, 4;
    unary: [maxabs] x [i16] => u16, 4;
    unary: [maxabs] x [i32] => u32, 8;
    unary: [maxabs] x [i64] => u64, 8;
    unary: [maxabs] x [i128] => u128, 4;
    unary: [maxabs] x [F16 Bf16 f32 f64] => T, 8;
}

// Bits, counts, norms, moments, and sums over pairs.
kernels! {
    unary: [and or xor] x [u8 u16 u32 u64] => T, 8;
    unary: [and or xor] x [u128] => T, 4;
    unary: [count] x [u8 u16 u32 u64 F16 Bf16 f32 f64] => u64, 8;
    unary: [count] x [u128] => u64, 4;
    unary: [sumabs] x [i8 i16 i32 i64] => u64, 8;
    unary: [sumabs] x [i128] => u128, 4;
    unary: [sumsq] x [i8 i32] => i64, 8;
    unary: [sumsq] x [i16] => i64, 4;
    unary: [sumsq] x [u8 u32 u64] => u64, 8;
    unary: [sumsq] x [u16] => u64, 4;
    unary: [sumsq] x [u128] => u128, 4;
    unary: [sumabs sumsq] x [F16 Bf16 f32] => f32, 8;
    unary: [sumabs sumsq] x [f64] => f64, 8;
    unary: [moments] x [i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 F16 Bf16 f32 f64] => CountMeanM2, 4;
    pairs: [dot] x [i8] => i64, 4;
    pairs: [ssd] x [i8] => i64, 3;
    pairs: [dot ssd] x [i16 i32] => i64, 4;
    pairs: [dot ssd] x [u8 u16 u32 u64] => u64, 4;
    pairs: [dot ssd] x [u128] => u128, 4;
    pairs: [dot ssd] x [F16 Bf16 f32] => f32, 4;
    pairs: [dot ssd] x [f64] => f64, 4;
}

// Reductions that make their results themselves: those of which users ask for more than a raw
// result, such as a mean, a variance, an index, or a sum as a half. What is made of a raw result
// follows the other arguments.
kernels! {
    made: [sum sumsq] x [F16 Bf16 f32] => f32, 8;
    made: [sum sumsq] x [f64] => f64, 8;
    made: [moments] x [F16 Bf16 f32 f64] => CountMeanM2, 4;
    made: [count] x [u8 u16 u32 u64 F16 Bf16 f32 f64] => u64, 8;
    made: [argmin argmax] x [i32 u32] => Indexed<T>, 8;
    made: [argmin argmax] x [i8 u8 i16 u16 i64 u64] => Indexed<T>, 4;
    made: [argminimum argmaximum] x [f32] => Indexed<T>, 8;
    made: [argminimum argmaximum] x [F16 Bf16 f64] => Indexed<T>, 4;
}

// The best few elements of each row or segment. A list of four places takes half of the
// instructions and registers of one of eight, and most routers ask for four or fewer. A whole array
// is one row. What the host asks for follows the other arguments.
kernels! {
    lists: [top4 top8] x [u8 i32 u32 i64 u64 F16 Bf16 f32 f64] => Indexed<T>;
}

/// Stamps out the kernels that count elements within an interval or outside of it, for whole
/// arrays, shards, rows and segments: `type, loads in flight;`. The interval follows the other
/// arguments.
macro_rules! within {
    ($($t:ident, $loads:literal;)*) => {$(
        pastey::paste! {
            warpfold_device::unary! {
                [<reduce_within_ $t:lower>]: $t = CountWithin<$t> => u64, $loads
                    with (least: u64, least_high: u64, most: u64, most_high: u64, outside: u32)
                    |array| Within::new(array, [least, least_high], [most, most_high], outside != 0);
            }
            warpfold_device::fused! {
                [<fused_within_ $t:lower>]: $t = CountWithin<$t> => u64, $loads
                    with (least: u64, least_high: u64, most: u64, most_high: u64, outside: u32)
                    |array| Within::new(array, [least, least_high], [most, most_high], outside != 0);
            }
            warpfold_device::rows! {
                [<rows_within_ $t:lower>]: $t = CountWithin<$t> => u64,
                    with (least: u64, least_high: u64, most: u64, most_high: u64, outside: u32)
                    |array| Within::new(array, [least, least_high], [most, most_high], outside != 0);
            }
            warpfold_device::segments! {
                [<segments_within_ $t:lower>]: $t = CountWithin<$t> => u64,
                    with (least: u64, least_high: u64, most: u64, most_high: u64, outside: u32)
                    |array| Within::new(array, [least, least_high], [most, most_high], outside != 0);
            }
        }
    )*};
}

// Counts of the elements for which a comparison holds.
within! {
    u8, 8;
    u16, 8;
    u32, 8;
    u64, 8;
    u128, 4;
    F16, 8;
    Bf16, 8;
    f32, 8;
    f64, 8;
}

// Copies of results to outputs with strides.
warpfold_device::scatter! {
    rows_scatter_u8: u8;
    rows_scatter_u16: u16;
    rows_scatter_u32: u32;
}

// Bins.
kernels! {
    bins: [sum] x [i32] => i64;
    bins: [sum] x [u8 u32 u64] => u64;
    bins: [sum] x [F16 Bf16 f32] => f32;
    bins: [sum] x [f64] => f64;
    bins: [min max] x [u8 i32 u32 i64 u64 F16 Bf16 f32 f64] => T;
    bins: [minmax] x [u8 i32 u32 i64 u64 F16 Bf16 f32 f64] => Extremes<T>;
    bins: [argmin argmax] x [u8 i32 u32 i64 u64 F16 Bf16 f32 f64] => Indexed<T>;
    bins: [moments] x [u8 i32 u32 i64 u64 F16 Bf16 f32 f64] => CountMeanM2;
}

// A negative key is one that is too large, so the size of keys is all that matters.
warpfold_device::bin_counts! {
    bins_counts_u8: u8;
    bins_counts_u16: u16;
    bins_counts_u32: u32;
    bins_counts_u64: u64;
}

// Where segments begin. Keys are compared bit for bit, so their size is all that matters.
warpfold_device::runs! {
    runs_keys_u8: u8 => Change;
    runs_keys_u16: u16 => Change;
    runs_keys_u32: u32 => Change;
    runs_keys_u64: u64 => Change;
    runs_keys_u128: u128 => Change;
    runs_flags_u8: u8 => Flag;
}

warpfold_device::lengths! {
    runs_lengths_u32: u32;
    runs_lengths_u64: u64;
}

warpfold_device::spans! {
    runs_spans_u32: u32;
    runs_spans_u64: u64;
}

// Runs of keys, for the operations that most programs use by key.
kernels! {
    keyed: [sum] x [i32] => i64;
    keyed: [sum] x [u32 u64] => u64;
    keyed: [sum] x [F16 Bf16 f32] => f32;
    keyed: [sum] x [f64] => f64;
    keyed: [min max] x [i32 u32 i64 u64 F16 Bf16 f32 f64] => T;
    keyed: [minimum maximum] x [F16 Bf16 f32 f64] => T;
}

// Raw results of several devices. Raw results that are alike and are combined alike have one
// kernel, whatever the operation and the type of the elements; the host knows which.
kernels! {
    exchange: [sum product] x [u64 u128 f32 f64] => T;
    exchange: [and or xor] x [u8 u16 u32 u64 u128] => T;
    exchange: [min max] x [i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 F16 Bf16 f32 f64] => T;
    exchange: [minimum maximum] x [F16 Bf16 f32 f64] => T;
    exchange: [minmax] x [i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 F16 Bf16 f32 f64] => Extremes<T>;
    exchange: [argmin argmax] x [i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 F16 Bf16 f32 f64] => Indexed<T>;
    exchange: [argminimum argmaximum] x [F16 Bf16 f32 f64] => Indexed<T>;
    exchange: [compensated] x [f32 f64] => SumAndError<T>;
    exchange: [logsumexp] x [f32 f64] => MaxAndSum<T>;
    exchange: [nansum] x [f64] => CountAndSum;
    exchange: [moments] x [f64] => CountMeanM2;
}

exchanges! {
    wrapping_u32: Combined<Wrapping> => u32;
    checked_u128: Combined<Checked<u128>> => [u64; 3];
    exact_f32: CombinedSums<f32, NARROW_LIMBS> => Raw<f32, NARROW_LIMBS>;
    exact_f64: CombinedSums<f64, WIDE_LIMBS> => Raw<f64, WIDE_LIMBS>;
}
