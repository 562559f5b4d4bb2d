//! The times of runs, and the bandwidth that follows from them.

use std::time::Duration;

use serde::Serialize;

use crate::device::{DeviceInfo, DeviceKind};

/// The median and the extremes of the times of the timed runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The time in the middle, or the mean of the two in the middle.
    pub median: Duration,
    /// The shortest time.
    pub min: Duration,
    /// The longest time.
    pub max: Duration,
    /// The number of runs.
    pub reps: usize,
}

impl Times {
    /// The median and the extremes of these times; `None` if there are no times.
    ///
    /// ```
    /// use std::time::Duration;
    /// use warpfold_lab::experiment::Times;
    ///
    /// let times = Times::new(&[5, 1, 3].map(Duration::from_micros)).unwrap();
    /// assert_eq!((times.median, times.reps), (Duration::from_micros(3), 3));
    /// ```
    pub fn new(times: &[Duration]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let reps = sorted.len();
        let median = (sorted[(reps - 1) / 2] + sorted[reps / 2]) / 2;
        Some(Self { median, min, max, reps })
    }

    /// The bandwidth, in 10^9 bytes per second, if this many bytes took the median time.
    pub fn gb_per_s(&self, bytes: f64) -> f64 {
        gb_per_s(bytes, self.median)
    }

    /// The times and the bandwidth for this many bytes, such as `median 20.0 us of 4 runs (10.0 us
    /// to 30.0 us), 20.0 GB/s, 2.0 % of the memory's peak`. On the simulator it says that the time
    /// is that of the host's wall clock.
    pub(crate) fn describe(&self, device: &DeviceInfo, bytes: f64) -> String {
        let gb_per_s = self.gb_per_s(bytes);
        let Self { median, min, max, reps } = *self;
        let time = match reps {
            1 => duration(median),
            _ => format!(
                "median {} of {reps} runs ({} to {})",
                duration(median),
                duration(min),
                duration(max)
            ),
        };
        match device.kind {
            DeviceKind::Cuda => {
                let peak = device.peak_bytes_per_second.map_or_else(String::new, |peak| {
                    format!(", {:.1} % of the memory's peak", gb_per_s * 1e9 / peak * 100.0)
                });
                format!("{time}, {gb_per_s:.1} GB/s{peak}")
            }
            DeviceKind::Simulator => {
                format!(
                    "simulated in {time}, {gb_per_s:.3} GB/s of simulation (wall clock here, not a GPU's speed)"
                )
            }
        }
    }
}

/// The bandwidth, in 10^9 bytes per second, if this many bytes took this time.
pub fn gb_per_s(bytes: f64, time: Duration) -> f64 {
    bytes / time.as_secs_f64() / 1e9
}

/// [`Times`] in microseconds, as they stand in the JSON of reports.
#[derive(Serialize)]
pub(super) struct JsonTimes {
    median: f64,
    min: f64,
    max: f64,
    reps: usize,
}

impl From<Times> for JsonTimes {
    fn from(Times { median, min, max, reps }: Times) -> Self {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        Self { median: micros(median), min: micros(min), max: micros(max), reps }
    }
}

/// A time with three or four digits and a unit.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let decimals = match value {
        v if v < 10.0 => 2,
        v if v < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn times_are_summed_up() {
        assert_eq!(Times::new(&[]), None);
        let odd = Times::new(&[micros(5), micros(1), micros(3)]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max, odd.reps), (micros(3), micros(1), micros(5), 3));
        assert_eq!(Times::new(&[micros(4), micros(2)]).unwrap().median, micros(3));
    }

    #[test]
    fn durations_read_well() {
        for (nanos, text) in [
            (9_310, "9.31 us"),
            (93_100, "93.1 us"),
            (1_500_000, "1.50 ms"),
            (2_000_000_000, "2.00 s"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanos)), text);
        }
    }
}
