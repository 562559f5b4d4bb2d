//! All rungs at one size, from the ground up.

use super::{
    bench::{Bench, LadderError, References},
    rung::{Measured, Refusal, Rung},
    work::{Contender, Work},
};
use crate::{
    device::DeviceInfo,
    experiment::{RunError, Runs},
    input::generate,
    launch::Plan,
};

/// What [`climb`] tells while it climbs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The input is prepared.
    Prepares(&'a Work),
    /// A rung is measured.
    Begins(&'a Plan),
    /// A rung is done, or refused.
    Ends,
}

/// One size's rungs, from the ground up.
#[derive(Debug)]
pub struct Climb {
    /// Where.
    pub device: DeviceInfo,
    /// What they did.
    pub work: Work,
    /// How often.
    pub runs: Runs,
    /// What came of each, in the order that was asked for.
    pub rungs: Vec<Rung>,
    /// How many were asked for: more than there are if the device was interrupted.
    pub asked: usize,
}

impl Climb {
    /// Rungs with all the runs that were asked for, and those that were refused.
    pub fn whole(&self) -> usize {
        let is_whole = |rung: &&Rung| {
            let times = rung.measured().and_then(|measured| measured.times);
            times.is_none_or(|times| times.reps >= self.runs.timed as usize)
        };
        self.rungs.iter().filter(is_whole).count()
    }

    /// Whether there is less than was asked for.
    pub fn is_cut_short(&self) -> bool {
        self.whole() < self.asked
    }

    /// The rungs that ran.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.rungs.iter().filter_map(Rung::measured)
    }

    /// The first wrong result.
    pub fn wrong(&self) -> Option<&Measured> {
        self.measured().find(|measured| !measured.agrees())
    }
}

/// Measures each contender at the same work, one after the other, each checked against the CPU.
/// Those that the device, the type or the operation does not allow are refused; the others go on. A
/// device that is [interrupted](crate::device::Device::interrupt_by) ends it with what was measured
/// so far.
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
    let values = generate(work.element, work.op, work.n, work.seed)?;
    let mut references = References::new(&values, work.op);
    let mut climb = Climb {
        device: bench.device().info().clone(),
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
    // Only a device knows some reasons, and only when it is asked.
    if !climb.is_cut_short() && climb.measured().next().is_none() && !climb.rungs.is_empty() {
        let Rung { outcome, .. } = climb.rungs.swap_remove(0);
        return outcome.map_or_else(
            |refusal| Err(LadderError::Refused(refusal)),
            |_| unreachable!("none was measured"),
        );
    }
    Ok(climb)
}
