//! A picture as text for a terminal.

use std::io::{self, Write};

use super::{Picture, Place, Request, Row, SECTOR_WORDS, WORDS, named};
use crate::output::{Width, ranges};

/// The number of columns before the words, which hold the number of the line or the row.
const LABEL: usize = 3;
/// The number of sectors in a line.
const SECTORS: usize = WORDS / SECTOR_WORDS;

/// What the drawings of global memory show.
const GLOBAL: &str = "Global memory is drawn in lines of 128 bytes, which are four sectors of eight words. A number is the lane that \
                      asks for the word. A dot is a word that no lane asks for, and that moves because its sector moves.";
/// What the drawings of shared memory show.
const SHARED: &str = "Shared memory is drawn in rows of 128 bytes, with one word in each of the 32 banks. A number is the lane that \
                      asks for the word. A dot is a word that no lane asks for.";

impl Picture {
    /// Writes the picture for people, in lines that are no longer than the width, unless a single
    /// sector needs more.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write_text(&self, width: Width, out: &mut impl Write) -> io::Result<()> {
        width.write(&self.headline(), out)?;
        writeln!(out)?;
        if self.has(Place::Global) {
            width.write(GLOBAL, out)?;
        }
        if self.has(Place::Shared) {
            width.write(SHARED, out)?;
        }
        for (number, request) in (1..).zip(&self.requests) {
            writeln!(out)?;
            width.write(&format!("{number}. {}", request.heading()), out)?;
            width.write(&request.instruction, out)?;
            writeln!(out)?;
            match request.place {
                Place::Global => write_lines(request, width.columns(), out)?,
                Place::Shared => write_banks(request, width.columns(), out)?,
            }
            writeln!(out)?;
            width.write(&request.summary(), out)?;
        }
        Ok(())
    }
}

/// The number of columns that the longest name of lanes takes, at least two.
fn cell(rows: &[Row]) -> usize {
    let names = rows.iter().flat_map(|row| &row.words).map(|lanes| named(lanes).len());
    names.max().unwrap_or(0).max(2)
}

/// The greatest power of two up to `most` for which `fits` holds, at least 1.
fn most_that_fit(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let mut count = most;
    while count > 1 && !fits(count) {
        count /= 2;
    }
    count
}

fn end(out: &mut impl Write, line: &str) -> io::Result<()> {
    writeln!(out, "{}", line.trim_end())
}

/// Writes lines of 128 bytes. Each sector has a bar before and after it.
fn write_lines(request: &Request, columns: usize, out: &mut impl Write) -> io::Result<()> {
    let rows = request.rows();
    let wide = cell(&rows);
    let sector_wide = SECTOR_WORDS * (wide + 1) - 1;
    let beside = most_that_fit(SECTORS, |count| LABEL + count * (sector_wide + 1) < columns);
    if beside == SECTORS {
        let names =
            (0..SECTORS).map(|sector| format!("{:<sector_wide$}", format!("sector {sector}")));
        end(out, &format!("{:LABEL$} {}", "", names.collect::<Vec<_>>().join(" ")))?;
    }
    for row in &rows {
        for first in (0..SECTORS).step_by(beside) {
            let label = if first == 0 { row.number.to_string() } else { String::new() };
            let mut line = format!("{label:>LABEL$}|");
            for sector in first..first + beside {
                let words = &row.words[sector * SECTOR_WORDS..][..SECTOR_WORDS];
                let moves = row.has_sector(sector);
                let words = words.iter().map(|lanes| match (lanes.is_empty(), moves) {
                    (true, true) => format!("{:>wide$}", "."),
                    (true, false) => " ".repeat(wide),
                    (false, _) => format!("{:>wide$}", named(lanes)),
                });
                line += &words.collect::<Vec<_>>().join(" ");
                line.push('|');
            }
            end(out, &line)?;
        }
    }
    Ok(())
}

/// Writes rows of shared memory with a column for each bank. Banks that no lane meets are left out
/// if the banks do not fit beside each other.
fn write_banks(request: &Request, columns: usize, out: &mut impl Write) -> io::Result<()> {
    let rows = request.rows();
    let wide = cell(&rows);
    let beside = most_that_fit(WORDS, |count| LABEL + 1 + count * (wide + 1) <= columns);
    let mut idle = Vec::new();
    for first in (0..WORDS).step_by(beside) {
        let banks = first..first + beside;
        let of_banks = |row: &Row| row.words[banks.clone()].iter().any(|lanes| !lanes.is_empty());
        if !rows.iter().any(of_banks) {
            idle.extend(banks.map(|bank| bank as u64));
            continue;
        }
        let numbers = banks.clone().map(|bank| format!(" {bank:>wide$}"));
        end(out, &format!("bank{}", numbers.collect::<String>()))?;
        for row in rows.iter().filter(|row| of_banks(row)) {
            let words = row.words[banks.clone()].iter();
            let words = words.map(|lanes| {
                let name = if lanes.is_empty() { ".".to_owned() } else { named(lanes) };
                format!(" {name:>wide$}")
            });
            end(out, &format!("{:>LABEL$} {}", row.number, words.collect::<String>()))?;
        }
    }
    if !idle.is_empty() {
        writeln!(out, "No lane meets banks {}.", ranges(&idle))?;
    }
    Ok(())
}
