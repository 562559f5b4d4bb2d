//! The outcome of one rung: what was measured, or why it was refused.

use super::counted::Counted;
use crate::{
    device::DeviceError,
    element::Value,
    experiment::{RunError, Times},
    launch::{Plan, PlanError},
    ptx::PtxError,
    reference::Reference,
    variant::Variant,
};

/// A rung and what came of it.
#[derive(Debug)]
pub struct Rung {
    /// Which one.
    pub variant: Variant,
    /// What was measured, or why it cannot run.
    pub outcome: Result<Measured, Refusal>,
}

impl Rung {
    /// What was measured, unless it was refused.
    pub fn measured(&self) -> Option<&Measured> {
        self.outcome.as_ref().ok()
    }
}

/// What came of a rung that ran.
#[derive(Debug)]
pub struct Measured {
    /// What was launched.
    pub plan: Plan,
    /// Whether its shape is what tuning found.
    pub tuned: bool,
    /// The result of the last run.
    pub result: Value,
    /// What it should be.
    pub reference: Reference,
    /// How long it took; `None` on the simulator.
    pub times: Option<Times>,
    /// What it did; `None` if nothing counted.
    pub counted: Option<Counted>,
    /// Why the counting simulator beside a GPU did not count it.
    pub not_counted: Option<Refusal>,
}

impl Measured {
    /// Whether the result is right.
    pub fn agrees(&self) -> bool {
        self.reference.agrees(self.result)
    }

    /// Seconds in the middle of the timed runs.
    pub fn seconds(&self) -> Option<f64> {
        self.times.map(|times| times.median.as_secs_f64())
    }

    /// The bytes of the input, read once, over that time, in 10^9 bytes per second.
    pub fn gb_per_s(&self) -> Option<f64> {
        let problem = &self.plan.problem;
        let bytes = problem.n as f64 * f64::from(problem.element.size());
        self.times.map(|times| times.gb_per_s(bytes))
    }
}

/// Why a rung cannot run here. Others may.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The type, the operation, the shape or the memory.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no PTX for this device.
    #[error(transparent)]
    Ptx(PtxError),
    /// The device cannot load or launch it.
    #[error(transparent)]
    Device(DeviceError),
}

impl Refusal {
    /// The refusal that an error is: it is about this rung on this device, and others may still
    /// run.
    ///
    /// # Errors
    ///
    /// The error, if it is none.
    pub fn of(error: RunError) -> Result<Self, RunError> {
        match error {
            RunError::Ptx(error) => Ok(Self::Ptx(error)),
            RunError::Device(
                error @ (DeviceError::NotSimulated { .. }
                | DeviceError::ModuleRefused { .. }
                | DeviceError::NoKernel { .. }
                | DeviceError::DriverLacks { .. }
                | DeviceError::Shape { .. }
                | DeviceError::OutOfMemory { .. }),
            ) => Ok(Self::Device(error)),
            error => Err(error),
        }
    }
}
