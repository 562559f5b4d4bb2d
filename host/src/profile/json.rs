//! A profile for programs.

use serde_json::{Map, Value as Json, json};
use simt::Counters;

use super::{
    figures::{Level, figures},
    lines::lines,
    listing::sectors_per_request,
    next::Burden,
    profiled::{Launch, Profiled},
};

impl Profiled {
    /// The profile as one JSON object, without lines if `with_lines` is false.
    ///
    /// `counters` are sums over all `launches`. They are nested, as in
    /// `counters.global.load.sectors`, and each group has its `level`: `"hardware"` if the hardware
    /// counts these too, `"PTX"` if they describe the PTX, or `"simulator"` if the simulator's own
    /// order of blocks decides them. `ideal` holds the ideal of each figure that has one, and
    /// `derived` holds the figures that are computed from counters; see [`figures`]. `tuned` says
    /// whether [tuning](crate::tune) chose the shape. `next` says what the next rung takes away.
    /// `lines` is empty if the PTX names none.
    pub fn to_json(&self, with_lines: bool) -> Json {
        let problem = &self.plan.problem;
        let facts = problem.variant.facts();
        let figures = figures(self);
        // The first figures are the counters themselves, and the others are derived.
        let derived = figures[self.counters.entries().len()..].iter();
        let ideals =
            figures.iter().filter_map(|figure| Some((figure.name.clone(), number(figure.ideal?))));
        let mut object = json!({
            "variant": facts.label,
            "variant_name": facts.name,
            "kernel": self.plan.kernel,
            "op": problem.op.name(),
            "type": problem.element.name(),
            "n": problem.n,
            "block": self.plan.block,
            "finish": self.plan.finish.name(),
            "input": self.input,
            "device": "simulator",
            "gpu": self.target.gpu.name,
            "tuned": self.tuned.is_some(),
            "counters": nested(&self.counters, self.polls()),
            "derived": derived
                .map(|figure| (figure.name.clone(), json!({ "level": figure.level.name(), "value": number(figure.actual) })))
                .collect::<Map<_, _>>(),
            "ideal": ideals.collect::<Map<_, _>>(),
            "occupancy": self.occupancy_json(),
            "waste": self.waste_json(),
            "next": self.next_json(),
            "launches": self.launches.iter().map(|of| launch(of, self.polls())).collect::<Vec<_>>(),
        });
        if with_lines {
            object["lines"] = self.lines_json();
        }
        object
    }

    fn occupancy_json(&self) -> Json {
        let occupancy = self.occupancy();
        let registers = &self.target.registers;
        json!({
            "gpu": self.target.gpu.name,
            "blocks_per_sm": occupancy.blocks_per_sm,
            "warps_per_sm": occupancy.warps_per_sm,
            "percent": occupancy.percent,
            "limited_by": occupancy.limited_by.to_string(),
            "registers": registers.count(),
            "registers_from": registers.origin(),
        })
    }

    fn waste_json(&self) -> Json {
        let wastes = self.wastes();
        // Shares of a cost that holds polls would be a verdict.
        let judged = if self.polls() { &[] } else { &*wastes.wastes };
        let kinds: Vec<_> = judged
            .iter()
            .map(|waste| json!({ "kind": waste.kind.name(), "issue_slots": waste.slots, "share": waste.share }))
            .collect();
        json!({
            "level": Level::of("warp_instructions", self.polls()).name(),
            "sentence": self.verdict(),
            "cost_in_issue_slots": wastes.cost,
            "kinds": kinds,
            "integer_divisions": wastes.divisions,
        })
    }

    fn next_json(&self) -> Json {
        let burden = Burden::of(self.plan.problem.variant);
        json!({
            "sentence": self.next_sentence(),
            "takes_away": burden.map(Burden::name),
            "amount": burden.map(|burden| burden.amount(self)),
        })
    }

    fn lines_json(&self) -> Json {
        let whole = self.counters.warp_instructions.max(1) as f64;
        lines(&self.instructions)
            .into_iter()
            .map(|line| {
                json!({
                    "file": line.file,
                    "line": line.line,
                    "share_of_instructions": line.counters.warp_instructions as f64 / whole,
                    "sectors_per_request": sectors_per_request(&line.counters),
                    "counters": nested(&line.counters, self.polls()),
                })
            })
            .collect()
    }
}

fn launch(launch: &Launch, polls: bool) -> Json {
    json!({
        "grid": launch.shape.grid.x,
        "block": launch.shape.block.x,
        "shared_bytes": launch.shape.shared_bytes,
        "counters": nested(&launch.profile.counters, polls),
    })
}

/// All counters, nested by the parts of their names, with the level of each group.
fn nested(counters: &Counters, polls: bool) -> Json {
    let mut nested = json!({ "level": Level::of("warp_instructions", polls).name() });
    for (name, value) in counters.entries() {
        let mut at = &mut nested;
        if let Some((space, _)) = name.split_once('.') {
            // The loads decide the level of the whole group, because they come first.
            if at[space]["level"].is_null() {
                at[space]["level"] = Level::of(&name, polls).name().into();
            }
        }
        for part in name.split('.') {
            at = &mut at[part];
        }
        *at = value.into();
    }
    nested
}

/// A whole number as an integer.
fn number(value: f64) -> Json {
    if value.fract() == 0.0 { (value as u64).into() } else { value.into() }
}
