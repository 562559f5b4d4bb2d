//! The operations by the names that the command line has for them.

use std::fmt;

/// An operation of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    WrappingSum,
    CheckedSum,
    Exact,
    Compensated,
    Wide,
    Product,
    Mean,
    Var,
    Std,
    NanSum,
    NanMean,
    LogSumExp,
    Min,
    Max,
    MinMax,
    Minimum,
    Maximum,
    ArgMin,
    ArgMax,
    ArgMinimum,
    ArgMaximum,
    TopK,
    /// `topk --smallest`.
    BottomK,
    Count,
    Any,
    All,
    Norm1,
    Norm2,
    SumSquares,
    MaxAbs,
    Dot,
    Distance,
    SquaredDistance,
    BitAnd,
    BitOr,
    BitXor,
}

use Operation as O;

impl Operation {
    /// All operations that are subcommands, in the order in which the help lists them.
    pub(crate) const ALL: [Self; 36] = [
        O::Sum,
        O::WrappingSum,
        O::CheckedSum,
        O::Exact,
        O::Compensated,
        O::Wide,
        O::Product,
        O::Mean,
        O::Var,
        O::Std,
        O::NanSum,
        O::NanMean,
        O::LogSumExp,
        O::Min,
        O::Max,
        O::MinMax,
        O::Minimum,
        O::Maximum,
        O::ArgMin,
        O::ArgMax,
        O::ArgMinimum,
        O::ArgMaximum,
        O::TopK,
        O::Count,
        O::Any,
        O::All,
        O::Norm1,
        O::Norm2,
        O::SumSquares,
        O::MaxAbs,
        O::Dot,
        O::Distance,
        O::SquaredDistance,
        O::BitAnd,
        O::BitOr,
        O::BitXor,
    ];

    /// The name of the subcommand, and what it prints.
    pub(crate) const fn described(self) -> (&'static str, &'static str) {
        match self {
            O::Sum => ("sum", "The sum; of integers it is exact, however large it is"),
            O::WrappingSum => (
                "wrapping-sum",
                "The sum of integers in their own type, where it wraps around; a note says if it did",
            ),
            O::CheckedSum => (
                "checked-sum",
                "The sum of integers in their own type; it is an error if that type cannot hold it",
            ),
            O::Exact => (
                "exact",
                "The exact sum of floats, rounded once: the same bits on every device, in any order",
            ),
            O::Compensated => {
                ("compensated", "The sum of floats, corrected by the sum of its rounding errors")
            }
            O::Wide => ("wide", "The sum of f16, bf16 or f32 elements, added in f64"),
            O::Product => ("product", "The product; of integers it wraps around at 64 bits"),
            O::Mean => ("mean", "The mean"),
            O::Var => ("var", "The variance: of all elements, or with --ddof 1 of a sample"),
            O::Std => ("std", "The standard deviation, the root of what `var` prints"),
            O::NanSum => ("nansum", "The sum of the floats that are not NaN"),
            O::NanMean => ("nanmean", "The mean of the floats that are not NaN"),
            O::LogSumExp => (
                "logsumexp",
                "The logarithm of the sum of exponentials of floats, without overflow",
            ),
            O::Min => ("min", "The least element; NaNs are ignored"),
            O::Max => ("max", "The greatest element; NaNs are ignored"),
            O::MinMax => ("minmax", "The least and the greatest element; NaNs are ignored"),
            O::Minimum => ("minimum", "The least element, or NaN if there is a NaN"),
            O::Maximum => ("maximum", "The greatest element, or NaN if there is a NaN"),
            O::ArgMin => ("argmin", "The index of the first least element; NaNs are ignored"),
            O::ArgMax => ("argmax", "The index of the first greatest element; NaNs are ignored"),
            O::ArgMinimum => {
                ("argminimum", "The index of the first NaN, or else of the first least element")
            }
            O::ArgMaximum => {
                ("argmaximum", "The index of the first NaN, or else of the first greatest element")
            }
            O::TopK | O::BottomK => (
                "topk",
                "The indices and values of the greatest elements, or the smallest, up to 8; NaNs come last",
            ),
            O::Count => {
                ("count", "The number of elements that are not 0, or for which --where holds")
            }
            O::Any => {
                ("any", "Whether any element is not 0, or --where holds for any: true or false")
            }
            O::All => ("all", "Whether no element is 0, or --where holds for all: true or false"),
            O::Norm1 => ("norm1", "The sum of absolute values"),
            O::Norm2 => ("norm2", "The root of the sum of squares, the Euclidean norm"),
            O::SumSquares => ("sum-squares", "The sum of squares"),
            O::MaxAbs => ("max-abs", "The greatest absolute value, or NaN if there is a NaN"),
            O::Dot => ("dot", "The dot product of two arrays of the same length"),
            O::Distance => ("distance", "The Euclidean distance of two arrays"),
            O::SquaredDistance => {
                ("squared-distance", "The sum of the squared differences of two arrays")
            }
            O::BitAnd => ("bit-and", "The bits that are set in every integer"),
            O::BitOr => ("bit-or", "The bits that are set in at least one integer"),
            O::BitXor => ("bit-xor", "The bits that are set in an odd number of integers"),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        self.described().0
    }

    /// The operation of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// Whether the operation takes two arrays.
    pub(crate) const fn is_pair(self) -> bool {
        matches!(self, O::Dot | O::Distance | O::SquaredDistance)
    }

    /// Whether the operation reduces the segments of an array, and runs of keys, too.
    pub(crate) const fn has_segments(self) -> bool {
        !self.is_pair()
    }

    /// Whether the operation reduces into bins too.
    pub(crate) const fn has_bins(self) -> bool {
        matches!(
            self,
            O::Sum
                | O::Mean
                | O::Var
                | O::Std
                | O::Min
                | O::Max
                | O::MinMax
                | O::ArgMin
                | O::ArgMax
        )
    }

    /// Whether the result is a list of elements.
    pub(crate) const fn is_top(self) -> bool {
        matches!(self, O::TopK | O::BottomK)
    }

    /// Whether the operation takes a condition in place of "is not 0".
    pub(crate) const fn has_condition(self) -> bool {
        matches!(self, O::Count | O::Any | O::All)
    }

    /// Whether the result depends on which elements come first.
    pub(crate) const fn is_ordered(self) -> bool {
        self.is_top() || matches!(self, O::ArgMin | O::ArgMax | O::ArgMinimum | O::ArgMaximum)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
