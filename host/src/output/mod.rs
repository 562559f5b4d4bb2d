//! What a command shows that has more than one result: one [`Document`], in six [`Format`]s.
//!
//! ```
//! use warpfold_lab::output::{Axis, Cell, Chart, Column, Document, Format, Kind, Series, Table};
//!
//! let columns = vec![Column::new("rung", "rung"), Column::new("gb_per_s", "bandwidth").in_unit("GB/s")];
//! let mut table = Table::new("ladder", "The ladder", columns);
//! let rungs = [("1", 390.0), ("2", 596.4), ("7", 1801.0)];
//! for (rung, gb_per_s) in rungs {
//!     table.push([rung.into(), Cell::number(gb_per_s, 1)]);
//! }
//! table.notes.push("Median of 41 runs.".into());
//!
//! let chart = Chart {
//!     id: "ladder".into(),
//!     title: "Bandwidth of each rung".into(),
//!     description: "Bars that grow from 390 GB/s at rung 1 to 1801 GB/s at rung 7.".into(),
//!     kind: Kind::Bars { categories: rungs.iter().map(|(rung, _)| (*rung).into()).collect() },
//!     x: Axis::linear("rung"),
//!     y: Axis::linear("GB/s"),
//!     series: vec![Series::of_bars("i32", rungs.map(|(_, gb_per_s)| gb_per_s))],
//!     references: vec![],
//! };
//! let document = Document {
//!     title: "reduce ladder".into(),
//!     environment: vec![("device".into(), "H100".into())],
//!     tables: vec![table],
//!     charts: vec![chart],
//!     pictures: vec![],
//! };
//!
//! let mut text = Vec::new();
//! document.write(Format::Table, &mut text)?;
//! assert_eq!(String::from_utf8(text)?, "\
//! reduce ladder
//!
//! device  H100
//!
//! The ladder
//!
//! | rung | bandwidth (GB/s) |
//! |------|------------------|
//! | 1    |            390.0 |
//! | 2    |            596.4 |
//! | 7    |          1 801.0 |
//!
//! Median of 41 runs.
//! ");
//! let mut page = Vec::new();
//! document.write(Format::Html, &mut page)?;
//! assert!(String::from_utf8(page)?.contains("The ladder</caption>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chart;
mod data;
mod html;
mod table;
mod text;
pub(crate) mod theme;

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

pub use chart::{Axis, Chart, Kind, Reference, Scale, Series};
pub(crate) use table::grouped;
pub use table::{Cell, Column, Table};

/// What a command found, ready to be written in any [`Format`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What it is, in a few words.
    pub title: String,
    /// Where and how it was found: names and values, such as the device, the driver, the seed.
    pub environment: Vec<(String, String)>,
    /// The figures.
    pub tables: Vec<Table>,
    /// The figures drawn.
    pub charts: Vec<Chart>,
    /// Pictures that go step by step.
    pub pictures: Vec<Picture>,
}

/// A picture that goes step by step, such as a rung at work.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its name in links, unique in the document: lowercase letters, digits and dashes.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is to be seen, for who does not see it.
    pub text_alternative: String,
    /// One picture after the other.
    pub steps: Vec<Step>,
}

/// One step of a [`Picture`].
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What happens in it, in a sentence.
    pub caption: String,
    /// An `<svg>` element that names no other file, with ids that are unique in the document.
    pub svg: String,
}

/// How a [`Document`] is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    #[default]
    Table,
    /// Tables as GitHub's Markdown has them.
    Markdown,
    /// The first table, with the columns' keys as header.
    Csv,
    /// Everything but pictures, as one object.
    Json,
    /// The first chart.
    Svg,
    /// Everything, as one page that needs no other file.
    Html,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Table, Self::Markdown, Self::Csv, Self::Json, Self::Svg, Self::Html];

    /// As `--format` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Svg => "svg",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`Format`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{name}': it is one of table, markdown, csv, json, svg, html")]
pub struct UnknownFormat {
    /// What was written.
    pub name: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let format = Self::ALL.into_iter().find(|format| format.name() == name);
        format.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// Why a document was not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// CSV is one table.
    #[error("format csv writes a table, and there is none here")]
    NoTable,
    /// SVG is one chart.
    #[error("format svg draws a chart, and there is none here")]
    NoChart,
    /// A table that the document does not have.
    #[error("unknown table '{id}': there is {known}")]
    UnknownTable {
        /// What was asked for.
        id: String,
        /// The tables, with commas between them.
        known: String,
    },
    /// A chart that the document does not have.
    #[error("unknown chart '{id}': there is {known}")]
    UnknownChart {
        /// What was asked for.
        id: String,
        /// The charts, with commas between them.
        known: String,
    },
    /// The writer failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Document {
    /// Writes it.
    ///
    /// [`Format::Table`] and [`Format::Markdown`] leave out charts and pictures. [`Format::Csv`] is
    /// the first table alone, and [`Format::Svg`] the first chart: see
    /// [`put_table_first`](Self::put_table_first) and [`put_chart_first`](Self::put_chart_first).
    /// [`Format::Json`] is an object of
    ///
    /// - `title`, a string, and `environment`, an object of strings;
    /// - `tables`: by id, an array of rows, each an object by [`Column::key`] of strings, numbers,
    ///   and `null` for what is missing; `notes`: by id of their table, arrays of strings;
    /// - `charts`: by id, `title`, `description`, `kind` (`bars` or `lines`), `categories` of bars,
    ///   `x` and `y` (`label`, `scale`), `series` (`name`, `points` as pairs of numbers),
    ///   `references` (`label`, `value`).
    ///
    /// Numbers are whole there and in CSV, not rounded to the decimals that are shown to people. A
    /// number that is not finite is written as missing.
    ///
    /// # Errors
    ///
    /// [`OutputError::NoTable`], [`OutputError::NoChart`], and the writer's.
    pub fn write(&self, format: Format, out: &mut impl Write) -> Result<(), OutputError> {
        match format {
            Format::Table => text::write_table(self, out)?,
            Format::Markdown => text::write_markdown(self, out)?,
            Format::Csv => data::write_csv(self.tables.first().ok_or(OutputError::NoTable)?, out)?,
            Format::Json => data::write_json(self, out)?,
            Format::Svg => {
                out.write_all(self.charts.first().ok_or(OutputError::NoChart)?.to_svg().as_bytes())?
            }
            Format::Html => out.write_all(html::page(self).as_bytes())?,
        }
        Ok(())
    }

    /// Moves a table to the front, where CSV takes it from.
    ///
    /// # Errors
    ///
    /// [`OutputError::UnknownTable`].
    pub fn put_table_first(&mut self, id: &str) -> Result<(), OutputError> {
        let ids: Vec<&str> = self.tables.iter().map(|table| table.id.as_str()).collect();
        let unknown = |known| OutputError::UnknownTable { id: id.to_owned(), known };
        let index = position(&ids, id).map_err(unknown)?;
        self.tables[..=index].rotate_right(1);
        Ok(())
    }

    /// Moves a chart to the front, where SVG takes it from.
    ///
    /// # Errors
    ///
    /// [`OutputError::UnknownChart`].
    pub fn put_chart_first(&mut self, id: &str) -> Result<(), OutputError> {
        let ids: Vec<&str> = self.charts.iter().map(|chart| chart.id.as_str()).collect();
        let unknown = |known| OutputError::UnknownChart { id: id.to_owned(), known };
        let index = position(&ids, id).map_err(unknown)?;
        self.charts[..=index].rotate_right(1);
        Ok(())
    }
}

/// Where an id is, or what there is instead.
fn position(ids: &[&str], id: &str) -> Result<usize, String> {
    let known = || if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
    ids.iter().position(|known| *known == id).ok_or_else(known)
}

/// Text as XML and HTML write it, in attributes too.
///
/// Characters that XML 1.0 has no way to write are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Lines of words, of at most so many characters unless a word is longer.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < columns)
        {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
