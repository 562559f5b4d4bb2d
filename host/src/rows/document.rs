//! The table and the charts of a plane.

use super::{Measured, Plane, Variant, plane::Request};
use crate::{
    device::DeviceKind,
    experiment::{Times, gb_per_s},
    output::{Axis, Cell, Chart, Column, Document, Kind, Scale, Series, Shown, Table},
};

/// The bytes of a sector of global memory.
const SECTOR: f64 = 32.0;

/// The elements for which instructions are given, as many as a warp has lanes.
const LANES: f64 = 32.0;

/// A figure of a variant over a matrix.
struct Figure {
    key: &'static str,
    heading: &'static str,
    unit: Option<&'static str>,
    decimals: u8,
    shown: Shown,
    /// How a chart spreads the values. `None` if there is no chart.
    chart: Option<Scale>,
    value: fn(&Measured) -> Option<f64>,
}

/// A count for each request of the loads.
fn for_each_load(measured: &Measured, count: u64) -> Option<f64> {
    let requests = measured.counters?.global.load.requests;
    (requests > 0).then(|| count as f64 / requests as f64)
}

/// The figures that the simulator counts.
const COUNTED: [Figure; 6] = [
    Figure {
        key: "sectors_per_load",
        heading: "sectors per load",
        unit: None,
        decimals: 2,
        shown: Shown::Always,
        chart: Some(Scale::Linear),
        value: |measured| for_each_load(measured, measured.counters?.global.load.sectors),
    },
    Figure {
        key: "lanes_per_load",
        heading: "lanes per load",
        unit: None,
        decimals: 2,
        shown: Shown::Always,
        chart: Some(Scale::Linear),
        value: |measured| {
            let size = u64::from(measured.plan.problem.element.size());
            for_each_load(measured, measured.counters?.global.load.bytes / size)
        },
    },
    Figure {
        key: "bytes_loaded_per_byte",
        heading: "bytes loaded per byte",
        unit: None,
        decimals: 2,
        shown: Shown::Always,
        chart: Some(Scale::Linear),
        value: |measured| {
            let sectors = measured.counters?.global.load.sectors as f64;
            Some(SECTOR * sectors / measured.plan.problem.bytes() as f64)
        },
    },
    Figure {
        key: "lanes_at_work_percent",
        heading: "lanes at work",
        unit: Some("%"),
        decimals: 1,
        shown: Shown::Always,
        chart: Some(Scale::Linear),
        value: |measured| Some(100.0 * measured.counters?.lane_efficiency()?),
    },
    Figure {
        key: "instructions_per_32_elements",
        heading: "instructions per 32 elements",
        unit: None,
        decimals: 1,
        shown: Shown::Always,
        chart: Some(Scale::Log10),
        value: |measured| {
            let instructions = measured.counters?.warp_instructions as f64;
            Some(LANES * instructions / measured.plan.problem.elements() as f64)
        },
    },
    Figure {
        key: "divergent_branches",
        heading: "divergent branches",
        unit: None,
        decimals: 0,
        shown: Shown::IfRoom,
        chart: None,
        value: |measured| Some(measured.counters?.divergent_branches as f64),
    },
];

/// The figures that a GPU measures.
const TIMED: [Figure; 2] = [
    Figure {
        key: "time_us",
        heading: "time",
        unit: Some("us"),
        decimals: 2,
        shown: Shown::Always,
        chart: Some(Scale::Log10),
        value: |measured| Some(measured.times?.median.as_secs_f64() * 1e6),
    },
    Figure {
        key: "gb_per_s",
        heading: "bandwidth",
        unit: Some("GB/s"),
        decimals: 1,
        shown: Shown::Always,
        chart: Some(Scale::Linear),
        value: |measured| {
            let Times { median, .. } = measured.times?;
            Some(gb_per_s(measured.plan.problem.bytes() as f64, median))
        },
    },
];

impl Figure {
    fn column(&self) -> Column {
        let mut column = Column::new(self.key, self.heading);
        column.unit = self.unit.map(str::to_owned);
        column.shown = self.shown;
        column
    }

    fn cell(&self, measured: &Measured) -> Cell {
        (self.value)(measured).map_or(Cell::Missing, |value| Cell::number(value, self.decimals))
    }

    /// The figure over the number of columns, with a line for each variant.
    fn chart(&self, plane: &Plane) -> Option<Chart> {
        let scale = self.chart?;
        let line = |&variant: &Variant| {
            let own = plane.measured.iter().filter(|one| one.plan.problem.variant == variant);
            let point = |one: &Measured| Some((one.plan.problem.cols as f64, (self.value)(one)?));
            Series::new(variant.name(), own.filter_map(point).collect())
        };
        let label = match self.unit {
            Some(unit) => format!("{} ({unit})", self.heading),
            None => self.heading.to_owned(),
        };
        Some(Chart {
            id: self.key.replace('_', "-"),
            title: format!("{}, over the number of columns", capitalised(self.heading)),
            description: "A line for each variant, with the values of the table.".into(),
            kind: Kind::Lines,
            x: Axis::log2("columns"),
            y: Axis { label, scale },
            series: plane.request.variants.iter().map(line).collect(),
            references: Vec::new(),
        })
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl Plane {
    /// A table with a row for each variant over each matrix. If there are several matrices, figures
    /// have a chart too.
    pub fn document(&self) -> Document {
        let Request { op, element, seed, shapes, .. } = &self.request;
        let is_timed = self.device.kind == DeviceKind::Cuda;
        let figures: Vec<&Figure> =
            COUNTED.iter().chain(TIMED.iter().filter(|_| is_timed)).collect();

        let mut columns = vec![
            Column::new("rows", "rows"),
            Column::new("cols", "columns"),
            Column::new("variant", "variant"),
            Column::new("threads", "threads"),
        ];
        columns.extend(figures.iter().map(|figure| figure.column()));
        let mut table = Table::new("rows", "Rows and columns", columns);
        for measured in &self.measured {
            let problem = &measured.plan.problem;
            let threads = problem.results() * u64::from(problem.variant.threads());
            let head = [
                problem.rows.into(),
                problem.cols.into(),
                problem.variant.name().into(),
                threads.into(),
            ];
            let cells = figures.iter().map(|figure| figure.cell(measured));
            table.push(head.into_iter().chain(cells).collect::<Vec<_>>());
        }
        table.notes.push(
            "The variant column makes a result for each column of the matrix, and the others make \
             one for each row. Each result is checked on the CPU."
                .into(),
        );
        if self.is_checked {
            table.notes.push("The simulator's checks found nothing.".into());
        }

        let mut environment = vec![
            ("device".to_owned(), self.device.name.clone()),
            ("elements".to_owned(), format!("{op} of {element}, seed {seed}")),
        ];
        if is_timed {
            let Request { runs, .. } = self.request;
            let text = format!("median of {}, after {} to warm up", runs.timed, runs.warm_up);
            environment.push(("runs".to_owned(), text));
        }
        let charts = figures.iter().filter(|_| shapes.len() > 1);
        Document {
            title: "reduce rows".into(),
            environment,
            tables: vec![table],
            charts: charts.filter_map(|figure| figure.chart(self)).collect(),
            pictures: Vec::new(),
            interrupted: self.is_interrupted,
        }
    }
}
