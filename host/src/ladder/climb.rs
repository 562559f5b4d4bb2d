//! A climb: all rungs at one size, in the order of the ladder.

use simt::occupancy::Gpu;

use super::{
    bench::{Bench, LadderError, References},
    rung::{Measured, Refusal, Rung},
    work::{Contender, Work},
};
use crate::{
    device::DeviceInfo,
    experiment::{RunError, Runs},
    launch::Plan,
};

/// The steps of [`climb`], which it reports while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The input is being prepared.
    Prepares(&'a Work),
    /// The measurement of a rung begins.
    Begins(&'a Plan),
    /// A rung was measured or refused.
    Ends,
}

/// The outcomes of the rungs at one size.
#[derive(Debug)]
pub struct Climb {
    /// The device that measured.
    pub device: DeviceInfo,
    /// The GPU for which the launches were planned, if it is not the device itself.
    pub planned_for: Option<Gpu>,
    /// The work that each rung did.
    pub work: Work,
    /// The number of runs of each rung.
    pub runs: Runs,
    /// The outcome of each rung, in the order in which they were asked for.
    pub rungs: Vec<Rung>,
    /// The number of rungs that were asked for. It is greater than the number of outcomes if the
    /// device was interrupted.
    pub asked: usize,
}

impl Climb {
    /// The number of rungs that are complete: those that made all their runs, and those that were
    /// refused.
    pub fn whole(&self) -> usize {
        let is_whole = |rung: &&Rung| {
            let times = rung.measured().and_then(|measured| measured.times);
            times.is_none_or(|times| times.reps >= self.runs.timed as usize)
        };
        self.rungs.iter().filter(is_whole).count()
    }

    /// Whether less was measured than was asked for.
    pub fn is_cut_short(&self) -> bool {
        self.whole() < self.asked
    }

    /// The measurements of the rungs that ran.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.rungs.iter().filter_map(Rung::measured)
    }

    /// The first measurement with a wrong result.
    pub fn wrong(&self) -> Option<&Measured> {
        self.measured().find(|measured| !measured.agrees())
    }
}

/// Measures each contender at the same work, one after the other, and checks each against the CPU.
/// If the device, the type or the operation does not allow a contender, it is refused and the
/// others go on. If the device is [interrupted](crate::device::Device::interrupt_by), the climb
/// ends with the measurements so far.
///
/// # Errors
///
/// See [`LadderError`].
pub fn climb(
    bench: &mut Bench<'_>,
    work: Work,
    contenders: &[Contender],
    runs: Runs,
    on: &mut dyn FnMut(Event<'_>),
) -> Result<Climb, LadderError> {
    let plans = bench.plan_all(&work, contenders)?;
    on(Event::Prepares(&work));
    let values = work.values()?;
    let mut references = References::new(&values, work.op);
    let mut climb = Climb {
        device: bench.device().info().clone(),
        planned_for: bench.planned_for(),
        work,
        runs,
        rungs: Vec::new(),
        asked: contenders.len(),
    };
    for (contender, plan) in contenders.iter().zip(plans) {
        if bench.device().is_interrupted() {
            break;
        }
        let variant = contender.variant;
        let outcome = match plan {
            Err(refusal) => Err(refusal),
            Ok(plan) => {
                on(Event::Begins(&plan));
                match bench.run(contender, plan, &mut references, runs) {
                    Ok(measured) => Ok(measured),
                    Err(RunError::Interrupted) => break,
                    Err(error) => Err(Refusal::of(error)?),
                }
            }
        };
        climb.rungs.push(Rung { variant, outcome });
        on(Event::Ends);
    }
    // Some reasons are known only to the device, and only when the rung runs. So even here every
    // rung may have been refused.
    if !climb.is_cut_short() && climb.measured().next().is_none() && !climb.rungs.is_empty() {
        let Rung { outcome, .. } = climb.rungs.swap_remove(0);
        return outcome.map_or_else(
            |refusal| Err(LadderError::Refused(refusal)),
            |_| unreachable!("none was measured"),
        );
    }
    Ok(climb)
}
