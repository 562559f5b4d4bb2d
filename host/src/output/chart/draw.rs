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
    Chart, Kind,
    axis::{Spread, figure, has_place},
    bars::BAR,
    names::{Names, WRAP},
    paper::{AXIS, GRID, Paper, Placed, path, text},
};
use crate::output::{escape, theme, wrap};

/// The width of the area between the axes. All lengths are in units of the `viewBox`, which are
/// meant to be pixels.
const PLOT_WIDTH: i32 = 290;
/// The least height of the area between the axes, in a chart of lines.
const PLOT_HEIGHT: i32 = 190;
/// The distance between the plot and the names of its lines. Thin lines lead to the names there.
pub(super) const GUTTER: i32 = 24;
/// The gap between the bars of two categories.
const GAP: i32 = 8;
/// The distance between two lines of text.
const LEADING: i32 = 17;
/// The width of a character, a little more than it takes on average.
const CHAR: f64 = 7.1;
/// The width of a character of the title.
const TITLE_CHAR: f64 = 8.4;
/// The height below the plot, for the ticks, their labels and the label of the axis.
const BELOW: i32 = 44;
/// The width of a chart on a page that has room for it, as a multiple of its width in the
/// `viewBox`.
const ENLARGED: f64 = 1.15;
/// The least width of a chart on a page, as a multiple of its width in the `viewBox`.
const REDUCED: f64 = 0.85;
/// The length of a tick. The tick's label is twice as far away from the axis.
const TICK: i32 = 4;

pub(super) type Plot<'a, 'b> = ChartContext<'a, Paper<'b>, Cartesian2d<Spread, Spread>>;

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

    pub(super) fn shows(&self, (x, y): (f64, f64)) -> bool {
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
}

/// The width of a text in pixels.
pub(super) fn width(text: &str) -> i32 {
    (text.chars().count() as f64 * CHAR).ceil() as i32
}

/// The CSS class of a series of bars.
pub(super) fn class(index: usize) -> String {
    format!("series-{}", index % theme::SERIES + 1)
}

/// The sizes and the axes of a chart.
pub(super) struct Layout<'a> {
    pub(super) chart: &'a Chart,
    title: Vec<String>,
    /// The description, which stands below the title.
    subtitle: Vec<String>,
    /// The lines of the legend above the plot. Each entry is a horizontal position and the index of
    /// a series.
    legend: Vec<Vec<(i32, usize)>>,
    /// The names that stand to the right of a plot of lines.
    pub(super) names: Names,
    /// The horizontal axis. The values of bars are on this axis.
    pub(super) x: Spread,
    /// The vertical axis. The categories of bars are on this axis.
    pub(super) y: Spread,
    left: i32,
    right: i32,
    pub(super) height: i32,
}

impl<'a> Layout<'a> {
    fn new(chart: &'a Chart, home: Home) -> Self {
        let references =
            || chart.references.iter().filter(|line| has_place(chart.y.scale, line.value));
        let values = Spread::around(
            chart.y.scale,
            chart.shown().map(|(_, y)| y).chain(references().map(|reference| reference.value)),
        );
        let ticks = |spread: &Spread| {
            spread.ticks.iter().map(|tick| width(&spread.label(*tick))).max().unwrap_or(0)
        };
        let names = Names::new(chart);
        let (x, y, right, height) = match &chart.kind {
            Kind::Bars { categories } => {
                let slot = BAR * chart.most_bars(categories.len()).max(1) as i32 + GAP;
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
                let wide = names.lines().map(|line| width(line)).max().unwrap_or(0);
                // Grey lines that end at the same place share a name, which is a list.
                let wide =
                    if chart.is_crowded() { wide.max(width(&"0".repeat(WRAP))) } else { wide };
                let right = (GUTTER + wide + 4).max(ticks(&x) / 2 + 4);
                (x, values, right, PLOT_HEIGHT.max(names.height()))
            }
        };
        let above = if matches!(chart.kind, Kind::Bars { .. }) { width(&chart.x.label) } else { 0 };
        let left = ticks(&y).max(above) + 2 * TICK + 4;
        let (title, subtitle, legend) = (Vec::new(), Vec::new(), Vec::new());
        let mut layout = Self { chart, title, subtitle, legend, names, x, y, left, right, height };
        layout.place_legend();
        if home == Home::File {
            let room = f64::from(layout.size().0 - 8);
            layout.title = wrap(&chart.title, (room / TITLE_CHAR) as usize);
            layout.subtitle = wrap(&chart.description, (room / CHAR) as usize);
        }
        layout
    }

    /// Places the legend of bars. Categories with one bar each need none, because the name of the
    /// category is that of the bar.
    fn place_legend(&mut self) {
        let chart = self.chart;
        match &chart.kind {
            Kind::Bars { categories } if chart.most_bars(categories.len()) > 1 => {}
            _ => return,
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

    /// The right end of the plot.
    pub(super) fn plot_right(&self) -> i32 {
        self.left + PLOT_WIDTH
    }

    /// The height above the plot. It has room for the title, the description, the legend, the label
    /// of the vertical axis, and the names of vertical reference lines.
    pub(super) fn top(&self) -> i32 {
        let references = if self.lies() { self.chart.references.len() } else { 0 };
        let above = self.title.len() + self.subtitle.len() + self.legend.len() + references;
        14 + LEADING * (above + 1) as i32
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
            if self.lies() {
                for (index, series) in self.chart.series.iter().enumerate() {
                    self.bars(&mut plot, index, series)?;
                }
            } else {
                self.lines(&mut plot)?;
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
        for line in &self.subtitle {
            y += LEADING;
            body.push_str(&text((4, y), "subtitle", "start", line));
        }
        for line in &self.legend {
            y += LEADING;
            for &(x, index) in line {
                let _ = writeln!(
                    body,
                    "<g class=\"legend {}\"><rect class=\"swatch\" x=\"{x}\" y=\"{}\" width=\"18\" height=\"10\"/></g>",
                    class(index),
                    y - 9
                );
                body.push_str(&text((x + 24, y), "label", "start", &chart.series[index].name));
            }
        }
        let (above, below) = if self.lies() { (&chart.x, &chart.y) } else { (&chart.y, &chart.x) };
        let top = self.top();
        let above_y = if self.lies() { top - 4 } else { top - 9 };
        let (x, anchor) = if self.lies() { (self.left - 2 * TICK, "end") } else { (4, "start") };
        body.push_str(&text((x, above_y), "axis-label", anchor, &above.label));
        if let Some(heading) = &self.names.heading {
            body.push_str(&text(
                (self.plot_right() + GUTTER, above_y),
                "axis-label",
                "start",
                heading,
            ));
        }
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
                    let (x, anchor) = if x - 4 > width(&reference.label) {
                        (x - 4, "end")
                    } else {
                        (x + 4, "start")
                    };
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
}
