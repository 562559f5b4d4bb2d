//! Rows of cells under named columns.

use std::iter;

/// Figures in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name for `--table`, in JSON and in links. It is unique among the tables and consists of
    /// lowercase letters, digits and dashes.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// The columns, which say what the cells of a row mean.
    pub columns: Vec<Column>,
    /// The rows. If a row has too few cells, those that it lacks at its end are [`Cell::Missing`].
    pub rows: Vec<Vec<Cell>>,
    /// Sentences that a reader needs to understand the table.
    pub notes: Vec<String>,
}

/// A column, which says what the cells in one place of each row mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name for programs, such as `time_us`. It is unique in the table and contains the unit.
    pub key: String,
    /// Its name for people.
    pub heading: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
}

/// One entry of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// A number that is shown to people with some decimals. It counts as missing if it is not
    /// finite.
    Number {
        /// The number.
        value: f64,
        /// The number of digits after the point that people see. Programs get all digits.
        decimals: u8,
    },
    /// The value is not known, or there can be none.
    #[default]
    Missing,
}

impl Table {
    /// A table without rows and notes.
    pub fn new(id: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { id: id.into(), title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// Panics if the row does not have one cell for each column.
    pub fn push(&mut self, row: impl Into<Vec<Cell>>) {
        let row = row.into();
        assert_eq!(row.len(), self.columns.len(), "cells and columns of table {}", self.id);
        self.rows.push(row);
    }

    /// A row's cells, one for each column.
    pub(super) fn cells<'a>(
        &'a self,
        row: &'a [Cell],
    ) -> impl Iterator<Item = (&'a Column, &'a Cell)> {
        self.columns.iter().zip(row.iter().chain(iter::repeat(&Cell::Missing)))
    }

    /// For each column, whether it holds numbers and no text.
    pub(super) fn numeric(&self) -> Vec<bool> {
        let column = |index| self.rows.iter().filter_map(move |row| row.get(index));
        let is_number = |cell: &Cell| matches!(cell, Cell::Integer(_) | Cell::Number { .. });
        let is_text = |cell: &Cell| matches!(cell, Cell::Text(_));
        (0..self.columns.len())
            .map(|index| column(index).any(is_number) && !column(index).any(is_text))
            .collect()
    }
}

impl Column {
    /// A column without a unit.
    ///
    /// ```
    /// use warpfold_lab::output::Column;
    /// assert_eq!(Column::new("time_us", "median").in_unit("us").head(), "median (us)");
    /// ```
    pub fn new(key: impl Into<String>, heading: impl Into<String>) -> Self {
        Self { key: key.into(), heading: heading.into(), unit: None }
    }

    /// The same column with a unit.
    #[must_use]
    pub fn in_unit(self, unit: impl Into<String>) -> Self {
        Self { unit: Some(unit.into()), ..self }
    }

    /// Its heading with its unit.
    pub fn head(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.heading),
            None => self.heading.clone(),
        }
    }
}

impl Cell {
    /// A number that is shown with some decimals.
    ///
    /// ```
    /// use warpfold_lab::output::Cell;
    /// assert_eq!(Cell::number(10_234.567, 1).show(), "10 234.6");
    /// assert_eq!(Cell::number(f64::NAN, 1).show(), "");
    /// ```
    pub const fn number(value: f64, decimals: u8) -> Self {
        Self::Number { value, decimals }
    }

    /// The text for people, with digits in groups of three. It is empty for a missing cell.
    pub fn show(&self) -> String {
        match *self {
            Self::Text(ref text) => text.clone(),
            Self::Integer(value) => grouped(value),
            Self::Number { value, decimals } if value.is_finite() => {
                let text = format!("{value:.*}", usize::from(decimals));
                let (sign, digits) =
                    text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
                let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
                format!("{sign}{}{rest}", group(whole))
            }
            Self::Number { .. } | Self::Missing => String::new(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    /// Turns `None` into [`Cell::Missing`].
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// A whole number with its digits in groups of three.
pub(crate) fn grouped(value: u64) -> String {
    group(&value.to_string())
}

fn group(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
