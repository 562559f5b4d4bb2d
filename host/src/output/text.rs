//! A document's tables as text for a terminal, and as Markdown.

use std::io::{self, Write};

use comfy_table::{CellAlignment, presets};

use super::{Document, Table};

pub(super) fn write_table(document: &Document, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", one_line(&document.title))?;
    if !document.environment.is_empty() {
        writeln!(out)?;
    }
    let width =
        document.environment.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in &document.environment {
        writeln!(out, "{:width$}  {}", one_line(name), one_line(value))?;
    }
    for table in &document.tables {
        writeln!(out, "\n{}\n\n{}", one_line(&table.title), lay_out(table, str::to_owned))?;
        for (index, note) in table.notes.iter().enumerate() {
            writeln!(out, "{}{}", if index == 0 { "\n" } else { "" }, one_line(note))?;
        }
    }
    Ok(())
}

/// Lays out a table, in the form that Markdown uses too. A newline in a cell begins another line of
/// that cell in a terminal.
fn lay_out(table: &Table, show: impl Fn(&str) -> String) -> comfy_table::Table {
    let mut laid = comfy_table::Table::new();
    laid.load_preset(presets::ASCII_MARKDOWN);
    laid.set_header(table.columns.iter().map(|column| show(&column.head())));
    for row in &table.rows {
        laid.add_row(table.cells(row).map(|(_, cell)| show(&cell.show())));
    }
    for (column, numeric) in laid.column_iter_mut().zip(table.numeric()) {
        if numeric {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    laid
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
        let laid = lay_out(table, markdown).to_string();
        let mut lines = laid.lines();
        writeln!(out, "{}", lines.next().unwrap_or_default())?;
        // In Markdown, the rule below the header says which columns are aligned to the right. The
        // layout does not mark them, so the colon is added here.
        let rule = lines.next().unwrap_or_default();
        let dashes = rule.trim_matches('|').split('|').zip(table.numeric());
        let dashes = dashes.map(|(dashes, numeric)| {
            let (head, last) = dashes.split_at(dashes.len().saturating_sub(1));
            format!("{head}{}|", if numeric { ":" } else { last })
        });
        writeln!(out, "|{}", dashes.collect::<String>())?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
        for note in &table.notes {
            writeln!(out, "\n{}", markdown(note))?;
        }
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text with the escapes that it needs to be shown unchanged by Markdown, on one line.
fn markdown(text: &str) -> String {
    let chars: Vec<char> = text.trim_end().chars().collect();
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
