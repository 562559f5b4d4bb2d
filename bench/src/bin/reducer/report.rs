//! The report of the calls that were measured, as tables for people and as JSON.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Context;
use bench::{Times, gb_per_s};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};
use warpfold_lab::output::{Cell, Column, Document, Table};

use crate::{
    cases::Case,
    measure::{Cache, Calls, Measurement},
    overhead::Overhead,
    targets::{Gpu, target},
};

/// The name of warpfold's reducer among the contenders.
pub(crate) const OURS: &str = "warpfold";
/// The contender with which all others are compared.
pub(crate) const REFERENCE: &str = "cub";

/// The greatest allowed ratio of the time from a misaligned start to the time from an aligned one.
const MOST_MISALIGNED: f64 = 1.03;

/// All results of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Facts about the run as names and values: device, versions, command, date.
    pub(crate) environment: Vec<(String, String)>,
    /// The kind of GPU. It is `None` on the simulator, because its times say nothing about a GPU.
    pub(crate) gpu: Option<Gpu>,
    /// The measurements of each case, in the order of the cases, once for each round.
    pub(crate) rounds: Vec<Vec<(Case, Vec<Measurement>)>>,
    /// The measurements of the empty kernel.
    pub(crate) floor: Vec<Measurement>,
    pub(crate) overhead: Option<Overhead>,
    /// The measurements of other programs.
    pub(crate) outside: Vec<Outside>,
    /// The contenders that could not take part, and why.
    pub(crate) missing: Vec<String>,
}

/// A line of the output of `bench/peers/peers.py`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Outside {
    peer: String,
    case: String,
    calls: String,
    cache: String,
    median_us: f64,
    quartiles_us: [f64; 2],
}

/// Reads the lines of JSON that `bench/peers/peers.py` printed to a file.
pub(crate) fn read_outside<T: DeserializeOwned>(file: &Path) -> anyhow::Result<Vec<T>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().map(|line| {
        serde_json::from_str(line).with_context(|| format!("{}: {line}", file.display()))
    });
    lines.collect()
}

/// One case in one way of calling, with the times of all contenders. Each contender has one
/// measurement for each round.
struct Row<'a> {
    case: &'a Case,
    times: BTreeMap<&'a str, Vec<&'a Measurement>>,
}

impl Row<'_> {
    /// The contender's time divided by ours, in each round.
    fn ratios(&self, contender: &str) -> Vec<f64> {
        let of = |name| self.times.get(name).map(Vec::as_slice).unwrap_or_default();
        let median = |measurement: &Measurement| measurement.times.median.as_secs_f64();
        of(contender)
            .iter()
            .zip(of(OURS))
            .map(|(theirs, ours)| median(theirs) / median(ours))
            .collect()
    }

    fn first(&self, contender: &str) -> Option<&Times> {
        self.times.get(contender)?.first().map(|measurement| &measurement.times)
    }
}

/// Whether all rounds, some or none reached a target.
pub(crate) fn verdict(ratios: &[f64], target: f64) -> &'static str {
    match ratios.iter().filter(|&&ratio| ratio >= target).count() {
        0 => "missed",
        count if count == ratios.len() => "met",
        _ => "met once",
    }
}

pub(crate) fn us(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn quartiles(times: &Times) -> Cell {
    Cell::Text(format!("{:.2} {:.2}", us(times.lower_quartile), us(times.upper_quartile)))
}

const WAYS: [(Calls, Cache); 4] = [
    (Calls::Graph, Cache::Warm),
    (Calls::Graph, Cache::Cold),
    (Calls::Single, Cache::Warm),
    (Calls::Single, Cache::Cold),
];

impl Report {
    fn rows(&self, calls: Calls, cache: Cache) -> Vec<Row<'_>> {
        let cases = self.rounds.first().map(Vec::as_slice).unwrap_or_default();
        let row = |(index, (case, _)): (usize, &'_ (Case, _))| {
            let mut times = BTreeMap::<_, Vec<_>>::new();
            for (_, measurements) in self.rounds.iter().filter_map(|round| round.get(index)) {
                for one in
                    measurements.iter().filter(|one| (one.calls, one.cache) == (calls, cache))
                {
                    times.entry(one.contender.as_str()).or_default().push(one);
                }
            }
            (index, *case, times)
        };
        let rows = cases.iter().enumerate().map(row).filter(|(_, _, times)| !times.is_empty());
        rows.map(|(index, _, times)| Row { case: &cases[index].0, times }).collect()
    }

    fn outside(&self, case: &Case, calls: Calls, cache: Cache) -> impl Iterator<Item = &Outside> {
        let (case, calls, cache) = (case.to_string(), calls.to_string(), cache.to_string());
        self.outside
            .iter()
            .filter(move |one| (&one.case, &one.calls, &one.cache) == (&case, &calls, &cache))
    }

    fn target(&self, case: &Case, calls: Calls) -> Option<f64> {
        target(case, calls, self.gpu?)
    }

    /// The tables, with a summary at the end.
    pub(crate) fn document(&self) -> Document {
        let mut tables: Vec<_> =
            WAYS.into_iter().map(|(calls, cache)| self.table(calls, cache)).collect();
        tables.extend([self.alignment(), self.costs()]);
        tables.extend(self.summary());
        tables.retain(|table| !table.rows.is_empty());
        Document {
            title: "The reducer beside its peers".to_owned(),
            environment: self.environment.clone(),
            tables,
            ..Document::default()
        }
    }

    fn table(&self, calls: Calls, cache: Cache) -> Table {
        let rows = self.rows(calls, cache);
        // The other contenders, here and in other programs.
        let mut others: Vec<&str> = Vec::new();
        for row in &rows {
            let outside = self.outside(row.case, calls, cache).map(|one| one.peer.as_str());
            for name in row
                .times
                .keys()
                .copied()
                .filter(|name| ![OURS, REFERENCE].contains(name))
                .chain(outside)
            {
                if !others.contains(&name) {
                    others.push(name);
                }
            }
        }
        let mut columns = vec![
            Column::new("case", "case"),
            Column::new("ours_us", "ours").in_unit("us"),
            Column::new("ours_quartiles_us", "quartiles"),
            Column::new("gb_per_s", "ours").in_unit("GB/s"),
            Column::new("cub_us", "CUB").in_unit("us"),
            Column::new("cub_quartiles_us", "quartiles"),
            Column::new("ratio", "CUB/ours"),
            Column::new("ratio_again", "again"),
            Column::new("target", "target"),
            Column::new("verdict", "verdict"),
        ];
        columns.extend(
            others.iter().map(|name| Column::new(format!("{name}_ratio"), format!("{name}/ours"))),
        );
        let title = match calls {
            Calls::Graph => "Graph replay of ten calls, time of one",
            Calls::Single => "Single calls on a stream",
        };
        let input = match cache {
            Cache::Warm => "the same input each time",
            Cache::Cold => "not in the L2 cache",
        };
        let mut table =
            Table::new(format!("{calls}-{cache}"), format!("{title}; {input}"), columns);
        for row in &rows {
            let time = |times: Option<&Times>| {
                times.map_or(Cell::Missing, |times| Cell::number(us(times.median), 2))
            };
            let (ours, reference) = (row.first(OURS), row.first(REFERENCE));
            let ratios = row.ratios(REFERENCE);
            let ratio = |index: usize| {
                ratios.get(index).map_or(Cell::Missing, |&ratio| Cell::number(ratio, 3))
            };
            let target = self.target(row.case, calls);
            let verdict =
                target.filter(|_| !ratios.is_empty()).map(|target| verdict(&ratios, target));
            let mut cells = vec![
                row.case.to_string().into(),
                time(ours),
                ours.map_or(Cell::Missing, quartiles),
                ours.filter(|_| self.gpu.is_some()).map_or(Cell::Missing, |times| {
                    Cell::number(gb_per_s(row.case.bytes(), times.median), 0)
                }),
                time(reference),
                reference.map_or(Cell::Missing, quartiles),
                ratio(0),
                ratio(1),
                target.map_or(Cell::Missing, |target| Cell::number(target, 3)),
                verdict.map_or(Cell::Missing, Cell::from),
            ];
            cells.extend(others.iter().map(|name| {
                let outside = self.outside(row.case, calls, cache).find(|one| one.peer == *name);
                let outside = outside.zip(ours).map(|(one, ours)| one.median_us / us(ours.median));
                let ratio = row.ratios(name).first().copied().or(outside);
                ratio.map_or(Cell::Missing, |ratio| Cell::number(ratio, 3))
            }));
            table.push(cells);
        }
        table
    }

    /// The table of our own times from misaligned starts, beside those from aligned ones.
    fn alignment(&self) -> Table {
        let columns = ["case", "time over that of an aligned start", "again", "at most", "verdict"];
        let keys = ["case", "ratio", "ratio_again", "target", "verdict"];
        let columns =
            keys.into_iter().zip(columns).map(|(key, heading)| Column::new(key, heading)).collect();
        let mut table = Table::new(
            "alignment",
            "Misaligned starts in graph replay, the same input each time",
            columns,
        );
        let rows = self.rows(Calls::Graph, Cache::Warm);
        for row in rows.iter().filter(|row| row.case.offset > 0) {
            let aligned = Case { offset: 0, ..*row.case };
            let Some(aligned) = rows.iter().find(|other| *other.case == aligned) else { continue };
            let Some((ours, theirs)) = row.times.get(OURS).zip(aligned.times.get(OURS)) else {
                continue;
            };
            let ratios = ours
                .iter()
                .zip(theirs)
                .map(|(one, other)| us(one.times.median) / us(other.times.median));
            let ratios: Vec<f64> = ratios.collect();
            let inverse: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
            table.push([
                row.case.to_string().into(),
                Cell::number(ratios[0], 3),
                ratios.get(1).map_or(Cell::Missing, |&ratio| Cell::number(ratio, 3)),
                Cell::number(MOST_MISALIGNED, 3),
                verdict(&inverse, 1.0 / MOST_MISALIGNED).into(),
            ]);
        }
        table
    }

    /// The table of the least time that a call takes, and of the host's part of it.
    fn costs(&self) -> Table {
        let columns = vec![
            Column::new("what", "what"),
            Column::new("median_us", "median").in_unit("us"),
            Column::new("quartiles_us", "quartiles"),
        ];
        let mut table = Table::new("costs", "What a call costs at least", columns);
        let mut push = |what: String, times: &Times| {
            table.push([Cell::Text(what), Cell::number(us(times.median), 3), quartiles(times)]);
        };
        for one in &self.floor {
            push(format!("an empty kernel, {}", one.calls), &one.times);
        }
        if let Some(overhead) = &self.overhead {
            push(
                format!("host's time of a call of the reducer, {}", overhead.case),
                &overhead.call,
            );
            push("host's time of a bare launch of its kernel".to_owned(), &overhead.launch);
            let more = us(overhead.call.median) - us(overhead.launch.median);
            table.notes.push(format!(
                "The reducer takes {more:.3} us of the host more than the bare launch; at most 1 is meant."
            ));
        }
        table
    }

    /// The table of the cases that did not meet their targets in all rounds, and a table of counts:
    /// how many cases met their targets in all rounds, in some rounds and in none.
    fn summary(&self) -> [Table; 2] {
        let columns = vec![
            Column::new("way", "way"),
            Column::new("case", "case"),
            Column::new("ratio", "CUB/ours"),
            Column::new("ratio_again", "again"),
            Column::new("target", "target"),
        ];
        let mut not_met = Table::new("not-met", "Targets that were not met twice", columns);
        let columns = ["way", "met", "met once", "missed"];
        let keys = ["way", "met", "met_once", "missed"];
        let columns =
            keys.into_iter().zip(columns).map(|(key, heading)| Column::new(key, heading)).collect();
        let mut summary = Table::new("summary", "Targets", columns);
        for (calls, cache) in WAYS {
            let mut counts = BTreeMap::<_, u64>::new();
            let way = format!("{calls}, {cache}");
            for row in self.rows(calls, cache) {
                let ratios = row.ratios(REFERENCE);
                let Some(target) = self.target(row.case, calls).filter(|_| !ratios.is_empty())
                else {
                    continue;
                };
                let verdict = verdict(&ratios, target);
                *counts.entry(verdict).or_default() += 1;
                if verdict != "met" {
                    not_met.push([
                        way.clone().into(),
                        row.case.to_string().into(),
                        Cell::number(ratios[0], 3),
                        ratios.get(1).map_or(Cell::Missing, |&ratio| Cell::number(ratio, 3)),
                        Cell::number(target, 3),
                    ]);
                }
            }
            let count = |verdict| Cell::Integer(counts.get(verdict).copied().unwrap_or_default());
            summary.push([way.into(), count("met"), count("met once"), count("missed")]);
        }
        summary.notes.clone_from(&self.missing);
        [not_met, summary]
    }

    /// The whole report as JSON.
    pub(crate) fn json(&self) -> Json {
        let measurement = |one: &Measurement| {
            json!({
                "median_us": us(one.times.median),
                "quartiles_us": [us(one.times.lower_quartile), us(one.times.upper_quartile)],
                "min_us": us(one.times.min), "max_us": us(one.times.max), "samples": one.samples,
            })
        };
        let mut rows = Vec::new();
        for (calls, cache) in WAYS {
            for row in self.rows(calls, cache) {
                let times = |all: &Vec<&Measurement>| {
                    all.iter().map(|one| measurement(one)).collect::<Vec<_>>()
                };
                let contenders: serde_json::Map<_, _> = row
                    .times
                    .iter()
                    .map(|(name, all)| ((*name).to_owned(), times(all).into()))
                    .collect();
                let outside = self.outside(row.case, calls, cache).map(|one| {
                    let times =
                        json!({ "median_us": one.median_us, "quartiles_us": one.quartiles_us });
                    (one.peer.clone(), times)
                });
                rows.push(json!({
                    "case": row.case.to_string(), "op": row.case.op.name(), "type": row.case.element.name(),
                    "n": row.case.n, "offset": row.case.offset, "bytes": row.case.bytes(),
                    "calls": calls.to_string(), "cache": cache.to_string(),
                    "ratios": row.ratios(REFERENCE), "target": self.target(row.case, calls),
                    "times": contenders, "outside": outside.collect::<serde_json::Map<_, _>>(),
                }));
            }
        }
        let environment =
            self.environment.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        json!({
            "environment": environment.collect::<serde_json::Map<_, Json>>(),
            "missing": self.missing,
            "floor": self.floor.iter().map(|one| json!({ "calls": one.calls.to_string(), "time": measurement(one) }))
                .collect::<Vec<_>>(),
            "overhead": self.overhead.as_ref().map(|overhead| json!({
                "case": overhead.case.to_string(), "samples": overhead.samples, "calls_in_sample": overhead.calls,
                "call_median_us": us(overhead.call.median), "launch_median_us": us(overhead.launch.median),
            })),
            "rows": rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cases::{Element, Operation};

    const CASE: Case = Case { op: Operation::Sum, element: Element::F32, n: 1 << 20, offset: 0 };

    fn measurement(contender: &str, nanoseconds: u64) -> Measurement {
        let times = Times::of(vec![Duration::from_nanos(nanoseconds)]);
        Measurement {
            contender: contender.to_owned(),
            calls: Calls::Graph,
            cache: Cache::Warm,
            times,
            samples: 1,
        }
    }

    /// A report of two rounds of one case, with an aligned and with a misaligned start.
    fn report() -> Report {
        let outside = r#"{"peer":"torch","case":"sum_f32_2^20","calls":"graph","cache":"warm","median_us":6.0,
            "quartiles_us":[5.0,7.0],"samples":101}"#;
        let round = |ours, theirs| {
            let misaligned = Case { offset: 1, ..CASE };
            vec![
                (
                    CASE,
                    vec![
                        measurement(OURS, ours),
                        measurement(REFERENCE, theirs),
                        measurement("twin", ours),
                    ],
                ),
                (misaligned, vec![measurement(OURS, 3000), measurement(REFERENCE, 6000)]),
            ]
        };
        Report {
            gpu: Some(Gpu::H100),
            rounds: vec![round(2000, 3000), round(3000, 3000)],
            outside: vec![serde_json::from_str(outside).unwrap()],
            missing: vec!["This CUB has no cub_sum_f32.".to_owned()],
            ..Report::default()
        }
    }

    #[test]
    fn a_target_is_met_if_both_rounds_meet_it() {
        assert_eq!(verdict(&[1.4, 1.35], 1.35), "met");
        assert_eq!(verdict(&[1.4, 1.349], 1.35), "met once");
        assert_eq!(verdict(&[1.3], 1.35), "missed");
    }

    #[test]
    fn tables_have_both_rounds_and_all_contenders() {
        let document = report().document();
        let table = document.tables.iter().find(|table| table.id == "graph-warm").unwrap();
        let shown: Vec<String> = table.rows[0].iter().map(Cell::show).collect();
        assert_eq!(shown[..2], ["sum_f32_2^20", "2.00"]);
        assert_eq!(shown[6..], ["1.500", "1.000", "1.350", "met once", "1.000", "3.000"]);
        let headings: Vec<_> =
            table.columns.iter().skip(10).map(|column| column.heading.as_str()).collect();
        assert_eq!(headings, ["twin/ours", "torch/ours"]);
        let alignment = document.tables.iter().find(|table| table.id == "alignment").unwrap();
        let shown: Vec<String> = alignment.rows[0].iter().map(Cell::show).collect();
        assert_eq!(shown, ["sum_f32_2^20+1", "1.500", "1.000", "1.030", "met once"]);
        let summary = document.tables.last().unwrap();
        let shown: Vec<String> = summary.rows[0].iter().map(Cell::show).collect();
        assert_eq!(shown, ["graph, warm", "1", "1", "0"]);
        let not_met = document.tables.iter().find(|table| table.id == "not-met").unwrap();
        assert_eq!(not_met.rows.len(), 1);
        let shown: Vec<String> = not_met.rows[0].iter().map(Cell::show).collect();
        assert_eq!(shown, ["graph, warm", "sum_f32_2^20", "1.500", "1.000", "1.350"]);
        assert_eq!(summary.notes, ["This CUB has no cub_sum_f32."]);
    }

    #[test]
    fn json_has_each_round_of_each_contender() {
        let json = report().json();
        assert_eq!(json["rows"][0]["times"]["cub"][1]["median_us"], 3.0);
        assert_eq!(json["rows"][0]["ratios"], serde_json::json!([1.5, 1.0]));
        assert_eq!(json["rows"][0]["outside"]["torch"]["median_us"], 6.0);
        assert_eq!(json["rows"][1]["case"], "sum_f32_2^20+1");
        assert_eq!(json["rows"][1]["target"], 1.3);
    }
}
