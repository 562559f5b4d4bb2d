//! The error type of reductions.

use crate::device::DeviceError;

use super::Int192;

/// The reason why a reduction has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input has no elements, and the operation has no result for an empty input. The minimum
    /// is such an operation.
    #[error("the {op} of no elements is not defined")]
    Empty {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
    },
    /// The type of the elements cannot hold the result of a [`CheckedSum`](super::CheckedSum).
    #[error("the sum is {exact}, which no {item} holds")]
    Overflow {
        /// The exact sum.
        exact: Int192,
        /// The name of the type of the elements.
        item: &'static str,
    },
    /// The two inputs of a pair have different lengths.
    #[error(
        "the first input has {first} elements and the second {second}: both must have the same number"
    )]
    Lengths {
        /// The number of elements of the first input.
        first: u64,
        /// The number of elements of the second input.
        second: u64,
    },
    /// The output does not hold exactly one value.
    #[error("the result is 1 value, and the output has {len}")]
    Output {
        /// The number of values that the output holds.
        len: u64,
    },
    /// The input has more elements than [`Operation::MOST`](super::Operation::MOST), the number up
    /// to which the operation's kernel is exact.
    #[error("a {op} of {item} takes at most {most} elements at once, not {n}")]
    TooLong {
        /// The operation's [name](super::Operation::NAME).
        op: &'static str,
        /// The name of the type of the elements.
        item: &'static str,
        /// The number of elements of the input.
        n: u64,
        /// The most elements that one call accepts.
        most: u64,
    },
    /// The device refused a call or failed. For a buffer, view or stream of another device, the
    /// inner error is [`DeviceError::OtherDevice`].
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device is older than the kernels, which are built for compute capability 7.5 and later.
    #[error(
        "the device has compute capability {}.{}, and {}.{} is the least",
        capability.0, capability.1, least.0, least.1
    )]
    DeviceTooOld {
        /// The device's compute capability, major and minor.
        capability: (u32, u32),
        /// The least compute capability that runs the kernel, major and minor.
        least: (u32, u32),
    },
}
