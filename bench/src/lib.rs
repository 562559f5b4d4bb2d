//! The parts that the benchmarks share: statistics of repeated measurements, other libraries'
//! reductions, plans of launches to replay, edits that make mutants of kernels, and measurements of
//! hardware.

use std::time::Duration;

use warpfold::device::{DeviceError, Graph, Stream};

pub mod edit;
pub mod hardware;
pub mod peers;
pub mod plan;
pub mod row_peers;

/// Order statistics of repeated measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The shortest time.
    pub min: Duration,
    /// A quarter of the times are shorter.
    pub lower_quartile: Duration,
    /// Half of the times are shorter.
    pub median: Duration,
    /// A quarter of the times are longer.
    pub upper_quartile: Duration,
    /// The longest time.
    pub max: Duration,
}

impl Times {
    /// Quantiles by the nearest rank.
    ///
    /// # Panics
    ///
    /// If there are no samples.
    pub fn of(mut samples: Vec<Duration>) -> Self {
        assert!(!samples.is_empty(), "no samples");
        samples.sort_unstable();
        let [min, lower_quartile, median, upper_quartile, max] = quartiles(&samples);
        Self { min, lower_quartile, median, upper_quartile, max }
    }
}

/// The least sample, the quartiles and the greatest sample, by the nearest rank.
///
/// # Panics
///
/// If there are no samples.
pub fn quartiles<T: Copy>(sorted: &[T]) -> [T; 5] {
    let last = sorted.len() - 1;
    [0, 1, 2, 3, 4].map(|quarters| sorted[(last * quarters + 2) / 4])
}

/// The time in microseconds.
pub fn to_us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The bandwidth of moving `bytes` in `time`, in GB/s (10⁹ bytes per second).
pub fn gb_per_s(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// The times of one call of each graph, which have so many calls each. In each turn, each graph is
/// launched once. The first turns are warm-ups, which do not count.
///
/// # Errors
///
/// If a launch fails.
pub fn take_turns(
    graphs: &[&Graph],
    calls: u32,
    stream: &Stream,
    warm_ups: usize,
    samples: usize,
) -> Result<Vec<Vec<Duration>>, DeviceError> {
    time_turns(graphs.len(), calls, warm_ups, samples, |contender| {
        stream.synchronize()?;
        stream.time(|| graphs[contender].launch(stream))
    })
}

/// The times of one call of each contender. `time` launches so many calls of a contender and
/// returns the time of all. In each turn, each contender is launched once. The first turns are
/// warm-ups, which do not count.
///
/// # Errors
///
/// The error of `time`.
pub fn time_turns<E>(
    contenders: usize,
    calls: u32,
    warm_ups: usize,
    samples: usize,
    mut time: impl FnMut(usize) -> Result<Duration, E>,
) -> Result<Vec<Vec<Duration>>, E> {
    let mut times = vec![Vec::new(); contenders];
    for turn in 0..warm_ups + samples {
        for (contender, times) in times.iter_mut().enumerate() {
            let time = time(contender)?;
            if turn >= warm_ups {
                times.push(time / calls);
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_unsorted_samples() {
        let times = Times::of([30, 10, 50, 20, 40].map(Duration::from_micros).to_vec());
        let expected = [10, 20, 30, 40, 50].map(Duration::from_micros);
        assert_eq!(
            [times.min, times.lower_quartile, times.median, times.upper_quartile, times.max],
            expected
        );
        let one = Times::of(vec![Duration::from_micros(7)]);
        assert_eq!(
            (one.min, one.median, one.max),
            (one.lower_quartile, one.upper_quartile, one.median)
        );
    }

    #[test]
    fn a_gigabyte_a_second() {
        assert!((gb_per_s(1_000_000, Duration::from_millis(1)) - 1.0).abs() < 1e-12);
    }
}

/// Makes the Rust code in the repository's README a test. This package is not published, so it may
/// read a file outside its folder.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
