//! The PTX that LLVM emits for its own intrinsics (`data/together.ll`).

use simt::{Arg, LaunchConfig, Memory, Module, check, launch};

use crate::cluster::clusters;

/// Runs and checks a kernel on 2048 words, each of which holds its index. Returns 1024 words of the
/// other buffer.
fn run(name: &str, config: &LaunchConfig, reads: bool) -> Vec<u32> {
    let module = Module::from_ptx("together.sm_90.ptx", include_str!("../data/together.sm_90.ptx"))
        .unwrap_or_else(|error| panic!("{error}"));
    let kernel = module.kernel(name).unwrap();
    let memory = Memory::checked(1 << 20);
    let (data, out) = (memory.alloc(8192).unwrap(), memory.alloc(4096).unwrap());
    let words: Vec<u8> = (0_u32..2048).flat_map(u32::to_le_bytes).collect();
    memory.write(data, &words).unwrap();
    let args =
        if reads { vec![Arg::Pointer(data), Arg::Pointer(out)] } else { vec![Arg::Pointer(out)] };
    let checked = check(kernel, config, &args, &memory).unwrap();
    assert_eq!(checked.fault, None);
    assert!(checked.reports.is_empty(), "{}", checked.reports[0]);
    launch(kernel, config, &args, &memory).unwrap();
    let mut bytes = vec![0; 4096];
    memory.read(out, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn blocks_of_a_cluster_pass_on() {
    for (cluster, explicit) in [(1, 0), (2, 1_000_000), (4, 1_000_000)] {
        let words = run("ring", &clusters(4, cluster, 256), false);
        for (i, word) in words.into_iter().enumerate() {
            let (block, thread) = (i as u32 / 256, i as u32 % 256);
            assert_eq!(word, thread + 1000 + (block + 1) % cluster * 10_000 + explicit);
        }
    }
}

#[test]
fn tiles_come_and_go_by_bulk_copies() {
    let words = run("turn", &LaunchConfig::new(4, 256), true);
    for (i, word) in words.into_iter().enumerate() {
        assert_eq!(word as usize, i / 256 * 256 + 255 - i % 256);
    }
}

#[test]
fn words_come_by_asynchronous_copies() {
    let words = run("words", &LaunchConfig::new(1, 256), true);
    assert_eq!(words[..256], (0..256).rev().collect::<Vec<u32>>());
}
