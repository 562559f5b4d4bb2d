//! cuda_builder

pub mod lint;
