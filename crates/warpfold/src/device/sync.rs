//! The locks that [`clean`](super::clean) uses; its model test takes loom's instead.

pub(super) use std::sync::{Mutex, PoisonError};
