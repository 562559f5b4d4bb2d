//! Mutants of the kernel that sums rows, whose warps copy tiles and wait for them, or read columns
//! into registers, and whose tasks meet in shared memory and through words that one of them polls.

use simt::{Arg, LaunchConfig, Memory, Module, check};

use super::shipped::{Mutant, Outcome, all_are_found, upload};

/// The kernel.
const ENTRY: &str = "rows_sum_f32";
/// Threads of a block.
const THREADS: u32 = 128;
/// The warps of a team are 2 to this number: all warps of a block.
const TEAM: u32 = 2;
/// Tiles of a task.
const TASK: u32 = 2;

/// Neighbouring columns, each of which is reduced. One column is a row in one piece.
#[derive(Clone, Copy, Debug)]
struct Columns {
    count: u32,
    length: u32,
}

/// A long row and 32 columns in tiles, with several teams and a last tile that is not whole.
const IN_TILES: [Columns; 2] =
    [Columns { count: 1, length: 40_037 }, Columns { count: 32, length: 1300 }];
/// The same for columns in registers.
const IN_REGISTERS: Columns = Columns { count: 64, length: 1300 };

impl Columns {
    fn value(self, column: u32, step: u32) -> f32 {
        ((step * self.count + column) % 7) as f32
    }

    /// The sums, which are whole numbers.
    fn expected(self) -> Vec<f32> {
        let sum = |column| (0..self.length).map(|step| self.value(column, step)).sum();
        (0..self.count).map(sum).collect()
    }

    /// What a launch says of its tiles: rows, steps, bytes from a row and from a step to the next,
    /// lanes of a row, the staging, bytes of a unit, and the logarithm of the units of a line.
    fn tile(self) -> [u32; 8] {
        match self.count {
            1 => [1, 1024, 0, 4, 32, 0, 4, 0],
            32 => [32, 32, 4, 128, 1, 1, 16, 3],
            _ => [64, 32, 0, 0, 1, 5, 8, 0],
        }
    }

    /// Sizes and strides in bytes: those of the rows, which count units if there are several, and
    /// those of the steps.
    fn dims(self) -> [(u32, u32); 2] {
        let [.., unit, _] = self.tile();
        let row =
            if self.count == 1 { (1, 4 * self.length) } else { (4 * self.count / unit, unit) };
        [row, (self.length, 4 * self.count)]
    }
}

fn run(ptx: &str, columns: Columns, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx(ENTRY, ptx).unwrap();
    let kernel = module.kernel(ENTRY).unwrap();
    let Columns { count, length } = columns;
    let values: Vec<f32> = (0..length)
        .flat_map(|step| (0..count).map(move |column| columns.value(column, step)))
        .collect();
    let [tile_rows, tile_steps, row_step, step, lanes, staging, unit, fast] = columns.tile();
    let tiles = length.div_ceil(tile_steps);
    let tasks = tiles.div_ceil(TASK);
    let teams = tasks.div_ceil(1 << TEAM);
    assert!(teams > 1);

    let memory = Memory::checked(4 << 20);
    let upload = |bytes: &[u8]| upload(&memory, bytes);
    let input = upload(bytemuck::cast_slice(&values));
    let output = memory.alloc(u64::from(4 * count)).unwrap();
    let slots = upload(&vec![0; (8 * teams * tile_rows) as usize]);
    let small = [
        tile_rows,
        tile_steps,
        row_step,
        step,
        tiles,
        TASK,
        tasks,
        1,
        TEAM,
        lanes,
        (1 << 16) / lanes,
        staging,
        unit,
        fast,
        1,
        1,
    ];
    let mut args: Vec<Arg> = [input, output, slots].map(Arg::Pointer).into();
    args.extend([0, u64::from(count), u64::from(length)].map(Arg::U64));
    args.extend(small.map(Arg::U32));
    // The kernel takes nine dimensions.
    let rest = std::iter::repeat_n((1, 0), 7);
    for (size, stride) in columns.dims().into_iter().chain(rest) {
        args.extend([Arg::U64(size.into()), Arg::I64(stride.into())]);
    }
    let config = LaunchConfig {
        seed,
        // The budget ends a mutant that would wait for ever.
        budget: Some(1 << 24),
        ..LaunchConfig::new(teams, THREADS)
    };
    let checked = check(kernel, &config, &args, &memory).unwrap();
    Outcome::new(&checked, || {
        let mut sums = vec![0.0; count as usize];
        memory.read(output, bytemuck::cast_slice_mut(&mut sums)).unwrap();
        sums == columns.expected()
    })
}

const NO_WAIT: Mutant =
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_all", 1, 1), "//");
const NO_BARRIER: Mutant =
    Mutant("no barrier between the warps of a team", "race", ("bar.sync", 2, 2), "//");

#[test]
fn mutants_of_the_kernel_for_rows_are_found() {
    let [row, columns] = IN_TILES;
    all_are_found(ENTRY, &[NO_WAIT, NO_BARRIER], |ptx, seed| {
        run(ptx, row, seed).and(run(ptx, columns, seed))
    });
}

#[test]
fn a_mutant_of_columns_in_registers_is_found() {
    all_are_found(ENTRY, &[NO_BARRIER], |ptx, seed| run(ptx, IN_REGISTERS, seed));
}
