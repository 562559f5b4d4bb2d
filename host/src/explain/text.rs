//! A picture as text for a terminal.

use std::{
    fmt::Display,
    io::{self, Write},
};

use simt::PhaseEnd;

use super::{Array, BlockEvent, Cell, Deed, Picture, Row, Step, Work};
use crate::{
    output::{plural, ranges},
    variant::Variant,
};

/// The number of columns before the first cell, which hold the label of the line.
const LABEL: usize = 14;
/// The approximate number of columns in a line. A wider row is cut into lines of as many cells as
/// fit, rounded down to a power of two.
const LINE: usize = 112;
/// The number of banks of shared memory. Each is 4 bytes wide.
const BANKS: u64 = 32;

impl Picture {
    /// Writes the picture for people. With `banks`, it also shows the banks of shared memory and
    /// where they conflict.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn write_text(&self, out: &mut impl Write, banks: bool) -> io::Result<()> {
        let grid = Grid { picture: self, width: self.column_width() };
        writeln!(out, "{}", self.headline())?;
        if let Some(note) = self.padding_note() {
            writeln!(out, "{note}")?;
        }
        writeln!(out)?;
        if !self.events.is_empty() {
            return self.write_events(out);
        }
        grid.row(out, &self.input, &[], banks)?;
        let mut folded = false;
        for step in &self.steps {
            if !(folded && step.work.is_empty()) {
                writeln!(out)?;
            }
            folded = step.work.is_empty();
            grid.step(out, step, banks)?;
        }
        writeln!(out)?;
        if let Some(note) = self.others_note() {
            writeln!(out, "{note}")?;
        }
        writeln!(out, "{}", self.verdict())
    }

    /// Writes what the blocks did for each other, a line for each deed in the order of time, and a
    /// column for each block.
    fn write_events(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.blocks_note())?;
        writeln!(out)?;
        for event in &self.events {
            writeln!(out, "block {:<4}{}", event.block, event.describe())?;
        }
        writeln!(out)?;
        if let Some(note) = self.others_note() {
            writeln!(out, "{note}")?;
        }
        writeln!(out, "{}", self.verdict())
    }

    /// An introduction to the deeds of the blocks.
    pub(super) fn blocks_note(&self) -> &'static str {
        if self.plan.problem.variant == Variant::Bulk {
            "The threads of a block add up what copies bring. Here are the copies and results of the blocks, in the order of time."
        } else {
            "The lanes of a block work as in rung 9. Here is what the blocks do for each other, in the order of time."
        }
    }

    /// A line that says which kernel ran, on how many values, blocks and threads.
    pub(super) fn headline(&self) -> String {
        let problem = &self.plan.problem;
        let facts = problem.variant.facts();
        let blocks = self.plan.stages.first().map_or(0, |stage| stage.shape.grid.x);
        format!(
            "{} (variant {}, {}): {}, {} of {}, simulated",
            self.plan.kernel,
            facts.label,
            facts.name,
            plural(problem.n, "value"),
            plural(blocks.into(), "block"),
            plural(self.plan.block.into(), "thread"),
        )
    }

    pub(super) fn padding_note(&self) -> Option<String> {
        let (shown, cells) = (self.shared_shown, self.shared_cells);
        (0 < shown && shown < cells).then(|| {
            let rest = ranges(&(shown..cells).collect::<Vec<_>>());
            let identity = self.identity;
            let (noun, hold, are) = if cells - shown == 1 { ("Cell", "holds", "is") } else { ("Cells", "hold", "are") };
            format!("{noun} {rest} of shared memory {hold} the identity {identity} throughout, and {are} not shown.")
        })
    }

    pub(super) fn others_note(&self) -> Option<String> {
        let hidden = self.plan.stages.len() - self.launches_shown;
        (hidden > 0).then(|| {
            let left: Vec<String> = self.others.iter().map(ToString::to_string).collect();
            let blocks: Vec<u64> = (1..=self.others.len() as u64).collect();
            let blocks = match blocks[..] {
                [] => String::new(),
                [_] => format!("block 1, which leaves {}, and ", left[0]),
                _ => format!("blocks {}, which leave {}, and ", ranges(&blocks), left.join(" ")),
            };
            format!("The picture does not show {blocks}{} more.", plural(hidden as u64, "launch"))
        })
    }

    /// The result in one line, compared with the CPU's.
    pub(super) fn verdict(&self) -> String {
        match &self.result {
            Err(fault) => format!("The launch stopped: {fault}."),
            Ok(result) if self.agrees => format!("The result is {result}, as on the CPU."),
            Ok(result) => {
                format!("The result is {result}, which is wrong: the CPU gets {}.", self.reference)
            }
        }
    }

    /// The width of a cell in columns: as many as the widest entry needs, and two between the
    /// values.
    fn column_width(&self) -> usize {
        let rows = self
            .steps
            .iter()
            .flat_map(|step| step.before.iter().chain([&step.after]))
            .chain([&self.input]);
        let values = rows.flat_map(|row| &row.values).map(|value| value.to_string().len());
        let reads =
            self.steps.iter().flat_map(|step| step.work.iter().map(|work| reads(step, work).len()));
        values.max().unwrap_or(0).max(reads.max().unwrap_or(0).saturating_sub(1)).max(2) + 2
    }
}

impl BlockEvent {
    /// The deed, and how often it was done in a row.
    pub(super) fn describe(&self) -> String {
        match (&self.deed, self.times) {
            (Deed::Poll { value }, 2..) => {
                format!("polls the counter {} times, at last {value}", self.times)
            }
            (deed, _) => deed.to_string(),
        }
    }
}

impl Step {
    /// The title of the step: its number or kind, its strides and its arrays.
    pub(super) fn title(&self, launches: usize) -> String {
        let launch =
            if launches > 1 { format!("launch {}, ", self.launch + 1) } else { String::new() };
        let to = self.after.array;
        let reads = self.work.is_empty() || self.work.iter().any(|work| !work.reads.is_empty());
        let kind = match self.number {
            Some(number) => format!("step {number}"),
            None if reads => "copy".to_owned(),
            None => "write".to_owned(),
        };
        let strides: Vec<String> = self.strides.iter().map(ToString::to_string).collect();
        let strides = match strides.len() {
            0 => String::new(),
            1 => format!(", stride {}", strides[0]),
            _ => format!(", strides {}", strides.join(" ")),
        };
        let way = match reads {
            true if self.from != to => format!(", {} to {}", self.from.name(), to.name()),
            true if to == Array::Registers => ", in registers".to_owned(),
            true => String::new(),
            false => format!(" to {}", to.name()),
        };
        format!("{launch}{kind}{strides}{way}")
    }

    /// The title of the step, how many threads work in it, and the event that ends it.
    pub(super) fn summary(&self, launches: usize) -> String {
        let title = self.title(launches);
        if self.work.is_empty() {
            return format!("{title}: {}", self.beyond_note());
        }
        let ending = self.ending().map_or_else(String::new, |ending| format!(", then {ending}"));
        format!("{title}: {}{ending}", plural(self.threads(), "thread"))
    }

    /// The number of threads whose work is shown.
    pub(super) fn threads(&self) -> u64 {
        let mut threads: Vec<u32> = self.work.iter().map(|work| work.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.len() as u64
    }

    pub(super) fn ending(&self) -> Option<&'static str> {
        self.end.map(|end| match end {
            PhaseEnd::Barrier { .. } => "barrier",
            PhaseEnd::WarpSync { .. } => "warp sync",
            PhaseEnd::Exit => "end",
            PhaseEnd::Stopped => "stopped",
        })
    }

    /// Whether all threads combine their own cell with others. If they do, only the other cells are
    /// listed.
    pub(super) fn in_place(&self) -> bool {
        self.work.iter().all(|work| work.reads_own() && work.others().next().is_some())
    }

    /// The requests, wavefronts and conflicts of shared memory, for each kind of access.
    pub(super) fn bank_note(&self) -> Option<String> {
        let kinds: Vec<String> = ["ld", "st", "atom"]
            .into_iter()
            .filter_map(|kind| {
                let used = || self.banks.iter().filter(|bank| bank.kind == kind);
                let requests = used().count() as u64;
                let wavefronts = used().map(|bank| bank.wavefronts).sum();
                let conflicts: u64 = used().map(|bank| bank.conflicts).sum();
                let conflicts = if conflicts > 0 {
                    format!(", {}", plural(conflicts, "conflict"))
                } else {
                    String::new()
                };
                let (requests, waves) =
                    (plural(requests, "request"), plural(wavefronts, "wavefront"));
                used().next().map(|_| format!("{kind} {requests}, {waves}{conflicts}"))
            })
            .collect();
        (!kinds.is_empty()).then(|| kinds.join("; "))
    }

    /// A note that names the threads whose work is not shown.
    pub(super) fn beyond_note(&self) -> String {
        let verb = if self.beyond.len() == 1 { "works" } else { "work" };
        format!(
            "{} {verb} on cells beyond those shown, where the identity is",
            self.threads_beyond()
        )
    }

    pub(super) fn threads_beyond(&self) -> String {
        named_threads(&self.beyond)
    }

    pub(super) fn threads_unread(&self) -> String {
        named_threads(&self.unread)
    }

    /// A note that names the threads whose results nobody reads.
    pub(super) fn unread_note(&self) -> Option<String> {
        let verb = if self.unread.len() == 1 { "takes" } else { "take" };
        (!self.unread.is_empty()).then(|| {
            format!(
                "{} {verb} part too, and nobody reads what they get",
                named_threads(&self.unread)
            )
        })
    }

    /// The work in layers. A layer writes each cell at most once; if a cell is written again, that
    /// work is in a later layer.
    pub(super) fn layers(&self) -> Vec<Vec<&Work>> {
        let mut layers: Vec<Vec<&Work>> = Vec::new();
        for work in &self.work {
            let free = layers
                .iter()
                .position(|layer| layer.iter().all(|other| other.writes != work.writes));
            match free {
                Some(layer) => layers[layer].push(work),
                None => layers.push(vec![work]),
            }
        }
        layers
    }

    /// Whether this cell of shared memory conflicts with another access in this step.
    pub(super) fn clashes(&self, cell: u64) -> bool {
        self.banks.iter().any(|bank| bank.clashing.contains(&cell))
    }
}

/// The names of the cells that a thread reads, for the line above the cell that it writes.
fn reads(step: &Step, work: &Work) -> String {
    let cells: Vec<Cell> =
        if step.in_place() { work.others().collect() } else { work.reads.clone() };
    let names: Vec<String> = cells
        .chunk_by(|a, b| a.array == b.array)
        .map(|cells| {
            let array = cells[0].array;
            let prefix = if array == step.from { "" } else { &array.name()[..1] };
            let numbers: Vec<u64> = cells.iter().map(|cell| cell.index).collect();
            progressions(&numbers, prefix)
        })
        .collect();
    if names.is_empty() { "-".to_owned() } else { names.join(",") }
}

/// Numbers with a prefix each. From three on, numbers at equal distances are shortened: `0-3` for
/// neighbours, and `0,8..56` for others.
fn progressions(numbers: &[u64], prefix: &str) -> String {
    let distances: Vec<u64> =
        numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    match (numbers, &distances[..]) {
        ([first, .., last], [1, 1, ..]) if distances.iter().all(|&distance| distance == 1) => {
            format!("{prefix}{first}-{last}")
        }
        ([first, second, .., last], [distance, _, ..])
            if distances.iter().all(|other| other == distance) =>
        {
            format!("{prefix}{first},{second}..{last}")
        }
        _ => {
            let names: Vec<String> =
                numbers.iter().map(|number| format!("{prefix}{number}")).collect();
            names.join(",")
        }
    }
}

/// Writes rows of cells under each other.
struct Grid<'a> {
    picture: &'a Picture,
    width: usize,
}

impl Grid<'_> {
    fn step(&self, out: &mut impl Write, step: &Step, banks: bool) -> io::Result<()> {
        writeln!(out, "{}", step.summary(self.picture.launches_shown))?;
        if step.work.is_empty() {
            return Ok(());
        }
        if let Some(before) = &step.before {
            self.row(out, before, &[], banks)?;
        }
        let label = match step.in_place() {
            true if step.from != step.after.array => format!("with {}", step.from.name()),
            true if step.from == Array::Registers => "with lane".to_owned(),
            true => "with cell".to_owned(),
            false if step.from == Array::Registers => "reads lane".to_owned(),
            false => format!("reads {}", step.from.name()),
        };
        let mut lines = Vec::new();
        for layer in &step.layers() {
            let by_cell = |show: &dyn Fn(&Work) -> String| {
                let mut line = vec![String::new(); step.after.values.len()];
                for work in layer {
                    line[work.writes.index as usize] = show(work);
                }
                line
            };
            lines.push(("thread".to_owned(), by_cell(&|work| work.thread.to_string())));
            lines.push((label.clone(), by_cell(&|work| reads(step, work))));
        }
        if banks {
            let marks: Vec<String> = (0..step.after.values.len() as u64)
                .map(|cell| if step.clashes(cell) { "!" } else { "" }.to_owned())
                .collect();
            if marks.iter().any(|mark| !mark.is_empty()) {
                lines.push(("conflict".to_owned(), marks));
            }
        }
        self.row(out, &step.after, &lines, banks)?;
        if !step.beyond.is_empty() {
            writeln!(out, "({})", step.beyond_note())?;
        }
        if let Some(note) = step.unread_note() {
            writeln!(out, "({note})")?;
        }
        match step.bank_note().filter(|_| banks) {
            Some(note) => writeln!(out, "{:LABEL$}{note}", "banks"),
            None => Ok(()),
        }
    }

    /// Writes a row of values with the lines `above` it. A row that is too long is cut into parts,
    /// and the numbers of the cells stand above each part.
    fn row(
        &self,
        out: &mut impl Write,
        row: &Row,
        above: &[(String, Vec<String>)],
        banks: bool,
    ) -> io::Result<()> {
        let fits = ((LINE - LABEL) / self.width).max(4);
        let part = 1 << fits.ilog2();
        let cells = row.values.len();
        let numbered = above.is_empty() || cells > part;
        let size = u64::from(self.picture.plan.problem.element.size());
        for first in (0..cells).step_by(part) {
            let range = first..cells.min(first + part);
            if numbered {
                self.line(out, "cell", range.clone())?;
                if banks && row.array == super::Array::Shared {
                    self.line(
                        out,
                        "bank",
                        range.clone().map(|cell| cell as u64 * size / 4 % BANKS),
                    )?;
                }
            }
            for (label, entries) in above {
                let entries = &entries[range.clone()];
                if entries.iter().any(|entry| !entry.is_empty()) {
                    self.line(out, label, entries)?;
                }
            }
            self.line(out, row.array.name(), &row.values[range])?;
        }
        Ok(())
    }

    fn line<T: Display>(
        &self,
        out: &mut impl Write,
        label: &str,
        entries: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let entries = entries
            .into_iter()
            .map(|entry| format!("{:>width$}", entry.to_string(), width = self.width));
        let line = format!("{label:LABEL$}{}", entries.collect::<String>());
        writeln!(out, "{}", line.trim_end())
    }
}

/// Such as `threads 0-3, 8`.
fn named_threads(threads: &[u32]) -> String {
    let numbers: Vec<u64> = threads.iter().map(|&thread| thread.into()).collect();
    format!("{} {}", if threads.len() == 1 { "thread" } else { "threads" }, ranges(&numbers))
}
