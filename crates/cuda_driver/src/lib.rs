//! cuda_driver
