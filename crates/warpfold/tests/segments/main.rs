//! Reductions of segments.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/best.rs"]
mod best;

#[path = "../support/seed.rs"]
mod seed;

#[path = "../support/tree.rs"]
mod tree;

mod calls;
mod checks;
mod lengths;
mod operations;
mod spans;
mod top;
mod wrong;

use rand::Rng;

/// The elements, of 4 bytes, of an array that is so large that warps search for their segments. In
/// smaller arrays they take them by their numbers.
const LARGE: usize = (1 << 20) + 1;

/// Values whose sum depends on the order.
fn values(n: usize) -> Vec<f32> {
    let mut random = seed::random();
    (0..n).map(|_| random.random_range(-1.0f32..1.0).powi(15) * 1e4).collect()
}

/// The offsets of segments of these lengths, from `first` on.
fn offsets(first: usize, lengths: &[usize]) -> Vec<u32> {
    let mut end = first;
    let ends = lengths.iter().map(|length| {
        end += length;
        end as u32
    });
    std::iter::once(first as u32).chain(ends).collect()
}

/// The elements of each segment.
fn segments<'a, T>(values: &'a [T], offsets: &'a [u32]) -> impl Iterator<Item = &'a [T]> {
    offsets.windows(2).map(|pair| &values[pair[0] as usize..pair[1] as usize])
}
