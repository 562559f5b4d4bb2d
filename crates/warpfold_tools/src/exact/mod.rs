//! Sums and products of `f64`s with far more digits than `f64` has, to check others against.

mod product;
mod scale;
mod sum;

pub use product::LongProduct;
pub use scale::power_of_two;
pub use sum::ExactSum;
