//! kernels
#![no_std]
