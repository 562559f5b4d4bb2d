//! Traces: the phases, accesses and memory of kernels for which these are known.

use simt::{
    Access, Arg, EventKind, ExchangeKind, FaultKind, LaunchConfig, LaunchError, Memory,
    MemoryError, Module, PhaseEnd, Space, Trace, TraceOptions, trace,
};

/// A kernel with one pointer parameter, which is in `%rd1`, some registers and 1024 bytes of shared
/// memory.
fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data) {{
.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.shared .align 16 .b8 cells[1024];
ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n{body}\nret;\n}}"
    );
    Module::from_ptx("k.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Traces the kernel on 256 bytes of global memory, which are recorded too.
fn traced(body: &str, config: &LaunchConfig, limits: &TraceOptions) -> Trace {
    let module = module(body);
    let memory = Memory::new(1 << 20);
    let data = memory.alloc(256).unwrap();
    let ranges = std::iter::once(data..data + 256).collect();
    let options = TraceOptions { ranges, ..limits.clone() };
    trace(module.kernel("k").unwrap(), config, &[Arg::Pointer(data)], &memory, &options).unwrap()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect()
}

fn ends(trace: &Trace, block: usize) -> Vec<PhaseEnd> {
    trace.blocks[block].phases.iter().map(|phase| phase.end).collect()
}

/// Two warps meet at a barrier, and then warp 0 alone synchronises its lanes twice.
const STEPS: &str = "
    st.shared.u32 [%r2], %r1;
    bar.sync 0;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra DONE;
    ld.shared.u32 %r3, [%r2+128];
    bar.warp.sync 0xffffffff;
    st.shared.u32 [%r2], %r3;
    bar.warp.sync 0xffffffff;
    st.global.u32 [%rd1], %r3;
DONE:";

#[test]
fn phases_end_where_threads_synchronise() {
    let trace = traced(STEPS, &LaunchConfig::new(1, 64), &TraceOptions::default());
    assert!(!trace.truncated && trace.fault.is_none());
    let sync = PhaseEnd::WarpSync { warp: 0, lanes: u32::MAX };
    assert_eq!(ends(&trace, 0), [PhaseEnd::Barrier { id: 0 }, sync, sync, PhaseEnd::Exit]);

    let phases = &trace.blocks[0].phases;
    let kinds: Vec<Vec<_>> =
        phases.iter().map(|p| p.accesses.iter().map(|a| (a.warp, a.access)).collect()).collect();
    let (read, write) = (Access::Read, Access::Write);
    assert_eq!(
        kinds,
        [vec![(0, write), (1, write)], vec![(0, read)], vec![(0, write)], vec![(0, write)]]
    );

    // The recorded memory is that of the end of each phase.
    let first: Vec<u32> = (0..64).collect();
    let moved: Vec<u32> = (32..64).chain(32..64).collect();
    for (phase, cells) in phases.iter().zip([&first, &first, &moved, &moved]) {
        assert_eq!(words(&phase.shared)[..64], cells[..], "{:?}", phase.end);
    }
    let output = |phase: usize| words(&phases[phase].ranges[0])[0];
    assert_eq!((output(2), output(3)), (0, 63));
}

#[test]
fn accesses_name_thread_address_value_and_line() {
    let trace = traced(STEPS, &LaunchConfig::new(1, 64), &TraceOptions::default());
    let load = &trace.blocks[0].phases[1].accesses[0];
    assert_eq!((load.space, load.bytes, load.lanes.len()), (Space::Shared, 4, 32));
    for (thread, lane) in (0u32..).zip(&load.lanes) {
        assert_eq!(
            (lane.thread, lane.address, words(&lane.value)),
            (thread, u64::from(thread) * 4 + 128, vec![thread + 32])
        );
    }
    let second_warp = &trace.blocks[0].phases[0].accesses[1];
    assert_eq!((second_warp.lanes[0].thread, second_warp.lanes[0].address), (32, 128));
    assert_eq!(trace.instructions[load.instruction].text, "ld.shared.u32 %r3, [%r2+128];");
    assert_eq!(trace.instructions[load.instruction].line, 17);
    let lines: Vec<u32> = trace.instructions.iter().map(|instruction| instruction.line).collect();
    assert!(lines.is_sorted(), "{lines:?}");
}

#[test]
fn banks_and_sectors_are_those_of_the_hardware() {
    // The lanes access every second word: 64 words in 32 banks, and 256 bytes in 8 sectors. Then
    // every lane adds to one word of shared memory.
    let trace = traced(
        "shl.b32 %r3, %r1, 3;
         ld.shared.u32 %r4, [%r3];
         cvt.u64.u32 %rd2, %r3;
         add.u64 %rd2, %rd1, %rd2;
         ld.global.u32 %r4, [%rd2];
         mov.u32 %r5, cells;
         atom.shared.add.u32 %r4, [%r5], 1;",
        &LaunchConfig::new(1, 32),
        &TraceOptions::default(),
    );
    let [phase] = &trace.blocks[0].phases[..] else { panic!("{trace:?}") };
    let figures: Vec<_> =
        phase.accesses.iter().map(|a| (a.sectors, a.wavefronts, a.bank_conflicts)).collect();
    assert_eq!(figures, [(0, 2, 1), (8, 0, 0), (0, 32, 31)]);
    assert_eq!(phase.accesses[2].access, Access::Atomic);
    assert_eq!(words(&phase.shared)[0], 32);
}

#[test]
fn each_block_has_its_own_phases() {
    let trace = traced(STEPS, &LaunchConfig::new((2, 2), 64), &TraceOptions::default());
    let blocks: Vec<_> = trace.blocks.iter().map(|block| (block.block.x, block.block.y)).collect();
    assert_eq!(blocks, [(0, 0), (1, 0), (0, 1), (1, 1)]);
    assert!((0..4).all(|block| ends(&trace, block) == ends(&trace, 0)));
}

#[test]
fn traces_stop_at_their_limits_and_say_so() {
    let config = LaunchConfig::new(1, 64);
    let whole = traced(STEPS, &config, &TraceOptions::default());
    for (max_accesses, phases) in [(5, 4), (4, 3), (3, 2), (2, 1), (1, 0), (0, 0)] {
        let trace =
            traced(STEPS, &config, &TraceOptions { max_accesses, ..TraceOptions::default() });
        assert_eq!(trace.truncated, max_accesses < 5);
        assert_eq!(trace.blocks[0].phases[..], whole.blocks[0].phases[..phases], "{max_accesses}");
    }
    let bytes = 1024 + 256;
    for (max_snapshot_bytes, phases) in [(4 * bytes, 4), (4 * bytes - 1, 3), (0, 0)] {
        let trace =
            traced(STEPS, &config, &TraceOptions { max_snapshot_bytes, ..TraceOptions::default() });
        assert_eq!((trace.truncated, trace.blocks[0].phases.len()), (phases < 4, phases));
    }
}

#[test]
fn a_fault_ends_the_trace_and_is_in_it() {
    let body = "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nst.shared.u32 [%r2], 7;\nst.shared.u32 [%r2+4096], %r1;";
    let trace = traced(body, &LaunchConfig::new(1, 32), &TraceOptions::default());
    assert!(
        matches!(trace.fault.as_ref().unwrap().kind, FaultKind::OutOfBounds { .. }),
        "{:?}",
        trace.fault
    );
    assert_eq!(ends(&trace, 0), [PhaseEnd::Barrier { id: 0 }, PhaseEnd::Stopped]);
    let last = &trace.blocks[0].phases[1];
    assert_eq!((last.accesses.len(), &words(&last.shared)[..32]), (1, &[7; 32][..]));
}

#[test]
fn local_memory_is_each_threads_own() {
    let module = Module::from_ptx(
        "local.ptx",
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() {
.reg .b32 %r<3>;\n.local .align 4 .b8 own[8];\nmov.u32 %r1, %tid.x;\nst.local.u32 [own+4], %r1;\nret;\n}",
    )
    .unwrap();
    let memory = Memory::new(1 << 20);
    let options = TraceOptions::default();
    let trace =
        trace(module.kernel("k").unwrap(), &LaunchConfig::new(1, 40), &[], &memory, &options)
            .unwrap();
    let accesses = &trace.blocks[0].phases[0].accesses;
    let lanes: Vec<_> = accesses
        .iter()
        .flat_map(|a| &a.lanes)
        .map(|l| (l.thread, l.address, words(&l.value)[0]))
        .collect();
    let expected: Vec<_> = (0..40).map(|thread| (thread, 4, thread)).collect();
    assert_eq!(lanes, expected);
}

#[test]
fn what_cannot_be_traced_is_refused() {
    let module = module("");
    let memory = Memory::new(1 << 20);
    let data = memory.alloc(16).unwrap();
    let run = |config: &LaunchConfig, start: u64, end: u64| {
        let options = TraceOptions {
            ranges: std::iter::once(start..end).collect(),
            ..TraceOptions::default()
        };
        trace(module.kernel("k").unwrap(), config, &[Arg::Pointer(data)], &memory, &options)
    };
    let one = LaunchConfig::new(1, 1);
    assert_eq!(
        run(&one, data, data + 17),
        Err(LaunchError::TraceRange(MemoryError::OutOfBounds { address: data, bytes: 17 }))
    );
    assert!(run(&one, 0, u64::MAX).is_err());
    assert!(run(&LaunchConfig::new(0, 1), data, data + 16).is_err());
    // A range without bytes is allowed. Nothing of it is recorded.
    assert_eq!(run(&one, data, data).unwrap().blocks[0].phases[0].ranges, [[0u8; 0]]);
    assert_eq!(run(&one, data + 8, data).unwrap().blocks[0].phases[0].ranges, [[0u8; 0]]);
}

/// Lane i adds the value of lane i + 1, stores the sum, fences, and reduces the warp.
const LANES: &str = "
    mul.lo.u32 %r3, %r1, 10;
    mov.u32 %r4, -1;
    shfl.sync.down.b32 %r5, %r3, 1, 31, %r4;
    add.u32 %r6, %r3, %r5;
    st.shared.u32 [%r2], %r6;
    membar.gl;
    redux.sync.add.u32 %r7, %r1, %r4;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    st.global.u32 [%rd1], %r7;
DONE:";

#[test]
fn exchanges_name_source_lanes_and_values() {
    let trace = traced(LANES, &LaunchConfig::new(1, 32), &TraceOptions::default());
    let [phase] = &trace.blocks[0].phases[..] else { panic!("{trace:?}") };
    let [shuffle, reduction] = &phase.exchanges[..] else { panic!("{phase:?}") };
    assert_eq!((shuffle.kind, reduction.kind), (ExchangeKind::Shuffle, ExchangeKind::Reduction));
    for (lane, part) in (0..32).zip(&shuffle.lanes) {
        // The last lane has no lane above it, so it gets its own value.
        let from = if lane < 31 { lane + 1 } else { 31 };
        assert_eq!(
            (part.thread, part.gave, part.from, part.got),
            (lane, 10 * lane, 1 << from, 10 * from)
        );
    }
    for (lane, part) in (0..32).zip(&reduction.lanes) {
        assert_eq!((part.gave, part.from, part.got), (lane, u32::MAX, 31 * 32 / 2));
    }

    // Everything has its place in the order of time.
    let [fence] = &phase.events[..] else { panic!("{phase:?}") };
    assert_eq!(fence.kind, EventKind::Fence { warp: 0 });
    let [shared, global] = &phase.accesses[..] else { panic!("{phase:?}") };
    let times = [shuffle.time, shared.time, fence.time, reduction.time, global.time];
    assert_eq!(times, [1, 2, 3, 4, 5]);
}

#[test]
fn lanes_at_two_shuffles_make_one_exchange() {
    // The lower half gives its numbers plus 100 at another instruction than the upper half.
    let body = "
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r3, %r1, 16, 31, 0xffffffff;
    bra JOIN;
LOW:
    add.u32 %r4, %r1, 100;
    shfl.sync.bfly.b32 %r4, %r4, 17, 31, 0xffffffff;
JOIN:";
    let trace = traced(body, &LaunchConfig::new(1, 32), &TraceOptions::default());
    let [exchange] = &trace.blocks[0].phases[0].exchanges[..] else { panic!("{trace:?}") };
    assert_eq!((exchange.kind, exchange.lanes.len()), (ExchangeKind::Shuffle, 32));
    let give = |lane: u32| if lane < 16 { lane + 100 } else { lane };
    for (lane, part) in (0..32).zip(&exchange.lanes) {
        let from = lane ^ if lane < 16 { 17 } else { 16 };
        let expected = (lane, give(lane), 1 << from, give(from));
        assert_eq!((part.thread, part.gave, part.from, part.got), expected);
    }
}

#[test]
fn a_limit_holds_for_exchanges_too() {
    let options = TraceOptions { max_accesses: 1, ..TraceOptions::default() };
    let trace = traced(LANES, &LaunchConfig::new(1, 32), &options);
    assert!(trace.truncated && trace.blocks[0].phases.is_empty(), "{trace:?}");
}
