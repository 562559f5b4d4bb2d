//! What a reduction did, counted on the simulator.

use std::io::{self, Write};

use serde_json::{Map, Value as Json};
use simt::{Counters, Profile};

use crate::{
    device::{Observation, Seen},
    launch::Plan,
};

/// A reduction whose launches were counted.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// What was launched.
    pub plan: Plan,
    /// What each launch did.
    pub launches: Vec<Profile>,
    /// All launches together.
    pub counters: Counters,
}

impl Profiled {
    /// Puts together what was seen of a plan; `None` if nothing was counted.
    pub fn new(plan: Plan, observations: Vec<Observation>) -> Option<Self> {
        let launches: Vec<Profile> = observations
            .into_iter()
            .map(|observation| {
                let Seen::Counted(profile) = observation.seen;
                profile
            })
            .collect();
        let mut counters = launches.first()?.counters;
        launches[1..].iter().for_each(|launch| counters += launch.counters);
        Some(Self { plan, launches, counters })
    }

    /// Writes it for people.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "kernel     {}", self.plan.kernel)?;
        for (name, value) in self.counters.entries() {
            writeln!(out, "{name:<32} {value:>14}")?;
        }
        Ok(())
    }

    /// As one JSON object.
    pub fn to_json(&self) -> Json {
        let mut object = Map::new();
        object.insert("kernel".into(), self.plan.kernel.clone().into());
        for (name, value) in self.counters.entries() {
            object.insert(name, value.into());
        }
        object.into()
    }
}
