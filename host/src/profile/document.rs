//! Profiles as tables and charts, for the formats that are neither text nor JSON.

use super::{
    compare::{Comparison, levels},
    cost::CURRENCY,
    figures::{Figure, figures},
    lines::lines,
    listing::sectors_per_request,
    profiled::{Profiled, describe_gpu},
};
use crate::output::{Axis, Cell, Chart, Column, Document, Kind, Series, Table};

/// A value of a figure as a cell.
fn cell(figure: &Figure, value: f64) -> Cell {
    if value.fract() == 0.0 && figure.is_count() {
        Cell::Integer(value as u64)
    } else {
        Cell::number(value, 3)
    }
}

fn environment(profiled: &Profiled) -> Vec<(String, String)> {
    let problem = &profiled.plan.problem;
    let input = format!("{} {} elements, {}", problem.n, problem.element, profiled.input);
    [
        ("device", "simulator".to_owned()),
        ("planned for", describe_gpu(&profiled.target.gpu)),
        ("input", input),
        ("operation", problem.op.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A chart of the estimated cost of each rung.
fn cost(profiles: &[Profiled]) -> Chart {
    let names = profiles.iter().map(|profiled| profiled.plan.problem.variant.to_string());
    let costs: Vec<f64> = profiles
        .iter()
        .map(|profiled| if profiled.polls() { f64::NAN } else { profiled.wastes().cost as f64 })
        .collect();
    let listed: Vec<_> = names
        .clone()
        .zip(&costs)
        .filter(|(_, cost)| cost.is_finite())
        .map(|(name, cost)| format!("variant {name} {cost:.0}"))
        .collect();
    Chart {
        id: "cost".into(),
        title: "Estimated cost".into(),
        description: format!("Bars of issue slots: {}.", listed.join(", ")),
        kind: Kind::Bars { categories: names.collect() },
        x: Axis::linear("variant"),
        y: Axis::linear("issue slots"),
        series: vec![Series::of_bars("cost", costs)],
        references: Vec::new(),
    }
}

impl Profiled {
    /// The profile as two tables, of the figures and of the lines, and a chart of the cost.
    pub fn document(&self) -> Document {
        let columns =
            [("counter", "counter"), ("level", "level"), ("actual", "actual"), ("ideal", "ideal")];
        let columns = columns.map(|(key, heading)| Column::new(key, heading)).into();
        let mut table = Table::new("figures", "Figures", columns);
        let figures = figures(self);
        for figure in figures.iter().filter(|figure| figure.is_used(&figures)) {
            table.push([
                figure.name.as_str().into(),
                figure.level.to_string().as_str().into(),
                cell(figure, figure.actual),
                figure.ideal.map_or(Cell::Missing, |ideal| cell(figure, ideal)),
            ]);
        }
        table.notes.extend(self.tuned_note());
        table.notes.extend([self.verdict(), self.next_sentence(), CURRENCY.to_owned()]);

        let columns = vec![
            Column::new("file", "file"),
            Column::new("line", "line"),
            Column::new("percent_of_instructions", "of all instructions").in_unit("%"),
            Column::new("divergent_branches", "divergent branches"),
            Column::new("bank_conflicts", "bank conflicts"),
            Column::new("sectors_per_request", "sectors per request"),
        ];
        let mut by_line = Table::new("lines", "Lines of the source", columns);
        let whole = self.counters.warp_instructions.max(1) as f64;
        for line in lines(&self.instructions) {
            let counters = &line.counters;
            by_line.push([
                line.file.as_str().into(),
                u64::from(line.line).into(),
                Cell::number(100.0 * counters.warp_instructions as f64 / whole, 1),
                counters.divergent_branches.into(),
                counters.bank_conflicts().into(),
                sectors_per_request(counters)
                    .map_or(Cell::Missing, |sectors| Cell::number(sectors, 2)),
            ]);
        }
        Document {
            title: format!("What variant {} does", self.plan.problem.variant),
            environment: environment(self),
            tables: vec![table, by_line],
            charts: vec![cost(std::slice::from_ref(self))],
            ..Document::default()
        }
    }
}

impl Comparison<'_> {
    /// The comparison as one table, with a column for each profile and its ratio to the first one,
    /// and a chart of the costs.
    pub fn document(self) -> Document {
        let profiles = self.profiles();
        let mut columns = vec![Column::new("counter", "counter"), Column::new("level", "level")];
        for (index, profiled) in profiles.iter().enumerate() {
            let label = profiled.plan.problem.variant.facts().label;
            let key = format!("{}_variant_{label}", index + 1);
            columns.push(Column::new(key, format!("variant {label}")));
            if index > 0 {
                columns.push(Column::new(format!("{}_ratio", index + 1), "ratio"));
            }
        }
        let mut table = Table::new("compare", "Counters side by side", columns);
        let all = self.figures();
        for (index, first) in all[0].iter().enumerate() {
            if !all.iter().any(|figures| figures[index].is_used(figures)) {
                continue;
            }
            let mut row: Vec<Cell> = vec![first.name.as_str().into(), levels(&all, index).into()];
            for (profiled, figures) in profiles.iter().zip(&all) {
                let figure = &figures[index];
                if row.len() > 2 {
                    row.push(cell(figure, figure.actual));
                    let ratio = self.ratio(profiled, figure, first);
                    row.push(ratio.map_or(Cell::Missing, |ratio| Cell::number(ratio, 2)));
                } else {
                    row.push(cell(figure, figure.actual));
                }
            }
            table.push(row);
        }
        for profiled in profiles {
            table.notes.extend(profiled.tuned_note());
            table.notes.push(format!("{} {}", profiled.verdict(), profiled.next_sentence()));
        }
        table.notes.push(CURRENCY.to_owned());
        Document {
            title: "Rungs side by side".into(),
            environment: environment(&profiles[0]),
            tables: vec![table],
            charts: vec![cost(profiles)],
            ..Document::default()
        }
    }
}
