//! Writes results in the format that was asked for.

use std::{
    env,
    io::{self, Write as _},
};

use clap::Args;
use warpfold_tools::terminal::{Failure, refused, written};

use serde_json::Value as Json;

use crate::output::{Document, Format, OutputError, Width};

/// The name of all columns of a table.
const ALL: &str = "all";

/// The room on stdout: as many columns as the environment variable COLUMNS says, or as the terminal
/// has.
pub fn width() -> Width {
    let asked = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let found = || terminal_size::terminal_size_of(io::stdout()).map(|(wide, _)| wide.0.into());
    asked.filter(|columns| *columns > 0).or_else(found).map_or(Width::File, Width::Terminal)
}

/// The arguments that choose how results are written.
#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// The format of the output: table, markdown, csv, json, svg or html
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    /// The same as --format json: write one JSON object
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// The table that --format csv writes, by its id in the JSON output [default: the first]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// The columns that people see, by their names in the JSON output, with commas between them; or
    /// all [default: those that fit]. Formats csv and json always have all columns
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// The lines of charts that stand out from the others, with commas between them: such as 3,7
    /// [default: the best]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    highlight: Vec<String>,

    /// The chart that --format svg draws, by its id in the JSON output [default: the first]
    #[arg(long, value_name = "NAME")]
    chart: Option<String>,
}

impl OutputArgs {
    /// The format.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Writes a document to stdout that has its own form for people and its own JSON object.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write).
    pub fn write_own(
        &self,
        document: Document,
        text: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
        json: impl FnOnce() -> Json,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        match self.format() {
            Format::Table => written(text(&mut bytes))?,
            Format::Json => written(writeln!(bytes, "{}", json()))?,
            _ => return self.write(document),
        }
        self.chosen(document)?;
        let mut out = io::stdout().lock();
        written(out.write_all(&bytes).and_then(|()| out.flush()))
    }

    /// The document, with the chosen table and chart first.
    fn chosen(&self, mut document: Document) -> Result<Document, Failure> {
        if let Some(table) = &self.table {
            document.put_table_first(table).map_err(refused)?;
        }
        if let Some(chart) = &self.chart {
            document.put_chart_first(chart).map_err(refused)?;
        }
        document.highlight(&self.highlight).map_err(refused)?;
        let for_people = !matches!(self.format(), Format::Csv | Format::Json);
        if self.columns.iter().any(|column| column == ALL) {
            document.show_all_columns();
        } else if for_people && !self.columns.is_empty() {
            document.choose_columns(&self.columns).map_err(refused)?;
        }
        Ok(document)
    }

    /// Writes a document to stdout.
    ///
    /// # Errors
    ///
    /// [`Failure::Refused`] for a table or a chart that the document does not have,
    /// [`Failure::Failed`] for the errors of stdout.
    pub fn write(&self, document: Document) -> Result<(), Failure> {
        let document = self.chosen(document)?;
        let mut bytes = Vec::new();
        match document.write_within(self.format(), width(), &mut bytes) {
            Err(OutputError::Io(error)) => written(Err(error)),
            Err(error) => Err(refused(error)),
            Ok(()) => {
                let mut out = io::stdout().lock();
                written(out.write_all(&bytes).and_then(|()| out.flush()))
            }
        }
    }
}
