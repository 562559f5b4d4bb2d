//! Mutants of the kernel that finds runs of equal keys and reduces them.

use simt::{Arg, LaunchConfig, Memory, Module, check, launch};

use super::shipped::{Mutant, Outcome, all_are_found, ptx, read, upload};

/// The kernel.
const KEYED: &str = "keyed_sum_f32";
/// Threads of its blocks, and the tiles of a group.
const THREADS: u32 = 160;
/// Keys of a tile, if keys have 4 bytes.
const TILE: u32 = THREADS * 12;
/// Bytes of shared memory of a tile: two keys, a value, a result and a place for each.
const SHARED_BYTES: u32 = TILE * (2 * 4 + 4 + 4 + 2);

/// The lengths of the runs of many tiles. There are runs of 1, of a few, and of hundreds, and some
/// that span warps, tiles and groups of tiles.
fn lengths() -> Vec<usize> {
    let mut lengths = vec![1; 5000];
    lengths.extend((0..4000).map(|i| i % 7 + 1));
    lengths.extend((0..100).map(|i| i * 37 % 300 + 1));
    lengths.extend((0..9).flat_map(|i| [1900 + 10 * i, 1, 2]));
    lengths.push((THREADS * TILE) as usize);
    lengths.extend((0..20).flat_map(|i| [vec![1100 + i], vec![1; 300]]).flatten());
    lengths.extend([3; 2000]);
    lengths
}

/// A launch.
struct Problem {
    memory: Memory,
    tiles: u32,
    args: Vec<Arg>,
    /// The key, the sum and the begin of each run, and the number of runs.
    outputs: [u64; 4],
    words: u64,
    lengths: Vec<usize>,
}

impl Problem {
    fn new(memory: Memory, lengths: Vec<usize>) -> Self {
        let runs = (0..).zip(&lengths);
        let keys: Vec<u32> =
            runs.flat_map(|(run, &length)| std::iter::repeat_n(run, length)).collect();
        let values: Vec<f32> = (0..keys.len()).map(value).collect();
        let upload = |bytes: &[u8]| upload(&memory, bytes);
        let n = keys.len() as u64;
        let tiles = n.div_ceil(TILE.into()) as u32;
        let (source, input) =
            (upload(bytemuck::cast_slice(&keys)), upload(bytemuck::cast_slice(&values)));
        let words = upload(&vec![0; 8 * words(tiles)]);
        let outputs = [4 * n, 4 * n, 4 * n + 4, 8].map(|bytes| memory.alloc(bytes).unwrap());
        let [unique, output, offsets, count] = outputs;
        let args = vec![
            Arg::Pointer(input),
            Arg::Pointer(output),
            Arg::Pointer(source),
            Arg::U32(2),
            Arg::U64(n),
            Arg::Pointer(unique),
            Arg::Pointer(offsets),
            Arg::U32(2),
            Arg::Pointer(count),
            Arg::Pointer(words),
        ];
        Self { memory, tiles, args, outputs, words, lengths }
    }

    fn read<T: bytemuck::Pod>(&self, address: u64, len: usize) -> Vec<T> {
        read(&self.memory, address, len)
    }

    /// Whether the runs are right, and all words of the workspace are 0 again.
    fn is_right(&self) -> bool {
        let count = self.lengths.len();
        let mut begins = vec![0];
        for length in &self.lengths {
            begins.push(begins.last().unwrap() + length);
        }
        // All sums are small integers.
        let sums: Vec<f32> =
            begins.windows(2).map(|run| (run[0]..run[1]).map(value).sum()).collect();
        let begins: Vec<u32> = begins.into_iter().map(|begin| begin as u32).collect();
        let [unique, output, offsets, runs] = self.outputs;
        let words: Vec<u64> = self.read(self.words, words(self.tiles));
        self.read::<u64>(runs, 1) == [count as u64]
            && self.read::<u32>(unique, count) == (0..count as u32).collect::<Vec<_>>()
            && self.read::<f32>(output, count) == sums
            && self.read::<u32>(offsets, count + 1) == begins
            && words.iter().all(|&word| word == 0)
    }

    /// The launch, of so many blocks.
    fn config(&self, blocks: u32, seed: Option<u64>) -> LaunchConfig {
        // The budget ends a mutant that would wait for ever.
        let budget = Some(u64::from(self.tiles) << 20);
        let dynamic_shared_bytes = SHARED_BYTES;
        LaunchConfig { seed, budget, dynamic_shared_bytes, ..LaunchConfig::new(blocks, THREADS) }
    }

    /// What is found in the launch.
    fn run(&self, keyed: &str, blocks: u32, seed: Option<u64>) -> Outcome {
        let module = Module::from_ptx(KEYED, keyed).unwrap();
        let kernel = module.kernel(KEYED).unwrap();
        let checked = check(kernel, &self.config(blocks, seed), &self.args, &self.memory).unwrap();
        Outcome::new(&checked, || self.is_right())
    }
}

/// Words of the workspace: one for counters, one for four tiles, and a record of two words for each
/// group and of three words for each tile.
fn words(tiles: u32) -> usize {
    (1 + tiles.div_ceil(4) + 2 * tiles.div_ceil(THREADS) + 3 * tiles) as usize
}

/// The value of a key.
fn value(i: usize) -> f32 {
    (i % 5) as f32
}

/// In the PTX, the third part is that for keys of 4 bytes, and the last one closes the runs that
/// cross tiles.
const MUTANTS: [Mutant; 16] = [
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_all", 3, 4), "//"),
    Mutant("no barrier behind a tile", "race", ("bar.sync", 15, 29), "//"),
    Mutant("no barrier behind the counts of warps", "race", ("bar.sync", 16, 29), "//"),
    Mutant("no barrier behind the numbers", "race", ("bar.sync", 17, 29), "//"),
    Mutant("no barrier behind the writes", "race", ("bar.sync", 18, 29), "//"),
    Mutant("no barrier behind a ticket", "race", ("bar.sync", 25, 29), "//"),
    Mutant("no barrier behind the parts of a group", "race", ("bar.sync", 26, 29), "//"),
    Mutant("no barrier behind what is before a group", "race", ("bar.sync", 27, 29), "//"),
    Mutant("no barrier before the end", "race", ("bar.sync", 28, 29), "//"),
    Mutant("no barrier before a ticket", "race", ("bar.sync", 29, 29), "//"),
    Mutant("a weak look at numbers", "race", ("ld.relaxed.gpu.global.u64", 3, 9), "ld.global.u64"),
    Mutant("a weak record", "race", ("st.relaxed.gpu.global.u64", 7, 18), "st.global.u64"),
    Mutant("a weak look at a record", "race", ("ld.relaxed.gpu.global.u64", 5, 9), "ld.global.u64"),
    Mutant("a weak look at a group", "race", ("ld.relaxed.gpu.global.u64", 8, 9), "ld.global.u64"),
    Mutant("a record that stays", "wrong", ("st.relaxed.gpu.global.u64", 13, 18), "//"),
    Mutant("numbers that stay", "wrong", ("st.relaxed.gpu.global.u64", 18, 18), "//"),
];

#[test]
fn mutants_of_the_kernel_for_runs_are_found() {
    all_are_found(KEYED, &MUTANTS, |keyed, seed| {
        Problem::new(Memory::checked(16 << 20), lengths()).run(keyed, 3, seed)
    });
}

/// The library chooses the number of blocks by the device, so the kernel is launched here without
/// it: with one block, with a few, with one for each job, and with more.
#[test]
fn any_number_of_blocks_finds_the_same_runs() {
    let keyed = ptx(KEYED);
    let jobs = |problem: &Problem| problem.tiles + problem.tiles.div_ceil(THREADS);
    for blocks in [|_: u32| 1, |_| 2, |_| 7, |jobs| jobs - 1, |jobs| jobs, |jobs| jobs + 3] {
        let problem = Problem::new(Memory::checked(16 << 20), lengths());
        let blocks = blocks(jobs(&problem));
        problem.run(&keyed, blocks, None).assert_clean(&format!("{blocks} blocks"));
    }
}

/// A block waits only for tiles that have been taken before, so the launch ends however few blocks
/// advance at a time, and in whichever order.
#[test]
fn the_kernel_for_runs_ends_with_few_blocks_at_a_time() {
    let module = Module::from_ptx(KEYED, &ptx(KEYED)).unwrap();
    for workers in [1, 2, 3] {
        for seed in [None, Some(3), Some(4), Some(5)] {
            let problem = Problem::new(Memory::new(16 << 20), lengths());
            let config = LaunchConfig { workers: Some(workers), ..problem.config(30, seed) };
            let kernel = module.kernel(KEYED).unwrap();
            launch(kernel, &config, &problem.args, &problem.memory).unwrap();
            assert!(problem.is_right(), "{workers} workers, seed {seed:?}");
        }
    }
}
