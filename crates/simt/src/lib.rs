//! simt

pub mod ptx;
