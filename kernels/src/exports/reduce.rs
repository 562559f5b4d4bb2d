//! The production kernels, named `reduce_<op>_<type>`: a module holds one.
//!
//! Where the bits are the same there is one kernel. Of signed integers, `sum`, `product`, `sumsq`, `dot` and `ssd` of 64 and 128
//! bits, `wrapping`, `and`, `or`, `xor` and `count` are those of the unsigned type of their width. Of unsigned ones, `sumabs` is
//! `sum` and `maxabs` is `max`. Of integers, `minimum` and the like are `min` and the like.

pub mod exact;
pub mod extremes;
pub mod rest;
pub mod sums;
