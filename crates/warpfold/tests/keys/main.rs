//! Reductions by key, by flag and by length.

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
mod flags;
mod keys;
mod lengths;
mod operations;
mod order;

use rand::Rng;
use warpfold::{BitOr, Device, RawSlice, Stream, device::WORKSPACE_BYTES};

/// Values whose sum depends on the order.
fn values(n: usize) -> Vec<f32> {
    let mut random = seed::random();
    (0..n).map(|_| random.random_range(-1.0f32..1.0).powi(15) * 1e4).collect()
}

/// The sums of neighbouring segments of these lengths.
fn sums(values: &[f32], lengths: &[u64]) -> Vec<u32> {
    let mut rest = values;
    let sums = lengths.iter().map(|&length| {
        let (segment, behind) = rest.split_at(length as usize);
        rest = behind;
        tree::sum(segment).to_bits()
    });
    sums.collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Lengths of runs of many kinds, each with a name.
fn kinds_of_lengths() -> Vec<(String, Vec<usize>)> {
    let mut random = seed::random();
    let mut kinds = Vec::new();
    for length in [1, 2, 31, 32, 33, 1023, 1024, 1025, 4097, 40_000] {
        kinds.push((format!("all of {length}"), vec![length; 20_000usize.div_ceil(length)]));
    }
    for mean in [1, 3, 40, 700] {
        let lengths = (0..30_000 / mean).map(|_| random.random_range(1..=2 * mean)).collect();
        kinds.push((format!("1 to {}", 2 * mean), lengths));
    }
    let power =
        (0..4000).map(|_| (1.0 / random.random_range(1e-4f64..1.0)).powf(1.1) as usize).collect();
    kinds.push(("a power law".into(), power));
    let mut giant = vec![1; 9000];
    giant[4000] = 150_000;
    kinds.push(("a giant".into(), giant));
    kinds
}

/// Asserts that all words of a stream's workspace are 0. The stream has no work left.
fn assert_clean(device: &Device, stream: &Stream) {
    let len = (WORKSPACE_BYTES / 8) as usize;
    // SAFETY: the workspace lives as long as the stream, and nothing else uses it now.
    let words = unsafe { RawSlice::<u64>::new(stream.workspace(), len) };
    assert_eq!(device.reduce(words, BitOr).unwrap(), 0, "the workspace is clean");
}
