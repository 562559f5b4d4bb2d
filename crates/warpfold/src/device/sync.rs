//! The locks that [`clean`](super::clean) uses. Its model test replaces them with loom's.

pub(super) use std::sync::{Mutex, PoisonError};
