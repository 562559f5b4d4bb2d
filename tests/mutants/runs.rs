//! Mutants of the kernel that finds runs of equal keys, whose blocks ask for the words of lower
//! ones: all at once if there are few blocks, and otherwise looking back.

use simt::{Arg, LaunchConfig, Memory, Module, check, launch};

use super::shipped::{Mutant, Outcome, all_are_found, ptx, read, upload};

/// The kernel.
const ENTRY: &str = "runs_keys_u32";
/// Threads of a block.
const THREADS: u64 = 256;
/// Keys of each thread in a launch whose blocks look back, because there are more than 256.
const LOOKS_BACK: u32 = 4;
/// Keys of each thread in a launch with few blocks. There are more than a warp has lanes.
const AT_ONCE: u32 = 32;
/// The most blocks of a launch here, not a multiple of the lanes.
const MOST_BLOCKS: u64 = 310;

/// The keys: runs of 1, then of 1 to 11, and behind them one that spans several tiles. So there are
/// warps that list all their heads, and warps that list a part of them.
fn keys() -> Vec<u32> {
    let n = (u64::from(LOOKS_BACK) * THREADS * MOST_BLOCKS) as usize - 5;
    let different = 1..n as u32 / 4;
    let short = (0..).flat_map(|i: u32| std::iter::repeat_n(i, i as usize % 11 + 1));
    let before_last = different.chain(short).take(3 * n / 4);
    before_last.chain(std::iter::repeat(u32::MAX)).take(n).collect()
}

/// Memory with the keys, the arguments of a launch, and where the results will be.
struct Problem {
    memory: Memory,
    blocks: u32,
    args: Vec<Arg>,
    unique: u64,
    offsets: u64,
    runs: u64,
    words: u64,
    keys: Vec<u32>,
}

impl Problem {
    /// A launch with so many keys for each thread.
    fn new(memory: Memory, rows: u32) -> Self {
        let keys = keys();
        let upload = |bytes: &[u8]| upload(&memory, bytes);
        let n = keys.len() as u64;
        let input = upload(bytemuck::cast_slice(&keys));
        let blocks = n.div_ceil(u64::from(rows) * THREADS) as u32;
        let words = upload(&vec![0; 8 * (blocks as usize + 1)]);
        let [unique, offsets, runs] = [4 * n, 4 * n + 4, 8].map(|len| memory.alloc(len).unwrap());
        let args = vec![
            Arg::Pointer(input),
            Arg::U64(n),
            Arg::U32(rows),
            Arg::Pointer(unique),
            Arg::Pointer(offsets),
            Arg::U32(2),
            Arg::Pointer(runs),
            Arg::Pointer(words),
        ];
        Self { memory, blocks, args, unique, offsets, runs, words, keys }
    }

    fn read<T: bytemuck::Pod>(&self, address: u64, len: usize) -> Vec<T> {
        read(&self.memory, address, len)
    }

    /// Whether the runs are right, and the words are 0 again.
    fn is_right(&self) -> bool {
        let n = self.keys.len();
        let is_head = |&i: &usize| i == 0 || self.keys[i] != self.keys[i - 1];
        let heads: Vec<usize> = (0..n).filter(is_head).collect();
        let offsets: Vec<u32> = heads.iter().copied().chain([n]).map(|i| i as u32).collect();
        let unique: Vec<u32> = heads.iter().map(|&i| self.keys[i]).collect();
        self.read::<u64>(self.runs, 1) == [heads.len() as u64]
            && self.read::<u32>(self.offsets, offsets.len()) == offsets
            && self.read::<u32>(self.unique, unique.len()) == unique
            && self.read::<u64>(self.words, self.blocks as usize + 1).iter().all(|&word| word == 0)
    }

    fn config(&self, seed: Option<u64>) -> LaunchConfig {
        // The budget ends a mutant that would wait for ever.
        LaunchConfig { seed, budget: Some(1 << 24), ..LaunchConfig::new(self.blocks, 256) }
    }
}

fn run(ptx: &str, rows: u32, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx(ENTRY, ptx).unwrap();
    let problem = Problem::new(Memory::checked(16 << 20), rows);
    let kernel = module.kernel(ENTRY).unwrap();
    let checked = check(kernel, &problem.config(seed), &problem.args, &problem.memory).unwrap();
    Outcome::new(&checked, || problem.is_right())
}

/// Mutants that are found with few blocks and with many.
const MUTANTS: [Mutant; 6] = [
    Mutant("no barrier before the warps' numbers are summed", "race", ("bar.sync", 1, 2), "//"),
    Mutant("no barrier behind the look back", "race", ("bar.sync", 2, 2), "//"),
    Mutant("a weak clear", "race", ("st.relaxed.gpu.global.u64", 1, 4), "st.global.u64"),
    Mutant("a weak word", "race", ("st.relaxed.gpu.global.u64", 2, 4), "st.global.u64"),
    Mutant("a weak first word", "race", ("st.relaxed.gpu.global.u64", 3, 4), "st.global.u64"),
    Mutant("no clear", "wrong", ("st.relaxed.gpu.global.u64", 1, 4), "//"),
];

const MUTANTS_THAT_LOOK_BACK: [Mutant; 2] = [
    Mutant("a weak sum", "race", ("st.relaxed.gpu.global.u64", 4, 4), "st.global.u64"),
    Mutant("a weak look back", "race", ("ld.relaxed.gpu.global.u64", 9, 9), "ld.global.u64"),
];

const MUTANTS_WITH_FEW_BLOCKS: [Mutant; 2] = [
    Mutant("a weak look", "race", ("ld.relaxed.gpu.global.u64", 1, 9), "ld.global.u64"),
    Mutant("a second weak look", "race", ("ld.relaxed.gpu.global.u64", 2, 9), "ld.global.u64"),
];

#[test]
fn mutants_of_the_kernel_for_keys_are_found() {
    let kinds = [(LOOKS_BACK, MUTANTS_THAT_LOOK_BACK), (AT_ONCE, MUTANTS_WITH_FEW_BLOCKS)];
    for (rows, own) in kinds {
        let mutants: Vec<Mutant> = MUTANTS.into_iter().chain(own).collect();
        all_are_found(ENTRY, &mutants, |ptx, seed| run(ptx, rows, seed));
    }
}

/// Blocks wait only for lower ones, so the launch ends however few of them advance at a time, and
/// in whichever order.
#[test]
fn the_kernel_for_keys_ends_with_few_blocks_at_a_time() {
    let module = Module::from_ptx(ENTRY, &ptx(ENTRY)).unwrap();
    for rows in [LOOKS_BACK, AT_ONCE] {
        for workers in [1, 2] {
            for seed in [None, Some(3), Some(4), Some(5)] {
                let problem = Problem::new(Memory::new(16 << 20), rows);
                let config = LaunchConfig { workers: Some(workers), ..problem.config(seed) };
                let kernel = module.kernel(ENTRY).unwrap();
                launch(kernel, &config, &problem.args, &problem.memory).unwrap();
                assert!(problem.is_right(), "{rows} rows, {workers} workers, seed {seed:?}");
            }
        }
    }
}

/// The library chooses a tile by the number of keys, so the kernel is launched here without it.
#[test]
fn tiles_of_all_sizes_give_the_same_runs() {
    let module = Module::from_ptx(ENTRY, &ptx(ENTRY)).unwrap();
    for rows in [1, 2, 8, 16, 33, 64, 100, 128, 224, 256] {
        let problem = Problem::new(Memory::checked(16 << 20), rows);
        let kernel = module.kernel(ENTRY).unwrap();
        let checked = check(kernel, &problem.config(None), &problem.args, &problem.memory).unwrap();
        Outcome::new(&checked, || problem.is_right()).assert_clean(&format!("{rows} rows"));
    }
}
