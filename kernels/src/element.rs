//! The element types that the ladder is built for.

/// A number that a kernel reduces: `i32`, `u32`, `i64`, `u64`, `f32` or `f64`.
pub trait Element: Copy {}

impl Element for i32 {}
impl Element for u32 {}
impl Element for i64 {}
impl Element for u64 {}
impl Element for f32 {}
impl Element for f64 {}
