//! warpfold

pub mod device;
