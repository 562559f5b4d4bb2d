//! The functions that Python calls.

mod along;
mod bins;
mod devices;
mod keys;
mod observed;
mod outputs;
mod products;
mod ragged;
mod run;
mod running;
mod segments;
mod steps;

pub(crate) use along::topk;
pub(crate) use bins::bincount;
pub(crate) use devices::{driver, gpu};
pub(crate) use keys::reduce_by_key;
pub(crate) use observed::simulate;
pub(crate) use products::dot;
pub(crate) use run::check_device;
pub(crate) use segments::segment_reduce;
pub(crate) use steps::reduce;
