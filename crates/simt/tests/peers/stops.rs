//! Launches that run together and do not all end by themselves.

use std::sync::atomic::AtomicBool;

use simt::{
    Dim3, Fault, FaultKind, LaunchConfig, LaunchError, Module, TogetherError, check_together,
};

use crate::exchange::{POLL, POST, exchange};
use crate::{Devices, config, kernel, seeds};

/// The first block of a grid.
const FIRST: Dim3 = Dim3 { x: 0, y: 0, z: 0 };

/// The launch that ended all, and its fault.
#[track_caller]
fn fault(devices: &Devices, modules: &[Module], configs: &[LaunchConfig]) -> (usize, Fault) {
    match devices.run(modules, configs) {
        Err(TogetherError { launch, error: LaunchError::Fault(fault), .. }) => (launch, *fault),
        other => panic!("no fault but {other:?}"),
    }
}

#[test]
fn a_word_that_never_comes_is_a_livelock_of_the_launch_that_waits() {
    let modules = [exchange(POST, POLL), kernel("")];
    for (workers, seed) in (1..=3).flat_map(|workers| seeds().map(move |seed| (workers, seed))) {
        for waiting in [0, 1] {
            let mut modules = modules.clone();
            modules.rotate_left(waiting);
            let devices = Devices::new(2);
            let (launch, fault) = fault(&devices, &modules, &[config(3, workers, seed)]);
            assert_eq!(launch, waiting, "{workers} workers, seed {seed:?}: {fault}");
            let FaultKind::Livelock { standing } = &fault.kind else { panic!("{fault}") };
            assert!(
                standing
                    .iter()
                    .any(|at| at.instruction.contains("%p2") || at.instruction.contains("%d8"))
            );
            assert_eq!(fault.block, FIRST);
        }
    }
    // If both devices wait for ever, the first is named.
    let none = [exchange("", POLL)];
    let (launch, fault) = fault(&Devices::new(2), &none, &[config(2, 2, None)]);
    assert!(launch == 0 && matches!(fault.kind, FaultKind::Livelock { .. }), "{launch}: {fault}");
}

#[test]
fn a_peer_that_works_for_long_is_no_livelock() {
    // The peer counts to 2^17 without an effect on memory, and then sends its word.
    let slow = kernel(
        "mov.u32 %r1, 0;
    count:
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 131072;
        @%p1 bra count;
        mov.b64 %d5, {%r1, %r15};
        st.relaxed.sys.global.u64 [%d13], %d5;",
    );
    let waits = kernel(
        "poll:
        ld.relaxed.sys.global.u64 %d8, [%d12];
        mov.b64 {%r5, %r6}, %d8;
        setp.ne.u32 %p2, %r6, %r15;
        @%p2 bra poll;
        st.global.u32 [%d11], %r5;",
    );
    let modules = [waits, slow];
    for workers in 1..=3 {
        for seed in [None, Some(1), Some(2)] {
            let devices = Devices::new(2);
            devices.run(&modules, &[config(1, workers, seed)]).unwrap();
            assert_eq!(devices.words(1)[0], [1 << 17]);
        }
    }
}

#[test]
fn the_fault_of_a_peer_stops_those_that_wait_for_it() {
    let broken = kernel("mov.u64 %d1, 0; st.global.u32 [%d1], 1;");
    for (workers, seed) in (1..=3).flat_map(|workers| seeds().map(move |seed| (workers, seed))) {
        for guilty in 0..3 {
            let modules: Vec<Module> = (0..3)
                .map(|rank| if rank == guilty { broken.clone() } else { exchange(POST, POLL) })
                .collect();
            let (launch, fault) = fault(&Devices::new(3), &modules, &[config(4, workers, seed)]);
            assert_eq!(launch, guilty, "{workers} workers, seed {seed:?}: {fault}");
            assert!(matches!(fault.kind, FaultKind::Null { .. }), "{fault}");
            assert_eq!(fault.block, FIRST);
        }
    }
}

#[test]
fn of_several_faults_that_of_the_first_launch_is_returned() {
    // The second launch faults at once. Of the first, block 20 faults much later.
    let late = kernel(
        "mov.u32 %r1, 0;
    count:
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 1000;
        @%p1 bra count;
        setp.lt.u32 %p1, %r11, 20;
        @%p1 bra done;
        mov.u64 %d1, 0;
        st.global.u32 [%d1], %r11;
    done:",
    );
    let early = kernel("mov.u64 %d1, 0; st.global.u32 [%d1], 1;");
    let modules = [kernel(""), late, early];
    for (workers, seed) in (1..=3).flat_map(|workers| seeds().map(move |seed| (workers, seed))) {
        let (launch, fault) = fault(&Devices::new(3), &modules, &[config(40, workers, seed)]);
        assert_eq!(launch, 1, "{workers} workers, seed {seed:?}: {fault}");
        assert_eq!(fault.block, Dim3 { x: 20, ..FIRST });
    }
}

#[test]
fn a_launch_that_never_ends_does_not_hold_up_the_fault_of_a_later_one() {
    // The first launch has more blocks than can run to their end within the grace.
    let modules = [endless(), kernel("mov.u64 %d1, 0; st.global.u32 [%d1], 1;")];
    let config = LaunchConfig { budget: None, ..config(1000, 2, None) };
    let (launch, fault) = fault(&Devices::new(2), &modules, &[config]);
    assert_eq!((launch, fault.block), (1, FIRST), "{fault}");
}

#[test]
fn a_launch_that_is_not_allowed_lets_none_run() {
    let module = [kernel("st.global.u32 [%d11], 1;")];
    for refused in 0..3 {
        let devices = Devices::new(3);
        let mut configs = [config(1, 1, None); 3];
        configs[refused].grid.x = 0;
        let error = devices.run(&module, &configs).unwrap_err();
        assert_eq!(error.launch, refused);
        assert_eq!(error.error, LaunchError::Grid { grid: configs[refused].grid });
        assert!(
            error.to_string().starts_with(&format!("launch {refused}: grid (0,1,1)")),
            "{error}"
        );
        let checked = check_together(&devices.launches(&module, &configs));
        assert_eq!(checked.unwrap_err(), error);
        assert_eq!(devices.words(1), [[0], [0], [0]]);
    }
    let devices = Devices::new(2);
    let configs = [config(1, 1, None), LaunchConfig { workers: Some(0), ..config(1, 1, None) }];
    let error = devices.run(&module, &configs).unwrap_err();
    assert_eq!((error.launch, error.error), (1, LaunchError::NoWorkers));
}

/// A kernel that never ends and is no livelock, because it counts.
fn endless() -> Module {
    kernel("mov.u32 %r1, 0; count: add.u32 %r1, %r1, 1; bra count;")
}

#[test]
fn each_launch_has_a_budget_and_an_interrupt_of_its_own() {
    static NOW: AtomicBool = AtomicBool::new(true);
    let modules = [exchange(POST, POLL), endless()];
    for workers in 1..=3 {
        let small = LaunchConfig { budget: Some(100_000), ..config(1, workers, None) };
        let large = LaunchConfig { budget: None, ..small };
        let (launch, fault) = fault(&Devices::new(2), &modules, &[large, small]);
        assert_eq!(launch, 1, "{fault}");
        assert!(matches!(fault.kind, FaultKind::Budget { budget: 100_000, .. }), "{fault}");
        let stopped = LaunchConfig { interrupt: Some(&NOW), ..large };
        let (launch, fault) = self::fault(&Devices::new(2), &modules, &[large, stopped]);
        assert_eq!(launch, 1, "{fault}");
        assert!(matches!(fault.kind, FaultKind::Interrupted { .. }), "{fault}");
    }
}

#[test]
fn cooperative_launches_run_together() {
    // The last block of each device sends a word to the other device, all of whose blocks wait for
    // it.
    let module = [kernel(
        "mov.u32 %r1, %nctaid.x;
        sub.u32 %r1, %r1, 1;
        setp.ne.u32 %p1, %r11, %r1;
        @%p1 bra poll;
        st.relaxed.sys.global.u64 [%d13+64], 1;
    poll:
        ld.relaxed.sys.global.u64 %d8, [%d12+64];
        setp.eq.u64 %p2, %d8, 0;
        @%p2 bra poll;
        mul.wide.u32 %d2, %r11, 4;
        add.u64 %d2, %d11, %d2;
        st.global.u32 [%d2], 5;",
    )];
    for workers in 1..=3 {
        let config = LaunchConfig { cooperative: true, ..config(200, workers, None) };
        let devices = Devices::new(2);
        devices.run(&module, &[config]).unwrap();
        assert_eq!(devices.words(200), vec![vec![5; 200]; 2]);
    }
}
