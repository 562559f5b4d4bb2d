//! Numbers that nobody else has.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    process,
};

/// A random number, as text. No other rank and no other run has the same.
pub(crate) fn unique() -> String {
    // The standard library gives each of these hashers random keys.
    let [high, low] = [0, 1].map(|half| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(process::id());
        hasher.write_u8(half);
        hasher.finish()
    });
    format!("{high:016x}{low:016x}")
}
