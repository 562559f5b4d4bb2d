//! The counters of each line of the source.

use std::collections::{BTreeMap, BTreeSet};

use simt::{Counters, InstructionCounters};

/// A line of the source with its counters, which include all code that is inlined into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The file, as the PTX names it.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
    /// The counters. An instruction in inlined code counts for each line of the calls that lead to
    /// it, so lines overlap.
    pub counters: Counters,
}

/// The lines that instructions were compiled from, sorted by file and number. Empty if the PTX does
/// not name them.
pub fn lines(instructions: &[InstructionCounters]) -> Vec<Line> {
    let mut lines: BTreeMap<(&str, u32), Counters> = BTreeMap::new();
    for instruction in instructions {
        let places: BTreeSet<_> =
            instruction.frames.iter().map(|frame| (frame.file.as_str(), frame.line)).collect();
        for place in places {
            *lines.entry(place).or_default() += instruction.counters;
        }
    }
    lines
        .into_iter()
        .map(|((file, line), counters)| Line { file: file.to_owned(), line, counters })
        .collect()
}

#[cfg(test)]
mod tests {
    use simt::Frame;

    use super::*;

    #[test]
    fn an_instruction_counts_once_for_each_line_it_stands_in() {
        let frame = |file: &str, line| Frame { file: file.into(), line, column: 1, function: None };
        let instruction = |warp_instructions, frames| InstructionCounters {
            line: 1,
            text: String::new(),
            frames,
            counters: Counters { warp_instructions, ..Counters::default() },
        };
        let lines = lines(&[
            instruction(1, vec![frame("b", 7), frame("a", 2)]),
            instruction(10, vec![frame("a", 2), frame("a", 2), frame("a", 3)]),
            instruction(100, vec![]),
        ]);
        let found: Vec<_> = lines
            .iter()
            .map(|line| (line.file.as_str(), line.line, line.counters.warp_instructions))
            .collect();
        assert_eq!(found, [("a", 2, 11), ("a", 3, 10), ("b", 7, 1)]);
    }
}
