//! The kernels that a device has loaded, and the loop that repeats an experiment.

use std::{collections::HashMap, time::Duration};

use simt::occupancy::Gpu;

use super::Runs;
use crate::{
    device::{Device, DeviceError, DeviceKind, Kernel, Module},
    ptx::{PtxError, PtxLibrary},
};

/// One plan with its memory on a device, which can run again and again.
pub trait Experiment {
    /// The output that a run leaves.
    type Output;

    /// Launches the whole plan once. The time is that of the launches alone, without copies.
    ///
    /// # Errors
    ///
    /// The device's errors.
    fn run(&mut self) -> Result<Duration, DeviceError>;

    /// Copies the output of the last run to the host.
    ///
    /// # Errors
    ///
    /// The device's errors.
    fn output(&self) -> Result<Self::Output, DeviceError>;
}

/// The result and the times of an experiment.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The output of the last run.
    pub result: T,
    /// The time of each timed run: all launches of the plan from start to end, without copies and
    /// without the work of the host. Empty if there was nothing to launch.
    pub times: Vec<Duration>,
}

/// Why a plan did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no PTX for the kernel.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refused the work, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device was told to stop before a timed run had ended; see [`Device::interrupt_by`].
    #[error("no run was finished")]
    Interrupted,
    /// The input is not the one that was planned for.
    #[error("the plan is for {planned}, not for {found}")]
    Input {
        /// The input that the plan is for, such as `4 i32 elements`.
        planned: String,
        /// The input that was given.
        found: String,
    },
}

/// A device and a library of kernels. A module is loaded when its first kernel is asked for, and is
/// kept from then on.
#[derive(Debug)]
pub struct Runner<'a> {
    device: &'a Device,
    library: &'a PtxLibrary,
    modules: HashMap<String, Module>,
    planned_for: Option<Gpu>,
}

impl<'a> Runner<'a> {
    /// Makes a runner that has loaded no kernel yet.
    pub fn new(device: &'a Device, library: &'a PtxLibrary) -> Self {
        Self { device, library, modules: HashMap::new(), planned_for: None }
    }

    /// Plans launches for this GPU, although they run on another device, such as the simulator. If
    /// it is `None`, launches are planned for the device itself.
    #[must_use]
    pub fn planning_for(self, gpu: Option<Gpu>) -> Self {
        Self { planned_for: gpu, ..self }
    }

    /// The GPU for which launches are planned, if it is not the device itself.
    pub fn planned_for(&self) -> Option<Gpu> {
        self.planned_for
    }

    /// The device on which the runner runs its plans.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// The library that the kernels are from.
    pub fn library(&self) -> &'a PtxLibrary {
        self.library
    }

    /// A kernel, ready to launch.
    ///
    /// # Errors
    ///
    /// An error if the library has no such kernel for this device, or if the device refuses the
    /// module.
    pub fn kernel<E: From<PtxError> + From<DeviceError>>(
        &mut self,
        name: &str,
    ) -> Result<Kernel, E> {
        let ptx = self.library.find(name, self.device.info().compute_capability)?;
        if !self.modules.contains_key(&ptx.file) {
            let module = self.device.load(&ptx.file, &ptx.text)?;
            self.modules.insert(ptx.file.clone(), module);
        }
        Ok(self.modules[&ptx.file].kernel(name)?)
    }

    /// Repeats an experiment. `before_run` is called before each run with its number, from 0.
    ///
    /// If the device is [told to stop](Device::interrupt_by), no more runs start, and the outcome
    /// is that of the finished runs.
    ///
    /// # Errors
    ///
    /// The device's errors, and [`RunError::Interrupted`].
    pub fn repeat<E: Experiment>(
        &self,
        mut experiment: E,
        runs: Runs,
        mut before_run: impl FnMut(u32),
    ) -> Result<Outcome<E::Output>, RunError> {
        // On the simulator a launch can be stopped in the middle, and then it leaves no result. So
        // there the result of each run is kept.
        let keeps_each = self.device.info().kind == DeviceKind::Simulator;
        let mut kept = None;
        let mut times = Vec::with_capacity(runs.timed as usize);
        for run in 0..runs.total() {
            if self.device.is_interrupted() {
                break;
            }
            before_run(run);
            let time = match experiment.run() {
                Err(DeviceError::Interrupted { .. }) => break,
                time => time?,
            };
            if run >= runs.warm_up {
                times.push(time);
            }
            if keeps_each {
                kept = Some(experiment.output()?);
            }
        }
        if times.is_empty() {
            return Err(RunError::Interrupted);
        }
        let result = match kept {
            Some(result) => result,
            None => experiment.output()?,
        };
        Ok(Outcome { result, times })
    }
}
