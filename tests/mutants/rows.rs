//! Mutants of the kernel that sums rows, whose warps copy tiles and wait for them, or read columns
//! into registers, and whose tasks meet in shared memory and through words that one of them polls.

use simt::{Arg, LaunchConfig, Memory, Module, check};

use super::shipped::{Mutant, Outcome, all_are_found, upload};

/// The kernel for all rows, which is the name of the module too.
const ENTRY: &str = "rows_sum_f32";
/// The kernel for rows of which each warp has a single tile.
const SINGLE: &str = "rows_sum_f32_single";
/// Threads of a block.
const THREADS: u32 = 128;
/// The warps of a team are 2 to this number: all warps of a block.
const TEAM: u32 = 2;
/// The most elements of a row of which each warp has a single tile: eight tiles of 1024.
const MOST_SINGLE: u32 = 8 * 1024;
/// Tiles of a task.
const TASK: u32 = 2;

/// How the rows of a matrix lie in memory, and how the kernel is told to read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Each row is one piece.
    Piece,
    /// Each row is one piece, and the kernel is told that its elements are neighbours.
    PlainPiece,
    /// Each row is one piece, and a lane takes one after the other.
    ShortRows,
    /// Rows are columns, which are copied in units.
    Units,
    /// Rows are columns, which are read into registers.
    Registers,
}

/// Rows that are summed.
#[derive(Clone, Copy, Debug)]
struct Rows {
    count: u32,
    length: u32,
    way: Way,
}

impl Rows {
    const fn new(count: u32, length: u32, way: Way) -> Self {
        Self { count, length, way }
    }

    fn are_columns(self) -> bool {
        matches!(self.way, Way::Units | Way::Registers)
    }

    /// The elements, as they lie in memory.
    fn values(self) -> Vec<f32> {
        (0..self.count * self.length).map(|i| (i % 7) as f32).collect()
    }

    /// The sums, which are whole numbers.
    fn expected(self) -> Vec<f32> {
        let Self { count, length, .. } = self;
        let values = self.values();
        let place =
            |row, step| if self.are_columns() { step * count + row } else { row * length + step };
        let sum = |row| (0..length).map(|step| values[place(row, step) as usize]).sum();
        (0..count).map(sum).collect()
    }

    /// What a launch says of its tiles: rows, steps, bytes from a row and from a step to the next,
    /// lanes of a row, the staging, bytes of a unit, and the logarithm of the units of a line.
    fn tile(self) -> [u32; 8] {
        match self.way {
            Way::Piece => [1, 1024, 0, 4, 32, 0, 4, 0],
            Way::PlainPiece if self.is_short() => {
                let in_tile = 1024 / self.length;
                [in_tile, self.length, 4 * self.length, 4, self.length.div_ceil(32), 6, 4, 0]
            }
            Way::PlainPiece => [1, 1024, 0, 4, 32, 6, 4, 0],
            // So many rows fill whole packs.
            Way::ShortRows => {
                let in_tile = 1024 / self.length / 4 * 4;
                [in_tile, self.length, 4 * self.length, 4, self.length.div_ceil(32), 8, 4, 0]
            }
            Way::Units => [32, 32, 4, 128, 1, 1, 16, 3],
            Way::Registers => [64, 32, 0, 0, 1, 5, 8, 0],
        }
    }

    /// Whether a tile has whole rows.
    fn is_short(self) -> bool {
        self.length <= 1024
    }

    /// Whether the kernel takes them of which each warp has a single tile.
    fn is_single(self) -> bool {
        self.length <= MOST_SINGLE && matches!(self.way, Way::PlainPiece | Way::ShortRows)
    }

    /// Sizes and strides in bytes: those of the rows, which count units if they are columns, and
    /// those of the steps.
    fn dims(self) -> [(u32, u32); 2] {
        let Self { count, length, .. } = self;
        let [.., unit, _] = self.tile();
        if self.are_columns() {
            [(4 * count / unit, unit), (length, 4 * count)]
        } else {
            [(count, 4 * length), (length, 4)]
        }
    }
}

/// A long row and 32 columns in tiles, with several teams and a last tile that is not whole. The
/// columns have so many teams that all warps of the last one read what the others have left.
const IN_TILES: [Rows; 2] = [Rows::new(1, 40_037, Way::Piece), Rows::new(32, 2600, Way::Units)];
/// The same for columns in registers.
const IN_REGISTERS: Rows = Rows::new(64, 1300, Way::Registers);
/// The same for a row of which the kernel knows that its elements are neighbours.
const LONG_AND_PLAIN: Rows = Rows::new(1, 40_037, Way::PlainPiece);
/// Such rows, of which a block has two. The last block has one of them, and no last tile is whole.
const OF_FEW_TILES: Rows = Rows::new(5, 2600, Way::PlainPiece);
/// Such rows, of which a tile has several. The last tile is not whole.
const SHORT_AND_PLAIN: Rows = Rows::new(100, 64, Way::PlainPiece);
/// The same for rows that do not begin at packs, and tiles that do not.
const SHORT_AND_UNEVEN: Rows = Rows::new(100, 65, Way::PlainPiece);

/// Rows of one lane each: of whole packs, of a part, and of two parts. The last tile is not whole.
const OF_ONE_LANE: [Rows; 3] = [
    Rows::new(500, 8, Way::ShortRows),
    Rows::new(500, 7, Way::ShortRows),
    Rows::new(100, 33, Way::ShortRows),
];

fn run(ptx: &str, rows: Rows, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx(ENTRY, ptx).unwrap();
    let kernel = module.kernel(if rows.is_single() { SINGLE } else { ENTRY }).unwrap();
    let Rows { count, length, .. } = rows;
    let [tile_rows, tile_steps, row_step, step, lanes, staging, unit, fast] = rows.tile();
    let groups = count.div_ceil(tile_rows);
    let tiles = length.div_ceil(tile_steps);
    let (task, team) = if tiles == 1 { (1, 0) } else { (TASK, TEAM) };
    let tasks = tiles.div_ceil(task);
    let teams = tasks.div_ceil(1 << team);
    assert!(teams > 1 || groups > 1);

    let memory = Memory::checked(4 << 20);
    let upload = |bytes: &[u8]| upload(&memory, bytes);
    let input = upload(bytemuck::cast_slice(&rows.values()));
    let output = memory.alloc(u64::from(4 * count)).unwrap();
    let slots = upload(&vec![0; (8 * teams * tile_rows) as usize]);
    let lane_share = (1u32 << 16).div_ceil(lanes);
    let small = [
        tile_rows, tile_steps, row_step, step, tiles, task, tasks, groups, team, lanes, lane_share,
        // There are no bundles.
        0, 0, staging, unit, fast, 1, 1,
    ];
    let mut args: Vec<Arg> = [input, output, slots].map(Arg::Pointer).into();
    if rows.is_single() {
        args.extend([0, u64::from(count)].map(Arg::U64));
        let tile_share = (1u32 << 16).div_ceil(tiles);
        let small = [length, tile_rows, row_step, tiles, tile_share, lanes, lane_share, staging];
        args.extend(small.map(Arg::U32));
        args.push(Arg::I64((4 * length).into()));
    } else {
        args.extend([0, u64::from(count), u64::from(length)].map(Arg::U64));
        args.extend(small.map(Arg::U32));
        // The kernel takes nine dimensions.
        let rest = std::iter::repeat_n((1, 0), 7);
        for (size, stride) in rows.dims().into_iter().chain(rest) {
            args.extend([Arg::U64(size.into()), Arg::I64(stride.into())]);
        }
    }
    let (blocks, threads) = if rows.is_single() {
        // A warp for each tile, in blocks of four to eight.
        let of_block = if tiles == 1 { 4 } else { 8 / tiles };
        (groups.div_ceil(of_block), of_block * tiles * 32)
    } else {
        ((groups * teams).div_ceil(4 >> team), THREADS)
    };
    let config = LaunchConfig {
        seed,
        // The budget ends a mutant that would wait for ever.
        budget: Some(1 << 24),
        ..LaunchConfig::new(blocks, threads)
    };
    let checked = check(kernel, &config, &args, &memory).unwrap();
    Outcome::new(&checked, || {
        let mut sums = vec![0.0; count as usize];
        memory.read(output, bytemuck::cast_slice_mut(&mut sums)).unwrap();
        sums == rows.expected()
    })
}

const NO_WAIT_FOR_PART: Mutant =
    Mutant("no wait for a part of a row", "in-flight", ("cp.async.wait_all", 1, 2), "//");
const NO_WAIT: Mutant =
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_all", 2, 2), "//");
const NO_WARP_BARRIER_FOR_PART: Mutant =
    Mutant("no barrier behind the copies of a part", "in-flight", ("bar.warp.sync", 1, 9), "//");
const NO_BARRIER: Mutant =
    Mutant("no barrier between the warps of a team", "race", ("bar.sync", 2, 4), "//");
const NO_BARRIER_BEFORE_PARTS: Mutant =
    Mutant("no barrier before warps leave what they have read", "race", ("bar.sync", 3, 4), "//");
const NO_BARRIER_BEHIND_PARTS: Mutant =
    Mutant("no barrier behind what warps leave", "race", ("bar.sync", 4, 4), "//");

/// The kernel of which each warp has a single tile takes short rows first, and then others.
const NO_WAIT_FOR_SHORT_ROWS: Mutant =
    Mutant("no wait for short rows", "in-flight", ("cp.async.wait_all", 1, 2), "//");
const NO_WAIT_FOR_ROWS: Mutant =
    Mutant("no wait for rows", "in-flight", ("cp.async.wait_all", 2, 2), "//");
const NO_WARP_BARRIER_FOR_SHORT_ROWS: Mutant = Mutant(
    "no barrier behind the copies of short rows",
    "in-flight",
    ("bar.warp.sync", 1, 3),
    "//",
);
const NO_WARP_BARRIER_FOR_ROWS: Mutant =
    Mutant("no barrier behind the copies of rows", "in-flight", ("bar.warp.sync", 2, 3), "//");
const NO_BARRIER_OF_FEW_TILES: Mutant =
    Mutant("no barrier between the warps of a row", "race", ("bar.sync", 1, 1), "//");

#[test]
fn mutants_of_the_kernel_for_rows_are_found() {
    let [row, columns] = IN_TILES;
    let mutants = [NO_WAIT, NO_BARRIER, NO_BARRIER_BEFORE_PARTS, NO_BARRIER_BEHIND_PARTS];
    all_are_found(ENTRY, &mutants, |ptx, seed| run(ptx, row, seed).and(run(ptx, columns, seed)));
}

#[test]
fn a_mutant_of_columns_in_registers_is_found() {
    all_are_found(ENTRY, &[NO_BARRIER], |ptx, seed| run(ptx, IN_REGISTERS, seed));
}

#[test]
fn mutants_of_plain_tiles_are_found() {
    let mutants = [NO_WAIT_FOR_PART, NO_WARP_BARRIER_FOR_PART, NO_BARRIER];
    all_are_found(ENTRY, &mutants, |ptx, seed| run(ptx, LONG_AND_PLAIN, seed));
    let mutants = [NO_WAIT_FOR_ROWS, NO_WARP_BARRIER_FOR_ROWS];
    for rows in [SHORT_AND_PLAIN, SHORT_AND_UNEVEN] {
        all_are_found(SINGLE, &mutants, |ptx, seed| run(ptx, rows, seed));
    }
    let mutants = [NO_WAIT_FOR_ROWS, NO_WARP_BARRIER_FOR_ROWS, NO_BARRIER_OF_FEW_TILES];
    all_are_found(SINGLE, &mutants, |ptx, seed| run(ptx, OF_FEW_TILES, seed));
}

#[test]
fn mutants_of_rows_of_one_lane_are_found() {
    let mutants = [NO_WAIT_FOR_SHORT_ROWS, NO_WARP_BARRIER_FOR_SHORT_ROWS];
    for rows in OF_ONE_LANE {
        all_are_found(SINGLE, &mutants, |ptx, seed| run(ptx, rows, seed));
    }
}
