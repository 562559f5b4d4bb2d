//! Reductions on GPUs and on the simulator, by the library.

mod bins;
mod calls;
mod context;
mod finish;
mod gpu;
mod job;
mod kernels;
mod keys;
mod pairs;
mod plan;
mod segments;
mod session;
mod watch;

pub(crate) use bins::{Binned, bins};
pub(crate) use context::{ordinal_of, with_context};
pub(crate) use gpu::{Target, buffer, of, order, read, simulator};
pub(crate) use job::{Job, checked_sum, first_word, reduce};
pub(crate) use keys::{Room, by_key, by_key_bytes};
pub(crate) use pairs::dot;
pub(crate) use segments::{Segmented, segments};
pub(crate) use session::Locked;
pub(crate) use watch::watch;

use smallvec::SmallVec;
use warpfold::{Buffer, reducer::Error};

/// Where one array is in the memory of a device: the addresses that its elements lie between, and
/// how they are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    /// The address of the element at which all indices are 0.
    pub(crate) address: u64,
    /// The addresses of the first byte and of the one behind the last.
    pub(crate) extent: (u64, u64),
    pub(crate) dtype: crate::dtype::Dtype,
    pub(crate) shape: SmallVec<[u64; 6]>,
    /// Strides in elements.
    pub(crate) strides: SmallVec<[i64; 6]>,
}

/// Why a reduction cannot be done on a device.
#[derive(Debug)]
pub(crate) enum Failure {
    Library(Error),
    /// The library has no kernel for this operation and type.
    NoKernel {
        op: &'static str,
        dtype: &'static str,
        cast: &'static str,
    },
    /// The sum does not fit into the type of the result.
    Overflow(i128),
    /// The number of elements does not fit, or an array is not aligned.
    Value(String),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Library(error.into())
    }
}

/// A copy of an array of the host on a device.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) laid: Laid,
    /// The memory of the copy.
    pub(crate) _memory: Buffer<u64>,
}
