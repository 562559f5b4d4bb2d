//! The numbers of a run as a table and as JSON.

use std::time::Duration;

use bench::{Times, gb_per_s, to_us};
use serde_json::{Map, Value as Json, json};
use warpfold_lab::output::{Cell, Column, Table};

use crate::{
    cases::Case,
    measure::{Samples, Who},
};

/// The samples of a case, one entry for each round.
pub(crate) type Rounds = Vec<Samples>;

/// The times of a contender in all rounds; `None` if it did not take part.
fn times(rounds: &[Samples], who: Who) -> Option<Times> {
    let of_rounds = rounds.iter().flatten().filter(|(contender, _)| *contender == who);
    let all: Vec<Duration> = of_rounds.flat_map(|(_, samples)| samples).copied().collect();
    (!all.is_empty()).then(|| Times::of(all))
}

/// The table of all cases.
pub(crate) fn table(measured: &[(&Case, Rounds)]) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("ours_us", "ours").in_unit("us"),
        Column::new("gb_per_s", "input").in_unit("GB/s"),
        Column::new("twin_us", "twin").in_unit("us"),
        Column::new("twin_per_ours", "twin/ours"),
        Column::new("cub_us", "cub").in_unit("us"),
        Column::new("cub_per_ours", "cub/ours"),
    ];
    let mut table = Table::new("rows", "Median times of one call", columns);
    let number = |value: Option<f64>, decimals| {
        value.map_or(Cell::Missing, |value| Cell::Number { value, decimals })
    };
    for (case, rounds) in measured {
        let [ours, twin, cub] = Who::ALL.map(|who| times(rounds, who).map(|times| times.median));
        let bandwidth = ours.map(|ours| gb_per_s(case.bytes(), ours));
        let ratio = |peer: Option<Duration>| Some(to_us(peer?) / to_us(ours?));
        table.push([
            Cell::Text(case.name.clone()),
            number(ours.map(to_us), 2),
            number(bandwidth, 0),
            number(twin.map(to_us), 2),
            number(ratio(twin), 3),
            number(cub.map(to_us), 2),
            number(ratio(cub), 3),
        ]);
    }
    table.notes.push(
        "The twin reads the same bytes, with the gaps if there are any, and writes as many bytes \
         of results. Ratios above 1 mean that ours is faster."
            .to_owned(),
    );
    table
}

/// The numbers of a case, in whose graphs there are so many calls.
pub(crate) fn to_json(case: &Case, rounds: &[Samples], calls: usize) -> Json {
    let mut contenders = Map::new();
    for who in Who::ALL {
        let Some(times) = times(rounds, who) else { continue };
        let medians: Vec<f64> = rounds
            .iter()
            .flatten()
            .filter(|(contender, _)| *contender == who)
            .map(|(_, samples)| to_us(Times::of(samples.clone()).median))
            .collect();
        let entry = json!({
            "median_us": to_us(times.median),
            "min_us": to_us(times.min),
            "lower_quartile_us": to_us(times.lower_quartile),
            "upper_quartile_us": to_us(times.upper_quartile),
            "round_medians_us": medians,
        });
        contenders.insert(who.name().to_owned(), entry);
    }
    let mut row = describe(case, calls);
    row["times"] = Json::Object(contenders);
    row
}

/// What a case is, for rows.py and the targets.
pub(crate) fn describe(case: &Case, calls: usize) -> Json {
    json!({
        "name": case.name,
        "op": case.op.name(),
        "type": case.element.name(),
        "shape": case.shape,
        "strides": case.strides(),
        "axes": case.axes,
        "bytes": case.bytes(),
        "elements": case.elements(),
        "read_bytes": case.read_bytes(),
        "calls": calls,
    })
}
