//! The outcome of one rung: its measurement, or why it was refused.

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

/// A rung and its outcome.
#[derive(Debug)]
pub struct Rung {
    /// The rung.
    pub variant: Variant,
    /// The measurement, or why the rung cannot run.
    pub outcome: Result<Measured, Refusal>,
}

impl Rung {
    /// The measurement, unless the rung was refused.
    pub fn measured(&self) -> Option<&Measured> {
        self.outcome.as_ref().ok()
    }
}

/// The measurement of a rung that ran.
#[derive(Debug)]
pub struct Measured {
    /// The launches of the rung.
    pub plan: Plan,
    /// If tuning chose the shape, the number of elements that it was found with.
    pub tuned: Option<u64>,
    /// The result of the last run.
    pub result: Value,
    /// The value that the result should have.
    pub reference: Reference,
    /// The times of the runs; `None` on the simulator.
    pub times: Option<Times>,
    /// The counters of the rung; `None` if nothing counted.
    pub counted: Option<Counted>,
    /// Why the counting simulator beside a GPU did not count it.
    pub not_counted: Option<Refusal>,
}

impl Measured {
    /// Whether the result is right.
    pub fn agrees(&self) -> bool {
        self.reference.agrees(self.result)
    }

    /// Whether the counters hold polls, whose number is the simulator's own.
    pub fn polls(&self) -> bool {
        self.plan.problem.variant.polls()
    }

    /// The counters, if they can be compared with those of other rungs and with an ideal.
    pub fn comparable(&self) -> Option<&Counted> {
        self.counted.as_ref().filter(|_| !self.polls())
    }

    /// The median time of the runs, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        self.times.map(|times| times.median.as_secs_f64())
    }

    /// The bandwidth, in 10^9 bytes per second, if the bytes of the input, read once, took the
    /// median time.
    pub fn gb_per_s(&self) -> Option<f64> {
        let problem = &self.plan.problem;
        let bytes = problem.n as f64 * f64::from(problem.element.size());
        self.times.map(|times| times.gb_per_s(bytes))
    }
}

/// Why a rung cannot run here. Other rungs may still run.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The planner refuses the type, the operation, the shape or the memory.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no PTX for this device.
    #[error(transparent)]
    Ptx(PtxError),
    /// The device cannot load or launch the kernel.
    #[error(transparent)]
    Device(DeviceError),
}

impl Refusal {
    /// Turns an error into a refusal if it is about this rung on this device, so that other rungs
    /// may still run.
    ///
    /// # Errors
    ///
    /// The error itself, if it is of another kind.
    pub fn of(error: RunError) -> Result<Self, RunError> {
        match error {
            RunError::Ptx(error) => Ok(Self::Ptx(error)),
            RunError::Device(
                error @ (DeviceError::NotSimulated { .. }
                | DeviceError::KernelNotSimulated { .. }
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
