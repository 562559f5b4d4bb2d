//! The tables and charts that show a climb.

use super::{
    climb::Climb,
    counted::Counted,
    history::{self, History},
    peers::peers,
    rung::{Measured, Rung},
    work::Work,
};
use crate::{
    device::{DeviceInfo, DeviceKind},
    output::{Axis, Cell, Chart, Column, Document, Kind, Reference, Series, Table, grouped},
    profile::{CURRENCY, describe_gpu, on_polls},
    tune::tuned_note,
    variant::Variant,
};

/// The kinds of figures that the rows of a table have.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) times: bool,
    pub(super) counters: bool,
}

impl Figures {
    /// A GPU has times. The simulator has counters, and so has a GPU if a simulator counted beside
    /// it.
    pub(super) fn of<'a>(
        device: &DeviceInfo,
        mut measured: impl Iterator<Item = &'a Measured>,
    ) -> Self {
        let times = device.kind == DeviceKind::Cuda;
        Self { times, counters: !times || measured.any(|measured| measured.counted.is_some()) }
    }

    pub(super) fn time_columns(self) -> Vec<Column> {
        if !self.times {
            return Vec::new();
        }
        vec![
            Column::new("time_us", "time").in_unit("us"),
            Column::new("gb_per_s", "bandwidth").in_unit("GB/s"),
            Column::new("percent_of_peak", "of peak").in_unit("%"),
        ]
    }

    pub(super) fn time_cells(self, device: &DeviceInfo, measured: Option<&Measured>) -> Vec<Cell> {
        if !self.times {
            return Vec::new();
        }
        let gb_per_s = measured.and_then(Measured::gb_per_s);
        let peak = device.peak_bytes_per_second;
        vec![
            number(measured.and_then(Measured::seconds).map(|seconds| seconds * 1e6), 2),
            number(gb_per_s, 1),
            number(gb_per_s.zip(peak).map(|(gb_per_s, peak)| gb_per_s * 1e9 / peak * 100.0), 1),
        ]
    }

    pub(super) fn counter_columns(self) -> Vec<Column> {
        if !self.counters {
            return Vec::new();
        }
        vec![
            Column::new("sectors", "sectors").if_room(),
            Column::new("bank_conflicts", "conflicts"),
            Column::new("divergent_branches", "divergent"),
            Column::new("instructions_per_32_elements", "instr.").in_unit("per 32"),
            Column::new("cost_in_issue_slots", "cost").in_unit("slots"),
        ]
    }

    pub(super) fn counter_cells(self, counted: Option<&Counted>) -> Vec<Cell> {
        if !self.counters {
            return Vec::new();
        }
        vec![
            counted.map(|counted| counted.sectors).into(),
            counted.map(|counted| counted.bank_conflicts).into(),
            counted.map(|counted| counted.divergent_branches).into(),
            number(counted.map(|counted| counted.instructions_per_32_elements), 1),
            counted.map(|counted| counted.cost).into(),
        ]
    }
}

fn number(value: Option<f64>, decimals: u8) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::number(value, decimals))
}

/// The grid and the block of the first launch.
pub(super) fn shape_cells(measured: Option<&Measured>) -> [Cell; 2] {
    let shape = measured.and_then(|measured| measured.plan.stages.first()).map(|stage| stage.shape);
    [shape.map(|shape| shape.grid), shape.map(|shape| shape.block)]
        .map(|dim| dim.map(|dim| u64::from(dim.x)).into())
}

/// Whether the result is right; `refused` if the rung did not run.
pub(super) fn verdict(rung: &Rung) -> Cell {
    match rung.measured() {
        None => "refused",
        Some(measured) if measured.agrees() => "ok",
        Some(_) => "WRONG",
    }
    .into()
}

/// The device, the work and the runs, as pairs of a name and a value.
pub(super) fn environment(climb: &Climb, n: &str) -> Vec<(String, String)> {
    let Climb { device, planned_for, work, runs, .. } = climb;
    let mut environment = vec![("device", device.name.clone())];
    if let Some(gpu) = planned_for {
        environment.push(("planned for", describe_gpu(gpu)));
    }
    if let Some(peak) = device.peak_bytes_per_second {
        environment.push(("peak", format!("{:.1} GB/s", peak / 1e9)));
    }
    environment.push((
        "input",
        format!("{n} {} elements, {}", work.element, work.fill.describe(work.seed)),
    ));
    environment.push(("operation", work.op.to_string()));
    environment.push((
        "runs",
        match device.kind {
            DeviceKind::Cuda => {
                format!("median of {}, after {} to warm up", runs.timed, runs.warm_up)
            }
            DeviceKind::Simulator => "1, counted".into(),
        },
    ));
    environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The notes that explain the figures.
pub(super) fn figures_notes(figures: Figures) -> Vec<String> {
    let mut notes = Vec::new();
    if figures.times {
        notes.push(
            "The time is that of all launches, without copies. The bandwidth is the size of the input divided by this \
             time."
                .to_owned(),
        );
    } else {
        notes.push(
            "The simulator shows counters instead of times, because its times say nothing about a GPU."
                .to_owned(),
        );
    }
    if figures.counters {
        notes.push(format!("The simulator counted all launches: sectors of global memory, bank conflicts, divergent branches, and \
             warp instructions for each 32 elements. {CURRENCY}"));
    }
    notes
}

/// The notes about single rungs.
pub(super) fn rung_notes(climb: &Climb) -> Vec<String> {
    let mut notes = Vec::new();
    for rung in &climb.rungs {
        let variant = rung.variant;
        match &rung.outcome {
            Err(refusal) => notes.push(format!("Variant {variant} is refused: {refusal}.")),
            Ok(Measured { plan, tuned: Some(n), .. }) => notes.push(tuned_note(plan, *n)),
            Ok(_) => {}
        }
        let counted = rung.measured().is_some_and(|measured| measured.counted.is_some());
        if counted && variant.polls() {
            notes.push(on_polls(variant));
        }
        if let Some(refusal) = rung.measured().and_then(|measured| measured.not_counted.as_ref()) {
            notes.push(format!("Variant {variant} was not counted: {refusal}."));
        }
        if let Some(measured) = rung.measured().filter(|measured| !measured.agrees()) {
            let (result, value) = (measured.result, measured.reference.value());
            notes.push(format!(
                "Variant {variant} is WRONG: it gave {result}, and the reference is {value}."
            ));
        }
    }
    notes
}

impl Climb {
    /// The climb as one table in the manner of the lectures, with the speedups over the row before
    /// and over the first row, and as charts. On the simulator the last row is the model's ideal.
    /// With `history`, the lectures' own figures stand beside the measurements.
    pub fn document(&self, history: bool) -> Document {
        let figures = Figures::of(&self.device, self.measured());
        let mut table = self.table(figures, history);
        if self.is_cut_short() {
            let (whole, asked) = (self.whole(), self.asked);
            table.notes.insert(
                0,
                format!("The command was interrupted: {whole} of {asked} rungs were measured completely."),
            );
        }
        Document {
            title: format!(
                "The reduction ladder: {} of {} {} elements",
                self.work.op, self.work.n, self.work.element
            ),
            environment: environment(self, &self.work.n.to_string()),
            tables: vec![table],
            charts: self.charts(figures),
            pictures: Vec::new(),
            interrupted: self.is_cut_short(),
        }
    }

    fn table(&self, figures: Figures, history: bool) -> Table {
        let mut columns = vec![Column::new("variant", "variant")];
        columns.push(Column::new("name", "name").if_room());
        columns.extend(["grid", "block"].map(|key| Column::new(key, key).on_request()));
        columns.extend(figures.time_columns());
        if figures.times {
            columns.push(Column::new("step_speedup", "step").in_unit("x"));
            columns.push(Column::new("cumulative_speedup", "cumulative").in_unit("x"));
        }
        columns.extend(figures.counter_columns());
        if figures.counters {
            columns.push(Column::new("step_by_cost", "step by cost").in_unit("x").if_room());
            columns.push(
                Column::new("cumulative_by_cost", "cumulative by cost").in_unit("x").on_request(),
            );
            columns.push(Column::new("percent_of_ideal", "of ideal").in_unit("%"));
        }
        if history {
            columns.push(Column::new("liu_ms", "Liu").in_unit("ms"));
            columns.push(Column::new("liu_gb_per_s", "Liu").in_unit("GB/s"));
            columns.push(Column::new("liu_step", "Liu step").in_unit("x"));
            columns.push(Column::new("liu_cumulative", "Liu cumulative").in_unit("x"));
            columns.push(Column::new("gtx280_gb_per_s", "GTX 280").in_unit("GB/s"));
            columns.push(Column::new("gtx280_melem_per_s", "GTX 280").in_unit("MElem/s"));
            columns.push(Column::new("udacity_ms", "Udacity").in_unit("ms"));
        }
        columns.push(Column::new("check", "check"));

        let mut table = Table::new("ladder", "The ladder", columns);
        let (mut by_time, mut by_cost) = (Speedup::default(), Speedup::default());
        for rung in &self.rungs {
            let measured = rung.measured();
            let facts = rung.variant.facts();
            let mut row = vec![facts.label.into(), facts.name.into()];
            row.extend(shape_cells(measured));
            row.extend(figures.time_cells(&self.device, measured));
            if figures.times {
                row.extend(by_time.next(measured.and_then(Measured::seconds)));
            }
            let counted = measured.and_then(|measured| measured.counted.as_ref());
            row.extend(figures.counter_cells(counted));
            if figures.counters {
                let compared = measured.filter(|measured| !measured.polls());
                let counted = compared.and_then(|measured| measured.counted.as_ref());
                row.extend(by_cost.next(counted.map(|counted| counted.cost as f64)));
                row.push(of_ideal(compared));
            }
            if history {
                row.extend(history_cells(History::of(rung.variant)));
            }
            row.push(verdict(rung));
            table.push(row);
        }
        if let Some(measured) = self.measured().next().filter(|_| figures.counters) {
            table.push(ideal_row(&table.columns, figures, &Counted::ideal(&measured.plan)));
        }
        table.notes.extend(figures_notes(figures));
        if figures.counters {
            table.notes.push(
                "The row ideal is computed and not measured. It stands for a kernel that reads the input once, writes one result, \
                 has no bank conflicts and no divergence, and takes one load and one operation for each 32 elements."
                    .into(),
            );
        }
        table.notes.extend(rung_notes(self));
        if history {
            table.notes.extend(history::NOTES.map(str::to_owned));
        }
        table
    }

    fn charts(&self, figures: Figures) -> Vec<Chart> {
        let bars: Vec<_> =
            self.rungs.iter().filter_map(|rung| Some((rung.variant, rung.measured()?))).collect();
        let chart = |id: &str,
                     title: &str,
                     unit: &str,
                     value: &dyn Fn(&Measured) -> Option<f64>,
                     references| {
            let values: Vec<_> =
                bars.iter().map(|&(variant, measured)| (variant, value(measured))).collect();
            let kind = Kind::Bars {
                categories: bars.iter().map(|(variant, _)| variant.to_string()).collect(),
            };
            Chart {
                id: id.into(),
                title: title.into(),
                description: format!(
                    "The {} of {} {} elements. {}",
                    self.work.op,
                    grouped(self.work.n),
                    self.work.element,
                    describe(&values, unit)
                ),
                kind,
                x: Axis::linear("variant"),
                y: Axis::linear(unit),
                series: vec![Series::of_bars(
                    format!("{} {}", self.work.op, self.work.element),
                    values.iter().map(|(_, value)| value.unwrap_or(f64::NAN)),
                )],
                references,
            }
        };
        let mut charts = Vec::new();
        if bars.is_empty() {
            return charts;
        }
        if figures.times {
            let references = bandwidth_references(&self.device, &self.work);
            charts.push(chart(
                "bandwidth",
                "Bandwidth of each rung",
                "GB/s",
                &Measured::gb_per_s,
                references,
            ));
        }
        if figures.counters {
            let best = Counted::ideal(&bars[0].1.plan);
            let ideal = |value: f64| vec![Reference { label: "ideal".into(), value }];
            let n = self.work.n as f64;
            let of = |value: fn(&Counted) -> f64| {
                move |measured: &Measured| measured.comparable().map(value)
            };
            charts.push(chart(
                "cost",
                "Estimated cost of each rung",
                "issue slots for an element",
                &|measured| measured.comparable().map(|counted| counted.cost as f64 / n),
                ideal(best.cost as f64 / n),
            ));
            charts.push(chart(
                "sectors",
                "Sectors of global memory that each rung moves",
                "sectors",
                &of(|counted| counted.sectors as f64),
                ideal(best.sectors as f64),
            ));
            charts.push(chart(
                "instructions",
                "Warp instructions of each rung",
                "instructions for 32 elements",
                &of(|counted| counted.instructions_per_32_elements),
                ideal(best.instructions_per_32_elements),
            ));
            charts.push(chart(
                "conflicts",
                "Bank conflicts of each rung",
                "wavefronts",
                &of(|counted| counted.bank_conflicts as f64),
                Vec::new(),
            ));
        }
        charts
    }
}

/// The peak of the memory, and the bandwidths that other libraries reach on the same model of GPU.
pub(super) fn bandwidth_references(device: &DeviceInfo, work: &Work) -> Vec<Reference> {
    let peak = device
        .peak_bytes_per_second
        .map(|peak| Reference { label: "peak of the memory".into(), value: peak / 1e9 });
    let peers = peers(device, work).map(|peer| Reference {
        label: format!("{}, n = {}", peer.library, grouped(peer.n)),
        value: peer.gb_per_s,
    });
    peak.into_iter().chain(peers).collect()
}

/// A sentence on the extremes, such as `The least is 1.2 issue slots for an element with variant 7,
/// and the most 8.0 with variant 1.`
fn describe(values: &[(Variant, Option<f64>)], unit: &str) -> String {
    let show = |value: f64| Cell::number(value, u8::from(value < 100.0)).show();
    let mut known: Vec<_> =
        values.iter().filter_map(|&(variant, value)| Some((variant, value?))).collect();
    known.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    match (known.first(), known.last()) {
        (Some((least, low)), Some((most, high))) if low < high => {
            format!(
                "The least is {} {unit} with variant {least}, and the most {} with variant {most}.",
                show(*low),
                show(*high)
            )
        }
        (Some((_, value)), _) => format!("It is {} {unit} with each variant.", show(*value)),
        _ => "Nothing was measured.".into(),
    }
}

/// The figures of the first row and of the row before. Rows without a figure do not count.
#[derive(Default)]
struct Speedup {
    first: Option<f64>,
    before: Option<f64>,
}

impl Speedup {
    /// The speedups of this row over the row before and over the first row.
    fn next(&mut self, value: Option<f64>) -> [Cell; 2] {
        let Some(value) = value else {
            return [Cell::Missing, Cell::Missing];
        };
        let cells =
            [self.before, self.first].map(|other| number(other.map(|other| other / value), 2));
        self.before = Some(value);
        self.first.get_or_insert(value);
        cells
    }
}

fn of_ideal(measured: Option<&Measured>) -> Cell {
    let cost = measured
        .and_then(|measured| Some((Counted::ideal(&measured.plan).cost, measured.counted?.cost)));
    number(cost.map(|(ideal, cost)| 100.0 * ideal as f64 / cost as f64), 1)
}

fn ideal_row(columns: &[Column], figures: Figures, ideal: &Counted) -> Vec<Cell> {
    let counters = figures
        .counter_columns()
        .into_iter()
        .map(|column| column.key)
        .zip(figures.counter_cells(Some(ideal)));
    let mut cells: Vec<(String, Cell)> = counters.collect();
    cells.push(("variant".into(), "ideal".into()));
    cells.push(("percent_of_ideal".into(), Cell::number(100.0, 1)));
    let cell = |column: &Column| {
        cells.iter().find(|(key, _)| *key == column.key).map(|(_, cell)| cell.clone())
    };
    columns.iter().map(|column| cell(column).unwrap_or_default()).collect()
}

fn history_cells(history: Option<&History>) -> [Cell; 7] {
    let liu = history.and_then(|history| history.liu);
    let gtx280 = history.and_then(|history| history.gtx280);
    let speedups = history.and_then(History::liu_speedups);
    [
        number(liu.map(|(ms, _)| ms), 3),
        number(liu.map(|(_, gb_per_s)| gb_per_s), 3),
        number(speedups.map(|(step, _)| step), 2),
        number(speedups.map(|(_, cumulative)| cumulative), 2),
        number(gtx280.map(|(gb_per_s, _)| gb_per_s), 2),
        number(gtx280.map(|(_, elements)| elements), 2),
        number(history.and_then(|history| history.udacity_ms), 2),
    ]
}
