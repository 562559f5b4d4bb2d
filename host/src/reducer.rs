//! The production reducer.

pub mod exact;
