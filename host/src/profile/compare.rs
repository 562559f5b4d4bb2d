//! Several profiles side by side.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};

use super::{
    cost::CURRENCY,
    figures::{Figure, empty_table, figures},
    profiled::Profiled,
};

/// Profiles of one or more rungs that do the same work.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a>(&'a [Profiled]);

impl<'a> Comparison<'a> {
    /// A comparison of profiles, or `None` if there are none.
    pub fn new(profiles: &'a [Profiled]) -> Option<Self> {
        (!profiles.is_empty()).then_some(Self(profiles))
    }

    /// The figures of each profile; all have the same names in the same order.
    fn figures(self) -> Vec<Vec<Figure>> {
        self.0.iter().map(figures).collect()
    }

    /// Writes the comparison for people: a column for each profile, with its ratio to the first
    /// one, and a sentence on what each profile wastes.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write_text(self, out: &mut impl Write) -> io::Result<()> {
        let problem = &self.0[0].plan.problem;
        let (n, op, element) = (problem.n, problem.op, problem.element);
        writeln!(
            out,
            "{op} of {n} {element} elements, {}; the figures are sums over all launches of a variant\n",
            self.0[0].input
        )?;
        let mut header = vec!["counter".to_owned(), "level".to_owned()];
        for (index, profiled) in self.0.iter().enumerate() {
            header.push(format!("variant {}", profiled.plan.problem.variant));
            if index > 0 {
                header.push("ratio".to_owned());
            }
        }
        let mut table = empty_table(header);
        let columns = self.figures();
        for (row, first) in columns[0].iter().enumerate() {
            if !columns.iter().any(|figures| figures[row].is_used(figures)) {
                continue;
            }
            let mut cells =
                vec![first.name.clone(), first.level.to_string(), first.show(first.actual)];
            for figures in &columns[1..] {
                let figure = &figures[row];
                cells.push(figure.show(figure.actual));
                cells.push(
                    ratio(figure, first).map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
                );
            }
            table.add_row(cells);
        }
        writeln!(out, "{table}\n")?;
        for profiled in self.0 {
            writeln!(
                out,
                "Variant {}: {} {}",
                profiled.plan.problem.variant,
                profiled.wastes().sentence(),
                profiled.next_sentence()
            )?;
        }
        writeln!(out, "({CURRENCY})")
    }

    /// The comparison as one JSON object. `profiles` holds what [`Profiled::to_json`] gives without
    /// lines. `ratios` holds, for each figure, its ratio to the figure of the first profile, one
    /// for each profile. The ratio is `null` if the first profile's figure is 0.
    pub fn to_json(self) -> Json {
        let columns = self.figures();
        let ratios: Map<_, _> = columns[0]
            .iter()
            .enumerate()
            .map(|(row, first)| {
                let ratios: Vec<_> =
                    columns.iter().map(|figures| ratio(&figures[row], first)).collect();
                (first.name.clone(), json!(ratios))
            })
            .collect();
        let profiles: Vec<_> = self.0.iter().map(|profiled| profiled.to_json(false)).collect();
        json!({ "profiles": profiles, "ratios": ratios })
    }
}

fn ratio(figure: &Figure, first: &Figure) -> Option<f64> {
    (first.actual != 0.0).then(|| figure.actual / first.actual)
}
