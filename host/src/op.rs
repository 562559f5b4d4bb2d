//! The operations by which arrays are reduced.

use std::{fmt, str::FromStr};

/// An operation that is associative and commutative (on floats only up to rounding).
///
/// ```
/// use warpfold_lab::op::Op;
/// assert_eq!("prod".parse(), Ok(Op::Prod));
/// let error = "mean".parse::<Op>().unwrap_err().to_string();
/// assert_eq!(error, "unknown operation 'mean': it is one of sum, min, max, prod");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `+`; integers wrap.
    Sum,
    /// The least value; NaNs lose against numbers.
    Min,
    /// The greatest value; NaNs lose against numbers.
    Max,
    /// `*`; integers wrap.
    Prod,
}

impl Op {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Min, Self::Max, Self::Prod];

    /// The name of the operation, as kernels and the command line spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Prod => "prod",
        }
    }

    /// Whether an array without elements has a result: the empty sum is 0 and the empty product is
    /// 1, but there is no least or greatest of no values.
    pub const fn is_defined_for_nothing(self) -> bool {
        matches!(self, Self::Sum | Self::Prod)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown operation '{0}': it is one of sum, min, max, prod")]
pub struct UnknownOp(pub String);

impl FromStr for Op {
    type Err = UnknownOp;

    fn from_str(text: &str) -> Result<Self, UnknownOp> {
        Self::ALL.into_iter().find(|op| op.name() == text).ok_or_else(|| UnknownOp(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for op in Op::ALL {
            assert_eq!(op.name().parse(), Ok(op));
        }
        assert_eq!("mean".parse::<Op>(), Err(UnknownOp("mean".into())));
    }
}
