//! The functions that a device has only for tests: planned failures, the count of live allocations,
//! and instruments.

use std::sync::Arc;

use super::{
    Device, DeviceError, Shared,
    backend::Purpose,
    faults::{Faults, Injector},
};

#[cfg(feature = "simulator")]
use super::{
    instrument::{Instrument, Observation},
    simulator::Simulator,
};

impl Device {
    /// Makes a new device on the same hardware, with a plan of failures ([`Faults`]). For the new
    /// device, buffers and other objects of the old one belong to another device.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn with_faults(self, faults: Faults) -> Result<Self, DeviceError> {
        let Shared { core, fallback_note, .. } = &*self.shared;
        let backend = Arc::clone(&core.backend);
        let own = Arc::clone(&backend).open_stream(Purpose::Work)?;
        let device = Self::new(backend, own, Some(Injector::new(faults)), fallback_note.clone());
        if let Some(interrupt) = core.interrupt.get() {
            device.interrupt_by(interrupt);
        }
        Ok(device)
    }

    /// The number of live allocations. These are the non-empty buffers, on the device or in
    /// page-locked memory, and the workspaces of streams and graphs.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let buffer = device.upload(&[1, 2, 3])?;
    /// let stream = device.stream()?;
    /// assert_eq!(device.live_allocations(), 2);
    /// drop((buffer, stream));
    /// assert_eq!(device.live_allocations(), 0);
    /// # Ok::<(), warpfold::DeviceError>(())
    /// ```
    pub fn live_allocations(&self) -> u64 {
        self.shared.core.live_allocations()
    }
}

#[cfg(feature = "simulator")]
impl Device {
    /// Opens the simulator with an instrument that observes every launch;
    /// [`Device::take_observations`] returns the observations. GPUs have no instruments.
    ///
    /// ```
    /// use warpfold::{
    ///     device::{Arg, Device, DeviceError, LaunchShape},
    ///     testing::{Instrument, Seen},
    /// };
    /// # const FILL: &str =
    /// #     include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/device/fill.ptx"));
    ///
    /// let device = Device::simulator_with(Instrument::Count);
    /// let data = device.alloc::<u32>(256)?;
    /// let kernel = device.load("fill.ptx", FILL)?.kernel("fill")?;
    /// let args = [Arg::Pointer(data.address()), Arg::U32(7)];
    /// // SAFETY: each of the 256 threads writes one of the 256 values of a live buffer.
    /// unsafe { device.launch(&kernel, LaunchShape::linear(1, 256, 0), &args)? };
    /// let observations = device.take_observations();
    /// let Seen::Counted(profile) = &observations[0].seen else { panic!("it counts") };
    /// assert_eq!(profile.counters.global.store.sectors, 256 * 4 / 32);
    /// # Ok::<(), DeviceError>(())
    /// ```
    pub fn simulator_with(instrument: Instrument) -> Self {
        Self::simulated(Simulator::with_instrument(instrument), None)
    }

    /// The observations of all launches since the last call of this function, in the order of the
    /// launches. Without an instrument there are no observations.
    pub fn take_observations(&self) -> Vec<Observation> {
        self.shared.core.backend.take_observations()
    }
}
