//! A reduction on the simulator, with what was observed of its launches.

use pyo3::prelude::*;
use warpfold::testing::{Instrument, Observation, Seen};

use crate::device;

use super::steps::Prepared;

/// What was observed of a launch: the kernel, the grid, the block, the bytes of shared memory, the
/// counters by their names, and the findings. A finding is its severity, its class, and its text.
type Launch = (
    String,
    (u32, u32, u32),
    (u32, u32, u32),
    u32,
    Vec<(String, u64)>,
    Vec<(&'static str, String, String)>,
);

fn launch(observation: Observation) -> Launch {
    let Observation { kernel, shape, seen } = observation;
    let (counters, reports) = match seen {
        Seen::Counted(profile) => (profile.counters.entries(), profile.warnings),
        Seen::Checked(checked) => (Vec::new(), checked.reports),
    };
    let reports = reports
        .iter()
        .map(|report| (report.severity.name(), report.kind.to_string(), report.to_string()))
        .collect();
    let [grid, block] = [shape.grid, shape.block].map(|size| (size.x, size.y, size.z));
    (kernel, grid, block, shape.shared_bytes, counters, reports)
}

/// Reduces an array of the host as `reduce` does, on the simulator. The launches are counted, or
/// they are checked.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the function in Python")]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    op: usize,
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    correction: f64,
    method: Option<&str>,
    is_checked: bool,
) -> PyResult<(Bound<'py, PyAny>, Vec<Launch>)> {
    let prepared = Prepared::new(op, x, axis, dtype, keepdims, correction, method)?;
    let instrument = if is_checked { Instrument::Check } else { Instrument::Count };
    let (result, observations) =
        device::watch(py, instrument, |target| prepared.on_simulator(py, x, target));
    Ok((result?, observations.into_iter().map(launch).collect()))
}
