//! The functions that Python calls.

mod along;
mod outputs;
mod products;
mod ragged;
mod run;
mod running;

pub(crate) use along::{reduce, topk};
pub(crate) use products::dot;
pub(crate) use ragged::{bincount, reduce_by_key, segment_reduce};
pub(crate) use run::check_device;
