//! The memory that was free before a soak, and the check that it is free again afterwards.

use anyhow::ensure;
use warpfold::{Device, DeviceError, device::DeviceKind, testing::Faults};

use crate::{Args, call::KINDS};

/// The memory that was free before a soak.
pub(crate) struct Before {
    free: u64,
    live: u64,
    /// The most allocations that may be left while the device is open.
    most_left: u64,
    view: View,
}

/// Who reports the free bytes after the device was dropped.
enum View {
    /// A second device on the same simulated memory. The simulator's own memory counts only what
    /// the soak allocated. A newly opened simulator would report the free memory of the host, which
    /// other programs change.
    Simulated(Device),
    /// The GPU, opened again.
    Gpu,
    /// Nobody, because other programs may use the GPU during a quick run.
    Nobody,
}

impl Before {
    /// Looks at a device on which nothing was allocated yet.
    pub(crate) fn new(device: &Device, args: &Args) -> anyhow::Result<Self> {
        let view = match device.info().kind {
            DeviceKind::Simulator => View::Simulated(device.clone().with_faults(Faults::none())?),
            DeviceKind::Cuda if args.quick => View::Nobody,
            DeviceKind::Cuda => View::Gpu,
        };
        Ok(Self {
            free: device.free_memory()?,
            live: device.live_allocations(),
            // Each kernel keeps one output for each thread that has called it at the same time as
            // other threads, and two page-locked areas.
            most_left: KINDS.len() as u64 * (args.threads + 2),
            view,
        })
    }

    /// Drops the device, and checks that all memory is free again: first the number of allocations,
    /// then the free bytes. `open` opens the device again.
    pub(crate) fn end(
        self,
        device: Device,
        open: impl Fn() -> Result<Device, DeviceError>,
    ) -> anyhow::Result<()> {
        let Self { free, live, most_left, view } = self;
        let left = device.live_allocations() - live;
        ensure!(
            left <= most_left,
            "{left} allocations are left, and {most_left} at most are kept for later calls"
        );
        drop(device);
        let now = match view {
            View::Simulated(device) => device.free_memory()?,
            View::Gpu => open()?.free_memory()?,
            View::Nobody => return Ok(()),
        };
        ensure!(
            now >= free,
            "{} bytes are missing: {free} were free before, {now} are now",
            free - now
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// What the check says after a soak that did `work`.
    fn after(work: impl FnOnce(&Device)) -> anyhow::Result<()> {
        let device = Device::simulator();
        let args = Args::parse_from(["soak", "--threads", "1", "--quick"]);
        let before = Before::new(&device, &args)?;
        work(&device);
        before.end(device, || panic!("a simulator is not opened again"))
    }

    #[test]
    fn what_was_dropped_is_not_missing() {
        after(|device| drop(device.upload(&[1u64; 1000]).unwrap())).unwrap();
    }

    #[test]
    fn a_leaked_buffer_is_missing() {
        let error = after(|device| std::mem::forget(device.upload(&[1u64; 1000]).unwrap()));
        let error = error.unwrap_err().to_string();
        let missing: u64 = error.split(' ').next().unwrap().parse().unwrap();
        assert!(missing >= 8000 && error.contains(" bytes are missing: "), "{error}");
    }
}
