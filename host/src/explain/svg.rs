//! A picture as SVG, like those of the lectures: rows of cells, threads between them in circles,
//! and arrows from the cells that a thread reads and to the cell that it writes.

use super::{Array, BlockEvent, Picture, Row, Step, Work};
use crate::output::{self, Canvas, LEADING, MARGIN, TEXT_CHAR};

/// The least width to the left of the first cell. The names of the arrays stand there.
const LABELS: f64 = 128.0;
const CELL_HEIGHT: f64 = 32.0;
/// The distance from a circle to the cell below it.
const DROP: f64 = 16.0;
/// The width of a character of a value. It is more than a character takes on average.
const VALUE_CHAR: f64 = 8.6;
/// The width of a character of the number in a circle.
const THREAD_CHAR: f64 = 7.4;
/// The greatest number of cells beside each other. A longer row continues below its beginning.
const COLUMNS: usize = 64;

impl Picture {
    /// Draws the picture. With `banks`, it also shows the banks of shared memory and where they
    /// conflict.
    ///
    /// Each row is a group of class `row`, and each step a group of class `step`. A step has an
    /// arrow of class `from` for each cell that a thread reads, and one of class `to` for each cell
    /// that it writes.
    pub fn to_svg(&self, banks: bool) -> String {
        let mut drawing = self.drawing(String::new(), banks);
        drawing.canvas.lines(&self.headline(), "strong");
        if let Some(note) = self.padding_note() {
            drawing.canvas.lines(&note, "small");
        }
        if !self.events.is_empty() {
            drawing.canvas.lines(self.blocks_note(), "small");
            drawing.events(&self.events);
            drawing.canvas.y += 12.0;
            drawing.canvas.lines(&self.verdict(), "strong");
            return self.frame_events(&drawing, drawing.canvas.y + MARGIN, true);
        }
        self.numbers(&mut drawing);
        drawing.row(&self.input, &[], None);
        let mut labels = Vec::new();
        for step in &self.steps {
            labels.extend(self.labels(step, banks));
            // Arrows begin at the row above. A step whose work is all beyond the shown cells has
            // neither arrows nor a row, so its labels stand beside the next step.
            if !step.work.is_empty() {
                if let Some(before) = &step.before {
                    drawing.canvas.y += 12.0;
                    drawing.row(before, &[], None);
                }
                drawing.step(step, &std::mem::take(&mut labels));
            }
        }
        drawing.canvas.y += 12.0;
        for (class, label) in labels {
            drawing.canvas.lines(&label, class);
        }
        if let Some(note) = self.beyond_note() {
            drawing.canvas.lines(&note, "small");
        }
        if let Some(note) = self.unread_note() {
            drawing.canvas.lines(note, "small");
        }
        if let Some(note) = self.others_note() {
            drawing.canvas.lines(&note, "small");
        }
        drawing.canvas.lines(&self.verdict(), "strong");
        let told: Vec<String> = self
            .steps
            .iter()
            .filter(|step| !step.work.is_empty())
            .map(|step| format!("{}: {}.", step.title(self.launches_shown), step.after))
            .collect();
        let described = format!("{} {}", told.join(" "), self.verdict());
        drawing.canvas.frame(&self.headline(), &described, true, drawing.canvas.y + MARGIN)
    }

    /// Draws the picture step by step. Each drawing shows the values before and after its step; the
    /// first drawing shows the input alone.
    ///
    /// `id` names the picture in a [`Document`](output::Document).
    ///
    /// ```
    /// use warpfold_lab::{element::Values, explain::{Request, explain}, op::Op};
    /// use warpfold_lab::{ptx::PtxLibrary, variant::Variant};
    ///
    /// let request = Request { variant: Variant::Sequential, op: Op::Sum, block: None };
    /// let values = Values::I32(vec![3, 1, 4, 1]);
    /// let explained = explain(&PtxLibrary::embedded()?, &request, &values)?;
    /// let picture = explained.to_picture("rung-3", false);
    /// let captions: Vec<&str> = picture.steps.iter().map(|step| step.caption.as_str()).collect();
    /// assert_eq!(captions[2], "step 1, stride 2: 2 threads, then barrier");
    /// assert_eq!(captions.len(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_picture(&self, id: &str, banks: bool) -> output::Picture {
        if !self.events.is_empty() {
            let mut drawing = self.drawing(format!("{id}-1-"), banks);
            drawing.events(&self.events);
            let svg = self.frame_events(&drawing, drawing.canvas.y + MARGIN, false);
            return output::Picture {
                id: id.to_owned(),
                title: self.headline(),
                text_alternative: format!("{} {}", self.blocks_note(), self.verdict()),
                steps: vec![output::Step {
                    caption: "the blocks in the order of time".into(),
                    svg,
                }],
            };
        }
        let mut drawings = Vec::new();
        let mut drawing = |caption: String, above: &Row, step: Option<&Step>| {
            let mut drawing = self.drawing(format!("{id}-{}-", drawings.len() + 1), banks);
            self.numbers(&mut drawing);
            drawing.row(above, &[], None);
            if let Some(step) = step {
                drawing.step(step, &self.labels(step, banks));
            }
            drawings.push((drawing, caption, step.map_or(above, |step| &step.after).to_string()));
        };
        drawing("the values".to_owned(), &self.input, None);
        let mut above = &self.input;
        let mut folded = Vec::new();
        for step in &self.steps {
            folded.push(step.summary(self.launches_shown));
            if step.work.is_empty() {
                continue;
            }
            drawing(folded.join("; "), step.before.as_ref().unwrap_or(above), Some(step));
            folded.clear();
            above = &step.after;
        }
        // All drawings have the same height, so that the page below does not move while a reader
        // goes from step to step.
        let height =
            drawings.iter().map(|(drawing, ..)| drawing.canvas.y + MARGIN).fold(0.0, f64::max);
        let steps = drawings.iter().map(|(drawing, caption, values)| {
            let svg = drawing.canvas.frame(caption, &format!("Values: {values}."), false, height);
            output::Step { caption: caption.clone(), svg }
        });
        let notes = [
            self.padding_note(),
            self.beyond_note(),
            self.unread_note().map(str::to_owned),
            self.others_note(),
            Some(self.verdict()),
        ];
        output::Picture {
            id: id.to_owned(),
            title: self.headline(),
            text_alternative: notes.into_iter().flatten().collect::<Vec<_>>().join(" "),
            steps: steps.collect(),
        }
    }

    /// A drawing of what the blocks did for each other as a whole `svg` element.
    fn frame_events(&self, drawing: &Drawing, height: f64, styled: bool) -> String {
        let told: Vec<String> = self
            .events
            .iter()
            .map(|event| format!("Block {} {}.", event.block, event.describe()))
            .collect();
        let described = format!("{} {}", told.join(" "), self.verdict());
        drawing.canvas.frame(&self.headline(), &described, styled, height)
    }

    /// An empty drawing with room for all steps; `id` begins the ids of its elements.
    fn drawing(&self, id: String, banks: bool) -> Drawing {
        let rows = self
            .steps
            .iter()
            .flat_map(|step| step.before.iter().chain([&step.after]))
            .chain([&self.input]);
        let values = rows.clone().flat_map(|row| &row.values).map(|value| value.to_string().len());
        let threads = self
            .steps
            .iter()
            .flat_map(|step| step.work.iter().map(|work| work.thread.to_string().len()));
        let radius = (threads.max().unwrap_or(1) as f64 * THREAD_CHAR / 2.0 + 4.0).max(12.0);
        let cell = (values.max().unwrap_or(1) as f64 * VALUE_CHAR + 10.0).max(2.0 * radius + 8.0);
        let cells = if self.events.is_empty() { COLUMNS } else { 0 };
        let cells = rows.map(|row| row.values.len()).max().unwrap_or(0).min(cells);
        let labels = self.steps.iter().flat_map(|step| self.labels(step, banks));
        let label =
            labels.map(|(_, label)| label.chars().count()).max().unwrap_or(0) as f64 * TEXT_CHAR;
        let left = MARGIN + label.max(LABELS);
        let right = left + cell * cells as f64 + MARGIN;
        let bytes = u64::from(self.plan.problem.element.size());
        let banks = banks.then_some(bytes);
        Drawing { canvas: Canvas::new(id, right), left, cell, radius, banks }
    }

    /// The numbers of the cells.
    fn numbers(&self, drawing: &mut Drawing) {
        let rows = self.steps.iter().map(|step| &step.after).chain([&self.input]);
        let cells = rows.map(|row| row.values.len()).max().unwrap_or(0).min(COLUMNS);
        drawing.numbers(cells, "cell", |index| index as u64);
    }

    /// An explanation of the word "beyond", if a label contains it.
    fn beyond_note(&self) -> Option<String> {
        let identity = self.identity;
        let is_told = self.steps.iter().any(|step| !step.beyond.is_empty());
        is_told.then(|| {
            format!(
                "Beyond: at work on cells beyond those shown, where the identity {identity} is."
            )
        })
    }

    /// An explanation of the word "unread", if a label contains it.
    fn unread_note(&self) -> Option<&'static str> {
        let is_told = self.steps.iter().any(|step| !step.unread.is_empty());
        is_told.then_some("Unread: these threads take part too, and nobody reads what they get.")
    }

    /// The lines of text beside a step, each with its CSS class.
    fn labels(&self, step: &Step, banks: bool) -> Vec<(&'static str, String)> {
        let title = step.title(self.launches_shown);
        if step.work.is_empty() {
            return vec![("small", format!("{title}: beyond"))];
        }
        let mut labels: Vec<_> = title.split(", ").map(|part| ("", part.to_owned())).collect();
        labels[0].0 = "strong";
        if !step.beyond.is_empty() {
            labels.push(("small", format!("{} beyond", step.threads_beyond())));
        }
        if !step.unread.is_empty() {
            labels.push(("small", format!("{} unread", step.threads_unread())));
        }
        let note = step.bank_note().filter(|_| banks).unwrap_or_default();
        for kind in note.split("; ").filter(|kind| !kind.is_empty()) {
            let mut parts = kind.split(", ");
            labels.push(("small", parts.by_ref().take(2).collect::<Vec<_>>().join(", ")));
            labels.extend(parts.map(|conflicts| ("small warn", conflicts.to_owned())));
        }
        labels
    }
}

/// A drawing in progress. It grows from the top down.
struct Drawing {
    canvas: Canvas,
    /// Where the first cell begins.
    left: f64,
    /// The width of a cell.
    cell: f64,
    /// The radius of a thread's circle.
    radius: f64,
    /// The number of bytes of an element, if the banks of shared memory are shown.
    banks: Option<u64>,
}

impl Drawing {
    /// The horizontal position of the middle of a cell.
    fn middle(&self, index: u64) -> f64 {
        self.left + self.cell * (column(index) as f64 + 0.5)
    }

    fn numbers(&mut self, cells: usize, label: &str, number: impl Fn(usize) -> u64) {
        self.canvas.y += LEADING;
        let y = self.canvas.y - 3.0;
        self.canvas.text(MARGIN, y, "small", label);
        for index in 0..cells {
            self.canvas.text(self.middle(index as u64), y, "index", &number(index).to_string());
        }
    }

    /// Draws a row of cells. Those in `written` are marked as new, and those that conflict in
    /// `step` are marked too.
    fn row(&mut self, row: &Row, written: &[u64], step: Option<&Step>) {
        let name = row.array.name();
        self.canvas.push(format_args!("<g class=\"row {name}\">"));
        let (y, middle) = (self.canvas.y, self.canvas.y + CELL_HEIGHT / 2.0 + 5.0);
        self.canvas.text(
            MARGIN,
            middle,
            "strong",
            if row.array == Array::Shared { "shared memory" } else { name },
        );
        for (index, value) in (0..).zip(&row.values) {
            let line = (index / COLUMNS as u64) as f64 * CELL_HEIGHT;
            let (y, middle) = (y + line, middle + line);
            if index > 0 && column(index) == 0 {
                self.canvas.text(MARGIN, middle, "small", &format!("from cell {index}"));
            }
            let new = if written.contains(&index) { " new" } else { "" };
            let clashes = self.banks.is_some()
                && row.array == Array::Shared
                && step.is_some_and(|step| step.clashes(index));
            let clash = if clashes { " clash" } else { "" };
            let (x, width) = (self.middle(index) - self.cell / 2.0, self.cell);
            self.canvas.push(format_args!(
                "<rect class=\"cell{new}{clash}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\"/>"
            ));
            self.canvas.text(self.middle(index), middle, "value", &value.to_string());
        }
        self.canvas.push(format_args!("</g>"));
        self.canvas.y += CELL_HEIGHT * row.values.len().div_ceil(COLUMNS).max(1) as f64;
        // Only shared memory has banks, so their numbers stand below its cells.
        if let Some(bytes) = self.banks.filter(|_| row.array == Array::Shared) {
            let shown = row.values.len().min(COLUMNS);
            self.numbers(shown, "bank", |index| index as u64 * bytes / 4 % 32);
        }
    }

    /// Draws a column for each block, and in it a line of text for each deed. Time goes downwards.
    fn events(&mut self, events: &[BlockEvent]) {
        let blocks = events.iter().map(|event| event.block + 1).max().unwrap_or(0);
        let longest = |block: u64| {
            let own = events.iter().filter(|event| event.block == block);
            own.map(|event| event.describe().chars().count()).max().unwrap_or(0).max(8)
        };
        let mut lefts = vec![MARGIN];
        for block in 0..blocks {
            lefts.push(lefts[block as usize] + longest(block) as f64 * TEXT_CHAR + 24.0);
        }
        self.canvas.right = self.canvas.right.max(lefts[blocks as usize]);
        self.canvas.y += LEADING + 8.0;
        for block in 0..blocks {
            self.canvas.text(
                lefts[block as usize],
                self.canvas.y,
                "strong",
                &format!("block {block}"),
            );
        }
        let top = self.canvas.y + 8.0;
        self.canvas.y = top;
        for event in events {
            self.canvas.y += LEADING + 3.0;
            self.canvas.push(format_args!("<g class=\"event\">"));
            self.canvas.text(
                lefts[event.block as usize] + 8.0,
                self.canvas.y,
                "",
                &event.describe(),
            );
            self.canvas.push(format_args!("</g>"));
        }
        let bottom = self.canvas.y + 8.0;
        for left in &lefts[..blocks as usize] {
            self.canvas.push(format_args!(
                "<path class=\"arrow\" d=\"M{left:.1} {top:.1} {left:.1} {bottom:.1}\"/>"
            ));
        }
        self.canvas.y = bottom;
    }

    fn step(&mut self, step: &Step, labels: &[(&str, String)]) {
        self.canvas.push(format_args!("<g class=\"step\">"));
        let layers = step.layers();
        let (above, pitch) = (self.canvas.y, 2.0 * self.radius + 6.0);
        let reach = step.work.iter().flat_map(|work| {
            drawn_reads(step, work).map(|read| column(read).abs_diff(column(work.writes.index)))
        });
        let band = (reach.max().unwrap_or(0) as f64 * self.cell * 0.16).clamp(30.0, 130.0);
        let height =
            (band + pitch * layers.len() as f64 + DROP).max(labels.len() as f64 * LEADING + 12.0);
        let below = above + height;
        for (line, (class, label)) in labels.iter().enumerate() {
            let y =
                above + height / 2.0 + (line as f64 - labels.len() as f64 / 2.0) * LEADING + 13.0;
            self.canvas.text(MARGIN, y, class, label);
        }
        // All arrows are drawn before the circles, so that none crosses a number.
        let center =
            |layer: usize| below - DROP - pitch * (layers.len() - layer) as f64 + self.radius + 6.0;
        let placed: Vec<(f64, &Work)> = layers
            .iter()
            .enumerate()
            .flat_map(|(layer, work)| work.iter().map(move |work| (layer, *work)))
            .map(|(layer, work)| (center(layer), work))
            .collect();
        for &(y, work) in &placed {
            self.arrows(step, work, above, y, below);
        }
        for (y, work) in placed {
            self.circle(y, work);
        }
        self.canvas.push(format_args!("</g>"));
        self.canvas.y = below;
        let written: Vec<u64> = step.work.iter().map(|work| work.writes.index).collect();
        self.row(&step.after, &written, Some(step));
    }

    fn arrows(&mut self, step: &Step, work: &Work, above: f64, y: f64, below: f64) {
        let (x, radius) = (self.middle(work.writes.index), self.radius);
        let reads: Vec<u64> = drawn_reads(step, work).collect();
        let id = self.canvas.id.clone();
        for read in reads {
            let from = self.middle(read);
            // Arrows end in the upper half of the circle, where they meet no neighbouring circle.
            let side = if read == work.writes.index { 0.0 } else { 0.5 * (from - x).signum() };
            let (to, top) = (x + side * radius, y - radius * (1.0 - side * side).sqrt() - 1.0);
            let start = above + 1.0;
            self.canvas.push(format_args!(
                "<path class=\"arrow from\" marker-end=\"url(#{id}tip)\" d=\"M{from:.1} {start:.1} {to:.1} {top:.1}\"/>"
            ));
        }
        let (start, end) = (y + radius, below - 1.0);
        self.canvas.push(format_args!(
            "<path class=\"arrow to\" marker-end=\"url(#{id}tip)\" d=\"M{x:.1} {start:.1} {x:.1} {end:.1}\"/>"
        ));
    }

    fn circle(&mut self, y: f64, work: &Work) {
        let (x, radius, thread) = (self.middle(work.writes.index), self.radius, work.thread);
        let reads: Vec<String> =
            work.reads.iter().map(|cell| format!("{} {}", cell.array.name(), cell.index)).collect();
        let reads = if reads.is_empty() { "nothing".to_owned() } else { reads.join(", ") };
        let (array, index) = (work.writes.array.name(), work.writes.index);
        self.canvas.push(format_args!(
            "<g class=\"work\"><title>thread {thread} reads {reads} and writes {array} {index}</title>\
             <circle class=\"lane\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>\
             <text class=\"thread\" x=\"{x:.1}\" y=\"{:.1}\">{thread}</text></g>",
            y + 4.0
        ));
    }
}

/// The column in which a cell is drawn.
fn column(index: u64) -> u64 {
    index % COLUMNS as u64
}

/// The cells of the row above that a thread reads.
fn drawn_reads(step: &Step, work: &Work) -> impl Iterator<Item = u64> {
    work.reads.iter().filter(|cell| cell.array == step.from).map(|cell| cell.index)
}
