//! A picture as JSON.

use serde_json::{Value as Json, json};

use super::{Cell, Picture, Row, Step};
use crate::report::json_value;

impl Picture {
    /// The picture as one JSON object: the rows and, for each step, which threads read and write
    /// which cells.
    pub fn to_json(&self) -> Json {
        let problem = &self.plan.problem;
        json!({
            "kernel": self.plan.kernel,
            "variant": problem.variant.facts().label,
            "op": problem.op.name(),
            "type": problem.element.name(),
            "n": problem.n,
            "block": self.plan.block,
            "grid": self.plan.stages.first().map_or(0, |stage| stage.shape.grid.x),
            "launches": self.plan.stages.len(),
            "launches_shown": self.launches_shown,
            "shared_cells": self.shared_cells,
            "shared_cells_shown": self.shared_shown,
            "identity": json_value(self.identity),
            "input": values(&self.input),
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "events": self.events.iter().map(|event| json!({
                "block": event.block,
                "does": event.deed.name(),
                "times": event.times,
                "text": event.describe(),
            })).collect::<Vec<_>>(),
            "other_blocks": self.others.iter().map(|value| json_value(*value)).collect::<Vec<_>>(),
            "result": self.result.as_ref().ok().map(|value| json_value(*value)),
            "fault": self.result.as_ref().err().map(ToString::to_string),
            "reference": json_value(self.reference),
            "agree": self.agrees,
        })
    }
}

fn values(row: &Row) -> Json {
    row.values.iter().map(|value| json_value(*value)).collect()
}

fn cell(cell: &Cell) -> Json {
    json!({"array": cell.array.name(), "cell": cell.index})
}

fn step(step: &Step) -> Json {
    let work = step.work.iter().map(|work| {
        json!({
            "thread": work.thread,
            "reads": work.reads.iter().map(cell).collect::<Vec<_>>(),
            "writes": cell(&work.writes),
        })
    });
    let banks = step.banks.iter().map(|bank| {
        json!({
            "access": bank.kind,
            "warp": bank.warp,
            "wavefronts": bank.wavefronts,
            "bank_conflicts": bank.conflicts,
            "cells_in_conflict": bank.clashing,
        })
    });
    json!({
        "launch": step.launch + 1,
        "step": step.number,
        "from": step.from.name(),
        "to": step.after.array.name(),
        "strides": step.strides,
        "work": work.collect::<Vec<_>>(),
        "threads_beyond": step.beyond,
        "threads_unread": step.unread,
        "values": values(&step.after),
        "shared_requests": banks.collect::<Vec<_>>(),
    })
}
