//! Draws a chart as SVG. plotters computes the places and draws the axes. The marks are drawn here,
//! so that they have classes and data attributes.

use std::{convert::Infallible, fmt::Write as _};

use plotters::{
    chart::{ChartBuilder, ChartContext, LabelAreaPosition},
    coord::cartesian::Cartesian2d,
    drawing::{DrawingAreaErrorKind, IntoDrawingArea},
    style::IntoFont,
};
use plotters_backend::BackendCoord;

use super::{
    Chart, Kind, Series,
    axis::{Spread, figure, has_place},
    paper::{AXIS, GRID, Paper, Placed, path, text},
};
use crate::output::{escape, theme, wrap};

/// The width of the area between the axes. All lengths are in units of the `viewBox`, which are
/// meant to be pixels.
const PLOT_WIDTH: i32 = 290;
/// The height of the area between the axes, in a chart of lines.
const PLOT_HEIGHT: i32 = 190;
/// The height of a bar. Bars are horizontal.
const BAR: i32 = 14;
/// The gap between the bars of two categories.
const GAP: i32 = 8;
/// The distance between two lines of text.
const LEADING: i32 = 17;
/// The width of a character, a little more than it takes on average.
const CHAR: f64 = 7.1;
/// The greatest number of characters in a line of the title.
const TITLE: usize = 56;
/// The height below the plot, for the ticks, their labels and the label of the axis.
const BELOW: i32 = 44;
/// The greatest length of a name that stands at the end of its line. If a name is longer, the chart
/// has a legend instead.
const DIRECT: usize = 24;
/// The width of a chart on a page that has room for it, as a multiple of its width in the
/// `viewBox`.
const ENLARGED: f64 = 1.15;
/// The least width of a chart on a page, as a multiple of its width in the `viewBox`.
const REDUCED: f64 = 0.85;
/// The length of a tick. The tick's label is twice as far away from the axis.
const TICK: i32 = 4;

type Plot<'a, 'b> = ChartContext<'a, Paper<'b>, Cartesian2d<Spread, Spread>>;

/// The place where a chart is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) enum Home {
    /// A separate file, which contains the title and the colours.
    File,
    /// A page, which has the title and the colours already.
    Page,
}

impl Chart {
    /// Draws the chart as an SVG file, which follows the reader's light or dark scheme.
    ///
    /// Each point is an element of class `mark`, with its values in `data-x` and `data-y`. The
    /// points of a series are in a group of class `series`. Bars are horizontal, with the
    /// categories from the top down. Reference lines are of class `reference`.
    pub fn to_svg(&self) -> String {
        self.draw(Home::File)
    }

    /// Draws the chart for its place.
    pub(in crate::output) fn draw(&self, home: Home) -> String {
        let layout = Layout::new(self, home);
        let mut body = String::new();
        // Writing to a string cannot fail, and there is room for the plot by construction.
        layout.draw(&mut body).expect("a chart is drawn");
        let (id, title, description) =
            (escape(&self.id), escape(&self.title), escape(&self.description));
        let (width, height) = layout.size();
        let times = |factor: f64| (f64::from(width) * factor).round();
        let style = match home {
            Home::File => String::new(),
            Home::Page => {
                format!(" style=\"width: {}px; min-width: {}px\"", times(ENLARGED), times(REDUCED))
            }
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\"{style} role=\"img\" \
             aria-labelledby=\"chart-{id}-title chart-{id}-desc\">\n\
             <title id=\"chart-{id}-title\">{title}</title>\n<desc id=\"chart-{id}-desc\">{description}</desc>\n"
        );
        if home == Home::File {
            let style = theme::resolve(include_str!("../chart.css"));
            let _ = writeln!(
                svg,
                "<style>\n{style}\n</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"
            );
        }
        svg + &body + "</svg>\n"
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        has_place(self.y.scale, y)
            && match &self.kind {
                // The position of a category is a whole number below the number of categories.
                Kind::Bars { categories } => {
                    x >= 0.0 && x < categories.len() as f64 && x.fract() == 0.0
                }
                Kind::Lines => has_place(self.x.scale, x),
            }
    }

    fn shown(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series
            .iter()
            .flat_map(|series| series.points.iter().copied())
            .filter(|point| self.shows(*point))
    }

    fn is_direct(&self) -> bool {
        self.kind == Kind::Lines
            && self.series.len() <= theme::SERIES
            && self.series.iter().all(|series| series.name.chars().count() <= DIRECT)
    }
}

/// The width of a text in pixels.
fn width(text: &str) -> i32 {
    (text.chars().count() as f64 * CHAR).ceil() as i32
}

/// The CSS class of a series.
fn class(index: usize) -> String {
    format!("series-{}", index % theme::SERIES + 1)
}

/// The sizes and the axes of a chart.
struct Layout<'a> {
    chart: &'a Chart,
    title: Vec<String>,
    /// The lines of the legend above the plot. Each entry is a horizontal position and the index of
    /// a series.
    legend: Vec<Vec<(i32, usize)>>,
    /// The horizontal axis. The values of bars are on this axis.
    x: Spread,
    /// The vertical axis. The categories of bars are on this axis.
    y: Spread,
    left: i32,
    right: i32,
    height: i32,
}

impl<'a> Layout<'a> {
    fn new(chart: &'a Chart, home: Home) -> Self {
        let title = if home == Home::File { wrap(&chart.title, TITLE) } else { Vec::new() };
        let references =
            || chart.references.iter().filter(|line| has_place(chart.y.scale, line.value));
        let values = Spread::around(
            chart.y.scale,
            chart.shown().map(|(_, y)| y).chain(references().map(|reference| reference.value)),
        );
        let ticks = |spread: &Spread| {
            spread.ticks.iter().map(|tick| width(&spread.label(*tick))).max().unwrap_or(0)
        };
        let (x, y, right, height) = match &chart.kind {
            Kind::Bars { categories } => {
                let slot = BAR * chart.series.len().max(1) as i32 + GAP;
                let right = chart.shown().map(|(_, y)| width(&figure(y))).max().unwrap_or(0) + 8;
                // Half of the last tick's label stands to the right of the end of the axis.
                let right = right.max(ticks(&values) / 2 + 4);
                (
                    values,
                    Spread::categories(categories),
                    right,
                    slot * categories.len().max(1) as i32,
                )
            }
            Kind::Lines => {
                let x = Spread::around(chart.x.scale, chart.shown().map(|(x, _)| x)).tight();
                let names =
                    chart.series.iter().filter(|_| chart.is_direct()).map(|series| &series.name);
                let labels = names
                    .chain(references().map(|reference| &reference.label))
                    .map(|name| width(name));
                let right = (labels.max().unwrap_or(0) + 12).max(ticks(&x) / 2 + 4);
                (x, values, right, PLOT_HEIGHT)
            }
        };
        let above = if matches!(chart.kind, Kind::Bars { .. }) { width(&chart.x.label) } else { 0 };
        let left = ticks(&y).max(above) + 2 * TICK + 4;
        let mut layout = Self { chart, title, legend: Vec::new(), x, y, left, right, height };
        layout.place_legend();
        layout
    }

    fn place_legend(&mut self) {
        let chart = self.chart;
        if chart.series.len() < 2 || chart.is_direct() {
            return;
        }
        let mut x = i32::MAX;
        for (index, series) in chart.series.iter().enumerate() {
            let wide = width(&series.name) + 36;
            if x.saturating_add(wide) > self.left + PLOT_WIDTH + self.right {
                self.legend.push(Vec::new());
                x = 4;
            }
            self.right = self.right.max(x + wide - self.left - PLOT_WIDTH);
            self.legend.last_mut().expect("a line was begun").push((x, index));
            x += wide;
        }
    }

    fn lies(&self) -> bool {
        matches!(self.chart.kind, Kind::Bars { .. })
    }

    /// The height above the plot. It has room for the title, the legend, the label of the vertical
    /// axis, and the names of vertical reference lines.
    fn top(&self) -> i32 {
        let references = if self.lies() { self.chart.references.len() } else { 0 };
        let gap = if self.title.is_empty() { 8 } else { 14 };
        gap + LEADING * (self.title.len() + self.legend.len() + references + 1) as i32
    }

    fn size(&self) -> (i32, i32) {
        (self.left + PLOT_WIDTH + self.right, self.top() + self.height + BELOW)
    }

    fn draw(&self, body: &mut String) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        let (width, height) = self.size();
        self.head(body);
        {
            let root = Paper { body, size: (width as u32, height as u32) }.into_drawing_area();
            let mut plot = ChartBuilder::on(&root)
                .margin_top(self.top())
                .margin_right(self.right)
                .set_label_area_size(LabelAreaPosition::Left, self.left)
                .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
                .build_cartesian_2d(self.x.clone(), self.y.clone())?;
            let mut mesh = plot.configure_mesh();
            mesh.bold_line_style(GRID).axis_style(AXIS).label_style(("sans-serif", 12).into_font());
            mesh.set_all_tick_mark_size(TICK);
            // Only the axis of the values has grid lines. They lead from a tick to the marks.
            if self.lies() {
                mesh.disable_y_mesh()
            } else {
                mesh.disable_x_mesh()
            };
            mesh.draw()?;
            self.references(&mut plot)?;
            for (index, series) in self.chart.series.iter().enumerate() {
                if self.lies() {
                    self.bars(&mut plot, index, series)?;
                } else {
                    self.line(&mut plot, index, series)?;
                }
            }
            if !self.lies() {
                self.labels(&mut plot)?;
            }
        }
        if self.chart.shown().next().is_none() {
            let middle = (self.left + PLOT_WIDTH / 2, self.top() + self.height / 2);
            body.push_str(&text(middle, "label", "middle", "no data"));
        }
        Ok(())
    }

    /// Draws the title, the legend and the labels of the axes.
    fn head(&self, body: &mut String) {
        let chart = self.chart;
        let mut y = 4;
        for line in &self.title {
            y += LEADING;
            body.push_str(&text((4, y), "title", "start", line));
        }
        for line in &self.legend {
            y += LEADING;
            for &(x, index) in line {
                let (class, symbol) = (class(index), symbol(index, (x + 10, y - 4)));
                let drawn = if self.lies() {
                    format!(
                        "<rect class=\"swatch\" x=\"{x}\" y=\"{}\" width=\"18\" height=\"10\"/>",
                        y - 9
                    )
                } else {
                    let line = path([(x, y - 4), (x + 20, y - 4)]);
                    format!(
                        "<path class=\"{}\" d=\"{line}\"/><path class=\"swatch\" d=\"{symbol}\"/>",
                        line_class(index)
                    )
                };
                let _ = writeln!(body, "<g class=\"legend {class}\">{drawn}</g>");
                body.push_str(&text((x + 24, y), "label", "start", &chart.series[index].name));
            }
        }
        let (above, below) = if self.lies() { (&chart.x, &chart.y) } else { (&chart.y, &chart.x) };
        let top = self.top();
        let above_y = if self.lies() { top - 4 } else { top - 9 };
        let (x, anchor) = if self.lies() { (self.left - 2 * TICK, "end") } else { (4, "start") };
        body.push_str(&text((x, above_y), "axis-label", anchor, &above.label));
        let middle = (self.left + PLOT_WIDTH / 2, top + self.height + BELOW - 6);
        body.push_str(&text(middle, "axis-label", "middle", &below.label));
    }

    fn references(&self, plot: &mut Plot) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        let mut references: Vec<_> = self.chart.references.iter().collect();
        references.retain(|line| has_place(self.chart.y.scale, line.value));
        references.sort_by(|a, b| a.value.total_cmp(&b.value));
        for (rank, reference) in references.into_iter().enumerate() {
            let (value, label) = (reference.value, escape(&reference.label));
            let points = if self.lies() {
                vec![(value, self.y.low), (value, self.y.high)]
            } else {
                vec![(self.x.low, value), (self.x.high, value)]
            };
            let (lies, top) = (self.lies(), self.top());
            let draw = move |points: &[BackendCoord]| {
                let mut drawn = String::new();
                let mut points = points.to_vec();
                if lies {
                    // A name stands to the left of its line, and the name of a greater value stands
                    // higher. So no line crosses a name.
                    let (x, y) = (points[1].0, top - 4 - LEADING * (rank as i32 + 1));
                    points[1].1 = y - 9;
                    let (x, anchor) =
                        if x - 4 > width(&label) { (x - 4, "end") } else { (x + 4, "start") };
                    drawn = text((x, y), "label", anchor, &reference.label);
                }
                let line = path(points);
                let _ = writeln!(
                    drawn,
                    "<path class=\"reference\" data-y=\"{value}\" d=\"{line}\"><title>{label}</title></path>"
                );
                drawn
            };
            plot.draw_series([Placed { points, draw }])?;
        }
        Ok(())
    }

    fn bars(
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
        // The distance from the middle of the category up to the top of the bar.
        let up = BAR * self.chart.series.len() as i32 / 2 - BAR * index as i32;
        let draw = |points: &[BackendCoord]| {
            let mut drawn = format!(
                "<g class=\"series {}\" data-series=\"{}\">\n",
                class(index),
                escape(&series.name)
            );
            for (&(category, value), ends) in shown.iter().zip(points.chunks_exact(2)) {
                let ((from, y), (to, _)) = (ends[0], ends[1]);
                let (x, top, wide, high) = (from.min(to), y - up, (to - from).abs(), BAR - 1);
                let title = escape(&format!("{}: {}", self.y.label(category), figure(value)));
                let _ = writeln!(
                    drawn,
                    "<rect class=\"mark\" data-x=\"{category}\" data-y=\"{value}\" x=\"{x}\" y=\"{top}\" \
                     width=\"{wide}\" height=\"{high}\"><title>{title}</title></rect>"
                );
                drawn.push_str(&text(
                    (from.max(to) + 4, top + 11),
                    "value",
                    "start",
                    &figure(value),
                ));
            }
            drawn + "</g>\n"
        };
        plot.draw_series([Placed { points, draw }]).map(|_| ())
    }

    fn line(
        &self,
        plot: &mut Plot,
        index: usize,
        series: &Series,
    ) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        // A point that is left out breaks the line.
        let runs: Vec<_> = series.points.split(|point| !self.chart.shows(*point)).collect();
        let draw = |points: &[BackendCoord]| {
            let mut drawn = format!(
                "<g class=\"series {}\" data-series=\"{}\">\n",
                class(index),
                escape(&series.name)
            );
            let mut places = points;
            for run in &runs {
                let (here, rest) = places.split_at(run.len());
                places = rest;
                if here.len() > 1 {
                    let _ = writeln!(
                        drawn,
                        "<path class=\"{}\" d=\"{}\"/>",
                        line_class(index),
                        path(here.iter().copied())
                    );
                }
                for (&(x, y), &place) in run.iter().zip(here) {
                    let title =
                        escape(&format!("{}, {}: {}", series.name, self.x.label(x), figure(y)));
                    let _ = writeln!(
                        drawn,
                        "<path class=\"mark\" data-x=\"{x}\" data-y=\"{y}\" d=\"{}\"><title>{title}</title></path>",
                        symbol(index, place)
                    );
                }
            }
            drawn + "</g>\n"
        };
        plot.draw_series([Placed { points: runs.concat(), draw }]).map(|_| ())
    }

    /// Draws the names of the lines at their ends, as far apart as letters are high.
    fn labels(&self, plot: &mut Plot) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        let mut names: Vec<(f64, String, &str)> = Vec::new();
        for (index, series) in
            self.chart.series.iter().enumerate().filter(|_| self.chart.is_direct())
        {
            let last = series.points.iter().rev().find(|point| self.chart.shows(**point));
            names.extend(
                last.map(|(_, y)| (*y, format!("label {}", class(index)), series.name.as_str())),
            );
        }
        let references =
            self.chart.references.iter().filter(|line| has_place(self.chart.y.scale, line.value));
        names.extend(references.map(|line| (line.value, "label".to_owned(), line.label.as_str())));
        names.sort_by(|a, b| b.0.total_cmp(&a.0));

        let (top, bottom) = (self.top(), self.top() + self.height);
        let draw = |points: &[BackendCoord]| {
            let mut heights: Vec<i32> = points.iter().map(|(_, y)| (*y).max(top)).collect();
            for index in 1..heights.len() {
                heights[index] = heights[index].max(heights[index - 1] + LEADING - 3);
            }
            let mut floor = bottom;
            for height in heights.iter_mut().rev() {
                *height = (*height).min(floor);
                floor = *height - (LEADING - 3);
            }
            let places = points.iter().zip(&heights).map(|((x, _), y)| (x + 8, y + 4));
            names
                .iter()
                .zip(places)
                .map(|((_, class, name), place)| text(place, class, "start", name))
                .collect()
        };
        let points = names.iter().map(|name| (self.x.high, name.0)).collect();
        plot.draw_series([Placed { points, draw }]).map(|_| ())
    }
}

/// The CSS class of the line of a series. Series that use a colour again have dashed lines.
fn line_class(index: usize) -> &'static str {
    if index < theme::SERIES { "line" } else { "line again" }
}

/// The outline of the mark of a series. Each shape is different, so that series can be told apart
/// without colours.
fn symbol(index: usize, (x, y): BackendCoord) -> String {
    let (x, y) = (f64::from(x), f64::from(y));
    match index % theme::SERIES {
        0 => format!("M{} {y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", x - 3.5),
        1 => format!("M{} {}h6v6h-6z", x - 3.0, y - 3.0),
        2 => format!("M{x} {}l4.5 4.5-4.5 4.5-4.5-4.5z", y - 4.5),
        3 => format!("M{x} {}l4 7h-8z", y - 4.0),
        4 => format!("M{x} {}l4-7h-8z", y + 4.0),
        _ => format!("M{} {}h3v3h3v3h-3v3h-3v-3h-3v-3h3z", x - 1.5, y - 4.5),
    }
}
