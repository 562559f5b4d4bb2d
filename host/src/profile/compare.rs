//! Several profiles side by side.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};

use super::{
    cost::CURRENCY,
    figures::{Figure, empty_grid, figures},
    polls::holds_polls,
    profiled::{Profiled, describe_gpu},
};
use crate::output::Width;

/// Profiles of one or more rungs that do the same work.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a>(&'a [Profiled]);

impl<'a> Comparison<'a> {
    /// A comparison of profiles, or `None` if there are none.
    pub fn new(profiles: &'a [Profiled]) -> Option<Self> {
        (!profiles.is_empty()).then_some(Self(profiles))
    }

    /// The profiles.
    pub(super) fn profiles(self) -> &'a [Profiled] {
        self.0
    }

    /// The figures of each profile; all have the same names in the same order.
    pub(super) fn figures(self) -> Vec<Vec<Figure>> {
        self.0.iter().map(figures).collect()
    }

    /// Writes the comparison for people, no wider than `width`: a column for each profile, with its
    /// ratio to the first one, and sentences on what each profile wastes.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write_text(self, width: Width, out: &mut impl Write) -> io::Result<()> {
        let problem = &self.0[0].plan.problem;
        let (n, op, element) = (problem.n, problem.op, problem.element);
        let work = format!(
            "{op} of {n} {element} elements, {}, planned for {}; the figures are sums over all launches of a variant",
            self.0[0].input,
            describe_gpu(&self.0[0].target.gpu)
        );
        width.write(&work, out)?;
        let mut header = vec!["counter".to_owned(), "level".to_owned()];
        for (index, profiled) in self.0.iter().enumerate() {
            header.push(format!("variant {}", profiled.plan.problem.variant));
            if index > 0 {
                header.push("ratio".to_owned());
            }
        }
        let mut grid = empty_grid(header);
        let columns = self.figures();
        for (row, first) in columns[0].iter().enumerate() {
            if !columns.iter().any(|figures| figures[row].is_used(figures)) {
                continue;
            }
            let mut cells =
                vec![first.name.clone(), levels(&columns, row), first.show(first.actual)];
            for (profiled, figures) in self.0.iter().zip(&columns).skip(1) {
                let figure = &figures[row];
                cells.push(figure.show(figure.actual));
                let ratio = self.ratio(profiled, figure, first);
                cells.push(ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default());
            }
            grid.rows.push(cells);
        }
        writeln!(out, "\n{}\n", grid.within(width.columns()))?;
        for profiled in self.0 {
            if let Some(note) = profiled.tuned_note() {
                width.write(&note, out)?;
            }
            width.write(&format!("{} {}", profiled.verdict(), profiled.next_sentence()), out)?;
        }
        width.write(&format!("({CURRENCY})"), out)
    }

    /// The comparison as one JSON object. `profiles` holds what [`Profiled::to_json`] gives without
    /// lines. `ratios` holds, for each figure, its ratio to the figure of the first profile, one
    /// for each profile. The ratio is `null` if the first profile's figure is 0, or if one of the
    /// two figures holds polls.
    pub fn to_json(self) -> Json {
        let columns = self.figures();
        let ratios: Map<_, _> = columns[0]
            .iter()
            .enumerate()
            .map(|(row, first)| {
                let ratios: Vec<_> = self
                    .0
                    .iter()
                    .zip(&columns)
                    .map(|(profiled, figures)| self.ratio(profiled, &figures[row], first))
                    .collect();
                (first.name.clone(), json!(ratios))
            })
            .collect();
        let profiles: Vec<_> = self.0.iter().map(|profiled| profiled.to_json(false)).collect();
        json!({ "gpu": self.0[0].target.gpu.name, "profiles": profiles, "ratios": ratios })
    }

    /// The ratio of a profile's figure to that of the first profile, if there is a sense in it.
    pub(super) fn ratio(self, profiled: &Profiled, figure: &Figure, first: &Figure) -> Option<f64> {
        let polls = (profiled.polls() || self.0[0].polls()) && holds_polls(&figure.name);
        (first.actual != 0.0 && !polls).then(|| figure.actual / first.actual)
    }
}

/// The levels of one figure in all profiles, each once.
pub(super) fn levels(columns: &[Vec<Figure>], row: usize) -> String {
    let mut levels: Vec<String> = Vec::new();
    for level in columns.iter().map(|figures| figures[row].level.to_string()) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels.join(", ")
}
