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
/// 64-bit words that the workspace has for each window: a record, and two slots of a group. One
/// more says which window is next.
const WORDS: usize = 2 + 4;
/// 2 to this number are the bytes of a tile of a run that is left over.
const TILE: u32 = 12;
/// 2 to this number are the keys of a window: of the smallest one, and of the largest one.
const SMALL: u32 = 9;
const LARGE: u32 = 11;

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

/// How the keys are divided, and how many blocks and warps take them.
#[derive(Clone, Copy)]
struct Division {
    /// 2 to this number are the keys of a window.
    log: u32,
    /// 2 to this number are the windows of a group.
    group: u32,
    /// The most blocks that take windows.
    blocks: u32,
    /// The most groups of a warp of the second kernel.
    of_warp: u32,
}

/// Each block has a window, and each warp of the second kernel has a group of one window.
const EACH: Division = Division { log: LARGE, group: 0, blocks: u32::MAX, of_warp: 1 };

/// Few blocks take all windows in turns, and each warp has two groups of two windows.
const IN_TURNS: Division = Division { log: LARGE, group: 1, blocks: 3, of_warp: 2 };

/// Two launches: of the kernel for keys, and of that for what it leaves over.
struct Problem {
    memory: Memory,
    division: Division,
    windows: u32,
    keyed: Vec<Arg>,
    left: Vec<Arg>,
    /// The key, the sum and the begin of each run, and the number of runs.
    outputs: [u64; 4],
    words: u64,
    lengths: Vec<usize>,
}

impl Problem {
    /// Launches for runs of these lengths.
    fn new(memory: Memory, division: Division, lengths: Vec<usize>) -> Self {
        let Division { log, group, .. } = division;
        let runs = (0..).zip(&lengths);
        let keys: Vec<u32> =
            runs.flat_map(|(run, &length)| std::iter::repeat_n(run, length)).collect();
        let values: Vec<f32> = (0..keys.len()).map(value).collect();
        let upload = |bytes: &[u8]| upload(&memory, bytes);
        let n = keys.len() as u64;
        let windows = n.div_ceil(1 << log) as u32;
        let (source, input) =
            (upload(bytemuck::cast_slice(&keys)), upload(bytemuck::cast_slice(&values)));
        let words = upload(&vec![0; 8 * (WORDS * windows as usize + 1)]);
        let outputs = [4 * n, 4 * n, 4 * n + 4, 8].map(|bytes| memory.alloc(bytes).unwrap());
        let [unique, output, offsets, count] = outputs;
        let width = log + 2 + group;
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
            Arg::Pointer(words + 8 * (2 * u64::from(windows) + 1)),
            Arg::Pointer(words),
            Arg::U32(windows),
            Arg::U32(group),
            Arg::Pointer(offsets),
            Arg::U32(2),
            Arg::U64(n),
            Arg::U32(1 << width.saturating_sub(TILE)),
            Arg::U32(width),
        ];
        Self { memory, division, windows, keyed, left, outputs, words, lengths }
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
        let words: Vec<u64> = self.read(self.words, WORDS * self.windows as usize + 1);
        self.read::<u64>(runs, 1) == [count as u64]
            && self.read::<u32>(unique, count) == (0..count as u32).collect::<Vec<_>>()
            && self.read::<f32>(output, count) == sums
            && self.read::<u32>(offsets, count + 1) == begins
            && words.iter().all(|&word| word == 0)
    }

    /// The launch of the kernel for keys, and that of the other one.
    fn configs(&self, seed: Option<u64>) -> [LaunchConfig; 2] {
        let Division { group, blocks, of_warp, .. } = self.division;
        let warps = self.windows.div_ceil(1 << group).div_ceil(of_warp);
        // The budget ends a mutant that would wait for ever.
        let budget = Some(u64::from(self.windows) << 20);
        let blocks = self.windows.min(blocks) + 1;
        let of_left = warps.div_ceil(THREADS_OF_LEFT / 32);
        [(blocks, THREADS), (of_left, THREADS_OF_LEFT)].map(|(blocks, threads)| LaunchConfig {
            seed,
            budget,
            ..LaunchConfig::new(blocks, threads)
        })
    }
}

/// The value of a key.
fn value(i: usize) -> f32 {
    (i % 5) as f32
}

/// What is found in both launches.
fn run([keyed, left]: [&str; 2], problem: &Problem, seed: Option<u64>) -> Outcome {
    let [config, config_of_left] = problem.configs(seed);
    let module = Module::from_ptx(KEYED, keyed).unwrap();
    let kernel = module.kernel(KEYED).unwrap();
    let first = check(kernel, &config, &problem.keyed, &problem.memory).unwrap();
    let module = Module::from_ptx(LEFT, left).unwrap();
    let kernel = module.kernel(LEFT).unwrap();
    let second = check(kernel, &config_of_left, &problem.left, &problem.memory).unwrap();
    Outcome::new(&first, || true).and(Outcome::new(&second, || problem.is_right()))
}

const MUTANTS: [Mutant; 0] = [];
const MUTANTS_OF_LEFT: [Mutant; 0] = [];

#[test]
fn mutants_of_the_kernels_for_runs_are_found() {
    let (keyed, left) = (ptx(KEYED), ptx(LEFT));
    for division in [EACH, IN_TURNS] {
        let problem = || Problem::new(Memory::checked(16 << 20), division, lengths());
        all_are_found(KEYED, &MUTANTS, |keyed, seed| run([keyed, &left], &problem(), seed));
        all_are_found(LEFT, &MUTANTS_OF_LEFT, |left, seed| run([&keyed, left], &problem(), seed));
    }
}

/// The library chooses windows by the number of keys, so the kernels are launched here without it.
#[test]
fn windows_of_all_sizes_give_the_same_runs() {
    let kernels = [ptx(KEYED), ptx(LEFT)];
    for (name, lengths) in [("runs", lengths()), ("runs near a tile", lengths_near_a_tile())] {
        for log in SMALL..=LARGE {
            for (group, blocks, of_warp) in [(0, u32::MAX, 1), (0, 4, 5), (1, 2, 3), (3, 5, 1)] {
                let division = Division { log, group, blocks, of_warp };
                let problem = Problem::new(Memory::checked(16 << 20), division, lengths.clone());
                let outcome = run([&kernels[0], &kernels[1]], &problem, None);
                outcome
                    .assert_clean(&format!("{name}, windows of 2^{log} keys, groups of 2^{group}"));
            }
        }
    }
}

/// Each block waits for the one that adds up, and that waits for windows in their order, so the
/// launches end however few blocks advance at a time, and in whichever order.
#[test]
fn the_kernels_for_runs_end_with_few_blocks_at_a_time() {
    let (keyed, left) = (ptx(KEYED), ptx(LEFT));
    for (workers, blocks) in [(2, u32::MAX), (3, u32::MAX), (2, 7), (3, 7)] {
        for seed in [None, Some(3), Some(4), Some(5)] {
            let division = Division { log: SMALL, blocks, of_warp: 5, ..EACH };
            let problem = Problem::new(Memory::new(16 << 20), division, lengths());
            let configs = problem.configs(seed);
            for ((name, ptx), (config, args)) in [(KEYED, &keyed), (LEFT, &left)]
                .into_iter()
                .zip(configs.into_iter().zip([&problem.keyed, &problem.left]))
            {
                let module = Module::from_ptx(name, ptx).unwrap();
                let config = LaunchConfig { workers: Some(workers), ..config };
                launch(module.kernel(name).unwrap(), &config, args, &problem.memory).unwrap();
            }
            assert!(problem.is_right(), "{workers} workers, {blocks} blocks, seed {seed:?}");
        }
    }
}
