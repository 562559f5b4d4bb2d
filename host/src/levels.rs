//! The picture of the guide's chapter on the five levels at which partial results meet: lanes,
//! warps, blocks, devices and ranks.
//!
//! Each level is drawn in the same way: those that have partial results, the places through which
//! the partial results travel, and those that combine them. The number in a cell is how many
//! elements its partial result stands for, if each lane begins with one element.

use crate::output::{Canvas, LEADING, MARGIN};

/// The width of the picture, which is a little less than that of a page of the guide.
const WIDTH: f64 = 980.0;
/// Where the cells begin. The names of the strips stand to the left.
const LEFT: f64 = 180.0;
const CELL_HEIGHT: f64 = 26.0;
/// The distance between two strips of cells.
const GAP: f64 = 34.0;

/// The numbers of those that meet. A block may have up to 32 warps, and four are enough here.
const LANES: u32 = 32;
const WARPS: u32 = 4;
const BLOCKS: u32 = 4;
const PEERS: u32 = 3;

/// The elements of a block, and those of a grid, of which each device and each rank has one.
const OF_BLOCK: u32 = LANES * WARPS;
const OF_GRID: u32 = OF_BLOCK * BLOCKS;

/// The picture as SVG.
///
/// ```
/// let svg = warpfold_lab::levels::to_svg();
/// assert_eq!(svg.matches("<g class=\"level\">").count(), 5);
/// ```
pub fn to_svg() -> String {
    let mut picture = Picture { canvas: Canvas::new(String::new(), WIDTH) };
    picture.canvas.lines("The same idea five times", "strong");
    let note = "A number says how many elements a partial result stands for, if each lane begins \
                with one. Levels 4 and 5 both begin with the result of a grid.";
    picture.canvas.lines(note, "small");
    picture.lanes();
    picture.warps();
    picture.blocks();
    picture.devices();
    picture.ranks();
    let all = PEERS * OF_GRID;
    let described = format!(
        "1. Eight lanes of a warp: at the distances 4, 2 and 1 each lane combines its register \
         with that of the lane above, and lane 0 ends with {LANES} elements. \
         2. Four warps write to shared memory; behind a barrier warp 0 reads all four places and \
         has {OF_BLOCK}. \
         3. Blocks 0 to 2 write tagged words to their slots in global memory and end; block 3, the \
         last, polls the slots and has {OF_GRID}. \
         4. Each of three devices writes tagged words into the mailboxes of the two others, polls \
         its own mailbox, and has {all}. \
         5. Ranks 1 and 2 send messages to rank 0, which combines them in the order of the ranks \
         and sends {all} back to both."
    );
    let height = picture.canvas.y + MARGIN;
    picture.canvas.frame(
        "The same idea five times: lanes, warps, blocks, devices, ranks",
        &described,
        true,
        height,
    )
}

struct Picture {
    canvas: Canvas,
}

/// A row of cells.
struct Strip {
    /// The upper end.
    y: f64,
    /// The middle of each cell.
    middles: Vec<f64>,
}

impl Picture {
    fn lanes(&mut self) {
        self.level(
            "1. Lanes of a warp",
            "Shuffles move registers. Here are eight of the 32 lanes, and the last three of the \
             five steps.",
        );
        let mut distance = 8;
        let mut sum = LANES / distance;
        let mut above = self.cells("registers", &vec![sum.to_string(); 8], 8, false);
        while distance > 1 {
            distance /= 2;
            sum *= 2;
            self.gap();
            let label = format!("distance {distance}");
            let below = self.cells(&label, &vec![sum.to_string(); distance as usize], 8, true);
            for lane in 0..distance as usize {
                self.arrow(&above, lane, &below, lane);
                self.arrow(&above, lane + distance as usize, &below, lane);
            }
            above = below;
        }
        self.end();
    }

    fn warps(&mut self) {
        self.level(
            "2. Warps of a block",
            "Each warp writes to a place of its own. All meet at the barrier, and then one warp \
             reads all places.",
        );
        let count = WARPS as usize;
        let warps = self.cells("warps", &vec![LANES.to_string(); count], count, false);
        self.gap();
        let places = self.cells("shared memory", &vec![LANES.to_string(); count], count, false);
        self.barrier();
        let first = self.cells("warp 0", &[OF_BLOCK.to_string()], count, true);
        for warp in 0..count {
            self.arrow(&warps, warp, &places, warp);
            self.arrow(&places, warp, &first, 0);
        }
        self.end();
    }

    fn blocks(&mut self) {
        self.level(
            "3. Blocks of a grid",
            "Value and tag are one word. The last block polls the slots of the others, which end \
             as soon as they have written.",
        );
        let (count, last) = (BLOCKS as usize, BLOCKS as usize - 1);
        let blocks = self.cells("blocks", &vec![OF_BLOCK.to_string(); count], count, false);
        self.gap();
        let slots = self.cells("slots", &vec![format!("tag|{OF_BLOCK}"); last], count, false);
        self.gap();
        let cell = self.place(&[last], count, "the last block", &[OF_GRID.to_string()], true);
        for block in 0..last {
            self.arrow(&blocks, block, &slots, block);
            self.arrow(&slots, block, &cell, 0);
        }
        self.arrow(&blocks, last, &cell, 0);
        self.end();
    }

    fn devices(&mut self) {
        self.level(
            "4. Devices of a host",
            "The tag is the number of the call, here 7. Each device polls the words of the others \
             in its own mailbox.",
        );
        let count = PEERS as usize;
        let devices = self.cells("devices", &vec![OF_GRID.to_string(); count], count, false);
        self.gap();
        let columns = count * (count - 1);
        let words = vec![format!("7|{OF_GRID}"); columns];
        let mailboxes = self.cells("mailboxes", &words, columns, false);
        self.gap();
        let results = vec![(PEERS * OF_GRID).to_string(); count];
        let results = self.cells("devices", &results, count, true);
        for to in 0..count {
            let others = (0..count).filter(|&from| from != to);
            for (place, from) in others.enumerate() {
                let place = to * (count - 1) + place;
                self.arrow(&devices, from, &mailboxes, place);
                self.arrow(&mailboxes, place, &results, to);
            }
            self.arrow(&devices, to, &results, to);
        }
        self.end();
    }

    fn ranks(&mut self) {
        self.level(
            "5. Ranks of a cluster",
            "A message says what its sender calls. Rank 0 waits for all, and its answer goes to \
             all.",
        );
        let (count, all) = (PEERS as usize, (PEERS * OF_GRID).to_string());
        let ranks = self.cells("ranks", &vec![OF_GRID.to_string(); count], count, false);
        self.gap();
        let root = self.cells("rank 0", std::slice::from_ref(&all), count, true);
        self.gap();
        let told = self.cells("ranks", &vec![all; count], count, true);
        for rank in 0..count {
            self.arrow(&ranks, rank, &root, 0);
            self.arrow(&root, 0, &told, rank);
        }
        self.end();
    }

    /// Begins a level with its name and what happens there.
    fn level(&mut self, name: &str, what: &str) {
        self.canvas.y += LEADING;
        self.canvas.push(format_args!("<g class=\"level\">"));
        self.canvas.lines(name, "strong");
        self.canvas.lines(what, "small");
        self.canvas.y += 8.0;
    }

    fn end(&mut self) {
        self.canvas.push(format_args!("</g>"));
    }

    fn gap(&mut self) {
        self.canvas.y += GAP;
    }

    /// A gap with a line across it, at which all wait.
    fn barrier(&mut self) {
        let (y, right) = (self.canvas.y + GAP / 2.0, WIDTH - MARGIN);
        self.canvas.text(MARGIN, y + 4.0, "small", "barrier");
        self.canvas.push(format_args!(
            "<path class=\"sector\" d=\"M{LEFT:.1} {y:.1} {right:.1} {y:.1}\"/>"
        ));
        self.gap();
    }

    /// Draws cells from the left on. `columns` is how many have room beside each other.
    fn cells(&mut self, label: &str, texts: &[String], columns: usize, is_new: bool) -> Strip {
        let places: Vec<usize> = (0..texts.len()).collect();
        self.place(&places, columns, label, texts, is_new)
    }

    /// Draws cells in these columns. A cell is new if its value was made at this level.
    fn place(
        &mut self,
        places: &[usize],
        columns: usize,
        label: &str,
        texts: &[String],
        is_new: bool,
    ) -> Strip {
        let column = (WIDTH - MARGIN - LEFT) / columns as f64;
        let (y, width) = (self.canvas.y, column.min(100.0) - 12.0);
        let (class, text_y) =
            (if is_new { "cell new" } else { "cell" }, y + CELL_HEIGHT / 2.0 + 5.0);
        self.canvas.text(MARGIN, text_y, "", label);
        let middles: Vec<f64> =
            places.iter().map(|&place| LEFT + column * (place as f64 + 0.5)).collect();
        for (middle, text) in middles.iter().zip(texts) {
            let x = middle - width / 2.0;
            self.canvas.push(format_args!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\"/>"
            ));
            self.canvas.text(*middle, text_y, "value", text);
        }
        self.canvas.y += CELL_HEIGHT;
        Strip { y, middles }
    }

    /// Draws an arrow from a cell to one of a strip below.
    fn arrow(&mut self, above: &Strip, from: usize, below: &Strip, to: usize) {
        let (from, to) = (above.middles[from], below.middles[to]);
        let (start, end) = (above.y + CELL_HEIGHT + 1.0, below.y - 1.0);
        // Arrows that meet at a cell end a little apart.
        let end_x = to + (from - to).clamp(-6.0, 6.0);
        self.canvas.push(format_args!(
            "<path class=\"arrow\" marker-end=\"url(#tip)\" d=\"M{from:.1} {start:.1} {end_x:.1} {end:.1}\"/>"
        ));
    }
}
