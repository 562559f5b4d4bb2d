//! The locks that [`clean`](super::clean) uses. The model test of that module replaces them with
//! loom's locks.

pub(super) use std::sync::{Mutex, PoisonError};
