//! The counters that a simulator collected.

use simt::Counters;

use crate::device::{Device, Seen};

/// Takes the counters that a simulator with [`Instrument::Count`](crate::device::Instrument::Count)
/// collected since it was last asked, summed over all launches. `None` means that it counted no
/// launch.
pub fn counters(device: &Device) -> Option<Counters> {
    let counted =
        device.take_observations().into_iter().filter_map(|observation| match observation.seen {
            Seen::Counted(profile) => Some(profile.counters),
            Seen::Checked(_) => None,
        });
    counted.reduce(|mut sum, launch| {
        sum += launch;
        sum
    })
}
