//! The listing of a kernel's source with the counters of each line, or of its PTX.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    ops::RangeInclusive,
};

use simt::Counters;

use super::{lines::lines, measures::sectors, profiled::Profiled};
use crate::{
    output::{Width, wrap_hard},
    ptx::PtxLibrary,
};

/// The folder of the sources that are shown. Other inlined code belongs to the device API and to
/// `core`.
const SHOWN: &str = "kernels/src/";
/// The folder of the tables of kernels, which are not shown. Each kernel has one line there, and
/// everything that the kernel does counts for that line.
const TABLES: &str = "kernels/src/exports/";

/// The header of the counters: columns of 7, 10, 10 and 9 characters.
const HEADER: &str = " instr.  divergent  conflicts  sect/req";
/// The number of characters of the first of these columns.
const FIRST: usize = 7;
/// The characters of a line's number, with the blanks around it.
const NUMBER: usize = 6;
/// The least room for source code beside all counters. In a narrower terminal, each line has only
/// the first counter.
const CODE: usize = 30;
/// The indentation of the rest of a line that is too long for the terminal.
const REST: usize = 4;

/// The room for a listing.
#[derive(Clone, Copy)]
struct Room {
    /// The characters of the counters of a line.
    counters: usize,
    /// The characters of its code; `None` if no line is too long.
    code: Option<usize>,
}

impl Room {
    fn new(width: Width) -> Self {
        let beside = |counters: usize| {
            width.of_code().map(|columns| columns.saturating_sub(counters + NUMBER))
        };
        match beside(HEADER.len()) {
            Some(room) if room < CODE => Self { counters: FIRST, code: beside(FIRST) },
            room => Self { counters: HEADER.len(), code: room },
        }
    }

    fn write_header(self, of: &str, out: &mut impl Write) -> io::Result<()> {
        let counters = &HEADER[..self.counters];
        match self.code {
            // In a narrow terminal, the name has a line of its own.
            Some(room) if of.len() > room + NUMBER - 2 => {
                for line in wrap_hard(of, self.counters + NUMBER + room) {
                    writeln!(out, "{line}")?;
                }
                writeln!(out, "{counters}")
            }
            _ => writeln!(out, "{counters}  {of}"),
        }
    }

    /// Writes a line with its counters and its number. If the line is too long, its rest follows
    /// below, indented.
    fn write(
        self,
        counters: &str,
        number: &str,
        text: &str,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let counters = &counters[..self.counters];
        let begin = text.len() - text.trim_start().len();
        let is_short = |room: &usize| text.chars().count() <= *room;
        let Some(room) = self.code.filter(|room| !is_short(room)) else {
            let line = format!("{counters} {number:>4} {text}");
            return writeln!(out, "{}", line.trim_end());
        };
        let indent = begin.min(room / 2);
        let rest = (indent + REST).min(room / 2);
        let lines = wrap_hard(text, room - rest);
        for (index, line) in lines.iter().enumerate() {
            let (counters, number, indent) =
                if index == 0 { (counters, number, indent) } else { ("", "", rest) };
            let wide = self.counters;
            writeln!(out, "{counters:wide$} {number:>4} {:indent$}{line}", "")?;
        }
        Ok(())
    }
}

pub(super) fn write(
    profiled: &Profiled,
    library: &PtxLibrary,
    width: Width,
    out: &mut impl Write,
) -> io::Result<()> {
    let room = Room::new(width);
    let whole = &profiled.counters;
    let mut files: BTreeMap<String, BTreeMap<u32, Counters>> = BTreeMap::new();
    for line in lines(&profiled.instructions) {
        if line.file.starts_with(SHOWN) && !line.file.starts_with(TABLES) {
            files.entry(line.file).or_default().insert(line.line, line.counters);
        }
    }
    let mut sources: Vec<_> = files
        .into_iter()
        .filter_map(|(file, lines)| library.source(&file).map(|text| (file, lines, text)))
        .collect();
    if sources.is_empty() {
        return write_ptx(profiled, width, room, out);
    }
    // The file of the rung itself comes first, because the functions that it calls from other files
    // have only a part of its instructions.
    sources.sort_by_key(|(_, lines, _)| {
        std::cmp::Reverse(lines.values().map(|counters| counters.warp_instructions).max())
    });
    width.write(
        "Each source line has its share of all PTX instructions, of all divergent branches in PTX and of all bank conflicts, \
         and the number of sectors for each of its requests to global memory. Code that is inlined into a line counts for \
         that line:",
        out,
    )?;
    for (file, lines, text) in sources {
        writeln!(out)?;
        room.write_header(&file, out)?;
        write_source(whole, &lines, &text, room, out)?;
    }
    Ok(())
}

fn write_source(
    whole: &Counters,
    lines: &BTreeMap<u32, Counters>,
    text: &str,
    room: Room,
    out: &mut impl Write,
) -> io::Result<()> {
    let source: Vec<&str> = text.lines().collect();
    let functions = functions(&source);
    let mut last = 0;
    for (number, text) in (1..).zip(&source) {
        let of_used = functions.iter().any(|function| {
            function.contains(&number) && lines.range(function.clone()).next().is_some()
        });
        if !of_used && !lines.contains_key(&number) {
            continue;
        }
        if last > 0 && last + 1 != number {
            writeln!(out)?;
        }
        last = number;
        let shares = lines
            .get(&number)
            .map_or_else(|| " ".repeat(HEADER.len()), |counters| shares(whole, counters));
        room.write(&shares, &number.to_string(), text, out)?;
    }
    Ok(())
}

/// The lines of each function, from its signature to its closing brace. The source must be
/// formatted by rustfmt.
fn functions(source: &[&str]) -> Vec<RangeInclusive<u32>> {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let begins = |text: &str| {
        let qualifies = |word: &str| {
            word.starts_with("pub") || ["const", "unsafe", "async", "extern"].contains(&word)
        };
        text.split_whitespace().find(|word| !qualifies(word)) == Some("fn")
    };
    let closes =
        |begin: usize, line: &str| line.trim() == "}" && indent(line) == indent(source[begin]);
    let of = |begin: usize| {
        let end = if source[begin].ends_with('}') {
            begin
        } else {
            (begin..source.len()).find(|&line| closes(begin, source[line])).unwrap_or(begin)
        };
        begin as u32 + 1..=end as u32 + 1
    };
    (0..source.len()).filter(|&line| begins(source[line])).map(of).collect()
}

fn write_ptx(
    profiled: &Profiled,
    width: Width,
    room: Room,
    out: &mut impl Write,
) -> io::Result<()> {
    width.write(
        "There is no source for this PTX, so here is the PTX itself, with the share of each instruction:",
        out,
    )?;
    writeln!(out)?;
    room.write_header("PTX", out)?;
    for instruction in &profiled.instructions {
        let shares = shares(&profiled.counters, &instruction.counters);
        room.write(&shares, &instruction.line.to_string(), &instruction.text, out)?;
    }
    Ok(())
}

/// The four columns of [`HEADER`]. A column stays empty if there is nothing to count.
fn shares(whole: &Counters, part: &Counters) -> String {
    let share = |part: u64, whole: u64| match part {
        0 => String::new(),
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    };
    let per_request =
        sectors_per_request(part).map(|ratio| format!("{ratio:.1}")).unwrap_or_default();
    format!(
        "{:>7} {:>10} {:>10} {per_request:>9}",
        share(part.warp_instructions, whole.warp_instructions),
        share(part.divergent_branches, whole.divergent_branches),
        share(part.bank_conflicts(), whole.bank_conflicts()),
    )
}

/// The sectors that a request to global memory moves on average. `None` if there are no requests.
pub(super) fn sectors_per_request(counters: &Counters) -> Option<f64> {
    let simt::Global { load, store, atomic, reduction } = counters.global;
    let requests = load.requests + store.requests + atomic.requests + reduction.requests;
    (requests > 0).then(|| sectors(counters) as f64 / requests as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_indentation() {
        let text = "\
use x;
/// fn in a comment.
pub(super) unsafe fn one<T>(
    x: T,
) {
    if x {
    }
}
    fn two() { 1 }
macro_rules! m {
    fn three() {
        4
    }
}
const fn four() -> u32 {
    5
}";
        let source: Vec<&str> = text.lines().collect();
        assert_eq!(functions(&source), [3..=8, 9..=9, 11..=13, 15..=17]);
    }
}
