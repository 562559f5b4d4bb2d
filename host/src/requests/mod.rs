//! Pictures of a warp's requests to memory, like those of the lectures. A picture shows which lane
//! meets which word: in the sectors of global memory, or in the banks of shared memory. Below it
//! stands what the request costs, and what it would cost at best.
//!
//! A picture shows only what a trace of a launch (`simt::trace`) contains. It knows nothing of what
//! the kernel is meant to do.
//!
//! ```
//! use warpfold_lab::{access::{Drawn, Pattern, explain}, ptx::PtxLibrary};
//!
//! let drawn = Drawn::parse(Pattern::Stride, Some("2"), 1)?;
//! let picture = explain(&PtxLibrary::embedded()?, &drawn)?;
//! // If 32 lanes read every second word, they meet 256 bytes, which are 8 sectors.
//! let request = &picture.requests[0];
//! assert_eq!((request.cost, request.least), (8, 4));
//! assert_eq!(request.rows()[1].words[2], [17]);
//! # Ok::<(), warpfold_lab::access::AccessError>(())
//! ```

mod json;
mod svg;
mod text;
mod trace;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
};

use simt::{Access, Space, Trace, TracedAccess};

use crate::output::{grouped, plural};

pub use svg::player;
pub(crate) use trace::{no_memory, traced};

/// The number of lanes in a warp.
const LANES: u32 = 32;
/// The number of bytes in a word.
const WORD: u64 = 4;
/// The number of words in a [`Row`].
const WORDS: usize = 32;
/// The number of words in a sector.
const SECTOR_WORDS: usize = 8;
/// The number of bytes in a sector.
const SECTOR: u64 = SECTOR_WORDS as u64 * WORD;

/// The requests of one warp in a launch on the simulator.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of the kernel.
    pub kernel: String,
    /// What was run, in a few words, such as `stride 2` or `variant tiled`.
    pub name: String,
    /// The grid, the block and the data, in a few words.
    pub run: String,
    /// The requests, in the order of time. There is one of each kind: the first that the warp made.
    pub requests: Vec<Request>,
}

/// The memory that a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Global memory, whose unit of traffic is the sector of 32 bytes.
    Global,
    /// The block's shared memory, whose words lie in 32 banks.
    Shared,
}

impl Place {
    /// The unit in which the cost of a request is counted.
    const fn unit(self) -> &'static str {
        match self {
            Self::Global => "sector",
            Self::Shared => "wavefront",
        }
    }
}

/// A request of a warp: one instruction that accesses memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the request does, such as `load from the input`.
    pub what: String,
    /// The memory.
    pub place: Place,
    /// The kind of the access.
    pub access: Access,
    /// The instruction in PTX.
    pub instruction: String,
    /// How many bytes each lane accesses.
    pub bytes: u32,
    /// The lanes that take part, lowest first, and the first byte of each: from the beginning of
    /// the array, or of shared memory.
    pub lanes: Vec<(u32, u64)>,
    /// How many sectors or wavefronts the request takes.
    pub cost: u64,
    /// How many it would take at best. Global memory: as many sectors as hold the same number of
    /// bytes. Shared memory: the wavefronts without bank conflicts.
    pub least: u64,
    /// The requests of this kind in the whole launch, and what they take together. `None` if the
    /// launch is too long for the trace.
    pub in_launch: Option<(u64, u64)>,
}

/// 128 bytes of memory: a line of four sectors, or one word in each of the 32 banks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The position of the row in memory, from 0.
    pub number: u64,
    /// The lanes that access each of the 32 words.
    pub words: Vec<Vec<u32>>,
}

impl Row {
    /// Whether a lane accesses this sector of the line.
    fn has_sector(&self, sector: usize) -> bool {
        self.words[sector * SECTOR_WORDS..][..SECTOR_WORDS].iter().any(|lanes| !lanes.is_empty())
    }
}

/// The requests that a picture shows.
pub(crate) struct Shown<'a> {
    /// The arrays in global memory whose requests are shown, each with its name.
    pub(crate) arrays: &'a [(&'static str, Range<u64>)],
    /// The requests to shared memory that are shown.
    pub(crate) shared: &'a [Access],
}

/// Requests of one kind go to the same array and do the same with it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    access: Access,
    /// The number of the array; `None` for shared memory.
    array: Option<usize>,
}

impl Shown<'_> {
    fn kind(&self, access: &TracedAccess) -> Option<Kind> {
        let array = match access.space {
            Space::Shared => {
                return self
                    .shared
                    .contains(&access.access)
                    .then_some(Kind { access: access.access, array: None });
            }
            Space::Global => {
                let address = access.lanes.first()?.address;
                self.arrays.iter().position(|(_, range)| range.contains(&address))?
            }
            Space::Local | Space::Param => return None,
        };
        Some(Kind { access: access.access, array: Some(array) })
    }

    /// The first request of each kind that warp 0 of the first block makes.
    pub(crate) fn requests(&self, trace: &Trace) -> Vec<Request> {
        let of = |blocks| accesses(blocks).filter_map(|access| Some((self.kind(access)?, access)));
        let mut kinds: Vec<Kind> = Vec::new();
        let mut requests = Vec::new();
        for (kind, access) in of(&trace.blocks[..1.min(trace.blocks.len())]) {
            if access.warp != 0 || kinds.contains(&kind) {
                continue;
            }
            kinds.push(kind);
            let same = of(&trace.blocks).filter(|(other, _)| *other == kind);
            let all = same
                .map(|(_, access)| cost(access))
                .fold((0, 0), |(n, sum), cost| (n + 1, sum + cost));
            let text = trace.instructions[access.instruction].text.clone();
            requests.push(self.request(kind, access, text, (!trace.truncated).then_some(all)));
        }
        requests
    }

    fn request(
        &self,
        kind: Kind,
        access: &TracedAccess,
        instruction: String,
        in_launch: Option<(u64, u64)>,
    ) -> Request {
        let array = kind.array.map(|array| &self.arrays[array]);
        let place = if array.is_some() { Place::Global } else { Place::Shared };
        let name =
            array.map_or_else(|| "shared memory".to_owned(), |(name, _)| format!("the {name}"));
        let start = array.map_or(0, |(_, range)| range.start);
        let what = match access.access {
            Access::Read => format!("load from {name}"),
            Access::Write => format!("store to {name}"),
            Access::Atomic => format!("atomic operation on {name}"),
        };
        let mut request = Request {
            what,
            place,
            access: access.access,
            instruction,
            bytes: access.bytes,
            lanes: access
                .lanes
                .iter()
                .map(|lane| (lane.thread % LANES, lane.address - start))
                .collect(),
            cost: cost(access),
            least: access.wavefronts - access.bank_conflicts,
            in_launch,
        };
        if place == Place::Global {
            request.least = request.asked_bytes().div_ceil(SECTOR);
        }
        request
    }
}

fn accesses(blocks: &[simt::BlockTrace]) -> impl Iterator<Item = &TracedAccess> {
    blocks.iter().flat_map(|block| &block.phases).flat_map(|phase| &phase.accesses)
}

/// What a request takes: sectors of global memory, or wavefronts of shared memory.
const fn cost(access: &TracedAccess) -> u64 {
    match access.space {
        Space::Shared => access.wavefronts,
        _ => access.sectors,
    }
}

impl Picture {
    /// A line that says what ran.
    pub fn headline(&self) -> String {
        format!("{} ({}): {}, simulated", self.kernel, self.name, self.run)
    }

    /// Whether a request goes to this memory.
    fn has(&self, place: Place) -> bool {
        self.requests.iter().any(|request| request.place == place)
    }
}

impl Request {
    /// What the request does, with how many lanes and bytes.
    pub fn heading(&self) -> String {
        let lanes = plural(self.lanes.len() as u64, "lane");
        let each = if self.lanes.len() == 1 { "" } else { " each" };
        format!("{}: {lanes}, {}{each}", self.what, plural(self.bytes.into(), "byte"))
    }

    /// The rows of memory that the lanes meet, in the order of addresses.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: BTreeMap<u64, Vec<Vec<u32>>> = BTreeMap::new();
        for &(lane, first) in &self.lanes {
            for word in first / WORD..(first + u64::from(self.bytes)).div_ceil(WORD) {
                let row =
                    rows.entry(word / WORDS as u64).or_insert_with(|| vec![Vec::new(); WORDS]);
                row[word as usize % WORDS].push(lane);
            }
        }
        rows.into_iter().map(|(number, words)| Row { number, words }).collect()
    }

    /// How many different bytes the lanes ask for.
    pub fn asked_bytes(&self) -> u64 {
        let bytes = self.lanes.iter().flat_map(|&(_, first)| first..first + u64::from(self.bytes));
        bytes.collect::<BTreeSet<u64>>().len() as u64
    }

    /// For each of the 32 banks, how many different words the lanes ask for.
    pub fn words_of_banks(&self) -> [u64; WORDS] {
        let mut counts = [0; WORDS];
        for row in self.rows() {
            for (count, lanes) in counts.iter_mut().zip(&row.words) {
                *count += u64::from(!lanes.is_empty());
            }
        }
        counts
    }

    /// Whether a bank serves several words of the request, one after another, although lanes ask
    /// for one word each.
    fn clashes(&self, bank: usize) -> bool {
        self.place == Place::Shared && self.cost > self.least && self.words_of_banks()[bank] > 1
    }

    /// What the request costs, in sentences.
    pub fn summary(&self) -> String {
        let unit = self.place.unit();
        let cost = plural(self.cost, unit);
        let own = match self.place {
            Place::Global => self.sectors(&cost),
            Place::Shared => self.wavefronts(&cost),
        };
        match self.in_launch {
            Some((requests @ 2.., together)) => {
                let (requests, together) = (grouped(requests), grouped(together));
                format!(
                    "{own} The launch makes {requests} requests of this kind, which take {together} {unit}s."
                )
            }
            _ => own,
        }
    }

    fn sectors(&self, cost: &str) -> String {
        let asked = plural(self.asked_bytes(), "byte");
        if self.cost == self.least {
            return format!(
                "The request takes {cost}, the fewest that can hold the {asked} that the lanes ask for."
            );
        }
        let least = plural(self.least, "sector");
        format!("The request takes {cost}. The lanes ask for {asked}, which {least} could hold.")
    }

    fn wavefronts(&self, cost: &str) -> String {
        let least = plural(self.least, "wavefront");
        // A request for more than a word by each lane is served in parts of the warp, so the words
        // of a bank alone do not explain its cost.
        if u64::from(self.bytes) > WORD || self.access == Access::Atomic {
            return if self.cost == self.least {
                format!("The request takes {cost} and has no bank conflicts.")
            } else {
                format!(
                    "The request takes {cost}. Without bank conflicts the request would take {least}."
                )
            };
        }
        let words = self.words_of_banks();
        let most = words.into_iter().max().unwrap_or(0);
        if self.cost == self.least {
            let together =
                if self.rows().iter().any(|row| row.words.iter().any(|lanes| lanes.len() > 1)) {
                    " Lanes that ask for the same word are served together."
                } else {
                    ""
                };
            return format!(
                "The request takes {cost}, because no bank has two of the words that the lanes ask for.{together}"
            );
        }
        let busiest: Vec<usize> = (0..WORDS).filter(|&bank| words[bank] == most).collect();
        let who = match busiest[..] {
            [bank] => format!("bank {bank} has"),
            _ => format!("each of {} banks has", busiest.len()),
        };
        format!(
            "The request takes {cost}, because {who} {most} of the words that the lanes ask for, and a bank serves one word in \
             a wavefront. Without bank conflicts the request would take {least}."
        )
    }
}

/// Lanes as a list of ranges, such as `0-3`; empty if there are none.
fn named(lanes: &[u32]) -> String {
    let numbers: Vec<u64> = lanes.iter().map(|&lane| lane.into()).collect();
    crate::output::ranges(&numbers).replace(' ', "")
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.heading(), self.summary())
    }
}
