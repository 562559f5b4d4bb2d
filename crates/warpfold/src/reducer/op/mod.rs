//! The operations. Each file holds one family of them.

mod accurate;
mod arg;
mod bits;
mod comparisons;
mod count;
mod exponentials;
mod extremes;
mod moments;
mod nans;
mod norms;
mod pairs;
mod sums;
mod top;

pub use accurate::{CompensatedSum, WideSum};
pub use arg::{ArgMax, ArgMaximum, ArgMin, ArgMinimum};
pub use bits::{BitAnd, BitOr, BitXor};
pub use comparisons::{AllWhere, AnyWhere, CountWhere, Is};
pub use count::{All, Any, CountNonzero};
pub use exponentials::{LogSumExp, SoftmaxStats};
pub use extremes::{Max, Maximum, Min, MinMax, Minimum};
pub use moments::{Moments, Statistics};
pub use nans::{CountNan, NanMean, NanSum, Numbers};
pub use norms::{MaxAbs, Norm2, SumAbs, SumSquares};
pub use pairs::{Dot, SquaredDistance};
pub use sums::{CheckedSum, Product, Sum, WrappingSum};
pub use top::{BottomK, TopK};
