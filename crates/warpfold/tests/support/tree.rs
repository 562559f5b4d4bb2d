//! The order in which the elements of a row or segment are combined, as the documentation of the
//! kernels states it.

/// The sum of a part: packs of four one after the other, then single elements.
fn part(elements: &[f32]) -> f32 {
    let packs = elements.chunks_exact(4);
    let rest = packs.remainder();
    let packs = packs.fold(0.0, |sum, x| sum + ((x[0] + x[1]) + (x[2] + x[3])));
    rest.iter().fold(packs, |sum, x| sum + x)
}

/// The sum of a row: its parts of 32 elements in a tree, in which neighbours meet first.
pub(crate) fn sum(row: &[f32]) -> f32 {
    sum_of_parts(row, 32)
}

/// The sum of a row, with parts of so many elements. A part of pairs of `f32` has 16.
pub(crate) fn sum_of_parts(row: &[f32], in_part: usize) -> f32 {
    let mut level: Vec<f32> = row.chunks(in_part).map(part).collect();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap())
            .collect();
    }
    level.first().copied().unwrap_or(0.0)
}
