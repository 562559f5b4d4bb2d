//! Draws the bars of a chart.

use std::{convert::Infallible, fmt::Write as _};

use plotters::drawing::DrawingAreaErrorKind;
use plotters_backend::BackendCoord;

use super::{
    Chart, Series,
    axis::figure,
    draw::{Layout, Plot, class, width},
    paper::{Placed, text},
};
use crate::output::escape;

/// The height of a bar. Bars are horizontal.
pub(super) const BAR: i32 = 14;
/// The distance between a value and the end of its bar.
const BESIDE: i32 = 4;

impl Chart {
    /// The series that have a bar in a category, by their indices.
    fn bars_of(&self, category: usize) -> impl Iterator<Item = usize> + '_ {
        let has_bar = move |series: &Series| {
            series.points.iter().any(|point| self.shows(*point) && point.0 as usize == category)
        };
        (0..self.series.len()).filter(move |&index| has_bar(&self.series[index]))
    }

    /// The greatest number of bars that one category has.
    pub(super) fn most_bars(&self, categories: usize) -> usize {
        (0..categories).map(|category| self.bars_of(category).count()).max().unwrap_or(0)
    }
}

impl Layout<'_> {
    pub(super) fn bars(
        &self,
        plot: &mut Plot,
        index: usize,
        series: &Series,
    ) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        let shown: Vec<_> =
            series.points.iter().copied().filter(|point| self.chart.shows(*point)).collect();
        let points = shown
            .iter()
            .flat_map(|&(category, value)| [(self.x.base(), category), (value, category)])
            .collect();
        // A reference line must not strike a value through.
        let lines: Vec<i32> = self
            .chart
            .references
            .iter()
            .map(|line| plot.plotting_area().map_coordinate(&(line.value, 0.0)).0)
            .collect();
        let draw = |points: &[BackendCoord]| {
            let mut drawn = format!(
                "<g class=\"series {}\" data-series=\"{}\">\n",
                class(index),
                escape(&series.name)
            );
            for (&(category, value), ends) in shown.iter().zip(points.chunks_exact(2)) {
                let ((from, y), (to, _)) = (ends[0], ends[1]);
                let beside: Vec<usize> = self.chart.bars_of(category as usize).collect();
                let rank = beside.iter().take_while(|other| **other != index).count() as i32;
                let top = y - BAR * beside.len() as i32 / 2 + BAR * rank;
                let (x, wide, high) = (from.min(to), (to - from).abs(), BAR - 1);
                let title = escape(&format!("{}: {}", self.y.label(category), figure(value)));
                let _ = writeln!(
                    drawn,
                    "<rect class=\"mark\" data-x=\"{category}\" data-y=\"{value}\" x=\"{x}\" y=\"{top}\" \
                     width=\"{wide}\" height=\"{high}\"><title>{title}</title></rect>"
                );
                let (x, class, anchor) = value_place(x, wide, width(&figure(value)), &lines);
                drawn.push_str(&text((x, top + 11), class, anchor, &figure(value)));
            }
            drawn + "</g>\n"
        };
        plot.draw_series([Placed { points, draw }]).map(|_| ())
    }
}

/// The place of a value of some width, with its CSS class and its anchor. The value stands after
/// its bar. If a reference line would strike it through there, it stands inside the bar, or after
/// that line if the bar is too short.
fn value_place(
    bar: i32,
    length: i32,
    wide: i32,
    lines: &[i32],
) -> (i32, &'static str, &'static str) {
    let strikes = |start: i32, line: i32| (start - 2..=start + wide + 2).contains(&line);
    let end = bar + length;
    let mut start = end + BESIDE;
    if lines.iter().any(|line| strikes(start, *line)) && length >= wide + 2 * BESIDE {
        return (end - BESIDE, "value inside", "end");
    }
    while let Some(line) = lines.iter().find(|line| strikes(start, **line)) {
        start = line + BESIDE;
    }
    (start, "value", "start")
}

#[cfg(test)]
mod tests {
    use super::value_place;

    #[test]
    fn no_line_strikes_a_value_through() {
        assert_eq!(value_place(10, 100, 30, &[]), (114, "value", "start"));
        assert_eq!(value_place(10, 100, 30, &[60, 200]), (114, "value", "start"));
        assert_eq!(value_place(10, 100, 30, &[120]), (106, "value inside", "end"));
        assert_eq!(value_place(10, 20, 30, &[40, 70]), (74, "value", "start"));
    }
}
