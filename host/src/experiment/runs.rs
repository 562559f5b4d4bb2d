//! The number of runs of a plan.

use crate::device::{DeviceInfo, DeviceKind};

/// The number of runs of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The number of runs before the first timed run.
    pub warm_up: u32,
    /// The number of timed runs, at least 1.
    pub timed: u32,
}

impl Runs {
    /// One timed run and no other.
    pub const ONCE: Self = Self { warm_up: 0, timed: 1 };
    /// The default for a GPU.
    pub const GPU: Self = Self { warm_up: 3, timed: 20 };

    /// `timed` runs, or the device's default if that is `None`. The simulator needs no run to warm
    /// up.
    pub fn suiting(device: &DeviceInfo, timed: Option<u32>) -> Self {
        let default = match device.kind {
            DeviceKind::Cuda => Self::GPU,
            DeviceKind::Simulator => Self::ONCE,
        };
        Self { timed: timed.unwrap_or(default.timed), ..default }
    }

    /// The number of all runs, timed or not.
    pub fn total(self) -> u32 {
        self.warm_up + self.timed
    }
}
