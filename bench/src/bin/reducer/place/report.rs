//! The report of the reductions in place, as tables for people, as JSON and as CSV.

use std::{collections::BTreeMap, fmt::Write};

use serde::Deserialize;
use serde_json::{Value as Json, json};
use warpfold_lab::output::{Cell, Column, Document, Table};

use super::{Added, Chain, Measurement, Producer, Spread};
use crate::{
    cases::{Case, Element, Operation as Op},
    report::{OURS, REFERENCE, us, verdict},
    targets::{AddedTarget, Gpu, added_target},
};

/// The least ratio of CUB's added time to ours, for every case.
const LEAST_RATIO: f64 = 1.0;

/// All results of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Facts about the run as names and values: device, versions, command, date.
    pub(crate) environment: Vec<(String, String)>,
    /// The kind of GPU. It is `None` on the simulator, because its times say nothing about a GPU.
    pub(crate) gpu: Option<Gpu>,
    /// The measurements of each case, in the order of the cases, once for each round.
    pub(crate) rounds: Vec<Vec<(Case, Vec<Measurement>)>>,
    /// The measurements of other programs.
    pub(crate) outside: Vec<Outside>,
    /// The contenders that could not take part, and why.
    pub(crate) missing: Vec<String>,
    /// The chains in which a contender failed, and how.
    pub(crate) failures: Vec<String>,
}

/// A line of the output of `peers.py` for reductions in place.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Outside {
    peer: String,
    case: String,
    chain: String,
    producer: String,
    added_us: f64,
    quartiles_us: [f64; 2],
    without_us: f64,
}

/// One case in one kind of chain, measured once for each round.
struct Row<'a> {
    case: &'a Case,
    rounds: Vec<&'a Measurement>,
}

impl Row<'_> {
    /// The time that a contender adds, in each round.
    fn added(&self, contender: &str) -> Vec<Spread> {
        let of = |one: &&Measurement| {
            let added = one.added.iter().find(|added| added.contender == contender)?;
            Some(added.us)
        };
        self.rounds.iter().filter_map(of).collect()
    }

    /// The ratio of the time that a contender adds to the time that ours adds, in each round. A
    /// ratio needs two positive times. A round without them is left out: the noise of a long
    /// producer can be greater than the time of a short reduction.
    fn ratios(&self, contender: &str) -> Vec<f64> {
        let ratio = |(theirs, ours): (Spread, Spread)| {
            (theirs.median > 0.0 && ours.median > 0.0).then(|| theirs.median / ours.median)
        };
        self.added(contender).into_iter().zip(self.added(OURS)).filter_map(ratio).collect()
    }

    /// The ratio of the fastest version of CUB, in each round.
    fn ratios_of_fastest(&self) -> Vec<f64> {
        let mut fastest: Vec<f64> = Vec::new();
        for name in self.contenders().into_iter().filter(|name| name.starts_with(REFERENCE)) {
            let ratios = self.ratios(name);
            if fastest.is_empty() {
                fastest = ratios;
            } else {
                for (least, ratio) in fastest.iter_mut().zip(ratios) {
                    *least = least.min(ratio);
                }
            }
        }
        fastest
    }

    fn contenders(&self) -> Vec<&str> {
        let first = self.rounds.first().map(|one| one.added.as_slice()).unwrap_or_default();
        first.iter().map(|added| added.contender.as_str()).collect()
    }
}

fn median(spread: Option<&Spread>) -> Cell {
    spread.map_or(Cell::Missing, |spread| Cell::number(spread.median, 2))
}

fn quartiles(spread: Option<&Spread>) -> Cell {
    spread.map_or(Cell::Missing, |spread| {
        Cell::Text(format!("{:.2} {:.2}", spread.lower_quartile, spread.upper_quartile))
    })
}

fn ratio(ratios: &[f64], index: usize) -> Cell {
    ratios.get(index).map_or(Cell::Missing, |&ratio| Cell::number(ratio, 3))
}

/// All kinds of chains. The kind that has targets comes first.
fn ways() -> impl Iterator<Item = (Chain, Producer)> {
    Chain::ALL.into_iter().flat_map(|chain| Producer::ALL.map(|producer| (chain, producer)))
}

impl Report {
    fn rows(&self, (chain, producer): (Chain, Producer)) -> Vec<Row<'_>> {
        let cases = self.rounds.first().map(Vec::as_slice).unwrap_or_default();
        let row = |(index, (case, _)): (usize, &'_ (Case, _))| {
            let _: &Case = case;
            let rounds = self.rounds.iter().filter_map(|round| round.get(index));
            let of_way = |one: &&Measurement| (one.chain, one.producer) == (chain, producer);
            rounds.filter_map(|(_, all)| all.iter().find(of_way)).collect::<Vec<_>>()
        };
        let rows = cases.iter().enumerate().map(|one| (one.0, row(one)));
        let rows = rows.filter(|(_, rounds)| !rounds.is_empty());
        rows.map(|(index, rounds)| Row { case: &cases[index].0, rounds }).collect()
    }

    fn outside(&self, case: &Case, way: (Chain, Producer)) -> impl Iterator<Item = &Outside> {
        let key = (case.to_string(), way.0.to_string(), way.1.to_string());
        self.outside
            .iter()
            .filter(move |one| (&one.case, &one.chain, &one.producer) == (&key.0, &key.1, &key.2))
    }

    /// The target of a case. Only graphs whose producer writes the input have targets.
    fn target(&self, case: &Case, way: (Chain, Producer)) -> Option<AddedTarget> {
        let is_plain = way == (Chain::Graph, Producer::Data);
        self.gpu.filter(|_| is_plain).and_then(|gpu| added_target(case, gpu))
    }

    /// Whether all rounds, some or none reached the target.
    fn verdict(&self, row: &Row, way: (Chain, Producer)) -> Option<&'static str> {
        let target = self.target(row.case, way)?;
        let (values, least): (Vec<f64>, f64) = match target {
            // Less is better here, but `verdict` takes greater values as better. So the signs are
            // turned around.
            AddedTarget::Us(most) => {
                (row.added(OURS).iter().map(|spread| -spread.median).collect(), -most)
            }
            AddedTarget::Ratio(least) => (row.ratios(REFERENCE), least),
        };
        (!values.is_empty()).then(|| verdict(&values, least))
    }

    fn verdict_beside_cub(&self, row: &Row) -> Option<&'static str> {
        let ratios = row.ratios_of_fastest();
        (self.gpu.is_some() && !ratios.is_empty()).then(|| verdict(&ratios, LEAST_RATIO))
    }

    /// The tables, with a summary at the end.
    pub(crate) fn document(&self) -> Document {
        let mut tables: Vec<_> = ways().map(|way| self.table(way)).collect();
        tables.push(self.means());
        tables.extend(self.summary());
        tables.retain(|table| !table.rows.is_empty());
        Document {
            title: "What a reduction adds between a producer and a consumer".to_owned(),
            environment: self.environment.clone(),
            tables,
            ..Document::default()
        }
    }

    fn table(&self, way: (Chain, Producer)) -> Table {
        let (chain, producer) = way;
        let rows = self.rows(way);
        let mut others: Vec<String> = Vec::new();
        for row in &rows {
            let outside = self.outside(row.case, way).map(|one| one.peer.as_str());
            for name in row.contenders().into_iter().chain(outside) {
                if ![OURS, REFERENCE].contains(&name) && !others.iter().any(|one| one == name) {
                    others.push(name.to_owned());
                }
            }
        }
        let mut columns = vec![
            Column::new("case", "case"),
            Column::new("without_us", "without").in_unit("us"),
            Column::new("ours_us", "ours adds").in_unit("us"),
            Column::new("ours_quartiles_us", "quartiles"),
            Column::new("ours_again_us", "again").in_unit("us"),
            Column::new("target", "target"),
            Column::new("verdict", "verdict"),
            Column::new("cub_us", "CUB adds").in_unit("us"),
            Column::new("cub_quartiles_us", "quartiles"),
            Column::new("ratio", "CUB/ours"),
            Column::new("ratio_again", "again"),
            Column::new("beside_cub", "not slower"),
        ];
        let more = |name: &String| Column::new(format!("{name}_us"), name.clone()).in_unit("us");
        columns.extend(others.iter().map(more));
        let chain_title = match chain {
            Chain::Graph => "In a graph",
            Chain::Stream => "On a plain stream",
        };
        let producer_title = match producer {
            Producer::Data => "the producer writes the input",
            Producer::Other => "the producer writes other memory",
            Producer::Code => "the producer writes the input and fills the instruction cache",
        };
        let mut table = Table::new(
            format!("place-{chain}-{producer}"),
            format!("{chain_title}, {producer_title}; what one reduction adds"),
            columns,
        );
        for row in &rows {
            let (ours, reference) = (row.added(OURS), row.added(REFERENCE));
            let ratios = row.ratios(REFERENCE);
            let target = match self.target(row.case, way) {
                Some(AddedTarget::Us(us)) => Cell::Text(format!("{us} us")),
                Some(AddedTarget::Ratio(ratio)) => Cell::Text(format!("{ratio:.3}")),
                None => Cell::Missing,
            };
            let mut cells = vec![
                row.case.to_string().into(),
                Cell::number(us(row.rounds[0].without.median), 2),
                median(ours.first()),
                quartiles(ours.first()),
                median(ours.get(1)),
                target,
                self.verdict(row, way).map_or(Cell::Missing, Cell::from),
                median(reference.first()),
                quartiles(reference.first()),
                ratio(&ratios, 0),
                ratio(&ratios, 1),
                self.verdict_beside_cub(row).map_or(Cell::Missing, Cell::from),
            ];
            cells.extend(others.iter().map(|name| {
                let here = row.added(name);
                let outside = self.outside(row.case, way).find(|one| one.peer == *name);
                match (here.first(), outside) {
                    (None, Some(one)) => Cell::number(one.added_us, 2),
                    (here, _) => median(here),
                }
            }));
            table.push(cells);
        }
        table
    }

    /// The geometric means of the ratios over all sizes and rounds, for each operation and each
    /// kind of chain.
    fn geometric_means(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let mut operations: Vec<(Op, Element, u64)> = Vec::new();
        let of = |case: &Case| (case.op, case.element, case.offset);
        for (case, _) in self.rounds.iter().flatten() {
            if !operations.contains(&of(case)) {
                operations.push(of(case));
            }
        }
        let mean = |operation, way| {
            let rows = self.rows(way);
            let rows = rows.iter().filter(|row| of(row.case) == operation);
            let logs: Vec<f64> = rows.flat_map(|row| row.ratios(REFERENCE)).map(f64::ln).collect();
            (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        };
        let line = |operation: (Op, Element, u64)| {
            let (op, element, offset) = operation;
            let suffix = if offset > 0 { format!("+{offset}") } else { String::new() };
            let name = format!("{}_{}{suffix}", op.name(), element.name());
            (name, ways().map(|way| mean(operation, way)).collect())
        };
        operations.into_iter().map(line).collect()
    }

    fn means(&self) -> Table {
        let mut columns = vec![Column::new("operation", "operation")];
        columns.extend(ways().map(|(chain, producer)| {
            Column::new(format!("{chain}_{producer}"), format!("{chain}, {producer}"))
        }));
        let mut table = Table::new(
            "place-means",
            "Geometric means of CUB/ours over all sizes and rounds",
            columns,
        );
        for (name, means) in self.geometric_means() {
            if means.iter().all(Option::is_none) {
                continue;
            }
            let mut cells = vec![name.into()];
            cells.extend(
                means
                    .into_iter()
                    .map(|mean| mean.map_or(Cell::Missing, |one| Cell::number(one, 3))),
            );
            table.push(cells);
        }
        table
    }

    /// The table of the cases that were slower than a version of CUB in some round, and a table of
    /// counts: how many cases met their targets in all rounds, in some rounds and in none.
    fn summary(&self) -> [Table; 2] {
        let columns = vec![
            Column::new("way", "way"),
            Column::new("case", "case"),
            Column::new("ratio", "fastest CUB/ours"),
            Column::new("ratio_again", "again"),
        ];
        let mut slower = Table::new("place-slower", "Slower than a CUB at least once", columns);
        let keys = ["way", "target", "met", "met_once", "missed"];
        let headings = ["way", "target", "met", "met once", "missed"];
        let columns =
            keys.into_iter().zip(headings).map(|(key, name)| Column::new(key, name)).collect();
        let mut summary = Table::new("place-summary", "Targets", columns);
        for way in ways() {
            let mut counts = [BTreeMap::<_, u64>::new(), BTreeMap::new()];
            let name = format!("{}, {}", way.0, way.1);
            for row in self.rows(way) {
                let verdicts = [self.verdict(&row, way), self.verdict_beside_cub(&row)];
                for (counts, verdict) in counts.iter_mut().zip(verdicts) {
                    if let Some(verdict) = verdict {
                        *counts.entry(verdict).or_default() += 1;
                    }
                }
                if verdicts[1].is_some_and(|verdict| verdict != "met") {
                    let ratios = row.ratios_of_fastest();
                    slower.push([
                        name.clone().into(),
                        row.case.to_string().into(),
                        ratio(&ratios, 0),
                        ratio(&ratios, 1),
                    ]);
                }
            }
            for (target, counts) in ["of the size", "not slower than CUB"].into_iter().zip(counts) {
                if counts.is_empty() {
                    continue;
                }
                let count =
                    |verdict| Cell::Integer(counts.get(verdict).copied().unwrap_or_default());
                summary.push([
                    name.clone().into(),
                    target.into(),
                    count("met"),
                    count("met once"),
                    count("missed"),
                ]);
            }
        }
        summary.notes.clone_from(&self.missing);
        summary.notes.extend_from_slice(&self.failures);
        [slower, summary]
    }

    /// The whole report as JSON.
    pub(crate) fn json(&self) -> Json {
        let spread = |us: &Spread| {
            json!({
                "median_us": us.median, "quartiles_us": [us.lower_quartile, us.upper_quartile],
                "min_us": us.min, "max_us": us.max,
            })
        };
        let mut rows = Vec::new();
        for way in ways() {
            for row in self.rows(way) {
                let added = |name: &str| -> Json {
                    row.added(name).iter().map(spread).collect::<Vec<_>>().into()
                };
                let added: serde_json::Map<_, _> = row
                    .contenders()
                    .into_iter()
                    .map(|name| (name.to_owned(), added(name)))
                    .collect();
                let without = |one: &&Measurement| {
                    json!({
                        "median_us": us(one.without.median),
                        "quartiles_us":
                            [us(one.without.lower_quartile), us(one.without.upper_quartile)],
                        "samples": one.samples,
                    })
                };
                let outside = self.outside(row.case, way).map(|one| {
                    let times = json!({
                        "median_us": one.added_us, "quartiles_us": one.quartiles_us,
                        "without_us": one.without_us,
                    });
                    (one.peer.clone(), times)
                });
                let (target_us, target_ratio) = match self.target(row.case, way) {
                    Some(AddedTarget::Us(us)) => (Some(us), None),
                    Some(AddedTarget::Ratio(ratio)) => (None, Some(ratio)),
                    None => (None, None),
                };
                rows.push(json!({
                    "case": row.case.to_string(), "op": row.case.op.name(),
                    "type": row.case.element.name(), "n": row.case.n, "offset": row.case.offset,
                    "bytes": row.case.bytes(),
                    "chain": way.0.to_string(), "producer": way.1.to_string(),
                    "without": row.rounds.iter().map(without).collect::<Vec<_>>(),
                    "added": added, "ratios": row.ratios(REFERENCE),
                    "target_us": target_us, "target_ratio": target_ratio,
                    "outside": outside.collect::<serde_json::Map<_, _>>(),
                }));
            }
        }
        let environment =
            self.environment.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        let keys: Vec<String> =
            ways().map(|(chain, producer)| format!("{chain}_{producer}")).collect();
        let means = self.geometric_means().into_iter().map(|(name, means)| {
            let means = keys.iter().cloned().zip(means.into_iter().map(Json::from));
            (name, means.collect::<serde_json::Map<_, Json>>().into())
        });
        json!({
            "environment": environment.collect::<serde_json::Map<_, Json>>(),
            "missing": self.missing,
            "failures": self.failures,
            "geometric_means": means.collect::<serde_json::Map<_, Json>>(),
            "rows": rows,
        })
    }

    /// The measurements as CSV, with one line for each case, chain, round and contender.
    pub(crate) fn csv(&self) -> String {
        let mut csv = String::from(
            "case,op,type,n,offset,chain,producer,round,contender,added_us,lower_us,upper_us,\
             without_us,samples\n",
        );
        for way in ways() {
            for row in self.rows(way) {
                for (round, one) in row.rounds.iter().enumerate() {
                    for Added { contender, us: added } in &one.added {
                        writeln!(
                            csv,
                            "{},{},{},{},{},{},{},{},{contender},{:.4},{:.4},{:.4},{:.4},{}",
                            row.case,
                            row.case.op.name(),
                            row.case.element.name(),
                            row.case.n,
                            row.case.offset,
                            way.0,
                            way.1,
                            round + 1,
                            added.median,
                            added.lower_quartile,
                            added.upper_quartile,
                            us(one.without.median),
                            one.samples,
                        )
                        .expect("a string takes all that is written to it");
                    }
                }
            }
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bench::Times;

    use super::*;

    const CASE: Case = Case { op: Op::Sum, element: Element::F32, n: 1000, offset: 0 };

    fn measurement(added: &[(&str, f64)]) -> Measurement {
        let spread = |median: f64| Spread {
            min: median,
            lower_quartile: median,
            median,
            upper_quartile: median,
            max: median,
        };
        Measurement {
            chain: Chain::Graph,
            producer: Producer::Data,
            without: Times::of(vec![Duration::from_micros(3)]),
            samples: 1,
            added: added
                .iter()
                .map(|(name, us)| Added { contender: (*name).to_owned(), us: spread(*us) })
                .collect(),
        }
    }

    /// A report of two rounds. In the second round, ours is slower than the second version of CUB.
    fn report() -> Report {
        let outside = r#"{"peer":"torch","case":"sum_f32_1000","chain":"graph","producer":"data",
            "added_us":6.0,"quartiles_us":[5.0,7.0],"without_us":3.0,"samples":41}"#;
        let round = |ours, second| {
            let added = [(OURS, ours), (REFERENCE, 2.0), ("cub 3.5.0", second), ("empty", -0.1)];
            vec![(CASE, vec![measurement(&added)])]
        };
        Report {
            gpu: Some(Gpu::H100),
            rounds: vec![round(1.0, 1.5), round(1.25, 1.0)],
            outside: vec![serde_json::from_str(outside).unwrap()],
            ..Report::default()
        }
    }

    #[test]
    fn tables_have_what_each_contender_adds() {
        let document = report().document();
        let ids: Vec<&str> = document.tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["place-graph-data", "place-means", "place-slower", "place-summary"]);
        let shown: Vec<String> = document.tables[0].rows[0].iter().map(Cell::show).collect();
        assert_eq!(
            shown[..7],
            ["sum_f32_1000", "3.00", "1.00", "1.00 1.00", "1.25", "1.22 us", "met once"]
        );
        assert_eq!(shown[7..12], ["2.00", "2.00 2.00", "2.000", "1.600", "met once"]);
        assert_eq!(shown[12..], ["1.50", "-0.10", "6.00"]);
        let means: Vec<String> = document.tables[1].rows[0].iter().map(Cell::show).collect();
        assert_eq!(means[..2], ["sum_f32", "1.789"]);
        let slower: Vec<String> = document.tables[2].rows[0].iter().map(Cell::show).collect();
        assert_eq!(slower, ["graph, data", "sum_f32_1000", "1.500", "0.800"]);
    }

    #[test]
    fn json_and_csv_have_each_round_of_each_contender() {
        let report = report();
        let json = report.json();
        assert_eq!(json["rows"][0]["added"]["warpfold"][1]["median_us"], 1.25);
        assert_eq!(json["rows"][0]["target_us"], 1.22);
        assert_eq!(json["rows"][0]["outside"]["torch"]["median_us"], 6.0);
        let csv = report.csv();
        assert_eq!(csv.lines().count(), 1 + 2 * 4);
        assert!(csv.contains("sum_f32_1000,sum,f32,1000,0,graph,data,2,cub 3.5.0,1.0000,"));
    }
}
