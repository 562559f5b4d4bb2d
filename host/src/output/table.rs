//! Rows of cells under named columns.

use std::iter;

use super::text::grid;

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
    /// When people see it. Programs always get it.
    pub shown: Shown,
}

/// When a column is shown to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Always.
    #[default]
    Always,
    /// If there is room. In a terminal, columns that are further to the right have it first.
    IfRoom,
    /// If it is asked for by [`Document::choose_columns`](super::Document::choose_columns).
    OnRequest,
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

    /// The columns that people see where lines may have any length, by their indices.
    pub(super) fn columns_with_room(&self) -> Vec<usize> {
        let all = 0..self.columns.len();
        all.filter(|&column| self.columns[column].shown != Shown::OnRequest).collect()
    }

    /// The columns that people see where lines have at most `width` characters, by their indices.
    pub(super) fn columns_within(&self, width: usize) -> Vec<usize> {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let grid = grid(self, &all, str::to_owned);
        let is = |shown: Shown| move |column: &usize| self.columns[*column].shown == shown;
        let mut columns: Vec<usize> = all.iter().copied().filter(is(Shown::Always)).collect();
        for column in all.iter().copied().rev().filter(is(Shown::IfRoom)) {
            let at = columns.partition_point(|other| *other < column);
            columns.insert(at, column);
            if !grid.fits(&columns, width) {
                columns.remove(at);
            }
        }
        columns
    }

    /// Leaves only the columns with these keys, in their order, and shows them always.
    pub(super) fn choose(&mut self, keys: &[String]) {
        let position = |key: &String| self.columns.iter().position(|column| column.key == *key);
        let chosen: Vec<usize> = keys.iter().filter_map(position).collect();
        if chosen.is_empty() {
            return;
        }
        let column =
            |&index: &usize| Column { shown: Shown::Always, ..self.columns[index].clone() };
        let cells = |row: &Vec<Cell>| {
            chosen.iter().map(|&index| row.get(index).cloned().unwrap_or_default()).collect()
        };
        self.rows = self.rows.iter().map(cells).collect();
        self.columns = chosen.iter().map(column).collect();
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
        Self { key: key.into(), heading: heading.into(), unit: None, shown: Shown::Always }
    }

    /// The same column with a unit.
    #[must_use]
    pub fn in_unit(self, unit: impl Into<String>) -> Self {
        Self { unit: Some(unit.into()), ..self }
    }

    /// The same column, shown to people if there is room.
    #[must_use]
    pub fn if_room(self) -> Self {
        Self { shown: Shown::IfRoom, ..self }
    }

    /// The same column, shown to people if they ask for it.
    #[must_use]
    pub fn on_request(self) -> Self {
        Self { shown: Shown::OnRequest, ..self }
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

/// A note on the columns that are not among those that are shown.
pub(super) fn not_shown(table: &Table, shown: &[usize]) -> Option<String> {
    let others = (0..table.columns.len()).filter(|column| !shown.contains(column));
    let keys: Vec<&str> = others.map(|column| table.columns[column].key.as_str()).collect();
    match keys[..] {
        [] => None,
        [key] => Some(format!("The column {key} is not shown. The option --columns all shows it.")),
        _ => {
            let keys = keys.join(", ");
            Some(format!("The columns {keys} are not shown. The option --columns all shows them."))
        }
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
