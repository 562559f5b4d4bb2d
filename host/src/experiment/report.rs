//! The common parts of the reports of all experiments.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value as Json;

use super::{Times, times::JsonTimes};
use crate::device::DeviceInfo;

/// The outcome of an experiment and its check, written for people and for programs.
pub trait Report {
    /// Writes the report for people. The last line says where it ran, with which shape, how long it
    /// took and how fast that is.
    ///
    /// # Errors
    ///
    /// The writer's errors.
    fn write_text(&self, out: &mut impl Write) -> io::Result<()>;

    /// The report as one JSON object.
    fn to_json(&self) -> Json;

    /// Why the result is wrong, in one sentence; `None` if it is right.
    fn wrong(&self) -> Option<String>;
}

/// The last fields of every report's JSON.
///
/// `time_us` and `gb_per_s` are `null` if nothing was launched. `time_kind` says whose times they
/// are. On the simulator (`"simulation"`) both come from the host's wall clock and say nothing
/// about a GPU.
#[derive(Serialize)]
pub(crate) struct JsonSpeed {
    time_us: Option<JsonTimes>,
    time_kind: &'static str,
    gb_per_s: Option<f64>,
    peak_gb_per_s: Option<f64>,
}

impl JsonSpeed {
    pub(crate) fn new(device: &DeviceInfo, times: Option<Times>, bytes: f64) -> Self {
        Self {
            time_us: times.map(JsonTimes::from),
            time_kind: device.kind.time_kind(),
            gb_per_s: times.map(|times| times.gb_per_s(bytes)),
            peak_gb_per_s: device.peak_bytes_per_second.map(|peak| peak / 1e9),
        }
    }
}

/// A device for tests of reports and plans. It has the figures of an H100; if it is a GPU, its peak
/// is 1000 GB/s.
#[cfg(test)]
pub(crate) fn test_device(kind: crate::device::DeviceKind) -> DeviceInfo {
    DeviceInfo {
        name: "Test device".into(),
        kind,
        ordinal: None,
        compute_capability: (9, 0),
        memory_bytes: 1 << 40,
        multiprocessors: 132,
        max_threads_per_block: 1024,
        shared_bytes_per_block: 48 << 10,
        most_shared_bytes_per_block: 227 << 10,
        l2_bytes: None,
        peak_bytes_per_second: (kind == crate::device::DeviceKind::Cuda).then_some(1e12),
    }
}
