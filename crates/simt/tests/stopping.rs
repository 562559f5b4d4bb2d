//! Kernels that never end. A budget, an interrupt, or the proof of a livelock stops them, and the
//! fault lists the places where their warps stand.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use simt::{
    Arg, Dim3, Fault, FaultKind, LaunchConfig, LaunchError, Memory, Module, Waiting, count, launch,
};

/// A kernel whose parameter, a pointer, is in `%rd1`. The thread's number is in `%r1`, and the
/// block's number is in `%r2`.
fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 data) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n{body}\nret;\n}}"
    );
    Module::from_ptx("endless.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs the kernel on four zeroed words.
fn run(module: &Module, config: &LaunchConfig) -> Result<Vec<u8>, LaunchError> {
    let memory = Memory::new(16);
    let data = memory.alloc(16).unwrap();
    launch(module.kernel("k").unwrap(), config, &[Arg::Pointer(data)], &memory)?;
    let mut bytes = vec![0; 16];
    memory.read(data, &mut bytes).unwrap();
    Ok(bytes)
}

fn stopped(module: &Module, config: &LaunchConfig) -> (Fault, Vec<Waiting>) {
    match run(module, config) {
        Err(LaunchError::Fault(fault)) => match fault.kind.clone() {
            FaultKind::Budget { budget, standing } => {
                assert_eq!(Some(budget), config.budget);
                (*fault, standing)
            }
            FaultKind::Interrupted { standing } => (*fault, standing),
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

fn within(budget: u64, grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig { budget: Some(budget), ..LaunchConfig::new(grid, block) }
}

/// The warp, the lanes and the instruction of each place.
fn places(standing: &[Waiting]) -> Vec<(u32, u32, &str)> {
    standing.iter().map(|place| (place.warp, place.lanes, place.instruction.as_str())).collect()
}

const ALL: u32 = u32::MAX;

#[test]
fn one_warp_loops_while_the_others_have_ended() {
    let module =
        module("shr.u32 %r3, %r1, 5; setp.ne.u32 %p1, %r3, 2;\n@%p1 ret;\nself: bra self;");
    let (fault, standing) = stopped(&module, &within(10_000, 1, 128));
    assert_eq!(places(&standing), [(2, ALL, "bra self;")]);
    assert_eq!(
        (fault.block, fault.thread, fault.line),
        (Dim3::new(0, 0, 0), Dim3::new(64, 0, 0), 9)
    );
    assert_eq!(
        fault.to_string(),
        "kernel `k`, block (0,0,0), thread (64,0,0), endless.ptx:9 `bra self;`: the budget of 10000 warp \
         instructions is spent; warp 2 lanes 0-31 at line 9 `bra self;` stand"
    );
}

#[test]
fn all_blocks_loop_on_any_number_of_workers() {
    let module = module("self: bra self;");
    for workers in [1, 2, 7] {
        let config = LaunchConfig { workers: Some(workers), ..within(200_000, 1000, 64) };
        let (_, standing) = stopped(&module, &config);
        // A budget may be spent before the second warp of a block has had a turn.
        assert_eq!(
            (standing.len(), standing[0].instruction.as_str()),
            (2, "bra self;"),
            "{workers} workers"
        );
    }
}

#[test]
fn lanes_of_a_warp_wait_for_one_another() {
    // Lane 0 waits for a flag that the other lanes set only after they have met lane 0.
    let module = module(
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra wait;\n\
         spin: ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra spin;\n\
         wait: bar.warp.sync -1; st.volatile.global.u32 [%rd1], 1;",
    );
    let (_, standing) = stopped(&module, &within(5_000, 1, 32));
    let lanes: Vec<u32> = standing.iter().map(|place| place.lanes).collect();
    assert_eq!(lanes, [1, !1]);
    assert_eq!(standing[1].instruction, "bar.warp.sync -1;");
}

#[test]
fn a_barrier_that_others_spin_past() {
    let module =
        module("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra meet;\nspin: bra spin;\nmeet: bar.sync 0;");
    let (_, standing) = stopped(&module, &within(5_000, 1, 64));
    assert_eq!(places(&standing), [(0, ALL, "bar.sync 0;"), (1, ALL, "bra spin;")]);
}

#[test]
fn a_lock_that_is_never_released() {
    let module = module(
        "lock: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p1, %r3, 0;\n@%p1 bra lock;",
    );
    for workers in [1, 2] {
        let config = LaunchConfig { workers: Some(workers), ..within(100_000, 4, 64) };
        let (_, standing) = stopped(&module, &config);
        assert!(!standing.is_empty());
        for place in &standing {
            assert!((7..=9).contains(&place.line), "{place}");
        }
    }
}

#[test]
fn a_budget_ends_a_grid_of_small_blocks() {
    // No single block comes near the budget, because the budget counts the whole launch.
    let module = module("red.global.add.u32 [%rd1], 1;");
    for workers in [1, 2] {
        let config = LaunchConfig { workers: Some(workers), ..within(1_000, i32::MAX as u32, 32) };
        let (fault, standing) = stopped(&module, &config);
        // With two workers, one may wait for a core in a low block while the other goes on.
        let least = if workers == 1 { 200 } else { 0 };
        assert!((least..=252).contains(&fault.block.x), "{}", fault.block);
        assert_eq!(places(&standing), [(0, ALL, "ld.param.u64 %rd1, [data];")]);
    }
}

#[test]
fn a_budget_that_is_enough_changes_nothing() {
    let module = module("red.global.add.u32 [%rd1], 1;");
    // Each of the 10 warps runs five instructions.
    for budget in [50, 51, u64::MAX] {
        let bytes = run(&module, &within(budget, 10, 32)).unwrap();
        assert_eq!(bytes[..4], 320u32.to_le_bytes());
    }
    let config = LaunchConfig { workers: Some(1), ..within(49, 10, 32) };
    assert!(run(&module, &config).is_ok(), "a budget is looked at between turns");
    let config = LaunchConfig { workers: Some(1), ..within(45, 10, 32) };
    assert_eq!(stopped(&module, &config).0.block, Dim3::new(9, 0, 0));
}

#[test]
fn counting_has_the_same_budget() {
    let module = module("self: bra self;");
    let memory = Memory::new(16);
    let args = [Arg::Pointer(memory.alloc(16).unwrap())];
    let config = LaunchConfig { workers: Some(1), ..within(5_000, 3, 96) };
    let kernel = module.kernel("k").unwrap();
    let counted = count(kernel, &config, &args, &memory).map(|profile| profile.counters);
    assert_eq!(counted.unwrap_err(), launch(kernel, &config, &args, &memory).unwrap_err());
}

#[test]
fn an_interrupt_ends_a_loop_on_all_workers() {
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    let module = module("self: add.u32 %r3, %r3, 1; bra self;");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            INTERRUPT.store(true, Relaxed);
        });
        let config = LaunchConfig {
            workers: Some(3),
            interrupt: Some(&INTERRUPT),
            ..LaunchConfig::new(8, 32)
        };
        let (fault, standing) = stopped(&module, &config);
        let [place] = &standing[..] else { panic!("{fault}") };
        assert_eq!((place.warp, place.lanes, place.line), (0, ALL, 7));
        assert!(
            fault.to_string().contains(": interrupted; warp 0 lanes 0-31 at line 7 `"),
            "{fault}"
        );
    });
}

#[test]
fn an_interrupt_ends_a_grid_of_small_blocks() {
    static INTERRUPT: AtomicBool = AtomicBool::new(true);
    let module = module("red.global.add.u32 [%rd1], 1;");
    let config =
        LaunchConfig { interrupt: Some(&INTERRUPT), ..LaunchConfig::new(i32::MAX as u32, 32) };
    let (fault, _) = stopped(&module, &config);
    assert!(matches!(fault.kind, FaultKind::Interrupted { .. }));
}

#[test]
fn a_budget_spent_by_the_last_exit_is_no_fault() {
    // Fuzzing found this case: the block has ended, so no warp stands anywhere.
    let module = module("");
    for budget in 1..=8 {
        let config = LaunchConfig { workers: Some(1), ..within(budget, 1, 64) };
        assert!(run(&module, &config).is_ok(), "{budget}");
    }
}

#[test]
fn an_endless_loop_needs_no_budget() {
    for body in [
        "self: bra self;",
        "setp.ne.u32 %p1, %r1, 33;\n@%p1 bra meet;\nself: bra self;\nmeet: bar.sync 0;",
    ] {
        for (workers, seed) in [(1, None), (2, None), (1, Some(1)), (3, Some(2))] {
            let config =
                LaunchConfig { workers: Some(workers), seed, ..LaunchConfig::new(600, 64) };
            let error = run(&module(body), &config).unwrap_err();
            let LaunchError::Fault(fault) = error else { panic!("{error}") };
            assert_eq!(
                (fault.kind.name(), fault.block),
                ("livelock", Dim3::new(0, 0, 0)),
                "{fault}"
            );
            assert!(fault.to_string().contains("repeat the same steps for ever"), "{fault}");
        }
    }
}
