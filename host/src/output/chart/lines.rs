//! Draws the lines of a chart, and the name of each line at its end.

use std::{convert::Infallible, fmt::Write as _};

use plotters::drawing::DrawingAreaErrorKind;
use plotters_backend::BackendCoord;

use super::{
    Series,
    axis::{figure, has_place},
    draw::{GUTTER, Layout, Plot},
    look::Look,
    names::{WRAP, apart, baselines, height},
    paper::{Placed, path, text},
};
use crate::output::{escape, wrap};

/// The distance between a name and the line that leads to it.
const BESIDE: i32 = 4;

/// The greatest distance between the ends of grey lines that share a name.
const SAME: i32 = 2;

/// A name with its place.
struct Placard {
    /// The lines of the name.
    name: Vec<String>,
    /// The end of the line that has this name.
    end: BackendCoord,
    /// The height of the middle of the name.
    middle: i32,
    /// The series that has this name. It is `None` for reference lines, and for the name that grey
    /// lines with the same end share.
    series: Option<usize>,
    /// The CSS class.
    class: String,
}

impl Layout<'_> {
    pub(super) fn lines(&self, plot: &mut Plot) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        let looks = self.chart.looks();
        let placards = self.placards(plot, &looks);
        let mut order: Vec<usize> = (0..looks.len()).collect();
        order.sort_by_key(|&index| looks[index].order());
        for index in order {
            let placard = placards.iter().find(|placard| placard.series == Some(index));
            self.line(plot, &self.chart.series[index], &looks[index], placard)?;
        }
        let draw = |_: &[BackendCoord]| {
            let names = placards.iter().filter(|placard| placard.series.is_none());
            names.map(|placard| self.placard(placard)).collect()
        };
        plot.draw_series([Placed { points: vec![], draw }]).map(|_| ())
    }

    fn line(
        &self,
        plot: &mut Plot,
        series: &Series,
        look: &Look,
        placard: Option<&Placard>,
    ) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        // A point that is left out breaks the line.
        let runs: Vec<_> = series.points.split(|point| !self.chart.shows(*point)).collect();
        let draw = |points: &[BackendCoord]| {
            let name = escape(&series.name);
            // The group has the title of its line and of its name. If the pointer is on one of
            // them, the style sheet makes both stand out.
            let mut drawn = format!(
                "<g class=\"series {}\" data-series=\"{name}\">\n<title>{name}</title>\n",
                look.class
            );
            let mut places = points;
            for run in &runs {
                let (here, rest) = places.split_at(run.len());
                places = rest;
                if here.len() > 1 {
                    let d = path(here.iter().copied());
                    let _ = writeln!(drawn, "<path class=\"{}\" d=\"{d}\"/>", look.line);
                }
                for (&(x, y), &place) in run.iter().zip(here) {
                    let title =
                        escape(&format!("{}, {}: {}", series.name, self.x.label(x), figure(y)));
                    let _ = writeln!(
                        drawn,
                        "<path class=\"mark\" data-x=\"{x}\" data-y=\"{y}\" {}><title>{title}</title></path>",
                        look.mark(place)
                    );
                }
            }
            if let Some(placard) = placard {
                drawn.push_str(&self.placard(placard));
            }
            drawn + "</g>\n"
        };
        plot.draw_series([Placed { points: runs.concat(), draw }]).map(|_| ())
    }

    /// Draws a name, and a thin line that leads to it if it does not stand right beside its line.
    fn placard(&self, placard: &Placard) -> String {
        let Placard { name, end, middle, class, .. } = placard;
        let x = self.plot_right() + GUTTER;
        let mut drawn = String::new();
        if (middle - end.1).abs() > 2 || end.0 < self.plot_right() {
            let d = path([(end.0 + BESIDE + 2, end.1), (x - BESIDE, *middle)]);
            let _ = writeln!(drawn, "<path class=\"leader\" d=\"{d}\"/>");
        }
        for (line, y) in name.iter().zip(baselines(name, *middle)) {
            drawn.push_str(&text((x, y), class, "start", line));
        }
        drawn
    }

    /// The names at their places. A series without points has none.
    fn placards(&self, plot: &Plot, looks: &[Look]) -> Vec<Placard> {
        let place = |point: (f64, f64)| plot.plotting_area().map_coordinate(&point);
        let last = |series: &Series| {
            series.points.iter().rev().find(|point| self.chart.shows(**point)).copied()
        };
        let series = self.chart.series.iter().zip(looks).zip(&self.names.series).enumerate();
        let series = series.filter_map(|(index, ((series, look), name))| {
            let (end, class) = (place(last(series)?), format!("label {}", look.class));
            Some(Placard { name: name.clone(), end, middle: end.1, series: Some(index), class })
        });
        let references =
            self.chart.references.iter().filter(|line| has_place(self.chart.y.scale, line.value));
        let references = references.zip(&self.names.references).map(|(line, name)| {
            let end = place((self.x.high, line.value));
            let class = "label".to_owned();
            Placard { name: name.clone(), end, middle: end.1, series: None, class }
        });
        let mut placards: Vec<_> = series.chain(references).collect();
        placards.sort_by_key(|placard| placard.end.1);
        let mut placards = joined(placards, looks);
        let wanted: Vec<_> =
            placards.iter().map(|placard| (placard.end.1, height(&placard.name))).collect();
        // Half of a name may stand above or below the plot.
        let ends = (self.top() - 4, self.top() + self.height + 6);
        for (placard, middle) in placards.iter_mut().zip(apart(&wanted, ends)) {
            placard.middle = middle;
        }
        placards
    }
}

/// Joins the names of grey lines that end at the same place. The names are in the order of their
/// heights.
fn joined(placards: Vec<Placard>, looks: &[Look]) -> Vec<Placard> {
    let is_grey =
        |placard: &Placard| placard.series.is_some_and(|index| looks[index].is_of_crowd());
    let (greys, mut all): (Vec<_>, Vec<_>) = placards.into_iter().partition(is_grey);
    let meet = |a: &Placard, b: &Placard| a.end.0 == b.end.0 && b.end.1 - a.end.1 <= SAME;
    let mut groups: Vec<Vec<Placard>> = Vec::new();
    for placard in greys {
        match groups.last_mut().filter(|group| meet(&group[0], &placard)) {
            Some(group) => group.push(placard),
            None => groups.push(vec![placard]),
        }
    }
    for group in groups {
        let mut index: Vec<usize> = group.iter().filter_map(|placard| placard.series).collect();
        index.sort_unstable();
        let name = |index: &usize| {
            let named = group.iter().find(|placard| placard.series == Some(*index));
            named.map(|placard| placard.name.join(" ")).unwrap_or_default()
        };
        let names: Vec<String> = index.iter().map(name).collect();
        let (first, last) = (&group[0], &group[group.len() - 1]);
        all.push(Placard {
            name: wrap(&names.join(", "), WRAP),
            end: (first.end.0, i32::midpoint(first.end.1, last.end.1)),
            middle: first.middle,
            series: first.series.filter(|_| group.len() == 1),
            class: "label crowd".into(),
        });
    }
    all.sort_by_key(|placard| placard.end.1);
    all
}
