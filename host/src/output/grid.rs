//! Texts in rows and columns, no wider than a terminal.

use std::collections::HashSet;

use comfy_table::{CellAlignment, Table, presets};

use super::wrap_hard;

/// The columns between the texts of two cells, which are a rule and the blanks beside it.
const BETWEEN: usize = 3;
/// The greatest number of columns that name a row.
const KEYS: usize = 3;

/// Texts in rows and columns below a header. A newline in a text begins another line of it.
pub(crate) struct Grid {
    pub(crate) head: Vec<String>,
    /// The rows, with a text for each column.
    pub(crate) rows: Vec<Vec<String>>,
    /// For each column, whether it holds numbers. Numbers stand to the right and are not wrapped.
    pub(crate) numeric: Vec<bool>,
}

impl Grid {
    /// The grid in the form that Markdown uses too, as wide as its texts.
    pub(crate) fn whole(&self) -> String {
        let all: Vec<usize> = (0..self.head.len()).collect();
        let widths: Vec<usize> = all.iter().map(|&column| self.natural(column)).collect();
        self.draw(&all, &widths)
    }

    /// The grid with at most this many characters in a line. Headings and texts are wrapped where
    /// that is enough. Otherwise the grid is cut between columns into parts below each other, and
    /// each part begins with the columns that name the rows.
    pub(crate) fn within(&self, width: usize) -> String {
        let parts = self.parts(width);
        let drawn = parts.iter().map(|part| self.draw(part, &self.fit(part, width)));
        drawn.collect::<Vec<_>>().join("\n\n")
    }

    /// Whether some columns fit into one part.
    pub(super) fn fits(&self, columns: &[usize], width: usize) -> bool {
        total(columns.iter().map(|&column| self.least(column))) <= width
    }

    /// The columns of each part.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let all: Vec<usize> = (0..self.head.len()).collect();
        let (keys, others) = all.split_at(self.keys());
        let mut parts = vec![keys.to_vec()];
        for &column in others {
            let part = parts.last_mut().expect("there is a part");
            part.push(column);
            // A part has at least one column besides those that name the rows.
            if part.len() > keys.len() + 1 && !self.fits(part, width) {
                part.pop();
                parts.push([keys, &[column]].concat());
            }
        }
        parts
    }

    /// The number of columns that name a row: the fewest first columns that differ in each row.
    fn keys(&self) -> usize {
        let differ = |keys: &usize| {
            let mut seen = HashSet::new();
            self.rows.iter().all(|row| seen.insert(&row[..*keys]))
        };
        (1..=KEYS.min(self.head.len())).find(differ).unwrap_or(1).min(self.head.len())
    }

    /// The widths of columns that together fit into `width`.
    fn fit(&self, columns: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = columns.iter().map(|&column| self.least(column)).collect();
        // If there is room, columns grow, but none beyond what its texts need.
        while total(widths.iter().copied()) < width {
            let needs_more = |index: &usize| widths[*index] < self.natural(columns[*index]);
            // The column that needs the most gets the next character.
            let lacks = |index: &usize| self.natural(columns[*index]) - widths[*index];
            let Some(index) = (0..widths.len()).filter(needs_more).max_by_key(lacks) else { break };
            widths[index] += 1;
        }
        // If even the longest words have no room, the widest column breaks them.
        while total(widths.iter().copied()) > width {
            let widest = widths.iter_mut().max().filter(|widest| **widest > 1);
            let Some(widest) = widest else { break };
            *widest -= 1;
        }
        widths
    }

    fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[column].as_str())
    }

    /// The width that a column has if nothing in it is wrapped.
    fn natural(&self, column: usize) -> usize {
        self.texts(column).chain([self.head[column].as_str()]).map(lines_width).max().unwrap_or(0)
    }

    /// The width that a column has if everything that may be wrapped is wrapped after each word.
    fn least(&self, column: usize) -> usize {
        let numeric = self.numeric[column];
        let cells = self
            .texts(column)
            .map(|text| if numeric { lines_width(text) } else { longest_word(text) });
        cells.chain([longest_word(&self.head[column])]).max().unwrap_or(0)
    }

    fn draw(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut drawn = Table::new();
        drawn.load_preset(presets::ASCII_MARKDOWN);
        let texts = |row: &[String]| -> Vec<String> {
            columns
                .iter()
                .zip(widths)
                .map(|(&column, width)| wrapped(&row[column], *width))
                .collect()
        };
        drawn.set_header(texts(&self.head));
        drawn.add_rows(self.rows.iter().map(|row| texts(row)));
        for (column, index) in drawn.column_iter_mut().zip(columns) {
            if self.numeric[*index] {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        drawn.to_string()
    }
}

/// The width of a table with columns of these widths.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    1 + widths.map(|width| width + BETWEEN).sum::<usize>()
}

fn lines_width(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn longest_word(text: &str) -> usize {
    text.split_ascii_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

/// A text in lines of at most `width` characters. What is short enough stays as it is.
fn wrapped(text: &str, width: usize) -> String {
    if lines_width(text) <= width {
        return text.to_owned();
    }
    text.lines().flat_map(|line| wrap_hard(line, width)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let text = |text: &str| text.to_owned();
        Grid {
            head: ["rung", "idea", "bank conflicts", "cost (slots)"].map(text).into(),
            rows: vec![
                ["1", "interleaved, divergent", "0", "523 766"].map(text).into(),
                ["2", "interleaved, strided index", "26 985", "468 254"].map(text).into(),
            ],
            numeric: vec![false, false, true, true],
        }
    }

    #[test]
    fn a_wide_terminal_gets_all_in_one_line() {
        assert_eq!(grid().within(200), grid().whole());
        assert_eq!(lines_width(&grid().whole()), 1 + (4 + 26 + 14 + 12) + 4 * BETWEEN);
    }

    #[test]
    fn headings_and_texts_are_wrapped_before_the_grid_is_cut() {
        insta::assert_snapshot!(grid().within(50), @r"
        | rung | idea          |      bank |    cost |
        |      |               | conflicts | (slots) |
        |------|---------------|-----------|---------|
        | 1    | interleaved,  |         0 | 523 766 |
        |      | divergent     |           |         |
        | 2    | interleaved,  |    26 985 | 468 254 |
        |      | strided index |           |         |
        ");
    }

    #[test]
    fn a_narrow_terminal_gets_parts_that_all_name_the_rows() {
        insta::assert_snapshot!(grid().within(32), @r"
        | rung | idea                 |
        |------|----------------------|
        | 1    | interleaved,         |
        |      | divergent            |
        | 2    | interleaved, strided |
        |      | index                |

        | rung |      bank |    cost |
        |      | conflicts | (slots) |
        |------|-----------|---------|
        | 1    |         0 | 523 766 |
        | 2    |    26 985 | 468 254 |
        ");
    }

    #[test]
    fn no_line_is_longer_than_asked() {
        let mut sweep = grid();
        // The first column alone does not name a row here, and the two first ones do.
        sweep.rows.iter_mut().for_each(|row| row[0] = "1 048 576".into());
        for width in 20..90 {
            for grid in [&grid(), &sweep] {
                let drawn = grid.within(width);
                assert!(lines_width(&drawn) <= width, "{width}:\n{drawn}");
            }
        }
        assert_eq!((grid().keys(), sweep.keys()), (1, 2));
        let none = Grid { head: vec![], rows: vec![], numeric: vec![] };
        assert_eq!(none.within(80), none.whole());
    }
}
