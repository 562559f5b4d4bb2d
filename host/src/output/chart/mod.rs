//! Charts. The module `draw` draws them.

mod axis;
mod bars;
mod draw;
mod lines;
mod look;
mod names;
mod paper;
#[cfg(test)]
mod tests;

pub(super) use draw::Home;

/// A chart: points to be drawn over two axes.
///
/// Points that are not finite, and on a logarithmic axis those that are not above 0, are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name for `--chart`, in JSON and in links. It is unique among the charts and consists of
    /// lowercase letters, digits and dashes.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is shown and what it says, in words. It stands below the heading, and describes the
    /// chart to readers who cannot see it.
    pub description: String,
    /// Bars or lines.
    pub kind: Kind,
    /// The axis of the points' first values. If there are bars, only its label is used.
    pub x: Axis,
    /// The axis of the points' second values.
    pub y: Axis,
    /// The points, in order.
    pub series: Vec<Series>,
    /// Lines at a fixed y, to compare with.
    pub references: Vec<Reference>,
}

/// How points are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bar for each point; its x is the position of its category.
    Bars {
        /// The names of the categories.
        categories: Vec<String>,
    },
    /// A line through the points of each series.
    Lines,
}

impl Kind {
    /// The name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bars { .. } => "bars",
            Self::Lines => "lines",
        }
    }
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name of the points.
    pub name: String,
    /// The points, in the units of the axes.
    pub points: Vec<(f64, f64)>,
    /// What a line is to the reader. Bars do not depend on it.
    pub role: Role,
}

/// What a line of a chart is to the reader. It matters if there are more lines than colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// One of many. It is grey if there are more lines than colours.
    #[default]
    Plain,
    /// A line that a reader looks for, such as the best one. It has a colour, as do five lines at
    /// most if there are more lines than colours.
    Highlighted,
    /// A bound that is computed and not measured.
    Ideal,
}

impl Series {
    /// A series of any points.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, role: Role::Plain }
    }

    /// The same series with another role.
    #[must_use]
    pub fn in_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Whether a text names the series, with or without the first word of its name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.split_once(' ').is_some_and(|(_, rest)| rest == name)
    }

    /// A series of bars, with one height for each category. A height that is not finite has no bar.
    pub fn of_bars(name: impl Into<String>, heights: impl IntoIterator<Item = f64>) -> Self {
        Self::new(
            name,
            heights.into_iter().enumerate().map(|(category, y)| (category as f64, y)).collect(),
        )
    }
}

/// A line at a fixed y, such as the peak of the memory or the speed of another library.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The name of the line.
    pub label: String,
    /// The y of the line, in the unit of the y axis.
    pub value: f64,
}

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The name of the quantity, with its unit.
    pub label: String,
    /// How its values are spread.
    pub scale: Scale,
}

impl Axis {
    /// Equal steps for equal differences.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// Equal steps for powers of two.
    pub fn log2(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log2 }
    }

    /// Equal steps for powers of ten.
    pub fn log10(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log10 }
    }
}

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences, from 0.
    #[default]
    Linear,
    /// Equal steps for powers of two.
    Log2,
    /// Equal steps for powers of ten.
    Log10,
}

impl Scale {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log2 => "log2",
            Self::Log10 => "log10",
        }
    }
}
