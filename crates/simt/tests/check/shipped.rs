//! The kernels of this workspace are clean; rung 5 of the lectures is not.

use std::fs;
use std::path::Path;

use simt::ReportKind::WarpSynchronous;
use simt::{Arg, Checked, Kernel, LaunchConfig, Memory, Module, check};

use crate::{SEEDS, archive};

/// The part of the launch that leaves one value.
#[derive(Clone, Copy, Default, PartialEq)]
enum Leaves {
    /// Each pair of elements leaves one value.
    Pair,
    /// Each block, or each cluster of blocks, leaves one value.
    #[default]
    Block,
    /// The whole grid leaves one value. It has room for the partial results of the blocks and a
    /// counter.
    Grid,
    /// The whole grid leaves one value, into which its blocks combine their results atomically.
    Atomics,
}

/// The way in which a rung is launched.
#[derive(Clone, Copy, Default)]
struct Rung {
    /// How many elements a block reduces to one.
    takes: u64,
    leaves: Leaves,
    /// The dynamic shared memory of a block, in bytes.
    shared: u32,
    cooperative: bool,
    /// Whether the blocks form clusters. A cluster has eight blocks, or fewer if the grid cannot be
    /// divided by eight.
    clusters: bool,
}

impl Rung {
    /// The rung of this name; `None` if the name is not that of a rung of the ladder.
    fn of(family: &str, block: u32, size: u32) -> Option<Self> {
        let blocks = |count: u64| count * u64::from(block);
        let base = Self { shared: block * size, ..Self::default() };
        // The grid has few blocks, so that each block takes several steps.
        let above = Self { takes: blocks(8), shared: block / 32 * size, ..Self::default() };
        Some(match family {
            "reduce0" => Self { takes: blocks(2), leaves: Leaves::Pair, ..Self::default() },
            "global" => Self { takes: blocks(1), ..Self::default() },
            "reduce1" | "reduce2" | "reduce3" => Self { takes: blocks(1), ..base },
            "reduce4" | "reduce5" | "reduce6" => Self { takes: blocks(2), ..base },
            "reduce7" => Self { takes: blocks(8), ..base },
            "reduce8" | "reduce9" | "reduce11" => above,
            "reduce10" => Self { leaves: Leaves::Grid, ..above },
            "reduce12" => Self { leaves: Leaves::Grid, cooperative: true, ..above },
            "reduce13" => Self { clusters: true, ..above },
            // The block has four tiles of 8 KiB, each with an mbarrier.
            "reduce14" => Self { shared: 4 * (8192 + 8) + above.shared, ..above },
            "atomic" => Self { leaves: Leaves::Atomics, ..above },
            "atomicwarp" => Self { leaves: Leaves::Atomics, shared: 0, ..above },
            _ => return None,
        })
    }
}

/// Runs a reduction of `n` elements of `size` bytes, stage by stage, until one value is left.
/// Returns the findings of each stage.
fn reduce(
    kernel: &Kernel,
    rung: Rung,
    size: u64,
    n: u64,
    block: u32,
    seed: Option<u64>,
) -> Vec<Checked> {
    let memory = Memory::checked(1 << 24);
    let alloc = |elements: u64| memory.alloc(elements.max(1) * size).unwrap();
    let (mut source, mut target) = (alloc(n), alloc(n));
    let (partials, counter) = (alloc(n), memory.alloc(4).unwrap());
    memory.write(source, &vec![1; (n * size) as usize]).unwrap();
    memory.write(counter, &[0; 4]).unwrap();
    if rung.leaves == Leaves::Atomics {
        memory.write(target, &vec![0; size as usize]).unwrap();
    }
    let mut inputs = n;
    let mut found = Vec::new();
    loop {
        let grid = inputs.div_ceil(rung.takes) as u32;
        let cluster = if rung.clusters { 1 << grid.trailing_zeros().min(3) } else { 1 };
        let outputs = match rung.leaves {
            Leaves::Pair => inputs.div_ceil(2),
            Leaves::Block => u64::from(grid / cluster),
            Leaves::Grid | Leaves::Atomics => 1,
        };
        let (dynamic_shared_bytes, cooperative) = (rung.shared, rung.cooperative);
        let plain = LaunchConfig::new(grid, block);
        let config = LaunchConfig { dynamic_shared_bytes, seed, cluster, cooperative, ..plain };
        let mut args = vec![Arg::Pointer(source), Arg::Pointer(target), Arg::U64(inputs)];
        if rung.leaves == Leaves::Grid {
            args.extend([Arg::Pointer(partials), Arg::Pointer(counter)]);
        }
        found
            .push(check(kernel, &config, &args, &memory).unwrap_or_else(|error| panic!("{error}")));
        if outputs == 1 {
            return found;
        }
        (source, target, inputs) = (target, source, outputs);
    }
}

#[test]
fn the_ladder_is_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/ptx");
    let mut kernels = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let file = path.file_name().unwrap().to_string_lossy();
        let module = Module::from_ptx(&file, &fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|e| panic!("{e}"));
        for kernel in module.kernels() {
            let name = kernel.name();
            let size = if name.contains("64") { 8 } else { 4 };
            let own_block = name.rsplit_once("_b").and_then(|(_, block)| block.parse().ok());
            let blocks = own_block.map_or(vec![64, 256], |block| vec![block]);
            for (i, block) in blocks.into_iter().enumerate() {
                let family = name.split('_').next().unwrap();
                // The kernels of other families have tests of their own.
                let Some(rung) = Rung::of(family, block, size) else { continue };
                kernels += 1;
                for n in [1, 1000, 4099] {
                    for checked in reduce(kernel, rung, size.into(), n, block, SEEDS[i]) {
                        let text: Vec<String> =
                            checked.reports.iter().map(ToString::to_string).collect();
                        assert!(
                            text.is_empty(),
                            "{name}, n = {n}, block {block}:\n{}",
                            text.join("\n")
                        );
                        assert_eq!(checked.fault, None, "{name}, n = {n}, block {block}");
                    }
                }
            }
        }
    }
    assert!(kernels >= 600, "{kernels} kernels were found in {}", folder.display());
}

#[test]
fn the_access_patterns_are_clean() {
    // 1000 is not a multiple of the warp size. Both arrays have room for all elements.
    const BLOCK: u32 = 64;
    const N: u64 = 1000;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/ptx");
    let identity = [
        0x0706_0504_0302_0100,
        0x0f0e_0d0c_0b0a_0908,
        0x1716_1514_1312_1110,
        0x1f1e_1d1c_1b1a_1918,
    ];
    let mut kernels = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if !file.starts_with("access_") {
            continue;
        }
        let module = Module::from_ptx(&file, &fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|e| panic!("{e}"));
        for kernel in module.kernels() {
            let name = kernel.name();
            let (n, word) = (Arg::U64(N), Arg::U32);
            let (has_input, rest, shared) = match name.split('_').nth(1).unwrap() {
                "fill" => (false, vec![n, word(7)], 0),
                "offset" | "stride" | "transfer" => (true, vec![n, word(3)], 0),
                "permuted" => (true, [vec![n], identity.map(Arg::U64).to_vec()].concat(), 0),
                "width" | "unroll" => (true, vec![n], 0),
                "shared" => (false, vec![word(3), word(5), word(7)], (BLOCK * 3 + 5) * 4),
                "constant" => (false, vec![word(3), word(5)], 0),
                "divide" if name.ends_with("64") => (false, vec![Arg::U64(8), word(5)], 0),
                "divide" => (false, vec![word(8), word(5)], 0),
                "math" => (true, vec![n, word(3), word(0)], 0),
                _ => panic!("{name} has no launch here"),
            };
            kernels += 1;
            for seed in SEEDS {
                let memory = Memory::checked(1 << 20);
                let bytes = 16 * N;
                let (input, output) = (memory.alloc(bytes).unwrap(), memory.alloc(bytes).unwrap());
                memory.write(input, &vec![1; bytes as usize]).unwrap();
                let pointers = if has_input { vec![input, output] } else { vec![output] };
                let args =
                    [pointers.into_iter().map(Arg::Pointer).collect(), rest.clone()].concat();
                let grid = if name.starts_with("access_math") || name.starts_with("access_transfer")
                {
                    16
                } else {
                    2
                };
                let config = LaunchConfig {
                    dynamic_shared_bytes: shared,
                    seed,
                    ..LaunchConfig::new(grid, BLOCK)
                };
                let checked = check(kernel, &config, &args, &memory)
                    .unwrap_or_else(|error| panic!("{error}"));
                let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
                assert!(text.is_empty(), "{name}:\n{}", text.join("\n"));
                assert_eq!(checked.fault, None, "{name}");
            }
        }
    }
    assert_eq!(kernels, 34, "kernels in {}", folder.display());
}

/// The size of an element of the production kernel of this name, in bytes; `None` if it is not a
/// production kernel. The name of a kernel for small inputs has `_single` at its end.
fn production(name: &str) -> Option<u64> {
    let name = name.strip_suffix("_single").unwrap_or(name);
    let element = name.strip_prefix("reduce_")?.rsplit('_').next()?;
    // The letters before the number may be several, as in `bf16`.
    let bits: u64 = element.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    Some(bits / 8)
}

#[test]
fn the_production_kernels_are_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../warpfold/ptx");
    let mut kernels = 0;
    let texts = ["sm_75", "sm_90"].into_iter().flat_map(|arch| {
        let archive = folder.join(format!("reduce.{arch}{}", archive::ENDING));
        archive::read(&archive).unwrap_or_else(|error| panic!("{error}"))
    });
    for (file, text) in texts {
        let module = Module::from_ptx(&file, &text).unwrap_or_else(|error| panic!("{error}"));
        for kernel in module.kernels() {
            let name = kernel.name();
            let size = production(name).unwrap();
            kernels += 1;
            let is_single = name.ends_with("_single");
            // There are elements before, in and behind packs. They are reduced by one block, by
            // several blocks, and by more blocks than the last one has threads. A kernel for small
            // inputs has one block, of which no thread takes more than four packs.
            let cases = if is_single {
                [(1, 32, 8), (300, 128, 512), (250 * 16 / size + 3, 64, 256)]
            } else {
                [(1, 32, 8), (300, 64, 16), (320 * 16 / size + 3, 32, 8)]
            };
            for (i, (n, block, chunk)) in cases.into_iter().enumerate() {
                let memory = Memory::checked(1 << 20);
                let input = || {
                    let input = memory.alloc((n + 1) * size).unwrap();
                    memory.write(input, &vec![1; ((n + 1) * size) as usize]).unwrap();
                    input + size
                };
                let first = input();
                // Exact sums take the input and its length. The others take the line in which the
                // first pack begins, or the first pack itself, and how the input is cut.
                // Comparisons take the bounds of an interval too, in 128 bits each, and whether the
                // elements outside of it count.
                let interval = if name.starts_with("reduce_within_") {
                    vec![Arg::U64(1), Arg::U64(0), Arg::U64(1), Arg::U64(0), Arg::U32(1)]
                } else {
                    Vec::new()
                };
                let params = kernel.params().len() - interval.len();
                let (is_exact, is_pair) = match (is_single, params) {
                    (false, 6) => (true, false),
                    (false, 8) | (true, 4) => (false, false),
                    (false, 9) | (true, 5) => (false, true),
                    (_, params) => panic!("{name} has {params} parameters"),
                };
                let to_boundary = first.wrapping_neg() % 16 / size;
                let head = to_boundary.min(n);
                let (packs, tail) = ((n - head) * size / 16, (n - head) % (16 / size));
                let skew = if is_exact || is_single { 0 } else { first.div_ceil(16) % 8 };
                let reach = skew + packs;
                let mut args = Vec::new();
                if is_exact {
                    args.extend([Arg::Pointer(first), Arg::U64(n), Arg::U64(chunk)]);
                } else {
                    let line = |input: u64| {
                        Arg::Pointer((input + to_boundary * size).wrapping_sub(skew * 16))
                    };
                    args.push(line(first));
                    if is_pair {
                        args.push(line(input()));
                    }
                    let edges = skew | to_boundary << 4 | head << 8 | tail << 16;
                    let cut = [chunk, reach / chunk, reach % chunk, edges];
                    let cut = if is_single { &[packs, edges][..] } else { &cut };
                    args.extend(cut.iter().map(|&number| Arg::U32(number as u32)));
                }
                let (output, slots) = (memory.alloc(1024).unwrap(), memory.alloc(1 << 16).unwrap());
                memory.write(slots, &vec![0; 1 << 16]).unwrap();
                let keep = Arg::U32(0.5f32.to_bits());
                if is_single {
                    args.push(Arg::Pointer(output));
                } else {
                    args.extend([keep, Arg::Pointer(output), Arg::Pointer(slots)]);
                }
                args.extend(interval);
                let grid = reach.div_ceil(chunk).max(1) as u32;
                let config = LaunchConfig { seed: SEEDS[i], ..LaunchConfig::new(grid, block) };
                let checked = check(kernel, &config, &args, &memory)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
                assert!(text.is_empty(), "{name}, n = {n}, block {block}:\n{}", text.join("\n"));
                assert_eq!(checked.fault, None, "{name}, n = {n}, block {block}");
            }
        }
    }
    assert!(kernels >= 800, "{kernels} kernels were found in {}", folder.display());
}

/// The variant of a transposition, the size of an element in bytes, the tile, and the block, all
/// from the kernel's name.
fn transposition(name: &str) -> Option<(&str, u64, u32, (u32, u32))> {
    let (variant, shape) = name.strip_prefix("transpose_")?.rsplit_once("_b")?;
    let (bytes, tile) = shape.split_once("_t")?;
    let tile = tile.parse().ok()?;
    let block = if variant == "best" { (16, 16) } else { (tile, 8) };
    Some((variant, bytes.parse().ok()?, tile, block))
}

#[test]
fn the_transpositions_are_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/ptx");
    let mut kernels = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy();
        if !(file.starts_with("transpose_") && file.ends_with(".ptx")) {
            continue;
        }
        let module = Module::from_ptx(&file, &fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|e| panic!("{e}"));
        for kernel in module.kernels() {
            let name = kernel.name();
            let (variant, bytes, tile, block) =
                transposition(name).unwrap_or_else(|| panic!("{name}"));
            kernels += 1;
            // The matrix fits in one tile, or has several; its rows allow vectors, or do not.
            for (i, (rows, cols)) in [(1, 1), (40, 72), (45, 67)].into_iter().enumerate() {
                let in_place = variant == "in_place";
                let cols = if in_place { rows } else { cols };
                let memory = Memory::checked(1 << 24);
                let alloc = || memory.alloc(rows * cols * bytes).unwrap();
                let (input, output) = (alloc(), alloc());
                memory.write(input, &vec![1; (rows * cols * bytes) as usize]).unwrap();
                let tiles = |extent: u64| extent.div_ceil(tile.into()) as u32;
                let grid = match variant {
                    "naive_load" | "strided_copy" => (tiles(rows), tiles(cols)),
                    "tiled" | "padded" | "swizzled" => (2 * tiles(rows), tiles(cols).div_ceil(2)),
                    _ => (tiles(cols), tiles(rows)),
                };
                let config = LaunchConfig { seed: SEEDS[i], ..LaunchConfig::new(grid, block) };
                let (y, x) = (Arg::U32(rows as u32), Arg::U32(cols as u32));
                let args = if in_place {
                    vec![Arg::Pointer(input), y]
                } else {
                    vec![Arg::Pointer(input), Arg::Pointer(output), y, x]
                };
                let checked = check(kernel, &config, &args, &memory)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
                assert!(text.is_empty(), "{name}, {rows} x {cols}:\n{}", text.join("\n"));
                assert_eq!(checked.fault, None, "{name}, {rows} x {cols}");
                // The whole output was written.
                let mut moved = vec![0; (rows * cols * bytes) as usize];
                memory.read(if in_place { input } else { output }, &mut moved).unwrap();
                assert!(moved.iter().all(|&byte| byte == 1), "{name}, {rows} x {cols}");
            }
        }
    }
    assert!(kernels >= 105, "{kernels} kernels were found in {}", folder.display());
}

#[test]
fn the_lectures_rung_5_relies_on_lock_step() {
    let module =
        Module::from_ptx("lock_step.sm_80.ptx", include_str!("../data/lock_step.sm_80.ptx"))
            .unwrap();
    for name in ["rung5", "rung5_volatile"] {
        for seed in SEEDS {
            let memory = Memory::checked(1 << 20);
            let (data, out) = (memory.alloc(4000).unwrap(), memory.alloc(64).unwrap());
            memory.write(data, &[1; 4000]).unwrap();
            let config =
                LaunchConfig { dynamic_shared_bytes: 1024, seed, ..LaunchConfig::new(2, 256) };
            let args = [Arg::Pointer(data), Arg::Pointer(out), Arg::U32(1000)];
            let checked = check(module.kernel(name).unwrap(), &config, &args, &memory).unwrap();
            assert!(!checked.reports.is_empty(), "{name}");
            for report in &checked.reports {
                assert_eq!(report.kind, WarpSynchronous, "{report}");
                // The accesses are in the code of the last warp, and not in the loop before it.
                let last_warp = if name == "rung5" { 15..=20 } else { 37..=42 };
                for party in [Some(&report.here), report.other.as_ref()].into_iter().flatten() {
                    let line = party.frames[0].line;
                    assert!(last_warp.contains(&line) || [21, 44].contains(&line), "{report}");
                }
            }
        }
    }
}
