//! Which operations the library has for which types of elements.

use warpfold::{
    ArgMaximum, ArgMinimum, BottomK, CheckedSum, CompensatedSum, CountNonzero, Device, Max, MaxAbs,
    Maximum, Min, MinMax, Minimum, Moments, NanSum, Product, ReproducibleSum, SoftmaxStats, Sum,
    SumAbs, SumSquares, TopK, WideSum,
};

use crate::dtype::{Dtype, with_type};

use super::{
    Failure,
    calls::{MadeRows, MadeWhole, Rows, Segments, Whole},
};

/// An operation of the library, by what its kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Reduction {
    Sum,
    Product,
    Minimum,
    Maximum,
    /// The least number, without NaNs.
    Min,
    Max,
    ArgMinimum,
    ArgMaximum,
    MinMax,
    CountNonzero,
    Moments,
    SumAbs,
    SumSquares,
    MaxAbs,
    Exponentials,
    Numbers,
    Compensated,
    Wide,
    Exact,
    Checked,
    Top4,
    Top8,
    Bottom4,
    Bottom8,
}

/// The number of operations.
pub(super) const KERNELS: usize = Reduction::Bottom8 as usize + 1;

/// Makes a reducer of an operation: `$make` is a method of [`Device`].
macro_rules! make {
    ($device:expr, $reduction:expr, $dtype:expr, $make:ident, $dyn:ident) => {{
        macro_rules! of {
            ($types:ident, $operation:expr) => {
                with_type!($dtype, $types, T => {
                    $device.$make::<T, _>($operation).map(|made| Box::new(made) as Box<dyn $dyn>)
                })
            };
        }
        let made = match $reduction {
            Reduction::Sum => of!(all, Sum),
            Reduction::Product => of!(all, Product),
            Reduction::Minimum => of!(all, Minimum),
            Reduction::Maximum => of!(all, Maximum),
            Reduction::Min => of!(floats, Min),
            Reduction::Max => of!(floats, Max),
            Reduction::ArgMinimum => of!(all, ArgMinimum),
            Reduction::ArgMaximum => of!(all, ArgMaximum),
            Reduction::MinMax => of!(integers, MinMax),
            Reduction::CountNonzero => of!(all, CountNonzero),
            Reduction::Moments => of!(all, Moments),
            Reduction::SumAbs => of!(floats, SumAbs),
            Reduction::SumSquares => of!(floats, SumSquares),
            Reduction::MaxAbs => of!(floats, MaxAbs),
            Reduction::Exponentials => of!(floats, SoftmaxStats),
            Reduction::Numbers => of!(floats, NanSum),
            Reduction::Compensated => of!(floats, CompensatedSum),
            Reduction::Wide => of!(narrow, WideSum),
            Reduction::Exact => of!(floats, ReproducibleSum),
            Reduction::Checked => of!(integers, CheckedSum),
            Reduction::Top4 => of!(ranked, TopK::<4>),
            Reduction::Top8 => of!(ranked, TopK::<8>),
            Reduction::Bottom4 => of!(ranked, BottomK::<4>),
            Reduction::Bottom8 => of!(ranked, BottomK::<8>),
        };
        made.ok_or(missing($reduction, $dtype))?.map_err(Failure::from)
    }};
}

/// The reducer of whole arrays.
pub(super) fn whole(
    device: &Device,
    reduction: Reduction,
    dtype: Dtype,
) -> Result<Box<dyn Whole>, Failure> {
    make!(device, reduction, dtype, reducer, Whole)
}

/// The reducer of rows.
pub(super) fn rows(
    device: &Device,
    reduction: Reduction,
    dtype: Dtype,
) -> Result<Box<dyn Rows>, Failure> {
    make!(device, reduction, dtype, row_reducer, Rows)
}

/// Makes a reducer of an operation whose kernel makes results, if the type is one of these.
macro_rules! made {
    ($device:expr, $dtype:expr, $make:ident, $dyn:ident, $types:ident, $operation:expr) => {
        with_type!($dtype, $types, T => {
            let reducer = $device.$make::<T, _>($operation)?;
            Box::new(reducer.made()?) as Box<dyn $dyn>
        })
    };
}

/// Makes a reducer of an operation whose kernel makes results, if the library has one.
macro_rules! make_made {
    ($device:expr, $reduction:expr, $dtype:expr, $make:ident, $dyn:ident) => {
        match $reduction {
            Reduction::Sum => made!($device, $dtype, $make, $dyn, floats, Sum),
            Reduction::SumSquares => made!($device, $dtype, $make, $dyn, floats, SumSquares),
            Reduction::Moments => made!($device, $dtype, $make, $dyn, floats, Moments),
            Reduction::CountNonzero => made!($device, $dtype, $make, $dyn, all, CountNonzero),
            Reduction::ArgMinimum => made!($device, $dtype, $make, $dyn, all, ArgMinimum),
            Reduction::ArgMaximum => made!($device, $dtype, $make, $dyn, all, ArgMaximum),
            _ => None,
        }
    };
}

/// The reducer of whole arrays whose kernel makes results.
pub(super) fn made_whole(
    device: &Device,
    reduction: Reduction,
    dtype: Dtype,
) -> Result<Option<Box<dyn MadeWhole>>, Failure> {
    Ok(make_made!(device, reduction, dtype, reducer, MadeWhole))
}

/// The reducer of rows whose kernel makes results.
pub(super) fn made_rows(
    device: &Device,
    reduction: Reduction,
    dtype: Dtype,
) -> Result<Option<Box<dyn MadeRows>>, Failure> {
    Ok(make_made!(device, reduction, dtype, row_reducer, MadeRows))
}

/// The reducer of segments, for the operations that Python has for them.
pub(super) fn segments(
    device: &Device,
    reduction: Reduction,
    dtype: Dtype,
) -> Result<Box<dyn Segments>, Failure> {
    macro_rules! of {
        ($operation:expr) => {
            with_type!(dtype, all, T => device
                .segment_reducer::<T, _>($operation)
                .map(|made| Box::new(made) as Box<dyn Segments>))
        };
    }
    let made = match reduction {
        Reduction::Sum => of!(Sum),
        Reduction::Product => of!(Product),
        Reduction::Minimum => of!(Minimum),
        Reduction::Maximum => of!(Maximum),
        Reduction::ArgMinimum => of!(ArgMinimum),
        Reduction::ArgMaximum => of!(ArgMaximum),
        Reduction::CountNonzero => of!(CountNonzero),
        Reduction::Moments => of!(Moments),
        _ => None,
    };
    made.ok_or(missing(reduction, dtype))?.map_err(Failure::from)
}

/// The error for a type that an operation lacks.
pub(super) fn missing(reduction: Reduction, dtype: Dtype) -> Failure {
    let (op, cast) = match reduction {
        Reduction::Top4 | Reduction::Top8 | Reduction::Bottom4 | Reduction::Bottom8 => {
            ("topk", "int32")
        }
        Reduction::Exponentials => ("logsumexp", "float32"),
        _ => ("reduction", "float32 or float64"),
    };
    Failure::NoKernel { op, dtype: dtype.name(), cast }
}
