//! The operations that warpfold has, one module for each idea.

pub mod arg;
pub mod bits;
pub mod careful;
pub mod count;
pub mod extreme;
pub mod logsumexp;
pub mod moments;
pub mod nansum;
pub mod norm;
pub mod pairs;
pub mod sum;
pub mod top;
pub mod within;
