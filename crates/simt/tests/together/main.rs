//! Blocks that wait for each other: cooperative launches and clusters; and instructions that run
//! beside the threads: mbarriers and asynchronous copies. The tests look at their results, their
//! faults, their counters and the reports of `check`.

#![allow(clippy::format_push_string, reason = "kernels are put together from text")]

mod bulk;
mod checks;
mod cluster;
mod cooperative;
mod llvm;
mod mbarrier;
mod polling;

use std::collections::BTreeSet;

use simt::{
    Arg, Checked, FaultKind, LaunchConfig, LaunchError, Memory, Module, ReportKind, check, launch,
};

/// The seeds for the orders of the warps.
const SEEDS: [Option<u64>; 4] = [None, Some(1), Some(2), Some(3)];

/// A module with one kernel `k(data, out)`, `directives` and 4096 bytes `s` of shared memory.
/// `%d10` is `data`, `%d11` is `out`, and `%d12` is the address of the thread's own word of `out`.
/// `%r10` is the number of the thread, `%r11` of the block, and `%r12` of the thread in the grid.
/// `%r13` is the address of the thread's own word of `s`, and `%r14` is the block's rank in its
/// cluster.
fn kernel(directives: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out) {directives} {{
.shared .align 128 .b8 s[4096];
.reg .pred %p<10>;
.reg .b16 %h<10>;
.reg .b32 %r<20>;
.reg .b64 %d<20>;
ld.param.u64 %d10, [data];
ld.param.u64 %d11, [out];
mov.u32 %r10, %tid.x;
mov.u32 %r11, %ctaid.x;
mov.u32 %r12, %ntid.x;
mad.lo.u32 %r12, %r11, %r12, %r10;
mul.wide.u32 %d12, %r12, 4;
add.u64 %d12, %d11, %d12;
mov.u32 %r13, s;
mad.lo.u32 %r13, %r10, 4, %r13;
mov.u32 %r14, %cluster_ctarank;
{body}
ret;
}}"
    );
    Module::from_ptx("k.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A device memory with `data`, whose word i holds i, and 64 KiB of `out`. Both are written.
struct Buffers {
    memory: Memory,
    args: [Arg; 2],
    out: u64,
}

impl Buffers {
    fn new() -> Buffers {
        let memory = Memory::checked(1 << 24);
        let (data, out) = (memory.alloc(1 << 16).unwrap(), memory.alloc(1 << 16).unwrap());
        let words: Vec<u8> = (0_u32..1 << 14).flat_map(u32::to_le_bytes).collect();
        memory.write(data, &words).unwrap();
        memory.write(out, &vec![0; 1 << 16]).unwrap();
        Buffers { memory, args: [Arg::Pointer(data), Arg::Pointer(out)], out }
    }

    fn words(&self, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.memory.read(self.out, &mut bytes).unwrap();
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }
}

/// Runs `k`, and returns the first words of `out`.
fn run(module: &Module, config: &LaunchConfig, words: usize) -> Result<Vec<u32>, LaunchError> {
    let buffers = Buffers::new();
    launch(module.kernel("k").unwrap(), config, &buffers.args, &buffers.memory)?;
    Ok(buffers.words(words))
}

/// Runs `k` in several orders of its warps, with one and with two workers, and expects the same
/// words from all runs.
#[track_caller]
fn expect(module: &Module, config: &LaunchConfig, expected: &[u32]) {
    for seed in SEEDS {
        for workers in [1, 2] {
            let config =
                LaunchConfig { seed, workers: Some(workers), budget: Some(50_000_000), ..*config };
            let words = run(module, &config, expected.len())
                .unwrap_or_else(|error| panic!("{seed:?}: {error}"));
            assert_eq!(words, expected, "seed {seed:?}, {workers} workers");
        }
    }
}

/// The fault that ends `k`.
#[track_caller]
fn fault(module: &Module, config: &LaunchConfig) -> FaultKind {
    match run(module, &LaunchConfig { workers: Some(1), ..*config }, 1) {
        Err(LaunchError::Fault(fault)) => fault.kind,
        other => panic!("no fault but {other:?}"),
    }
}

/// The classes of the reports of `check` on `k`, in several orders of its warps.
#[track_caller]
fn classes(module: &Module, config: &LaunchConfig) -> Vec<BTreeSet<ReportKind>> {
    let mut all = Vec::new();
    for seed in SEEDS {
        let buffers = Buffers::new();
        let config = LaunchConfig { seed, ..*config };
        let checked = check(module.kernel("k").unwrap(), &config, &buffers.args, &buffers.memory);
        let Checked { reports, fault } = checked.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fault, None, "seed {seed:?}");
        for report in &reports {
            println!("seed {seed:?}\n{report}\n");
        }
        all.push(reports.iter().map(|report| report.kind).collect());
    }
    all
}

/// Asserts that `check` reports nothing.
#[track_caller]
fn clean(module: &Module, config: &LaunchConfig) {
    assert_eq!(classes(module, config), vec![BTreeSet::new(); SEEDS.len()]);
}

/// Asserts that `check` reports one of these classes in each order, and no other class. The
/// exception is a read that comes too early and finds bytes that nothing has written yet.
#[track_caller]
fn reported(module: &Module, config: &LaunchConfig, kinds: &[ReportKind]) {
    for found in classes(module, config) {
        let others = found.iter().filter(|kind| !kinds.contains(kind));
        let others: Vec<_> =
            others.filter(|kind| **kind != ReportKind::UninitializedRead).collect();
        assert!(
            found.iter().any(|kind| kinds.contains(kind)) && others.is_empty(),
            "{found:?}, not {kinds:?}"
        );
    }
}
