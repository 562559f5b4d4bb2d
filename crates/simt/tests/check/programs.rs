//! Programs as nvcc compiles them (`data/programs.cu`). They are clean, except where their authors
//! left something out.

use simt::{Arg, Dim3, LaunchConfig, Memory, Module, ReportKind, check};

use crate::SEEDS;

/// The classes of the reports on a program of `data/programs.cu` that gets `input` words of input,
/// `output` words of output, and the number `n`.
#[track_caller]
fn found(
    name: &str,
    config: LaunchConfig,
    (input, output, n): (usize, usize, u32),
) -> Vec<ReportKind> {
    let module =
        Module::from_ptx("programs.sm_80.ptx", include_str!("../data/programs.sm_80.ptx")).unwrap();
    let mut first: Option<Vec<ReportKind>> = None;
    for seed in SEEDS {
        let memory = Memory::checked(1 << 24);
        let (from, to) =
            (memory.alloc(input as u64 * 4).unwrap(), memory.alloc(output as u64 * 4).unwrap());
        let bytes: Vec<u8> =
            (0..input as u32 * 4).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        memory.write(from, &bytes).unwrap();
        memory.write(to, &vec![0; output * 4]).unwrap();
        let args = [Arg::Pointer(from), Arg::Pointer(to), Arg::U32(n)];
        let checked =
            check(module.kernel(name).unwrap(), &LaunchConfig { seed, ..config }, &args, &memory)
                .unwrap();
        assert_eq!(checked.fault, None);
        let mut kinds: Vec<ReportKind> = checked.reports.iter().map(|report| report.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        eprintln!("{name}, seed {seed:?}\n{}", text.join("\n"));
        assert_eq!(*first.get_or_insert(kinds.clone()), kinds, "{name}, seed {seed:?}");
    }
    first.unwrap_or_default()
}

#[test]
fn textbook_patterns_are_clean() {
    let double_buffer =
        LaunchConfig { dynamic_shared_bytes: 2 * 16 * 64, ..LaunchConfig::new(3, 64) };
    for (name, config, data) in [
        ("last_block", LaunchConfig::new(13, 128), (5000, 1, 5000)),
        ("look_back", LaunchConfig::new(20, 256), (5000, 5000, 5000)),
        ("grid_wide", LaunchConfig::new(100, 64), (6400, 12800, 6400)),
        ("spin_lock", LaunchConfig::new(5, 70), (330, 2, 330)),
        ("spin_lock_bare", LaunchConfig::new(5, 70), (330, 2, 330)),
        ("tiles", LaunchConfig::new(20, Dim3::new(16, 4, 2)), (2500, 10_000, 2500)),
        ("aggregate", LaunchConfig::new(12, 256), (3000, 15, 3000)),
        ("double_buffer", double_buffer, (3 * 6 * 64 * 4, 12, 6)),
        ("machine", LaunchConfig::new(3, 128), (300, 300, 300)),
        ("pipeline", LaunchConfig::new(4, 256), (4 * 7 * 128, 512, 7)),
        ("histogram", LaunchConfig::new(7, 192), (2000, 256, 8000)),
        ("redux", LaunchConfig::new(4, 256), (1000, 1000, 1000)),
    ] {
        assert_eq!(found(name, config, data), [], "{name}");
    }
}

#[test]
fn threads_without_an_element_exit_beside_a_barrier() {
    let config = LaunchConfig::new(11, (5, 6, 3));
    assert_eq!(found("votes", config, (983, 983, 983)), [ReportKind::DivergentBarrier]);
    // All threads have an element.
    assert_eq!(found("votes", config, (990, 990, 990)), []);
}

#[test]
fn plain_reads_beside_compare_and_swap_race() {
    // The program's first look at the largest value is a plain read.
    assert_eq!(found("cas_max", LaunchConfig::new(12, 256), (3000, 3, 3000)), [ReportKind::Race]);
}

#[test]
fn what_a_call_before_left_in_shared_memory_is_not_there_at_first() {
    let module =
        Module::from_ptx("programs.sm_80.ptx", include_str!("../data/programs.sm_80.ptx")).unwrap();
    let memory = Memory::checked(1 << 20);
    let out = memory.alloc(256).unwrap();
    let kernel = module.kernel("shared_in_function").unwrap();
    let checked = check(kernel, &LaunchConfig::new(1, 64), &[Arg::Pointer(out)], &memory).unwrap();
    let kinds: Vec<ReportKind> = checked.reports.iter().map(|report| report.kind).collect();
    assert_eq!(kinds, [ReportKind::UninitializedRead]);
}
