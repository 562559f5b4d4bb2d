//! The kernels of this workspace are clean; the lectures' rung 5 is not.

use std::fs;
use std::path::Path;

use simt::ReportKind::WarpSynchronous;
use simt::{Arg, Checked, Kernel, LaunchConfig, Memory, Module, check};

use crate::SEEDS;

/// Runs a reduction of `n` elements of `size` bytes stage by stage until one value is left, and gives what is found.
/// `takes` is how many elements a block makes one of.
fn reduce(kernel: &Kernel, size: u64, n: u64, block: u32, takes: u64, shared: bool, seed: Option<u64>) -> Vec<Checked> {
    let memory = Memory::checked(1 << 24);
    let alloc = |elements: u64| memory.alloc(elements.max(1) * size).unwrap();
    let (mut source, mut target) = (alloc(n), alloc(n));
    memory.write(source, &vec![1; (n * size) as usize]).unwrap();
    let mut inputs = n;
    let mut found = Vec::new();
    loop {
        let grid = inputs.div_ceil(takes);
        let outputs = if takes == 2 * u64::from(block) && !shared { inputs.div_ceil(2) } else { grid };
        let dynamic_shared_bytes = if shared { block * size as u32 } else { 0 };
        let config = LaunchConfig { dynamic_shared_bytes, seed, ..LaunchConfig::new(grid as u32, block) };
        let args = [Arg::Pointer(source), Arg::Pointer(target), Arg::U64(inputs)];
        found.push(check(kernel, &config, &args, &memory).unwrap_or_else(|error| panic!("{error}")));
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
        let module = Module::from_ptx(&file, &fs::read_to_string(&path).unwrap()).unwrap_or_else(|e| panic!("{e}"));
        for kernel in module.kernels() {
            let name = kernel.name();
            let size = if name.contains("64") { 8 } else { 4 };
            let own_block = name.rsplit_once("_b").and_then(|(_, block)| block.parse().ok());
            let blocks = own_block.map_or(vec![64, 256], |block| vec![block]);
            for (i, block) in blocks.into_iter().enumerate() {
                let (takes, shared) = match name.split('_').next().unwrap() {
                    "reduce0" => (2 * u64::from(block), false),
                    "global" => (u64::from(block), false),
                    "reduce1" | "reduce2" | "reduce3" => (u64::from(block), true),
                    "reduce4" | "reduce5" | "reduce6" => (2 * u64::from(block), true),
                    // A grid of few blocks, so that each takes several steps.
                    "reduce7" => (8 * u64::from(block), true),
                    // Later rungs have tests of their own.
                    _ => continue,
                };
                kernels += 1;
                for n in [1, 1000, 4099] {
                    for checked in reduce(kernel, size, n, block, takes, shared, SEEDS[i]) {
                        let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
                        assert!(text.is_empty(), "{name}, n = {n}, block {block}:\n{}", text.join("\n"));
                        assert_eq!(checked.fault, None, "{name}, n = {n}, block {block}");
                    }
                }
            }
        }
    }
    assert!(kernels >= 300, "{kernels} kernels were found in {}", folder.display());
}

/// Block and tile of a transposition, by its variant, the bytes of an element, and the tile in its name.
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
        let module = Module::from_ptx(&file, &fs::read_to_string(&path).unwrap()).unwrap_or_else(|e| panic!("{e}"));
        for kernel in module.kernels() {
            let name = kernel.name();
            let (variant, bytes, tile, block) = transposition(name).unwrap_or_else(|| panic!("{name}"));
            kernels += 1;
            // Within a tile, and beyond: vectors, and not.
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
                let checked = check(kernel, &config, &args, &memory).unwrap_or_else(|error| panic!("{name}: {error}"));
                let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
                assert!(text.is_empty(), "{name}, {rows} x {cols}:\n{}", text.join("\n"));
                assert_eq!(checked.fault, None, "{name}, {rows} x {cols}");
                // All of it was written.
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
    let module = Module::from_ptx("lock_step.sm_80.ptx", include_str!("../data/lock_step.sm_80.ptx")).unwrap();
    for name in ["rung5", "rung5_volatile"] {
        for seed in SEEDS {
            let memory = Memory::checked(1 << 20);
            let (data, out) = (memory.alloc(4000).unwrap(), memory.alloc(64).unwrap());
            memory.write(data, &[1; 4000]).unwrap();
            let config = LaunchConfig { dynamic_shared_bytes: 1024, seed, ..LaunchConfig::new(2, 256) };
            let args = [Arg::Pointer(data), Arg::Pointer(out), Arg::U32(1000)];
            let checked = check(module.kernel(name).unwrap(), &config, &args, &memory).unwrap();
            assert!(!checked.reports.is_empty(), "{name}");
            for report in &checked.reports {
                assert_eq!(report.kind, WarpSynchronous, "{report}");
                // In the last warp, not in the loop before it.
                let last_warp = if name == "rung5" { 15..=20 } else { 37..=42 };
                for party in [Some(&report.here), report.other.as_ref()].into_iter().flatten() {
                    let line = party.frames[0].line;
                    assert!(last_warp.contains(&line) || [21, 44].contains(&line), "{report}");
                }
            }
        }
    }
}
