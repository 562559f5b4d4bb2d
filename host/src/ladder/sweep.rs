//! A sweep: several climbs at growing sizes.

use super::{
    climb::Climb,
    document::{
        Figures, bandwidth_references, environment, figures_notes, rung_notes, shape_cells, verdict,
    },
    rung::Measured,
};
use crate::{
    output::{Axis, Chart, Column, Document, Kind, Series, Table},
    variant::Variant,
};

/// Climbs at growing sizes of otherwise the same work, as one table and as charts over n, in which
/// each rung is a line. `asked` is the number of sizes that were asked for. `None` if there are no
/// climbs.
pub fn sweep_document(climbs: &[Climb], asked: usize) -> Option<Document> {
    let (first, last) = (climbs.first()?, climbs.last()?);
    let figures = Figures::of(&first.device, climbs.iter().flat_map(Climb::measured));
    let mut columns = vec![Column::new("n", "n"), Column::new("variant", "variant")];
    columns.extend(["grid", "block"].map(|key| Column::new(key, key)));
    columns.extend(figures.time_columns());
    columns.extend(figures.counter_columns());
    columns.push(Column::new("check", "check"));
    let mut table = Table::new("sweep", "Over size", columns);
    for climb in climbs {
        for rung in &climb.rungs {
            let measured = rung.measured();
            let mut row = vec![climb.work.n.into(), rung.variant.facts().label.into()];
            row.extend(shape_cells(measured));
            row.extend(figures.time_cells(&climb.device, measured));
            row.extend(
                figures.counter_cells(measured.and_then(|measured| measured.counted.as_ref())),
            );
            row.push(verdict(rung));
            table.push(row);
        }
    }
    let interrupted = climbs.len() < asked || last.is_cut_short();
    if interrupted {
        let done = climbs.iter().filter(|climb| !climb.is_cut_short()).count();
        table.notes.push(format!("Interrupted: {done} of {asked} sizes were measured completely."));
    }
    table.notes.extend(figures_notes(figures));
    for note in climbs.iter().flat_map(rung_notes) {
        // A rung that is refused is refused at each size, but one note is enough.
        if !table.notes.contains(&note) {
            table.notes.push(note);
        }
    }

    let lines = |id: &str, title: &str, y: Axis, value: &dyn Fn(&Measured) -> Option<f64>| {
        lines(climbs, id, title, y, value)
    };
    let mut charts = Vec::new();
    if figures.times {
        let mut bandwidth =
            lines("bandwidth", "Bandwidth over n", Axis::linear("GB/s"), &Measured::gb_per_s);
        bandwidth.references = bandwidth_references(&first.device, &first.work);
        charts.push(bandwidth);
        let micros = |measured: &Measured| measured.seconds().map(|seconds| seconds * 1e6);
        charts.push(lines("time", "Time over n", Axis::log10("us"), &micros));
    }
    if figures.counters {
        let cost = |measured: &Measured| {
            let n = measured.plan.problem.n as f64;
            measured.comparable().map(|counted| counted.cost as f64 / n)
        };
        charts.push(lines(
            "cost",
            "Estimated cost over n",
            Axis::linear("issue slots for an element"),
            &cost,
        ));
        let sectors =
            |measured: &Measured| measured.comparable().map(|counted| counted.sectors as f64);
        charts.push(lines(
            "sectors",
            "Sectors of global memory over n",
            Axis::log10("sectors"),
            &sectors,
        ));
    }
    let n = if climbs.len() == 1 {
        first.work.n.to_string()
    } else {
        format!("{} to {}", first.work.n, last.work.n)
    };
    Some(Document {
        title: format!("{} of {n} {} elements, over size", first.work.op, first.work.element),
        environment: environment(first, &n),
        tables: vec![table],
        charts,
        pictures: Vec::new(),
        interrupted,
    })
}

fn lines(
    climbs: &[Climb],
    id: &str,
    title: &str,
    y: Axis,
    value: &dyn Fn(&Measured) -> Option<f64>,
) -> Chart {
    let variants: Vec<Variant> = climbs[0].rungs.iter().map(|rung| rung.variant).collect();
    let points_of = |variant: Variant| -> Vec<(f64, f64)> {
        let rungs = climbs
            .iter()
            .flat_map(|climb| climb.rungs.iter().map(move |rung| (climb.work.n, rung)));
        rungs
            .filter(|(_, rung)| rung.variant == variant)
            .filter_map(|(n, rung)| Some((n as f64, rung.measured().and_then(value)?)))
            .collect()
    };
    let series: Vec<_> = variants
        .into_iter()
        .map(|variant| Series::new(format!("variant {variant}"), points_of(variant)))
        .filter(|series| !series.points.is_empty())
        .collect();
    let ends: Vec<_> = series
        .iter()
        .filter_map(|series| {
            Some(format!("{} ends at {:.1}", series.name, series.points.last()?.1))
        })
        .collect();
    Chart {
        id: id.into(),
        title: title.into(),
        description: format!("{title}, in {}: {}.", y.label, ends.join(", ")),
        kind: Kind::Lines,
        x: Axis::log2("n, elements"),
        y,
        series,
        references: Vec::new(),
    }
}
