//! Loads, stores and atomics of a warp.

mod atomic;
mod load;
mod request;
mod store;
mod value;

pub(crate) use atomic::atomic;
pub(crate) use load::load;
pub(crate) use request::Request;
pub(crate) use store::store;
