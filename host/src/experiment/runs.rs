//! How often a plan runs.

use crate::device::{DeviceInfo, DeviceKind};

/// How often a plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Runs before the first that is timed.
    pub warm_up: u32,
    /// Runs that are timed, at least 1.
    pub timed: u32,
}

impl Runs {
    /// Once, without warming up.
    pub const ONCE: Self = Self { warm_up: 0, timed: 1 };
    /// What a GPU's times are taken from where nothing is said.
    pub const GPU: Self = Self { warm_up: 3, timed: 20 };

    /// `timed` runs, or as many as suit the device; none warms up the simulator.
    pub fn suiting(device: &DeviceInfo, timed: Option<u32>) -> Self {
        let default = match device.kind {
            DeviceKind::Cuda => Self::GPU,
            DeviceKind::Simulator => Self::ONCE,
        };
        Self { timed: timed.unwrap_or(default.timed), ..default }
    }

    /// All runs, the timed ones and those before them.
    pub fn total(self) -> u32 {
        self.warm_up + self.timed
    }
}
