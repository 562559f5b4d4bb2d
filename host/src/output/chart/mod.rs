//! Charts: what is drawn, and (in `draw`) how.

mod axis;
mod draw;
mod paper;
#[cfg(test)]
mod tests;

pub(super) use draw::Home;

/// Points to be drawn over two axes.
///
/// Points that are not finite, and on a logarithmic axis those that are not above 0, are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name for `--chart`, in JSON and in links, unique among the charts: lowercase letters,
    /// digits and dashes.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is to be seen, for who does not see it.
    pub description: String,
    /// Bars or lines.
    pub kind: Kind,
    /// To the right. Of bars, only its label counts.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The points, in order.
    pub series: Vec<Series>,
    /// Horizontal lines to compare with.
    pub references: Vec<Reference>,
}

/// How points are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bar for each point; its x is the position of its category.
    Bars {
        /// What stands below the bars.
        categories: Vec<String>,
    },
    /// A line through the points of each series.
    Lines,
}

impl Kind {
    /// As JSON spells it.
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
    /// What they are.
    pub name: String,
    /// Their places in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A series of any points.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points }
    }

    /// The heights of bars, one for each category; what is not finite has no bar.
    pub fn of_bars(name: impl Into<String>, heights: impl IntoIterator<Item = f64>) -> Self {
        Self::new(
            name,
            heights.into_iter().enumerate().map(|(category, y)| (category as f64, y)).collect(),
        )
    }
}

/// A horizontal line, such as the memory's peak or another library.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What it is.
    pub label: String,
    /// How high it is, in the unit of the y axis.
    pub value: f64,
}

/// A direction of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it tells, with its unit.
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
    /// As JSON spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log2 => "log2",
            Self::Log10 => "log10",
        }
    }
}
