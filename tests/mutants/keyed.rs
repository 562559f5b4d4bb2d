//! Mutants of the kernel that finds runs of equal keys and reduces them, and of the one that
//! reduces what the first one leaves over.

use simt::{Arg, LaunchConfig, Memory, Module, check, launch};

use super::shipped::{Mutant, Outcome, all_are_found, ptx, read, upload};

/// The kernels.
const KEYED: &str = "keyed_sum_f32";
const LEFT: &str = "left_sum_f32";
/// Threads of their blocks.
const THREADS: u32 = 128;
const THREADS_OF_LEFT: u32 = 64;
/// 64-bit words that the workspace has for each window: a record, and two slots.
const WORDS: usize = 2 + 4;
/// 2 to this number are the bytes of a tile of a run that is left over.
const TILE: u32 = 12;
/// 2 to this number are the keys of a window: of the smallest one, and of the largest one.
const SMALL: u32 = 9;
const LARGE: u32 = 12;

/// The lengths of the runs of many windows. There are runs of 1, of a few, and of hundreds, more
/// long ones in a window than its record lists, and one that spans windows.
fn lengths() -> Vec<usize> {
    let mut lengths = vec![1; 5000];
    lengths.extend((0..4000).map(|i| i % 7 + 1));
    lengths.extend((0..100).map(|i| i * 37 % 300 + 1));
    for longest in [1057, 300] {
        lengths.extend((0..9).flat_map(|i| [longest + i, 1, 2]));
    }
    lengths.push(20_000);
    // Long ones among short ones, which are listed one by one.
    lengths.extend((0..20).flat_map(|i| [vec![1100 + i], vec![1; 300]]).flatten());
    lengths.extend([3; 2000]);
    lengths
}

/// The lengths of runs that are as long as a tile, or a little longer or shorter. They begin at
/// different places of their tiles.
fn lengths_near_a_tile() -> Vec<usize> {
    let near = [1024, 1025, 1056, 1057];
    let at =
        |place: usize| near.into_iter().flat_map(move |long| [vec![1; place], vec![long, 3, 2]]);
    (0..40).step_by(3).chain([31, 32]).flat_map(at).flatten().collect()
}

/// Two launches: of the kernel for keys, and of that for what it leaves over.
struct Problem {
    memory: Memory,
    windows: u32,
    keyed: Vec<Arg>,
    left: Vec<Arg>,
    /// The key, the sum and the begin of each run, and the number of runs.
    outputs: [u64; 4],
    words: u64,
    lengths: Vec<usize>,
}

impl Problem {
    /// Launches for runs of these lengths, whose windows have 2 to the power of `log` keys.
    fn new(memory: Memory, log: u32, lengths: Vec<usize>) -> Self {
        let runs = (0..).zip(&lengths);
        let keys: Vec<u32> =
            runs.flat_map(|(run, &length)| std::iter::repeat_n(run, length)).collect();
        let values: Vec<f32> = (0..keys.len()).map(value).collect();
        let upload = |bytes: &[u8]| upload(&memory, bytes);
        let n = keys.len() as u64;
        let windows = n.div_ceil(1 << log) as u32;
        let (source, input) =
            (upload(bytemuck::cast_slice(&keys)), upload(bytemuck::cast_slice(&values)));
        let words = upload(&vec![0; 8 * WORDS * windows as usize]);
        let outputs = [4 * n, 4 * n, 4 * n + 4, 8].map(|bytes| memory.alloc(bytes).unwrap());
        let [unique, output, offsets, count] = outputs;
        let width = log + 2;
        let keyed = vec![
            Arg::Pointer(input),
            Arg::Pointer(output),
            Arg::Pointer(source),
            Arg::U32(2),
            Arg::U64(n),
            Arg::U32(log),
            Arg::Pointer(unique),
            Arg::Pointer(offsets),
            Arg::U32(2),
            Arg::Pointer(count),
            Arg::Pointer(words),
        ];
        let left = vec![
            Arg::Pointer(input),
            Arg::Pointer(output),
            Arg::Pointer(words + 16 * u64::from(windows)),
            Arg::Pointer(words),
            Arg::Pointer(offsets),
            Arg::U32(2),
            Arg::U64(n),
            Arg::U32(1 << width.saturating_sub(TILE)),
            Arg::U32(width),
            Arg::U32(windows),
        ];
        Self { memory, windows, keyed, left, outputs, words, lengths }
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
        let words: Vec<u64> = self.read(self.words, WORDS * self.windows as usize);
        self.read::<u64>(runs, 1) == [count as u64]
            && self.read::<u32>(unique, count) == (0..count as u32).collect::<Vec<_>>()
            && self.read::<f32>(output, count) == sums
            && self.read::<u32>(offsets, count + 1) == begins
            && words.iter().all(|&word| word == 0)
    }

    /// The launch of the kernel for keys, and that of the other one, whose warps have up to
    /// `of_warp` windows. Small windows are many, for which the block that adds up waits for long.
    fn configs(&self, of_warp: u32, seed: Option<u64>) -> [LaunchConfig; 2] {
        let blocks = self.windows.div_ceil(of_warp * THREADS_OF_LEFT / 32);
        // The budget ends a mutant that would wait for ever.
        let budget = Some(u64::from(self.windows) << 20);
        [(self.windows + 1, THREADS), (blocks, THREADS_OF_LEFT)].map(|(blocks, threads)| {
            LaunchConfig { seed, budget, ..LaunchConfig::new(blocks, threads) }
        })
    }
}

/// The value of a key.
fn value(i: usize) -> f32 {
    (i % 5) as f32
}

/// What is found in both launches.
fn run([keyed, left]: [&str; 2], problem: &Problem, of_warp: u32, seed: Option<u64>) -> Outcome {
    let [config, config_of_left] = problem.configs(of_warp, seed);
    let module = Module::from_ptx(KEYED, keyed).unwrap();
    let kernel = module.kernel(KEYED).unwrap();
    let first = check(kernel, &config, &problem.keyed, &problem.memory).unwrap();
    let module = Module::from_ptx(LEFT, left).unwrap();
    let kernel = module.kernel(LEFT).unwrap();
    let second = check(kernel, &config_of_left, &problem.left, &problem.memory).unwrap();
    Outcome::new(&first, || true).and(Outcome::new(&second, || problem.is_right()))
}

const MUTANTS: [Mutant; 16] = [
    Mutant("no wait for the keys", "in-flight", ("cp.async.wait_all", 1, 2), "//"),
    Mutant("no wait for the values", "in-flight", ("cp.async.wait_all", 2, 2), "//"),
    Mutant("no barrier where numbers are added up", "race", ("bar.sync", 1, 7), "//"),
    Mutant("no barrier behind the keys", "race", ("bar.sync", 2, 7), "//"),
    Mutant("no barrier before heads are counted", "race", ("bar.sync", 3, 7), "//"),
    Mutant("no barrier behind the counts", "race", ("bar.sync", 4, 7), "//"),
    Mutant("no barrier behind the values", "race", ("bar.sync", 5, 7), "//"),
    Mutant("no barrier behind the last words of lines", "race", ("bar.sync", 6, 7), "//"),
    Mutant("no barrier behind a tile", "race", ("bar.sync", 7, 7), "//"),
    Mutant("a weak look at a number", "race", ("ld.relaxed.gpu.global.u64", 1, 3), "ld.global.u64"),
    Mutant("a weak sum", "race", ("st.relaxed.gpu.global.u64", 1, 5), "st.global.u64"),
    Mutant("a weak number", "race", ("st.relaxed.gpu.global.u64", 3, 5), "st.global.u64"),
    Mutant("a weak look at a sum", "race", ("ld.relaxed.gpu.global.u64", 3, 3), "ld.global.u64"),
    Mutant("no record", "wrong", ("st.relaxed.gpu.global.u64", 4, 5), "//"),
    Mutant("no list of long runs", "wrong", ("st.relaxed.gpu.global.u64", 5, 5), "//"),
    Mutant("a weak record", "race", ("st.relaxed.gpu.global.u64", 4, 5), "st.global.u64"),
];

const MUTANTS_OF_LEFT: [Mutant; 3] = [
    Mutant("a record that stays", "wrong", ("st.relaxed.gpu.global.u64", 1, 12), "//"),
    Mutant("a list that stays", "wrong", ("st.relaxed.gpu.global.u64", 2, 12), "//"),
    Mutant("a weak look at a slot", "race", ("ld.relaxed.gpu.global.u64", 3, 10), "ld.global.u64"),
];

#[test]
fn mutants_of_the_kernels_for_runs_are_found() {
    let (keyed, left) = (ptx(KEYED), ptx(LEFT));
    let problem = || Problem::new(Memory::checked(16 << 20), LARGE, lengths());
    all_are_found(KEYED, &MUTANTS, |keyed, seed| run([keyed, &left], &problem(), 2, seed));
    all_are_found(LEFT, &MUTANTS_OF_LEFT, |left, seed| run([&keyed, left], &problem(), 2, seed));
}

/// The library chooses windows by the number of keys, so the kernels are launched here without it.
#[test]
fn windows_of_all_sizes_give_the_same_runs() {
    let kernels = [ptx(KEYED), ptx(LEFT)];
    for (name, lengths) in [("runs", lengths()), ("runs near a tile", lengths_near_a_tile())] {
        for log in SMALL..=LARGE {
            for of_warp in [1, 5] {
                let problem = Problem::new(Memory::checked(16 << 20), log, lengths.clone());
                let outcome = run([&kernels[0], &kernels[1]], &problem, of_warp, None);
                outcome.assert_clean(&format!("{name}, windows of 2^{log} keys"));
            }
        }
    }
}

/// Each block waits for the one that adds up, and that waits for blocks in their order, so the
/// launches end however few blocks advance at a time, and in whichever order.
#[test]
fn the_kernels_for_runs_end_with_few_blocks_at_a_time() {
    let (keyed, left) = (ptx(KEYED), ptx(LEFT));
    for workers in [2, 3] {
        for seed in [None, Some(3), Some(4), Some(5)] {
            let problem = Problem::new(Memory::new(16 << 20), SMALL, lengths());
            let configs = problem.configs(5, seed);
            for ((name, ptx), (config, args)) in [(KEYED, &keyed), (LEFT, &left)]
                .into_iter()
                .zip(configs.into_iter().zip([&problem.keyed, &problem.left]))
            {
                let module = Module::from_ptx(name, ptx).unwrap();
                let config = LaunchConfig { workers: Some(workers), ..config };
                launch(module.kernel(name).unwrap(), &config, args, &problem.memory).unwrap();
            }
            assert!(problem.is_right(), "{workers} workers, seed {seed:?}");
        }
    }
}
