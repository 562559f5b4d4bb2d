//! Instruments, by which the simulator observes launches.

use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use simt::{FaultKind, LaunchConfig, LaunchError, Memory};

use super::LaunchShape;

/// The kind of observation that the simulator makes of each launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// Counts instructions and memory accesses.
    Count,
    /// Looks for data races, reads of uninitialized memory, and barriers or warp-level instructions
    /// that some threads do not reach.
    Check,
}

/// The observation of one launch by an instrument.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The name of the kernel.
    pub kernel: String,
    /// The shape of the launch.
    pub shape: LaunchShape,
    /// The result of the instrument.
    pub seen: Seen,
}

/// The result of each kind of instrument.
#[derive(Clone, Debug)]
pub enum Seen {
    /// The counters of [`Instrument::Count`].
    Counted(Box<simt::Profile>),
    /// The findings of [`Instrument::Check`].
    Checked(simt::Checked),
}

/// An instrument and its observations so far.
#[derive(Debug)]
pub(super) struct Watch {
    instrument: Instrument,
    observations: Mutex<Vec<Observation>>,
}

impl Watch {
    pub(super) fn new(instrument: Instrument) -> Self {
        Self { instrument, observations: Mutex::default() }
    }

    /// The observations since the last call.
    pub(super) fn take(&self) -> Vec<Observation> {
        mem::take(&mut *self.observations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a kernel to its end under the instrument.
    pub(super) fn launch(
        &self,
        (name, shape): (&str, LaunchShape),
        kernel: &simt::Kernel,
        config: &LaunchConfig,
        args: &[simt::Arg],
        memory: &Memory,
    ) -> Result<(), LaunchError> {
        let (seen, fault) = match self.instrument {
            Instrument::Count => {
                (Seen::Counted(simt::count(kernel, config, args, memory)?.into()), None)
            }
            Instrument::Check => {
                let mut checked = simt::check(kernel, config, args, memory)?;
                let fault = checked.fault.clone();
                // An interruption comes from the user and is no fault of the kernel, so it is not
                // reported as a finding.
                checked.fault.take_if(|fault| matches!(fault.kind, FaultKind::Interrupted { .. }));
                (Seen::Checked(checked), fault)
            }
        };
        let observation = Observation { kernel: name.to_owned(), shape, seen };
        self.observations.lock().unwrap_or_else(PoisonError::into_inner).push(observation);
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }
}
