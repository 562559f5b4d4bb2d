//! The production kernels, named `reduce_<op>_<type>`.

#[cfg(feature = "ext")]
pub mod exact;
