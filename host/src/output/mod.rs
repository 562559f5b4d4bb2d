//! The results of a command that has more than one: one [`Document`], which is written in one of
//! six [`Format`]s.
//!
//! ```
//! use warpfold_lab::output::{Axis, Cell, Chart, Column, Document, Format, Kind, Series, Table};
//!
//! let bandwidth = Column::new("gb_per_s", "bandwidth").in_unit("GB/s");
//! let columns = vec![Column::new("rung", "rung"), bandwidth];
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
//!     interrupted: false,
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

mod canvas;
mod chart;
mod data;
mod grid;
mod html;
mod phrase;
mod table;
mod text;
pub(crate) mod theme;

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

pub(crate) use canvas::{Canvas, LEADING, MARGIN, TEXT_CHAR};
pub use chart::{Axis, Chart, Kind, Reference, Role, Scale, Series};
pub(crate) use grid::Grid;
pub(crate) use phrase::{plural, ranges};
pub(crate) use table::grouped;
pub use table::{Cell, Column, Shown, Table};
pub use text::Width;

/// The results of a command, ready to be written in any [`Format`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The title, in a few words.
    pub title: String,
    /// Where and how the results were found, as names and values, such as the device, the driver
    /// and the seed.
    pub environment: Vec<(String, String)>,
    /// The figures.
    pub tables: Vec<Table>,
    /// Charts of the figures.
    pub charts: Vec<Chart>,
    /// Pictures that go step by step.
    pub pictures: Vec<Picture>,
    /// Whether the command was interrupted, so that results are missing.
    pub interrupted: bool,
}

/// A picture that goes step by step, such as a rung at work.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its name in links, unique in the document: lowercase letters, digits and dashes.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// A description for readers who cannot see the picture.
    pub text_alternative: String,
    /// The steps, in their order.
    pub steps: Vec<Step>,
}

/// One step of a [`Picture`].
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// A sentence that says what happens in the step.
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
    /// Tables as GitHub's Markdown writes them.
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
    /// All formats.
    pub const ALL: [Self; 6] =
        [Self::Table, Self::Markdown, Self::Csv, Self::Json, Self::Svg, Self::Html];

    /// The name that `--format` takes.
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

/// The error for a name that is no [`Format`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{name}': it is one of table, markdown, csv, json, svg, html")]
pub struct UnknownFormat {
    /// The unknown name.
    pub name: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let format = Self::ALL.into_iter().find(|format| format.name() == name);
        format.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// The reasons why a document was not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// CSV needs a table, and the document has none.
    #[error("format csv writes a table, and there is none here")]
    NoTable,
    /// SVG needs a chart, and the document has none.
    #[error("format svg draws a chart, and there is none here")]
    NoChart,
    /// The requested table is not in the document.
    #[error("unknown table '{id}': there is {known}")]
    UnknownTable {
        /// The requested id.
        id: String,
        /// The ids of the tables, with commas between them.
        known: String,
    },
    /// The requested chart is not in the document.
    #[error("unknown chart '{id}': there is {known}")]
    UnknownChart {
        /// The requested id.
        id: String,
        /// The ids of the charts, with commas between them.
        known: String,
    },
    /// No table has the requested column.
    #[error("unknown column '{key}': there is {known}")]
    UnknownColumn {
        /// The requested key.
        key: String,
        /// The keys of all columns, with commas between them.
        known: String,
    },
    /// No chart has the requested line.
    #[error("unknown line '{name}': there is {known}")]
    UnknownLine {
        /// The requested name.
        name: String,
        /// The names of the lines of all charts, with commas between them.
        known: String,
    },
    /// The writer failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Document {
    /// Writes the document in a format.
    ///
    /// [`Format::Table`] and [`Format::Markdown`] leave out charts and pictures. [`Format::Csv`]
    /// writes only the first table, and [`Format::Svg`] only the first chart: see
    /// [`put_table_first`](Self::put_table_first) and [`put_chart_first`](Self::put_chart_first).
    /// [`Format::Json`] writes an object with these members:
    ///
    /// - `title` is a string, `environment` is an object of strings, and `interrupted` says whether
    ///   Ctrl-C ended the command, so that results are missing.
    /// - `tables` holds, under the id of each table, an array of rows. Each row is an object that
    ///   holds a string, a number or, for a missing cell, `null` under each [`Column::key`].
    /// - `notes` holds, under the id of each table, an array of strings.
    /// - `charts` holds, under the id of each chart, an object with `title`, `description`, `kind`
    ///   (`bars` or `lines`), `categories` if there are bars, `x` and `y` (each with `label` and
    ///   `scale`), `series` (each with `name`, and with `points` as pairs of numbers), and
    ///   `references` (each with `label` and `value`).
    ///
    /// In JSON and in CSV, numbers are not rounded to the decimals that are shown to people, and
    /// all columns are there. A number that is not finite is written as missing.
    ///
    /// # Errors
    ///
    /// [`OutputError::NoTable`], [`OutputError::NoChart`], and the errors of the writer.
    pub fn write(&self, format: Format, out: &mut impl Write) -> Result<(), OutputError> {
        self.write_within(format, Width::File, out)
    }

    /// Writes the document as [`write`](Self::write) does, with [`Format::Table`] no wider than
    /// `width`.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_within(
        &self,
        format: Format,
        width: Width,
        out: &mut impl Write,
    ) -> Result<(), OutputError> {
        match format {
            Format::Table => text::write_table(self, width, out)?,
            Format::Markdown => text::write_markdown(self, out)?,
            Format::Csv => data::write_csv(self.tables.first().ok_or(OutputError::NoTable)?, out)?,
            Format::Json => data::write_json(self, out)?,
            Format::Svg => {
                out.write_all(
                    self.charts.first().ok_or(OutputError::NoChart)?.to_svg().as_bytes(),
                )?;
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

    /// Shows all columns of all tables to people.
    pub fn show_all_columns(&mut self) {
        for column in self.tables.iter_mut().flat_map(|table| &mut table.columns) {
            column.shown = Shown::Always;
        }
    }

    /// Leaves only the columns with these keys, in their order. A table that has none of them is
    /// left as it is.
    ///
    /// # Errors
    ///
    /// [`OutputError::UnknownColumn`] for a key that no table has.
    pub fn choose_columns(&mut self, keys: &[String]) -> Result<(), OutputError> {
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let is_known = |key: &&String| columns.clone().any(|column| column.key == **key);
        if let Some(key) = keys.iter().find(|key| !is_known(key)) {
            let known = listed(columns.map(|column| column.key.as_str()));
            return Err(OutputError::UnknownColumn { key: key.clone(), known });
        }
        self.tables.iter_mut().for_each(|table| table.choose(keys));
        Ok(())
    }

    /// Highlights the lines with these names in all charts. The first word of a name may be left
    /// out if the name has more words.
    ///
    /// # Errors
    ///
    /// [`OutputError::UnknownLine`] for a name that no chart of lines has.
    pub fn highlight(&mut self, names: &[String]) -> Result<(), OutputError> {
        let charts = || self.charts.iter().filter(|chart| chart.kind == Kind::Lines);
        for name in names {
            let mut lines = charts().flat_map(|chart| &chart.series);
            if !lines.any(|line| line.is_called(name)) {
                let all = charts().flat_map(|chart| &chart.series);
                let known = listed(all.map(|line| line.name.as_str()));
                return Err(OutputError::UnknownLine { name: name.clone(), known });
            }
        }
        for line in self.charts.iter_mut().flat_map(|chart| &mut chart.series) {
            if line.role == Role::Plain && names.iter().any(|name| line.is_called(name)) {
                line.role = Role::Highlighted;
            }
        }
        Ok(())
    }
}

/// Texts with commas between them, without those that came before; `none` if there are none.
fn listed<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut listed: Vec<&str> = Vec::new();
    for text in texts {
        if !listed.contains(&text) {
            listed.push(text);
        }
    }
    if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
}

/// The position of an id, or a list of the ids that there are.
fn position(ids: &[&str], id: &str) -> Result<usize, String> {
    ids.iter().position(|known| *known == id).ok_or_else(|| listed(ids.iter().copied()))
}

/// A text with the escapes that it needs in XML and HTML, in attributes too.
///
/// Characters that cannot be written in XML 1.0 are replaced.
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

/// A text in which a narrow no-break space stands between the groups of digits of each number, so
/// that no reader sees a number on two lines.
pub(crate) fn no_break(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_between = |index: usize| {
        let before = chars[..index].iter().rev().take_while(|c| c.is_ascii_digit()).count();
        let after = chars[index + 1..].iter().take_while(|c| c.is_ascii_digit()).count();
        chars[index] == ' ' && (1..=3).contains(&before) && after == 3
    };
    let join = |(index, &c): (usize, &char)| if is_between(index) { '\u{202f}' } else { c };
    chars.iter().enumerate().map(join).collect()
}

/// The words of a text in lines of at most `columns` characters. A line with a single longer word
/// exceeds that. A number with groups of digits is one word; [`no_break`] joins it.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in no_break(text).split_ascii_whitespace() {
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

/// The words of a text in lines of at most `columns` characters, at least 1. Longer words are
/// broken.
pub(crate) fn wrap_hard(text: &str, columns: usize) -> Vec<String> {
    let broken = |line: String| {
        let chars: Vec<char> = line.chars().collect();
        chars.chunks(columns.max(1)).map(|part| part.iter().collect()).collect::<Vec<String>>()
    };
    wrap(text, columns).into_iter().flat_map(broken).collect()
}

#[cfg(test)]
mod tests;
