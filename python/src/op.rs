//! The reductions that Python asks for, and the types of their results.

use pyo3::{exceptions::PyTypeError, prelude::*};

use crate::dtype::{Dtype, Kind, complex_refused};

/// How a sum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    Fast,
    Reproducible,
    Compensated,
    Wide,
    Checked,
}

/// Which norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    One,
    Two,
    Infinity,
}

/// A reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Sum(Method),
    Prod,
    Min,
    Max,
    Mean,
    Var,
    Std,
    ArgMin,
    ArgMax,
    All,
    Any,
    CountNonzero,
    MinMax,
    Moments,
    Norm(Order),
    Dot,
    LogSumExp,
    /// The greatest elements with their indices, or the least ones.
    Top {
        k: u32,
        is_largest: bool,
    },
    NanSum,
    NanMean,
    NanMin,
    NanMax,
}

/// The numbers by which Python names reductions, in this order.
const NAMES: [(&str, Op); 22] = [
    ("sum", Op::Sum(Method::Fast)),
    ("prod", Op::Prod),
    ("min", Op::Min),
    ("max", Op::Max),
    ("mean", Op::Mean),
    ("var", Op::Var),
    ("std", Op::Std),
    ("argmin", Op::ArgMin),
    ("argmax", Op::ArgMax),
    ("all", Op::All),
    ("any", Op::Any),
    ("count_nonzero", Op::CountNonzero),
    ("minmax", Op::MinMax),
    ("moments", Op::Moments),
    ("norm1", Op::Norm(Order::One)),
    ("norm2", Op::Norm(Order::Two)),
    ("norminf", Op::Norm(Order::Infinity)),
    ("logsumexp", Op::LogSumExp),
    ("nansum", Op::NanSum),
    ("nanmean", Op::NanMean),
    ("nanmin", Op::NanMin),
    ("nanmax", Op::NanMax),
];

impl Op {
    /// The reduction with this number, which [`number`](Self::number) has told.
    pub(crate) fn of_number(number: usize) -> PyResult<Self> {
        NAMES
            .get(number)
            .map(|entry| entry.1)
            .ok_or_else(|| PyTypeError::new_err(format!("{number} is no reduction")))
    }

    /// The number of the reduction with this name.
    pub(crate) fn number(name: &str) -> Option<usize> {
        NAMES.iter().position(|entry| entry.0 == name)
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum(_) => "sum",
            Self::Dot => "dot",
            Self::Top { .. } => "topk",
            Self::Norm(_) => "norm",
            op => NAMES.iter().find(|entry| entry.1 == op).map_or("reduction", |entry| entry.0),
        }
    }

    /// The number of arrays that the result consists of.
    pub(crate) fn outputs(self) -> usize {
        if matches!(self, Self::MinMax | Self::Moments | Self::Top { .. }) { 2 } else { 1 }
    }

    /// The operation to use for elements of this type, which makes no difference for the result.
    pub(crate) fn for_dtype(self, dtype: Dtype) -> PyResult<Self> {
        let is_integer = matches!(dtype.kind(), Kind::Bool | Kind::Signed | Kind::Unsigned);
        match self {
            Self::Norm(_) | Self::LogSumExp if is_integer => Err(PyTypeError::new_err(format!(
                "the {} of {} is not defined: cast the array to float32 or float64",
                self.name(),
                dtype.name()
            ))),
            Self::Sum(Method::Checked) if !is_integer => Err(PyTypeError::new_err(
                "method=\"checked\" is for integers, whose sum may not fit; a sum of floats becomes \
                 infinite instead",
            )),
            op if dtype.is_complex() && !op.takes_complex() => {
                Err(complex_refused(op.name(), dtype))
            }
            Self::Sum(Method::Reproducible | Method::Compensated | Method::Wide) if is_integer => {
                Ok(Self::Sum(Method::Fast))
            }
            Self::Sum(Method::Wide) if dtype.part() == Dtype::F64 => Ok(Self::Sum(Method::Fast)),
            Self::NanSum if is_integer => Ok(Self::Sum(Method::Fast)),
            Self::NanMean if is_integer => Ok(Self::Mean),
            Self::NanMin if is_integer => Ok(Self::Min),
            Self::NanMax if is_integer => Ok(Self::Max),
            op => Ok(op),
        }
    }

    /// Whether the result of complex elements is defined, and is computed here.
    fn takes_complex(self) -> bool {
        matches!(
            self,
            Self::Sum(_)
                | Self::Prod
                | Self::Mean
                | Self::Norm(_)
                | Self::Any
                | Self::All
                | Self::CountNonzero
        )
    }

    /// The type of the result, if no other one is asked for, for elements of this type. The second
    /// type is that of the second array.
    pub(crate) fn result(self, dtype: Dtype) -> [Dtype; 2] {
        let sum = match dtype.kind() {
            Kind::Float | Kind::Complex => dtype,
            Kind::Bool | Kind::Signed => Dtype::I64,
            Kind::Unsigned => Dtype::U64,
        };
        let mean = match dtype.kind() {
            Kind::Float | Kind::Complex => dtype,
            _ => Dtype::F64,
        };
        match self {
            Self::Sum(Method::Wide) if dtype.is_complex() => [Dtype::C128; 2],
            Self::Sum(Method::Wide) => [Dtype::F64; 2],
            Self::Sum(_) | Self::Prod | Self::Dot | Self::NanSum => [sum; 2],
            Self::Min | Self::Max | Self::NanMin | Self::NanMax | Self::MinMax => [dtype; 2],
            Self::Mean
            | Self::Var
            | Self::Std
            | Self::Moments
            | Self::LogSumExp
            | Self::NanMean => [mean; 2],
            Self::Norm(_) => [mean.part(); 2],
            Self::ArgMin | Self::ArgMax | Self::CountNonzero => [Dtype::I64; 2],
            Self::All | Self::Any => [Dtype::Bool; 2],
            Self::Top { .. } => [dtype, Dtype::I64],
        }
    }

    /// The type of the result if `wanted` is asked for.
    pub(crate) fn result_as(self, dtype: Dtype, wanted: Option<Dtype>) -> PyResult<[Dtype; 2]> {
        let own = self.result(dtype);
        let Some(wanted) = wanted else { return Ok(own) };
        if !matches!(self, Self::Sum(_) | Self::Prod | Self::Dot | Self::NanSum) {
            return Err(PyTypeError::new_err(format!("{} takes no dtype", self.name())));
        }
        let is_possible = match dtype.kind() {
            Kind::Float => wanted.is_float() || wanted.is_complex(),
            Kind::Complex => wanted.is_complex(),
            _ => !matches!(wanted.kind(), Kind::Bool | Kind::Complex),
        };
        if !is_possible || wanted.is_complex() && matches!(self, Self::Dot | Self::NanSum) {
            return Err(PyTypeError::new_err(format!(
                "a {} of {} cannot be {}: cast the array or the result",
                self.name(),
                dtype.name(),
                wanted.name()
            )));
        }
        Ok([wanted; 2])
    }

    /// What an empty array gives. `None` if that is not defined.
    pub(crate) fn of_nothing(self) -> Option<f64> {
        match self {
            Self::Sum(_)
            | Self::Dot
            | Self::NanSum
            | Self::Norm(_)
            | Self::CountNonzero
            | Self::Any => Some(0.0),
            Self::Prod | Self::All => Some(1.0),
            Self::Mean | Self::Var | Self::Std | Self::Moments | Self::NanMean => Some(f64::NAN),
            Self::LogSumExp => Some(f64::NEG_INFINITY),
            Self::Min
            | Self::Max
            | Self::NanMin
            | Self::NanMax
            | Self::ArgMin
            | Self::ArgMax
            | Self::MinMax
            | Self::Top { .. } => None,
        }
    }

    /// Whether the result is the same in whichever order the elements are taken, up to rounding.
    pub(crate) fn is_unordered(self) -> bool {
        !matches!(self, Self::ArgMin | Self::ArgMax | Self::Top { .. })
    }
}
