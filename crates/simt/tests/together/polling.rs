//! Blocks of an ordinary launch that wait for each other. Each block leaves {value, tag} in words
//! of 64 bits. One block polls all words, clears them and sums the values. There is no fence and no
//! counter, because value and tag come in one access.

use std::collections::BTreeSet;

use simt::{
    Arg, Fault, FaultKind, LaunchConfig, LaunchError, Memory, Module, ReportKind, TraceOptions,
    check, count, launch, trace,
};

use crate::{SEEDS, kernel};

/// The offset of the words in `out`, in bytes.
const SLOTS: usize = 32 << 10;
/// Each block leaves two words, whose values are its number plus 1.
const STORE: &str = "st.relaxed.gpu.global.v2.b64 [%d2], {%d1, %d1};";
const POLL: &str = "ld.relaxed.gpu.global.v2.b64 {%d3, %d4}, [%d2];";
const CLEAR: &str = "st.relaxed.gpu.global.v2.b64 [%d2], {0, 0};";

/// The parts in which a right kernel and its faulty twins differ.
#[derive(Clone, Copy)]
struct Parts {
    /// The code that sets `%p2` in the block that polls; `%r3` is the last block's number.
    poller: &'static str,
    store: &'static str,
    poll: &'static str,
    clear: &'static str,
}

const LAST: Parts =
    Parts { poller: "setp.eq.u32 %p2, %r11, %r3;", store: STORE, poll: POLL, clear: CLEAR };
const FIRST: Parts = Parts { poller: "setp.eq.u32 %p2, %r11, 0;", ..LAST };

/// A kernel for blocks of 32 threads.
fn polling(Parts { poller, store, poll, clear }: Parts) -> Module {
    let body = format!(
        "griddepcontrol.wait;
        add.u64 %d9, %d11, {SLOTS};
        mov.u32 %r2, %nctaid.x;
        sub.u32 %r3, %r2, 1;
        setp.ne.u32 %p1, %r10, 0;
        @%p1 bra stored;
        add.u32 %r1, %r11, 1;
        mov.b64 %d1, {{%r1, 1}};
        mul.wide.u32 %d2, %r11, 16;
        add.u64 %d2, %d2, %d9;
        {store}
    stored:
        griddepcontrol.launch_dependents;
        {poller}
        @!%p2 bra done;
        mov.u32 %r4, %r10;
        mov.u32 %r5, 0;
    next:
        setp.ge.u32 %p3, %r4, %r2;
        @%p3 bra sum;
        mul.wide.u32 %d2, %r4, 16;
        add.u64 %d2, %d2, %d9;
    poll:
        {poll}
        shr.u64 %d5, %d3, 32;
        shr.u64 %d6, %d4, 32;
        and.b64 %d5, %d5, %d6;
        setp.eq.u64 %p4, %d5, 0;
        @%p4 bra poll;
        {clear}
        cvt.u32.u64 %r6, %d3;
        add.u32 %r5, %r5, %r6;
        add.u32 %r4, %r4, 32;
        bra next;
    sum:
        redux.sync.add.u32 %r7, %r5, -1;
        setp.eq.u32 %p5, %r10, 0;
        @%p5 st.global.u32 [%d11], %r7;
    done:"
    );
    kernel("", &body)
}

/// Memory whose words are all zero, and the kernel's arguments in it.
fn memory() -> (Memory, [Arg; 2]) {
    let memory = Memory::checked(1 << 24);
    let [data, out] = [(); 2].map(|()| memory.alloc(1 << 16).unwrap());
    for address in [data, out] {
        memory.write(address, &vec![0; 1 << 16]).unwrap();
    }
    (memory, [Arg::Pointer(data), Arg::Pointer(out)])
}

/// The sum that the kernel left, and whether all words are clear.
fn results(memory: &Memory, args: &[Arg; 2]) -> (u32, bool) {
    let Arg::Pointer(out) = args[1] else { unreachable!("the kernel takes pointers") };
    let mut bytes = vec![0; 1 << 16];
    memory.read(out, &mut bytes).unwrap();
    (
        u32::from_le_bytes(bytes[..4].try_into().unwrap()),
        bytes[SLOTS..].iter().all(|byte| *byte == 0),
    )
}

fn expected(blocks: u32) -> (u32, bool) {
    (blocks * (blocks + 1) / 2, true)
}

fn config(blocks: u32, workers: usize, seed: Option<u64>) -> LaunchConfig {
    LaunchConfig { workers: Some(workers), seed, ..LaunchConfig::new(blocks, 32) }
}

fn fault(module: &Module, config: &LaunchConfig) -> Fault {
    let (memory, args) = memory();
    match launch(module.kernel("k").unwrap(), config, &args, &memory) {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("no fault but {other:?}"),
    }
}

/// The classes of the reports in all orders together, and the text of one of the reports.
fn found(parts: Parts) -> (BTreeSet<ReportKind>, String) {
    let mut text = String::new();
    let mut kinds = BTreeSet::new();
    for seed in SEEDS {
        let (memory, args) = memory();
        let module = polling(parts);
        let checked =
            check(module.kernel("k").unwrap(), &config(40, 1, seed), &args, &memory).unwrap();
        assert_eq!(checked.fault, None, "seed {seed:?}");
        kinds.extend(checked.reports.iter().map(|report| report.kind));
        text = checked.reports.first().map_or(text, ToString::to_string);
    }
    (kinds, text)
}

/// Whether these classes are races across blocks. Races within the warp that polls the word of its
/// own block are allowed too.
fn is_race(kinds: &BTreeSet<ReportKind>) -> bool {
    kinds.contains(&ReportKind::Race)
        && kinds.is_subset(&[ReportKind::Race, ReportKind::WarpSynchronous].into())
}

#[test]
fn any_block_may_poll_the_others_launch_after_launch() {
    for parts in [LAST, FIRST, Parts { poller: "setp.eq.u32 %p2, %r11, 17;", ..LAST }] {
        let module = polling(parts);
        for blocks in [18, 33, 300] {
            for (seed, workers) in
                SEEDS.into_iter().flat_map(|seed| [1, 2, 5].map(|workers| (seed, workers)))
            {
                let (memory, args) = memory();
                for _ in 0..3 {
                    launch(
                        module.kernel("k").unwrap(),
                        &config(blocks, workers, seed),
                        &args,
                        &memory,
                    )
                    .unwrap();
                    assert_eq!(
                        results(&memory, &args),
                        expected(blocks),
                        "{workers} workers, seed {seed:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn it_can_be_counted_and_traced() {
    let module = polling(LAST);
    let counted = || {
        let (memory, args) = memory();
        let profile =
            count(module.kernel("k").unwrap(), &config(40, 1, None), &args, &memory).unwrap();
        assert_eq!(results(&memory, &args), expected(40));
        profile.counters
    };
    assert_eq!(counted(), counted());
    // On one worker, all blocks before the last one have ended when it polls. It therefore reads 40
    // words of 16 bytes, once.
    assert_eq!(counted().global.load.requests, 2);
    let (memory, args) = memory();
    let config = config(40, 1, None);
    let traced =
        trace(module.kernel("k").unwrap(), &config, &args, &memory, &TraceOptions::default())
            .unwrap();
    assert_eq!((traced.fault, results(&memory, &args)), (None, expected(40)));
}

#[test]
fn value_and_tag_in_one_access_do_not_race() {
    for parts in [LAST, FIRST] {
        assert_eq!(found(parts), (BTreeSet::new(), String::new()));
    }
    // One element of a vector is as wide as a scalar.
    let scalars = Parts {
        store: "st.relaxed.gpu.global.b64 [%d2+8], %d1; st.relaxed.gpu.global.b64 [%d2], %d1;",
        ..LAST
    };
    assert_eq!(found(scalars).0, BTreeSet::new());
}

#[test]
fn faulty_twins_race() {
    for parts in [
        Parts { store: "st.global.v2.b64 [%d2], {%d1, %d1};", ..LAST },
        Parts { store: "st.relaxed.cta.global.v2.b64 [%d2], {%d1, %d1};", ..LAST },
        Parts { poll: "ld.global.v2.b64 {%d3, %d4}, [%d2];", ..LAST },
        Parts { poll: "ld.relaxed.cta.global.v2.b64 {%d3, %d4}, [%d2];", ..LAST },
        Parts { clear: "st.global.v2.b64 [%d2], {0, 0};", ..LAST },
        Parts { clear: "st.global.v2.b64 [%d2], {0, 0};", ..FIRST },
    ] {
        assert!(is_race(&found(parts).0));
    }
}

#[test]
fn halves_of_a_word_race_with_the_word() {
    // The store writes the tag first, and then the value. Each store is strong, but a read of the
    // pair may see only one of them.
    let torn = Parts {
        store: "mov.u32 %r8, 1;
            st.relaxed.gpu.global.b32 [%d2+4], %r8; st.relaxed.gpu.global.b32 [%d2], %r1;
            st.relaxed.gpu.global.b32 [%d2+12], %r8; st.relaxed.gpu.global.b32 [%d2+8], %r1;",
        ..LAST
    };
    let vectors = Parts {
        store: "mov.u32 %r8, 1; st.relaxed.gpu.global.v4.b32 [%d2], {%r1, %r8, %r1, %r8};",
        ..LAST
    };
    for parts in [torn, vectors] {
        let (kinds, text) = found(parts);
        assert!(is_race(&kinds));
        assert!(
            text.contains("of which the two cover different bytes, as no strong accesses may"),
            "{text}"
        );
        assert!(text.contains("help: access the bytes in one size everywhere"), "{text}");
    }
}

#[test]
fn a_value_that_is_not_waited_for_is_missed_in_some_order() {
    // The kernel waits for the second half of each pair. It takes the value of the first half from
    // the pair of another block, for which it does not wait.
    let early = Parts {
        clear: "add.u64 %d7, %d2, 16;
            setp.eq.u32 %p6, %r4, %r3;
            @%p6 mov.u64 %d7, %d2;
            ld.relaxed.gpu.global.b64 %d3, [%d7];",
        ..FIRST
    };
    let module = polling(early);
    let sums = SEEDS.map(|seed| {
        let (memory, args) = memory();
        let checked =
            check(module.kernel("k").unwrap(), &config(40, 1, seed), &args, &memory).unwrap();
        assert_eq!((checked.reports, checked.fault), (vec![], None));
        results(&memory, &args).0
    });
    let right = (2..=40).sum::<u32>() + 40;
    assert!(sums.iter().any(|sum| *sum != right), "{sums:?}");
}

/// Block 5 does not leave its words.
const FORGETFUL: Parts = Parts {
    store: "setp.eq.u32 %p7, %r11, 5; @!%p7 st.relaxed.gpu.global.v2.b64 [%d2], {%d1, %d1};",
    ..LAST
};

#[test]
fn a_word_that_nobody_writes_is_a_livelock() {
    for (parts, poller) in [(FORGETFUL, 39), (Parts { poller: FIRST.poller, ..FORGETFUL }, 0)] {
        let module = polling(parts);
        for (seed, workers) in
            SEEDS.into_iter().flat_map(|seed| [1, 2, 5].map(|workers| (seed, workers)))
        {
            let fault = fault(&module, &config(40, workers, seed));
            let FaultKind::Livelock { standing } = &fault.kind else { panic!("{fault}") };
            // This is the lane that polls block 5's word. The other lanes may stand where the paths
            // join.
            assert!(standing.iter().any(|place| place.lanes == 1 << 5), "{fault}");
            assert_eq!((fault.block.x, fault.kind.name()), (poller, "livelock"));
            let text = fault.to_string();
            assert!(text.contains("livelock: these threads repeat the same steps for ever, and nothing that still runs changes what they read; "), "{text}");
        }
        let (memory, args) = memory();
        let checked =
            check(module.kernel("k").unwrap(), &config(40, 1, None), &args, &memory).unwrap();
        assert!(matches!(checked.fault.unwrap().kind, FaultKind::Livelock { .. }));
    }
}

#[test]
fn a_livelock_ends_a_cooperative_launch_too() {
    let cooperative = LaunchConfig { cooperative: true, ..config(40, 2, None) };
    assert!(matches!(fault(&polling(FORGETFUL), &cooperative).kind, FaultKind::Livelock { .. }));
}

#[test]
fn who_waits_for_a_block_that_faults_is_not_at_fault() {
    let traps = Parts { store: "setp.eq.u32 %p7, %r11, 5; @%p7 trap;", ..LAST };
    for parts in [traps, Parts { poller: FIRST.poller, ..traps }] {
        for workers in [1, 2, 5] {
            let fault = fault(&polling(parts), &config(40, workers, None));
            assert_eq!((fault.block.x, fault.kind), (5, FaultKind::Trap));
        }
    }
}

#[test]
fn who_counts_or_looks_at_a_clock_may_mean_to_end() {
    for wait in [
        "mov.u32 %r1, 400000; again: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again;",
        "again: mov.u64 %d1, %clock64; setp.lt.u64 %p1, %d1, 400000; @%p1 bra again;",
    ] {
        let module = kernel("", &format!("{wait}\nst.global.u32 [%d12], 7;"));
        let (memory, args) = memory();
        launch(module.kernel("k").unwrap(), &config(2, 2, None), &args, &memory).unwrap();
        assert_eq!(results(&memory, &args), (7, true));
    }
}

#[test]
fn loads_that_leave_no_trace_in_a_cache_load_all_the_same() {
    let module = kernel(
        "",
        "griddepcontrol.wait;
        mul.wide.u32 %d1, %r12, 16;
        add.u64 %d1, %d1, %d10;
        ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];
        ld.global.L1::no_allocate.v4.u32 {%r5, %r6, %r7, %r8}, [%d1];
        griddepcontrol.launch_dependents;
        add.u32 %r1, %r1, %r8;
        st.global.u32 [%d12], %r1;",
    );
    let expected: Vec<u32> = (0..64).map(|thread| 8 * thread + 3).collect();
    crate::expect(&module, &LaunchConfig::new(2, 32), &expected);
}
