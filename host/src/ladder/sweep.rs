//! A sweep: several climbs at growing sizes.

use std::fmt::Write as _;

use super::{
    climb::Climb,
    counted::Counted,
    document::{
        Figures, bandwidth_references, environment, figures_notes, rung_notes, shape_cells, verdict,
    },
    rung::Measured,
};
use crate::{
    output::{Axis, Cell, Chart, Column, Document, Kind, Role, Series, Table, grouped},
    variant::Variant,
};

/// Climbs at growing sizes of otherwise the same work, as one table and as charts over n, in which
/// each rung is a line. `asked` is the number of sizes that were asked for. `None` if there are no
/// climbs.
pub fn sweep_document(climbs: &[Climb], asked: usize) -> Option<Document> {
    let (first, last) = (climbs.first()?, climbs.last()?);
    let figures = Figures::of(&first.device, climbs.iter().flat_map(Climb::measured));
    let mut columns = vec![Column::new("n", "n"), Column::new("variant", "variant")];
    columns.extend(["grid", "block"].map(|key| Column::new(key, key).on_request()));
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
        table.notes.push(format!(
            "The command was interrupted: {done} of {asked} sizes were measured completely."
        ));
    }
    table.notes.extend(figures_notes(figures));
    for note in climbs.iter().flat_map(rung_notes) {
        // A rung that is refused is refused at each size, but one note is enough.
        if !table.notes.contains(&note) {
            table.notes.push(note);
        }
    }

    let mut charts = Vec::new();
    if figures.times {
        let y = Axis::linear("bandwidth (GB/s)");
        let what = Quantity { id: "bandwidth", name: "Bandwidth", unit: "GB/s", best: Best::Most };
        let mut bandwidth = what.over_n(climbs, y, &Measured::gb_per_s, None);
        bandwidth.references = bandwidth_references(&first.device, &first.work);
        charts.push(bandwidth);
        let micros = |measured: &Measured| measured.seconds().map(|seconds| seconds * 1e6);
        let what = Quantity { id: "time", name: "Time", unit: "us", best: Best::Least };
        charts.push(what.over_n(climbs, Axis::log10("time (us)"), &micros, None));
    }
    if figures.counters {
        let each = |counted: &Counted, n: u64| counted.cost as f64 / n as f64;
        let what = Quantity {
            id: "cost",
            name: "Estimated cost of an element",
            unit: "issue slots",
            best: Best::Least,
        };
        charts.push(what.over_n(
            climbs,
            Axis::linear("issue slots for an element"),
            &|measured| Some(each(measured.comparable()?, measured.plan.problem.n)),
            Some(&each),
        ));
        let all = |counted: &Counted, _: u64| counted.sectors as f64;
        let what = Quantity {
            id: "sectors",
            name: "Sectors of global memory",
            unit: "sectors",
            best: Best::Least,
        };
        charts.push(what.over_n(
            climbs,
            Axis::log10("sectors"),
            &|measured| Some(all(measured.comparable()?, 0)),
            Some(&all),
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

/// What a chart of a sweep shows.
struct Quantity {
    id: &'static str,
    name: &'static str,
    unit: &'static str,
    best: Best,
}

/// The value of the ideal for a number of elements.
type OfIdeal = dyn Fn(&Counted, u64) -> f64;

/// Which value of a quantity is the best.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    Least,
    Most,
}

impl Quantity {
    /// The chart over n: a line for each rung, of which the best at the greatest n stands out, and
    /// one for the ideal, if there is one.
    fn over_n(
        &self,
        climbs: &[Climb],
        y: Axis,
        value: &dyn Fn(&Measured) -> Option<f64>,
        ideal: Option<&OfIdeal>,
    ) -> Chart {
        let mut series = lines(climbs, value);
        let at = climbs.last().map_or(0, |climb| climb.work.n);
        let ends = series.iter_mut().filter_map(|series| {
            let end = series.points.last().filter(|(n, _)| *n as u64 == at)?.1;
            Some((series, end))
        });
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        if self.best == Best::Most {
            ends.reverse();
        }
        let show = |value: f64| Cell::number(value, u8::from(value < 100.0)).show();
        let mut told = format!(
            "A line for each variant; {} is better.",
            match self.best {
                Best::Least => "lower",
                Best::Most => "higher",
            }
        );
        if let [(best, first), .., (worst, last)] = &mut ends[..] {
            best.role = Role::Highlighted;
            let _ = write!(
                told,
                " With {} elements, {} is the best with {} {}, and {} the worst with {}.",
                grouped(at),
                best.name,
                show(*first),
                self.unit,
                worst.name,
                show(*last)
            );
        }
        if let Some(ideal) = ideal {
            let point = |climb: &Climb| {
                let plan = &climb.measured().next()?.plan;
                Some((climb.work.n as f64, ideal(&Counted::ideal(plan), climb.work.n)))
            };
            let points = climbs.iter().filter_map(point).collect();
            series.push(Series::new("ideal", points).in_role(Role::Ideal));
            told += " The ideal is computed and not measured.";
        }
        Chart {
            id: self.id.into(),
            title: format!("{} over n", self.name),
            description: told,
            kind: Kind::Lines,
            x: Axis::log2("n, elements"),
            y,
            series,
            references: Vec::new(),
        }
    }
}

/// A line for each rung, with a point for each size.
fn lines(climbs: &[Climb], value: &dyn Fn(&Measured) -> Option<f64>) -> Vec<Series> {
    let variants = climbs[0].rungs.iter().map(|rung| rung.variant);
    let points_of = |variant: Variant| -> Vec<(f64, f64)> {
        let rungs = climbs
            .iter()
            .flat_map(|climb| climb.rungs.iter().map(move |rung| (climb.work.n, rung)));
        rungs
            .filter(|(_, rung)| rung.variant == variant)
            .filter_map(|(n, rung)| Some((n as f64, rung.measured().and_then(value)?)))
            .collect()
    };
    variants
        .map(|variant| Series::new(format!("variant {variant}"), points_of(variant)))
        .filter(|series| !series.points.is_empty())
        .collect()
}
