//! The counters beside their ideals.

use std::fmt;

use simt::{Banks, Counters, InstructionCounters, Traffic};

use super::{
    measures::{SECTOR, instructions_per_32_elements, is_predicated, sectors},
    polls::holds_polls,
    profiled::Profiled,
};
use crate::output::{Grid, grouped};

/// How near to the hardware a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The hardware counts this figure too.
    Hardware,
    /// The simulator's own order of blocks decides this figure; see
    /// [`Variant::polls`](crate::variant::Variant::polls).
    Simulator,
    /// The figure describes the PTX as it is written. ptxas may unroll, predicate, merge or remove
    /// what this counts.
    Ptx,
}

impl Level {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Simulator => "simulator",
            Self::Ptx => "PTX",
        }
    }

    /// The level of a counter. The hardware counts accesses to global and shared memory as the
    /// simulator does, unless the kernel `polls`.
    pub(super) fn of(name: &str, polls: bool) -> Self {
        if polls && holds_polls(name) {
            return Self::Simulator;
        }
        if name.starts_with("global.") || name.starts_with("shared.") {
            Self::Hardware
        } else {
            Self::Ptx
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hardware => "hardware",
            Self::Simulator => "simulator",
            Self::Ptx => "PTX level",
        })
    }
}

/// A counter, or a figure that is computed from counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, such as `global.load.sectors`.
    pub name: String,
    /// How near to the hardware it is.
    pub level: Level,
    /// The value.
    pub actual: f64,
    /// The value if nothing were wasted, where that can be said; see [`figures`].
    pub ideal: Option<f64>,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Count,
    /// A share, from 0 to 1.
    Percent,
    Ratio,
}

/// The counters of a reduction, and the figures that are computed from them. Some have an ideal:
///
/// - `global.*.sectors`: as many sectors as the bytes that the lanes asked for fill, and at least
///   one for each request;
/// - `bytes_moved`, the bytes of all sectors: the input read once, and one result written, whatever
///   the kernel asked for;
/// - `shared.*.wavefronts`: as many wavefronts as the same requests take without bank conflicts;
///   `shared.*.bank_conflicts`: 0;
/// - `divergent_branches`: 0;
/// - `active_lane_efficiency`, the share of lanes that took part in the instructions: 1.
///   Instructions with a predicate are left out, because a predicate may switch off all lanes;
/// - `warp_instructions_per_32_elements`: 2, which are a load and an operation.
pub fn figures(profiled: &Profiled) -> Vec<Figure> {
    let Profiled { plan, counters, instructions, .. } = profiled;
    let polls = profiled.polls();
    let mut figures: Vec<Figure> = counters
        .entries()
        .into_iter()
        .map(|(name, value)| {
            let level = Level::of(&name, polls);
            let ideal = ideal(&name, counters).map(|ideal| ideal as f64);
            Figure { name, level, actual: value as f64, ideal, unit: Unit::Count }
        })
        .collect();
    let mut derived = |name: &str, level, unit, actual, ideal| {
        let level = if polls && holds_polls(name) { Level::Simulator } else { level };
        figures.push(Figure { name: name.to_owned(), level, actual, ideal: Some(ideal), unit });
    };
    let element = u64::from(plan.problem.element.size());
    let bytes = (plan.problem.n + 1) * element;
    derived(
        "bytes_moved",
        Level::Hardware,
        Unit::Count,
        (SECTOR * sectors(counters)) as f64,
        bytes as f64,
    );
    derived(
        "active_lane_efficiency",
        Level::Ptx,
        Unit::Percent,
        active_lane_efficiency(instructions),
        1.0,
    );
    let instructions = instructions_per_32_elements(plan, counters);
    derived("warp_instructions_per_32_elements", Level::Ptx, Unit::Ratio, instructions, 2.0);
    figures
}

fn active_lane_efficiency(instructions: &[InstructionCounters]) -> f64 {
    let mut counters = Counters::default();
    let plain = instructions.iter().filter(|instruction| !is_predicated(&instruction.text));
    plain.for_each(|instruction| counters += instruction.counters);
    counters.lane_efficiency().unwrap_or(1.0)
}

fn ideal(name: &str, counters: &Counters) -> Option<u64> {
    let filled = |traffic: Traffic| Some(traffic.bytes.div_ceil(SECTOR).max(traffic.requests));
    let smooth = |banks: Banks| Some(banks.wavefronts - banks.bank_conflicts);
    match name {
        "divergent_branches" => Some(0),
        "global.load.sectors" => filled(counters.global.load),
        "global.store.sectors" => filled(counters.global.store),
        "global.atomic.sectors" => filled(counters.global.atomic),
        "global.reduction.sectors" => filled(counters.global.reduction),
        "shared.load.wavefronts" => smooth(counters.shared.load),
        "shared.store.wavefronts" => smooth(counters.shared.store),
        "shared.atomic.wavefronts" => smooth(counters.shared.atomic),
        _ => name.ends_with(".bank_conflicts").then_some(0),
    }
}

impl Figure {
    /// A value of this figure as a table shows it.
    pub(super) fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Count => grouped(value as u64),
            Unit::Percent => format!("{:.1} %", 100.0 * value),
            Unit::Ratio => format!("{value:.1}"),
        }
    }

    /// Whether the figure is a whole number of things.
    pub(super) fn is_count(&self) -> bool {
        self.unit == Unit::Count
    }

    /// Whether the figure is shown to people. Kinds of access that the kernel does not make are
    /// left out.
    pub(super) fn is_used(&self, figures: &[Figure]) -> bool {
        let has_requests = |kind: &str| {
            let requests = format!("{kind}.requests");
            figures.iter().any(|figure| figure.name == requests && figure.actual != 0.0)
        };
        match self.name.rsplit_once('.') {
            Some((kind, _)) => has_requests(kind),
            None => self.actual != 0.0 || self.ideal.is_some(),
        }
    }
}

/// An empty grid with two columns of text, and columns of numbers after them.
pub(super) fn empty_grid(head: Vec<String>) -> Grid {
    let numeric = (0..head.len()).map(|column| column >= 2).collect();
    Grid { head, rows: Vec::new(), numeric }
}

pub(super) fn grid(figures: &[Figure]) -> Grid {
    let mut grid = empty_grid(["counter", "level", "actual", "ideal"].map(str::to_owned).into());
    for figure in figures.iter().filter(|figure| figure.is_used(figures)) {
        let ideal = figure.ideal.map(|ideal| figure.show(ideal)).unwrap_or_default();
        grid.rows.push(vec![
            figure.name.clone(),
            figure.level.to_string(),
            figure.show(figure.actual),
            ideal,
        ]);
    }
    grid
}
