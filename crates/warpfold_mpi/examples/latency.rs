//! Times the exchange of a call by itself: each rank tells rank 0 that it can go on, and rank 0
//! answers when it has heard of all. The messages are a few bytes shorter than those of a
//! reduction, and no device is used.
//!
//! `mpirun -n 2 target/release/examples/latency`

use std::time::Instant;

use anyhow::ensure;
use warpfold::Device;
use warpfold_mpi::MpiCommunicator;

/// How many calls one measurement has.
const CALLS: u32 = 1000;
const SAMPLES: usize = 101;

fn main() -> anyhow::Result<()> {
    let ranks = MpiCommunicator::world(&Device::simulator())?;
    ensure!(ranks.size() > 1, "a rank alone exchanges nothing: run it with `mpirun -n 2`");
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        let start = Instant::now();
        for _ in 0..CALLS {
            ranks.agree(None)?;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
    }
    samples.sort_unstable_by(f64::total_cmp);
    if ranks.rank() == 0 {
        let [least, lower, median, upper] =
            [0, SAMPLES / 4, SAMPLES / 2, 3 * SAMPLES / 4].map(|at| samples[at]);
        println!(
            "{} ranks, {SAMPLES} times {CALLS} calls: a call takes {median:.2} us (median), \
             {lower:.2} to {upper:.2} (quartiles), {least:.2} (least)",
            ranks.size()
        );
    }
    Ok(())
}
