//! Simulators that observe the launches of a call.

use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::{prelude::*, sync::MutexExt as _};
use warpfold::{
    Device,
    testing::{Instrument, Observation},
};

use super::Target;

/// A simulator, and whether a call uses it now.
struct Watched {
    target: Target,
    used: Mutex<()>,
}

static COUNTING: OnceLock<Watched> = OnceLock::new();
static CHECKING: OnceLock<Watched> = OnceLock::new();

/// Lets `work` use a simulator with this instrument, and returns what was observed of its launches.
/// Another call waits meanwhile, because its launches would be among them.
pub(crate) fn watch<R>(
    py: Python<'_>,
    instrument: Instrument,
    work: impl FnOnce(&'static Target) -> R,
) -> (R, Vec<Observation>) {
    let cell = match instrument {
        Instrument::Count => &COUNTING,
        Instrument::Check => &CHECKING,
    };
    let watched = cell.get_or_init(|| Watched {
        target: Target::new(Device::simulator_with(instrument)),
        used: Mutex::new(()),
    });
    // The interpreter must not be held meanwhile, because the other call may need it to end.
    let used = watched.used.lock_py_attached(py);
    let _used = used.unwrap_or_else(PoisonError::into_inner);
    // What a call left behind that failed is none of this one's.
    drop(watched.target.device.take_observations());
    let result = work(&watched.target);
    (result, watched.target.device.take_observations())
}
