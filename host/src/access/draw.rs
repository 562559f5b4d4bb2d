//! Cells, columns and charts that several patterns have.

use std::time::Duration;

use super::{lab::Lab, site::Ran};
use crate::{
    experiment::gb_per_s,
    output::{Axis, Cell, Chart, Column, Kind, Reference, Series, Table},
};

/// The tables and the charts of one pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The figures.
    pub tables: Vec<Table>,
    /// Charts of the same figures.
    pub charts: Vec<Chart>,
}

/// A column of times and a column of bandwidths. `what` names the operation in their headings, such
/// as `read`; it may be empty.
pub(super) fn time_columns(what: &str) -> [Column; 2] {
    let key = |name: &str| {
        if what.is_empty() { name.to_owned() } else { format!("{}_{name}", what.replace(' ', "_")) }
    };
    let heading =
        |name: &str| if what.is_empty() { name.to_owned() } else { format!("{what}: {name}") };
    [
        Column::new(key("us"), heading("time")).in_unit("us"),
        Column::new(key("gb_per_s"), heading("bandwidth")).in_unit("GB/s"),
    ]
}

/// The cells of the two columns of [`time_columns`]. `bytes` is the number of bytes that the
/// threads asked for.
pub(super) fn time_cells(time: Option<Duration>, bytes: u64) -> [Cell; 2] {
    [micros(time), time.map_or(Cell::Missing, |time| Cell::number(gb_per_s(bytes as f64, time), 1))]
}

/// A time in microseconds.
pub(super) fn micros(time: Option<Duration>) -> Cell {
    time.map_or(Cell::Missing, |time| Cell::number(time.as_secs_f64() * 1e6, 2))
}

/// The cells of a time and of a rate. The rate is `done` pieces of work over that time, in 10^9 per
/// second.
pub(super) fn work_cells(time: Option<Duration>, done: u64) -> [Cell; 2] {
    [micros(time), time.map_or(Cell::Missing, |time| Cell::number(gb_per_s(done as f64, time), 1))]
}

/// A count divided by the number of requests. The cell is missing if there are no requests.
pub(super) fn each(count: u64, requests: u64) -> Cell {
    if requests == 0 { Cell::Missing } else { Cell::number(count as f64 / requests as f64, 2) }
}

/// The number in a cell.
fn value(cell: &Cell) -> Option<f64> {
    match *cell {
        Cell::Integer(value) => Some(value as f64),
        Cell::Number { value, .. } => Some(value),
        Cell::Text(_) | Cell::Missing => None,
    }
}

/// Column `y` of the rows as a line over column `x`.
pub(super) fn line(name: &str, rows: &[Vec<Cell>], x: usize, y: usize) -> Series {
    let point = |row: &Vec<Cell>| value(&row[x]).zip(value(&row[y]));
    Series::new(name, rows.iter().filter_map(point).collect())
}

/// Column `y` of the rows as bars.
pub(super) fn bars(name: &str, rows: &[Vec<Cell>], y: usize) -> Series {
    Series::of_bars(name, rows.iter().map(|row| value(&row[y]).unwrap_or(f64::NAN)))
}

/// The kind of a chart of bars with one category for each row. The texts in `columns` of the row
/// make the name of its category.
pub(super) fn categories(rows: &[Vec<Cell>], columns: &[usize]) -> Kind {
    let text = |row: &Vec<Cell>| {
        let texts = columns.iter().map(|&column| match &row[column] {
            Cell::Text(text) => text.clone(),
            Cell::Integer(value) => value.to_string(),
            Cell::Number { value, .. } => value.to_string(),
            Cell::Missing => String::new(),
        });
        texts.collect::<Vec<_>>().join(" ")
    };
    Kind::Bars { categories: rows.iter().map(text).collect() }
}

/// A chart without reference lines.
pub(super) fn chart(
    id: &str,
    title: &str,
    description: &str,
    kind: Kind,
    axes: [Axis; 2],
    series: Vec<Series>,
) -> Chart {
    let [x, y] = axes;
    let (id, title, description) = (id.to_owned(), title.to_owned(), description.to_owned());
    Chart { id, title, description, kind, x, y, series, references: Vec::new() }
}

/// The charts of a table of work: one of its speed, if there are times, and one of its
/// instructions. The first two columns of the table name a piece of work, the third counts its
/// machine instructions, and the last, if there are times, says how many pieces are done in a
/// second. `what` labels the axis of the pieces. `speed` names what is done and describes the first
/// chart; `instructions` describes the second.
pub(super) fn work_charts(
    table: &Table,
    title: &str,
    what: &str,
    speed: Option<(&str, &str)>,
    instructions: &str,
) -> Vec<Chart> {
    let draw = |id: &str, description: &str, y: &str, series: Series| {
        let (id, axes) = (format!("{}-{id}", table.id), [Axis::linear(what), Axis::linear(y)]);
        chart(&id, title, description, categories(&table.rows, &[0, 1]), axes, vec![series])
    };
    let speed = speed.map(|(name, description)| {
        let series = bars(name, &table.rows, table.columns.len() - 1);
        draw("speed", description, &format!("10^9 {name}/s"), series)
    });
    let instructions = draw(
        "instructions",
        instructions,
        "machine instructions (SASS)",
        bars("SASS instructions", &table.rows, 2),
    );
    speed.into_iter().chain([instructions]).collect()
}

impl Lab<'_> {
    /// The chart with a reference line at the peak bandwidth of the memory, if that is known.
    pub(super) fn with_peak(&self, mut chart: Chart) -> Chart {
        let peak = |value| Reference { label: "peak of the memory".into(), value };
        chart.references.extend(self.peak().map(peak));
        chart
    }

    /// A sentence that says over how many of `what` the counts and the times were taken.
    pub(super) fn sizes_note(&self, what: &str, counted: u64, timed: u64) -> String {
        if self.is_timed() {
            format!(
                "Times are medians of launches with {timed} {what}. Counters are from a launch with {counted}."
            )
        } else {
            format!("Counters are from a launch with {counted} {what}.")
        }
    }
}

impl Ran {
    /// Sectors per request of the global loads.
    pub(super) fn load_sectors(&self) -> Cell {
        each(self.counters.global.load.sectors, self.counters.global.load.requests)
    }

    /// Sectors per request of the global stores.
    pub(super) fn store_sectors(&self) -> Cell {
        each(self.counters.global.store.sectors, self.counters.global.store.requests)
    }
}
