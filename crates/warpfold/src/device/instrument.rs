//! What the simulator sees of a launch beside running it.

use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use simt::{FaultKind, LaunchConfig, LaunchError, Memory};

use super::LaunchShape;

/// What the simulator does with each launch beside running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// Counts what the kernel does.
    Count,
    /// Watches for data races, reads of what nobody wrote, and barriers and warp-level instructions that
    /// threads miss.
    Check,
}

/// What an instrument saw of one launch.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Name of the kernel.
    pub kernel: String,
    /// The launch.
    pub shape: LaunchShape,
    /// What was seen.
    pub seen: Seen,
}

/// What was seen, by instrument.
#[derive(Clone, Debug)]
pub enum Seen {
    /// By [`Instrument::Count`].
    Counted(Box<simt::Profile>),
    /// By [`Instrument::Check`].
    Checked(simt::Checked),
}

/// An instrument, and what it saw so far.
#[derive(Debug)]
pub(super) struct Watch {
    instrument: Instrument,
    observations: Mutex<Vec<Observation>>,
}

impl Watch {
    pub(super) fn new(instrument: Instrument) -> Self {
        Self { instrument, observations: Mutex::default() }
    }

    /// What was seen since the last call.
    pub(super) fn take(&self) -> Vec<Observation> {
        mem::take(&mut *self.observations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a kernel to its end, and watches it.
    pub(super) fn launch(
        &self,
        (name, shape): (&str, LaunchShape),
        kernel: &simt::Kernel,
        config: &LaunchConfig,
        args: &[simt::Arg],
        memory: &Memory,
    ) -> Result<(), LaunchError> {
        let (seen, fault) = match self.instrument {
            Instrument::Count => (Seen::Counted(simt::count(kernel, config, args, memory)?.into()), None),
            Instrument::Check => {
                let mut checked = simt::check(kernel, config, args, memory)?;
                let fault = checked.fault.clone();
                // That the user stopped the kernel says nothing about the kernel.
                checked.fault.take_if(|fault| matches!(fault.kind, FaultKind::Interrupted { .. }));
                (Seen::Checked(checked), fault)
            }
        };
        let observation = Observation { kernel: name.to_owned(), shape, seen };
        self.observations.lock().unwrap_or_else(PoisonError::into_inner).push(observation);
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }
}
