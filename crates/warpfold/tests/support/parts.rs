//! Parts of arrays.

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

/// Cuts an array into parts at random places. About a third of the parts has no elements.
pub(crate) fn cut<'a, T>(random: &mut ChaCha8Rng, values: &'a [T], parts: usize) -> Vec<&'a [T]> {
    let mut cuts: Vec<usize> = (1..parts)
        .map(|_| match random.random_range(0..6) {
            0 => 0,
            1 => values.len(),
            _ => random.random_range(0..=values.len()),
        })
        .chain([0, values.len()])
        .collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|ends| &values[ends[0]..ends[1]]).collect()
}
