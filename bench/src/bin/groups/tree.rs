//! Times sums in a tree, whose bits do not depend on the number of GPUs, beside plain sums of the
//! same shards.

use std::time::Instant;

use anyhow::ensure;
use bench::{Times, time_turns};
use warpfold::{Error, Group, Sum};

use crate::measure::float;

/// One line of the table. Each time is that of one call as the host sees it, which waits for the
/// result.
pub(crate) struct TreeLine {
    pub(crate) name: String,
    /// The bytes of the input of all GPUs.
    pub(crate) bytes: u64,
    /// [`Group::reducer`].
    pub(crate) plain: Times,
    /// [`Group::tree_reducer`].
    pub(crate) tree: Times,
}

/// Sums shards of `n` floats in both ways.
pub(crate) fn measure_tree(group: &Group, n: usize, samples: usize) -> anyhow::Result<TreeLine> {
    const WARM_UPS: usize = 3;
    let values: Vec<f32> = (0..n).map(float).collect();
    let shards: Vec<_> =
        group.devices().iter().map(|device| device.upload(&values)).collect::<Result<_, _>>()?;
    let plain = group.reducer::<f32, _>(Sum)?;
    let tree = group.tree_reducer::<f32, _>(Sum)?;

    let gpus = group.devices().len();
    // The elements are not negative, so that the sum of their magnitudes is the sum itself.
    let expected = values.iter().map(|&value| f64::from(value)).sum::<f64>() * gpus as f64;
    let depth = tree.depth((n * gpus) as u64) as f64;
    let most = (depth * f64::from(f32::EPSILON) / 2.0).exp_m1() * expected;
    let sum = tree.reduce(&shards)?;
    let error = (f64::from(sum) - expected).abs();
    ensure!(error <= most, "{sum} in a tree instead of {expected}, an error above {most}");

    let times = time_turns(2, 1, WARM_UPS, samples, |contender| {
        let start = Instant::now();
        if contender == 0 {
            plain.reduce(&shards)?;
        } else {
            tree.reduce(&shards)?;
        }
        Ok::<_, Error>(start.elapsed())
    })?;
    let [plain, tree] = [0, 1].map(|contender| Times::of(times[contender].clone()));
    let name = format!("f32 sum {gpus} x 2^{}", n.ilog2());
    Ok(TreeLine { name, bytes: 4 * (n * gpus) as u64, plain, tree })
}
