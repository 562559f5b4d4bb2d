//! A document's tables as text for a terminal, and as Markdown.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::{Document, Table, grid::Grid, no_break, table::not_shown, wrap_hard};

/// The number of columns of a file or a pipe.
const OF_FILE: usize = 100;
/// The least number of columns that a terminal is taken to have.
const LEAST: usize = 20;

/// The room for text that people read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// A file or a pipe. Tables and sentences have 100 columns, and lines of source code are left
    /// whole.
    #[default]
    File,
    /// A terminal with this many columns. No line is longer.
    Terminal(usize),
}

impl Width {
    /// The number of columns of tables and sentences.
    pub fn columns(self) -> usize {
        match self {
            Self::File => OF_FILE,
            Self::Terminal(columns) => columns.max(LEAST),
        }
    }

    /// The number of columns of source code; `None` if its lines are left whole.
    pub(crate) fn of_code(self) -> Option<usize> {
        (self != Self::File).then(|| self.columns())
    }

    /// Writes a paragraph.
    pub(crate) fn write(self, text: &str, out: &mut impl Write) -> io::Result<()> {
        let lines = wrap_hard(text, self.columns());
        if lines.is_empty() {
            return writeln!(out);
        }
        lines.iter().try_for_each(|line| writeln!(out, "{}", plain(line)))
    }

    /// Writes the value of something that has a name. Names take `wide` columns.
    pub(crate) fn write_named(
        self,
        name: &str,
        wide: usize,
        value: &str,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let room = self.columns().saturating_sub(wide + 2);
        for (index, line) in wrap_hard(value, room).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            writeln!(out, "{name:wide$}  {}", plain(&line))?;
        }
        Ok(())
    }
}

/// A text for a terminal, in which plain blanks stand between the groups of digits, so that a
/// search for a number finds it.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\u{202f}') { text.replace('\u{202f}', " ").into() } else { text.into() }
}

pub(super) fn write_table(
    document: &Document,
    width: Width,
    out: &mut impl Write,
) -> io::Result<()> {
    width.write(&document.title, out)?;
    if !document.environment.is_empty() {
        writeln!(out)?;
    }
    let wide = document.environment.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in &document.environment {
        width.write_named(&one_line(name), wide, value, out)?;
    }
    for table in &document.tables {
        writeln!(out)?;
        width.write(&table.title, out)?;
        let columns = table.columns_within(width.columns());
        writeln!(out, "\n{}", grid(table, &columns, str::to_owned).within(width.columns()))?;
        let left_out = not_shown(table, &columns);
        for (index, note) in table.notes.iter().chain(&left_out).enumerate() {
            if index == 0 {
                writeln!(out)?;
            }
            width.write(note, out)?;
        }
    }
    Ok(())
}

/// Some columns of a table as texts.
pub(super) fn grid(table: &Table, columns: &[usize], show: impl Fn(&str) -> String) -> Grid {
    let numeric = table.numeric();
    let row = |row| -> Vec<String> {
        let cells: Vec<_> = table.cells(row).map(|(_, cell)| cell).collect();
        columns.iter().map(|&column| show(&cells[column].show())).collect()
    };
    Grid {
        head: columns.iter().map(|&column| show(&table.columns[column].head())).collect(),
        rows: table.rows.iter().map(|cells| row(cells)).collect(),
        numeric: columns.iter().map(|&column| numeric[column]).collect(),
    }
}

pub(super) fn write_markdown(document: &Document, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# {}", markdown(&document.title))?;
    if !document.environment.is_empty() {
        writeln!(out)?;
    }
    for (name, value) in &document.environment {
        writeln!(out, "- {}: {}", markdown(name), markdown(value))?;
    }
    for table in &document.tables {
        writeln!(out, "\n## {}\n", markdown(&table.title))?;
        let columns = table.columns_with_room();
        let grid = grid(table, &columns, markdown);
        let laid = grid.whole();
        let mut lines = laid.lines();
        writeln!(out, "{}", lines.next().unwrap_or_default())?;
        // In Markdown, the rule below the header says which columns are aligned to the right. The
        // layout does not mark them, so the colon is added here.
        let rule = lines.next().unwrap_or_default();
        let dashes = rule.trim_matches('|').split('|').zip(&grid.numeric);
        let dashes = dashes.map(|(dashes, numeric)| {
            let (head, last) = dashes.split_at(dashes.len().saturating_sub(1));
            format!("{head}{}|", if *numeric { ":" } else { last })
        });
        writeln!(out, "|{}", dashes.collect::<String>())?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
        for note in table.notes.iter().chain(&not_shown(table, &columns)) {
            writeln!(out, "\n{}", markdown(note))?;
        }
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text with the escapes that it needs to be shown unchanged by Markdown, on one line. A browser
/// does not break its numbers.
fn markdown(text: &str) -> String {
    let chars: Vec<char> = no_break(text.trim_end()).chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (index, &c) in chars.iter().enumerate() {
        let beside = |index: Option<usize>| {
            index.and_then(|index| chars.get(index)).is_some_and(|c| c.is_alphanumeric())
        };
        match c {
            '\n' => escaped.push_str("<br>"),
            // An underscore inside a word has no meaning in Markdown.
            '_' if beside(index.checked_sub(1)) && beside(Some(index + 1)) => escaped.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
