//! A picture as SVG: the lanes of the warp in circles, and arrows from them to the words that they
//! ask for.

use super::{LANES, Picture, Place, Request, Row, SECTOR_WORDS, WORDS, named};
use crate::output::{self, Canvas, LEADING, MARGIN, escape};

/// The width of the names to the left of the words.
const LABELS: f64 = 76.0;
const CELL: f64 = 28.0;
const CELL_HEIGHT: f64 = 26.0;
/// The radius of a lane's circle.
const RADIUS: f64 = 11.0;
/// The distance from a circle's middle to the words.
const DROP: f64 = 58.0;
/// The width of a digit in a cell.
const DIGIT: f64 = 7.4;
/// The most rows that have their lanes above them. More rows would make the picture too high, so
/// their cells have the numbers of the lanes alone.
const WITH_LANES: usize = 4;

/// What the drawings of global memory show.
const GLOBAL: &str = "Global memory is drawn in lines of 128 bytes, which are four sectors of eight words. A number in a cell is the \
                      lane that asks for the word. The framed sectors move, with the words in them that no lane asks for.";
/// What the drawings of shared memory show.
const SHARED: &str = "Shared memory is drawn in rows of 128 bytes, with one word in each of the 32 banks. A number in a cell is the \
                      lane that asks for the word. A red frame marks the words of a bank that serves several of them.";

impl Picture {
    /// Draws the picture. Each request is a group of class `request`, and each row of memory a
    /// group of class `row`. An arrow of class `from` goes from each lane to each of its words, if
    /// the request has few rows.
    pub fn to_svg(&self) -> String {
        let mut canvas = self.canvas(String::new());
        canvas.lines(&self.headline(), "strong");
        for legend in self.legends() {
            canvas.lines(legend, "small");
        }
        for (number, request) in (1..).zip(&self.requests) {
            canvas.y += 14.0;
            canvas.lines(&format!("{number}. {}", request.heading()), "strong");
            draw(&mut canvas, request);
            canvas.y += 6.0;
            canvas.lines(&request.summary(), "");
        }
        let described: Vec<String> = self.requests.iter().map(ToString::to_string).collect();
        canvas.frame(&self.headline(), &described.join(" "), true, canvas.y + MARGIN)
    }

    /// What the drawings show.
    fn legends(&self) -> impl Iterator<Item = &'static str> {
        let global = self.has(Place::Global).then_some(GLOBAL);
        global.into_iter().chain(self.has(Place::Shared).then_some(SHARED))
    }

    fn canvas(&self, id: String) -> Canvas {
        Canvas::new(id, MARGIN + LABELS + WORDS as f64 * self.cell() + MARGIN)
    }

    /// The width of a word, which has room for the names of its lanes.
    fn cell(&self) -> f64 {
        cell(self.requests.iter().flat_map(Request::rows))
    }
}

fn cell(rows: impl Iterator<Item = Row>) -> f64 {
    let names = rows.flat_map(|row| row.words).map(|lanes| named(&lanes).len());
    (names.max().unwrap_or(0) as f64 * DIGIT + 6.0).max(CELL)
}

/// Pictures as one that goes step by step, with a step for each request. `id` names it in a
/// [`Document`](output::Document).
pub fn player(id: &str, title: String, pictures: &[Picture]) -> output::Picture {
    let steps = || {
        pictures
            .iter()
            .flat_map(|picture| picture.requests.iter().map(move |request| (picture, request)))
    };
    let drawn: Vec<(Canvas, String)> = (1..)
        .zip(steps())
        .map(|(number, (picture, request))| {
            let mut canvas = picture.canvas(format!("{id}-{number}-"));
            draw(&mut canvas, request);
            (canvas, format!("{}, {}", picture.name, request.heading()))
        })
        .collect();
    // All steps have the same height, so that the page below does not move while a reader goes from
    // step to step.
    let height = drawn.iter().map(|(canvas, _)| canvas.y + MARGIN).fold(0.0, f64::max);
    let steps = drawn.iter().zip(steps()).map(|((canvas, caption), (_, request))| output::Step {
        caption: format!("{caption}. {}", request.summary()),
        svg: canvas.frame(caption, &request.summary(), false, height),
    });
    let steps = steps.collect();
    let mut legends: Vec<&str> = Vec::new();
    for legend in pictures.iter().flat_map(Picture::legends) {
        if !legends.contains(&legend) {
            legends.push(legend);
        }
    }
    output::Picture { id: id.to_owned(), title, text_alternative: legends.join(" "), steps }
}

/// Draws the rows of memory that a request meets.
fn draw(canvas: &mut Canvas, request: &Request) {
    let rows = request.rows();
    let left = MARGIN + LABELS;
    let wide = (canvas.right - MARGIN - left) / WORDS as f64;
    let with_lanes = rows.len() <= WITH_LANES;
    canvas.push(format_args!("<g class=\"request\">"));
    canvas.y += 4.0;
    if !with_lanes {
        columns(canvas, request.place, left, wide);
    }
    for row in &rows {
        if with_lanes {
            lanes(canvas, row, left, wide);
        }
        words(canvas, request, row, left, wide);
    }
    // Lanes stand above the words, so that the names of the columns stand below them.
    if with_lanes {
        columns(canvas, request.place, left, wide);
    }
    canvas.push(format_args!("</g>"));
}

/// Writes the names of the sectors, or the numbers of the banks.
fn columns(canvas: &mut Canvas, place: Place, left: f64, wide: f64) {
    canvas.y += LEADING;
    let y = canvas.y - 4.0;
    match place {
        Place::Global => {
            for sector in 0..WORDS / SECTOR_WORDS {
                let middle = left + (sector as f64 + 0.5) * SECTOR_WORDS as f64 * wide;
                canvas.text(middle, y, "index", &format!("sector {sector}"));
            }
        }
        Place::Shared => {
            canvas.text(MARGIN, y, "small", "bank");
            for bank in 0..WORDS {
                canvas.text(left + (bank as f64 + 0.5) * wide, y, "index", &bank.to_string());
            }
        }
    }
}

/// Draws the lanes that ask for words of a row, and their arrows.
fn lanes(canvas: &mut Canvas, row: &Row, left: f64, wide: f64) {
    canvas.y += 8.0 + RADIUS;
    let y = canvas.y;
    let below = y + DROP;
    canvas.text(MARGIN, y + 4.0, "small", "lane");
    let middle = |position: u32| left + (f64::from(position) + 0.5) * wide;
    let of_row: Vec<u32> =
        (0..LANES).filter(|lane| row.words.iter().any(|lanes| lanes.contains(lane))).collect();
    let id = canvas.id.clone();
    for (word, lanes) in (0..).zip(&row.words) {
        for &lane in lanes {
            let (from, to) = (middle(lane), middle(word));
            let (start, end) = (y + RADIUS, below - 1.0);
            canvas.push(format_args!(
                "<path class=\"arrow from\" marker-end=\"url(#{id}tip)\" d=\"M{from:.1} {start:.1} {to:.1} {end:.1}\"/>"
            ));
        }
    }
    for lane in of_row {
        let x = middle(lane);
        canvas.push(format_args!(
            "<circle class=\"lane\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\"/>"
        ));
        canvas.text(x, y + 4.0, "thread", &lane.to_string());
    }
    canvas.y = below;
}

/// Draws the words of a row.
fn words(canvas: &mut Canvas, request: &Request, row: &Row, left: f64, wide: f64) {
    let (y, middle) = (canvas.y, canvas.y + CELL_HEIGHT / 2.0 + 4.0);
    canvas.push(format_args!("<g class=\"row\">"));
    let (unit, at) = match request.place {
        Place::Global => ("line", "word"),
        Place::Shared => ("row", "bank"),
    };
    canvas.text(MARGIN, middle, "small", &format!("{unit} {}", row.number));
    // One path draws the frames of all words, because most words of a wide stride stay empty.
    let between =
        (0..=WORDS).map(|word| format!("M{:.1} {y:.1}v{CELL_HEIGHT}", left + word as f64 * wide));
    let across =
        [y, y + CELL_HEIGHT].map(|y| format!("M{left:.1} {y:.1}h{:.1}", WORDS as f64 * wide));
    let frames: String = between.chain(across).collect();
    canvas.push(format_args!("<path class=\"rest\" d=\"{frames}\"/>"));
    for (word, lanes) in row.words.iter().enumerate() {
        let moves = request.place == Place::Global && row.has_sector(word / SECTOR_WORDS);
        let x = left + word as f64 * wide;
        if lanes.is_empty() {
            if moves {
                cell_at(canvas, "cell", (x, y, wide), "");
            }
            continue;
        }
        let name = named(lanes);
        let who = if lanes.len() == 1 { "lane" } else { "lanes" };
        let asks = if lanes.len() == 1 { "asks" } else { "ask" };
        let title = format!("{who} {name} {asks} for {at} {word} of {unit} {}", row.number);
        let class = if request.clashes(word) { "cell new clash" } else { "cell new" };
        cell_at(canvas, class, (x, y, wide), &format!("<title>{}</title>", escape(&title)));
        canvas.text(x + wide / 2.0, middle, "thread", &name);
    }
    if request.place == Place::Global {
        for sector in (0..WORDS / SECTOR_WORDS).filter(|&sector| row.has_sector(sector)) {
            let (x, width) =
                (left + (sector * SECTOR_WORDS) as f64 * wide, SECTOR_WORDS as f64 * wide);
            canvas.push(format_args!(
                "<rect class=\"sector\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\"/>"
            ));
        }
    }
    canvas.push(format_args!("</g>"));
    canvas.y += CELL_HEIGHT + if request.place == Place::Global { 3.0 } else { 0.0 };
}

/// Draws the frame of a word. `inner` is what the element contains.
fn cell_at(canvas: &mut Canvas, class: &str, (x, y, wide): (f64, f64, f64), inner: &str) {
    canvas.push(format_args!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{CELL_HEIGHT}\">{inner}</rect>"
    ));
}
