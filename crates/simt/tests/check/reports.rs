//! Whole reports, in the form in which people read them.

use insta::assert_snapshot;
use simt::{Arg, LaunchConfig, Memory, Module, check};

use crate::{kernel, run};

/// The only report on a kernel.
#[track_caller]
fn report(config: LaunchConfig, body: &str) -> String {
    let checked = run(&kernel(body), &config);
    let [report] = &checked.reports[..] else { panic!("{} reports", checked.reports.len()) };
    report.to_string()
}

#[track_caller]
fn fault(config: LaunchConfig, body: &str) -> String {
    run(&kernel(body), &config).fault.expect("the kernel must fault").report()
}

#[test]
fn races_name_both_parties() {
    assert_snapshot!(report(LaunchConfig::new(1, 64), "xor.b32 %r1, %r10, 32; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
        st.shared.u32 [%r13], %r10;
        bar.sync 0;
        ld.shared.u32 %r3, [%r1];
        st.shared.u32 [%r13], %r3;"), @r"
    error[race]: thread (32,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x0 that thread (0,0,0) wrote without a barrier between
      --> k.ptx:23
       | ld.shared.u32 %r3, [%r1];
    other: thread (0,0,0) of block (0,0,0) writes 4 bytes of shared memory at 0x0
      --> k.ptx:24
       | st.shared.u32 [%r13], %r3;
    help: put a barrier of the block between the two: bar.sync (`sync_threads`, `__syncthreads`)
    note: found 63 times more at the same place
    ");
    assert_snapshot!(report(LaunchConfig::new(2, 1), "st.global.u32 [%d11+4], %r11;"), @r"
    error[race]: thread (0,0,0) of block (1,0,0) writes 4 bytes of global memory at 0x100101004 that thread (0,0,0) of block (0,0,0) wrote, and nothing orders the two blocks
      --> k.ptx:20
       | st.global.u32 [%d11+4], %r11;
    other: thread (0,0,0) of block (0,0,0) writes 4 bytes of global memory at 0x100101004
      --> k.ptx:20
       | st.global.u32 [%d11+4], %r11;
    help: blocks run in any order: let each write to words of its own, use atomics, or publish with a fence (`device_fence`, `__threadfence`) and an atomic
    ");
    assert_snapshot!(report(LaunchConfig::new(2, 1), "red.relaxed.cta.global.add.u32 [%d11+4], 1;"), @r"
    error[race]: thread (0,0,0) of block (1,0,0) updates 4 bytes of global memory at 0x100101004 by an atomic that thread (0,0,0) of block (0,0,0) updated by an atomic, but the scope of one does not hold the other's block
      --> k.ptx:20
       | red.relaxed.cta.global.add.u32 [%d11+4], 1;
    other: thread (0,0,0) of block (0,0,0) updates 4 bytes of global memory at 0x100101004 by an atomic
      --> k.ptx:20
       | red.relaxed.cta.global.add.u32 [%d11+4], 1;
    help: give both accesses a scope that holds both blocks: .gpu
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 64), "red.global.add.u32 [%d11], 1; ld.global.u32 %r1, [%d11];"), @r"
    error[race]: thread (0,0,0) of block (0,0,0) reads 4 bytes of global memory at 0x100101000 that thread (31,0,0) updated by an atomic, and nothing orders the two lanes of this warp
      --> k.ptx:20
       | ld.global.u32 %r1, [%d11];
    other: thread (31,0,0) of block (0,0,0) updates 4 bytes of global memory at 0x100101000 by an atomic
      --> k.ptx:20
       | red.global.add.u32 [%d11], 1;
    help: make both accesses atomic, or put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two
    note: found 62 times more at the same place
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 2), "st.global.v2.u32 [%d11], {%r10, %r10};"), @r"
    error[race]: thread (0,0,0) of block (0,0,0) writes 8 bytes of global memory at 0x100101000, and thread (1,0,0) writes another value there in the same instruction
      --> k.ptx:20
       | st.global.v2.u32 [%d11], {%r10, %r10};
    other: thread (1,0,0) of block (0,0,0) writes 8 bytes of global memory at 0x100101000
      --> k.ptx:20
       | st.global.v2.u32 [%d11], {%r10, %r10};
    help: which value stays is undefined: let one lane write, or use an atomic
    ");
}

#[test]
fn lanes_that_rely_on_lock_step_are_named() {
    let module =
        Module::from_ptx("lock_step.sm_80.ptx", include_str!("../data/lock_step.sm_80.ptx"))
            .unwrap();
    let memory = Memory::checked(1 << 20);
    let (data, out) = (memory.alloc(512).unwrap(), memory.alloc(4).unwrap());
    memory.write(data, &[1; 512]).unwrap();
    let config = LaunchConfig { dynamic_shared_bytes: 256, ..LaunchConfig::new(1, 64) };
    let args = [Arg::Pointer(data), Arg::Pointer(out), Arg::U32(128)];
    let checked = check(module.kernel("rung5").unwrap(), &config, &args, &memory).unwrap();
    assert_snapshot!(checked.reports[0], @r"
    error[warp-synchronous]: thread (1,0,0) of block (0,0,0) writes 4 bytes of shared memory at 0x4 that thread (0,0,0) read, and nothing orders the two lanes of this warp
      --> lock_step.cu:19:9
       | lock_step.sm_80.ptx:117: st.shared.u32 [%r10], %r37;
    other: thread (0,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x4
      --> lock_step.cu:19:9
       | lock_step.sm_80.ptx:115: ld.shared.u32 %r36, [%r10+4];
    help: lanes of a warp do not run in lock step: put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two
    ");
}

#[test]
fn reads_of_nothing_say_how_much_is_missing() {
    assert_snapshot!(report(LaunchConfig::new(2, 32), "ld.shared.u32 %r1, [%r13];"), @r"
    warning[uninitialized-read]: thread (0,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x0 that nothing has written
      --> k.ptx:20
       | ld.shared.u32 %r1, [%r13];
    help: shared memory begins undefined in each block: write it before, with a barrier between
    note: found 63 times more at the same place
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 1), "st.shared.u8 [s+3], 1; ld.shared.u32 %r1, [s];"), @r"
    warning[uninitialized-read]: thread (0,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x0 of which nothing has written 3
      --> k.ptx:20
       | ld.shared.u32 %r1, [s];
    help: shared memory begins undefined in each block: write it before, with a barrier between
    ");
}

#[test]
fn uses_of_nothing_name_the_read() {
    assert_snapshot!(report(LaunchConfig::new(2, 32), "ld.shared.u32 %r1, [%r13]; add.u32 %r1, %r1, 1; st.global.u32 [%d12], %r1;"), @r"
    error[uninitialized-read]: thread (0,0,0) of block (0,0,0) writes 4 bytes of global memory at 0x100101000 with a value that comes from bytes that nothing has written
      --> k.ptx:20
       | st.global.u32 [%d12], %r1;
    other: thread (0,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x0
      --> k.ptx:20
       | ld.shared.u32 %r1, [%r13];
    help: shared memory begins undefined in each block: write it before, with a barrier between
    note: found 63 times more at the same place
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 32), "ld.shared.u32 %r1, [%r13]; setp.eq.u32 %p1, %r1, 0; @%p1 bra next; next:"), @r"
    error[uninitialized-read]: thread (0,0,0) of block (0,0,0) takes a branch by a value that comes from bytes that nothing has written
      --> k.ptx:20
       | @%p1 bra next;
    other: thread (0,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x0
      --> k.ptx:20
       | ld.shared.u32 %r1, [%r13];
    help: shared memory begins undefined in each block: write it before, with a barrier between
    note: found 31 times more at the same place
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 1), "st.shared.u8 [s], 1; ld.shared.u32 %r1, [s]; st.global.u32 [%d12], %r1;"), @r"
    warning[uninitialized-read]: thread (0,0,0) of block (0,0,0) writes 4 bytes of global memory at 0x100101000 with a value of which a part comes from bytes that nothing has written
      --> k.ptx:20
       | st.global.u32 [%d12], %r1;
    other: thread (0,0,0) of block (0,0,0) reads 4 bytes of shared memory at 0x0
      --> k.ptx:20
       | ld.shared.u32 %r1, [s];
    help: shared memory begins undefined in each block: write it before, with a barrier between
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 32), "setp.ge.u32 %p1, %r10, 16; @%p1 exit; shfl.sync.idx.b32 %r1, %r10, 17, 31, 0xffff; st.global.u32 [%d12], %r1;"), @r"
    error[stray-shuffle]: thread (0,0,0) of block (0,0,0) writes 4 bytes of global memory at 0x100101000 with a value that comes from a lane that takes no part in a shuffle
      --> k.ptx:20
       | st.global.u32 [%d12], %r1;
    other: thread (0,0,0) of block (0,0,0) gets the value here
      --> k.ptx:20
       | shfl.sync.idx.b32 %r1, %r10, 17, 31, 0xffff;
    help: what a shuffle gets from such a lane is undefined: bring the lane to the shuffle too
    note: found 15 times more at the same place
    ");
}

#[test]
fn what_cannot_change_a_result_is_a_warning() {
    assert_snapshot!(report(LaunchConfig::new(1, 64), "setp.ge.u32 %p1, %r10, 40; @%p1 bra done; bar.sync 0; done:"), @r"
    warning[divergent-barrier]: lanes 0-7 of warp 1 of block (0,0,0) wait at a barrier of whole warps, and lanes 8-31 of the warp exit without it
      --> k.ptx:20
       | bar.sync 0;
    other: thread (40,0,0) of block (0,0,0) exits here
      --> k.ptx:21
       | ret;
    help: PTX leaves this undefined, although GPUs since sm_70 count threads that have exited: let all threads of a warp reach the barrier, and put the condition around the work alone
    ");
    assert_snapshot!(report(LaunchConfig::new(2, 1), "st.global.u32 [%d11+4], 1;"), @r"
    warning[race]: thread (0,0,0) of block (1,0,0) writes 4 bytes of global memory at 0x100101004 that thread (0,0,0) of block (0,0,0) wrote, and nothing orders the two, but both write the same value
      --> k.ptx:20
       | st.global.u32 [%d11+4], 1;
    other: thread (0,0,0) of block (0,0,0) writes 4 bytes of global memory at 0x100101004
      --> k.ptx:20
       | st.global.u32 [%d11+4], 1;
    help: no result depends on it as long as the values are equal: let one thread write, or use an atomic, if that is not certain
    ");
    assert_snapshot!(report(LaunchConfig::new(2, 1), "ld.global.u32 %r1, [%d11]; atom.global.cas.b32 %r2, [%d11], %r1, 5;"), @r"
    warning[race]: thread (0,0,0) of block (1,0,0) reads 4 bytes of global memory at 0x100101000 that thread (0,0,0) of block (0,0,0) updated by an atomic, and nothing orders the two, but a compare-and-swap decides whether the value is still right
      --> k.ptx:20
       | ld.global.u32 %r1, [%d11];
    other: thread (0,0,0) of block (0,0,0) updates 4 bytes of global memory at 0x100101000 by an atomic
      --> k.ptx:20
       | atom.global.cas.b32 %r2, [%d11], %r1, 5;
    help: no result depends on it if the value serves the compare-and-swap alone: read it by ld.relaxed or an atomic to be certain of that
    ");
}

#[test]
fn barriers_and_masks_name_who_waits() {
    assert_snapshot!(report(LaunchConfig::new(1, 64), "setp.ne.u32 %p1, %r10, 40; @%p1 bra on; bar.sync 0; on: st.global.u32 [%d12], 1;"), @r"
    error[divergent-barrier]: lanes 0-7, 9-31 of warp 1 of block (0,0,0) run on behind a barrier of whole warps, at which lane 8 of the warp waits
      --> k.ptx:20
       | st.global.u32 [%d12], 1;
    other: thread (40,0,0) of block (0,0,0) waits here
      --> k.ptx:20
       | bar.sync 0;
    help: let all threads of the block reach the barrier: put the condition around the work alone
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 64), "setp.ge.u32 %p1, %r10, 32; @%p1 bra other; bar.sync 0; bra done; other: bar.sync 0; done:"), @r"
    warning[divergent-barrier]: thread (32,0,0) of block (0,0,0) waits at barrier 0 while thread (0,0,0) waits at another of its instructions
      --> k.ptx:20
       | bar.sync 0;
    other: thread (0,0,0) of block (0,0,0) waits here
      --> k.ptx:20
       | bar.sync 0;
    help: PTX lets the two meet, but CUDA C++ leaves it undefined: let all threads of the block reach the same barrier
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 64), "setp.ge.u32 %p1, %r10, 32; @%p1 bra other; @!%p1 bar.sync 0; other: bar.sync 0;"), @r"
    error[divergent-barrier]: thread (32,0,0) of block (0,0,0) waits at barrier 0 while thread (0,0,0) waits at another of its instructions
      --> k.ptx:20
       | bar.sync 0;
    other: thread (0,0,0) of block (0,0,0) waits here
      --> k.ptx:20
       | @!%p1 bar.sync 0;
    help: let all threads of the block reach the same barrier: move it out of the branch
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 20), "shfl.sync.idx.b32 %r1, %r10, 0, 31, -1;"), @r"
    warning[absent-lanes]: thread (0,0,0) of block (0,0,0) waits for the members of mask 0xffffffff, of which lanes 20-31 of warp 0 never had a thread
      --> k.ptx:20
       | shfl.sync.idx.b32 %r1, %r10, 0, 31, -1;
    help: let the mask name the lanes that take part: `ballot` before lanes part tells them
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 32), "setp.ge.u32 %p1, %r10, 16; @%p1 exit; bar.warp.sync -1;"), @r"
    warning[absent-lanes]: thread (0,0,0) of block (0,0,0) waits for the members of mask 0xffffffff, of which lanes 16-31 of warp 0 will not come
      --> k.ptx:20
       | bar.warp.sync -1;
    help: let the mask name the lanes that take part: `ballot` before lanes part tells them
    ");
    assert_snapshot!(report(LaunchConfig::new(1, 32), "setp.ge.u32 %p1, %r10, 16; @%p1 exit; shfl.sync.idx.b32 %r1, %r10, 17, 31, 0xffff;"), @r"
    warning[stray-shuffle]: thread (0,0,0) of block (0,0,0) reads by a shuffle from a lane that does not take part
      --> k.ptx:20
       | shfl.sync.idx.b32 %r1, %r10, 17, 31, 0xffff;
    help: what it gets is undefined: bring the source lane to the shuffle too
    note: found 15 times more at the same place
    ");
}

#[test]
fn faults_are_reported_alike() {
    assert_snapshot!(fault(LaunchConfig::new(2, 64), "add.u64 %d1, %d12, 1048320; ld.global.u32 %r1, [%d1];"), @r"
    error[out-of-bounds]: thread (0,0,0) of block (1,0,0): out-of-bounds global read of 4 bytes at 0x100201000, 4 bytes past the end of the nearest allocation (1048576 bytes at 0x100101000)
      --> k.ptx:20
       | ld.global.u32 %r1, [%d1];
    help: compare the index with the length before the access
    ");
    assert_snapshot!(fault(LaunchConfig::new(1, 64), "setp.ge.u32 %p1, %r10, 16; @%p1 bra other; bar.sync 0; bra done; other: bar.warp.sync -1; done:"), @r"
    error[divergent-barrier]: thread (0,0,0) of block (0,0,0): barrier 0 that not all threads reach: warp 0 lanes 0-15 at line 20 `bar.sync 0;`, warp 0 lanes 16-31 at line 20 `bar.warp.sync -1;` wait; 32 threads have exited
      --> k.ptx:20
       | bar.sync 0;
    help: let all threads of the block reach the barrier: move it out of the branch, and let none exit before
    ");
    assert_snapshot!(fault(LaunchConfig::new(1, 1), "trap;"), @r"
    error[trap]: thread (0,0,0) of block (0,0,0): trap
      --> k.ptx:20
       | trap;
    ");
}
