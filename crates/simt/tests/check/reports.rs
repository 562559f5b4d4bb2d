//! Whole reports, as people read them.

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
        st.shared.u32 [%r13], %r3;"), @"");
    assert_snapshot!(report(LaunchConfig::new(2, 1), "st.global.u32 [%d11+4], %r11;"), @"");
    assert_snapshot!(report(LaunchConfig::new(2, 1), "red.relaxed.cta.global.add.u32 [%d11+4], 1;"), @"");
    assert_snapshot!(report(LaunchConfig::new(1, 64), "red.global.add.u32 [%d11], 1; ld.global.u32 %r1, [%d11];"), @"");
    assert_snapshot!(report(LaunchConfig::new(1, 2), "st.global.v2.u32 [%d11], {%r10, %r10};"), @"");
}

#[test]
fn lanes_that_rely_on_lock_step_are_named() {
    let module = Module::from_ptx("lock_step.sm_80.ptx", include_str!("../data/lock_step.sm_80.ptx")).unwrap();
    let memory = Memory::checked(1 << 20);
    let (data, out) = (memory.alloc(512).unwrap(), memory.alloc(4).unwrap());
    memory.write(data, &[1; 512]).unwrap();
    let config = LaunchConfig { dynamic_shared_bytes: 256, ..LaunchConfig::new(1, 64) };
    let args = [Arg::Pointer(data), Arg::Pointer(out), Arg::U32(128)];
    let checked = check(module.kernel("rung5").unwrap(), &config, &args, &memory).unwrap();
    assert_snapshot!(checked.reports[0], @"");
}

#[test]
fn reads_of_nothing_say_how_much_is_missing() {
    assert_snapshot!(report(LaunchConfig::new(2, 32), "ld.shared.u32 %r1, [%r13];"), @"");
    assert_snapshot!(report(LaunchConfig::new(1, 1), "st.shared.u8 [s+3], 1; ld.shared.u32 %r1, [s];"), @"");
}

#[test]
fn barriers_and_masks_name_who_waits() {
    assert_snapshot!(report(LaunchConfig::new(1, 64), "setp.ge.u32 %p1, %r10, 32; @%p1 bra other; bar.sync 0; bra done; other: bar.sync 0; done:"), @"");
    assert_snapshot!(report(LaunchConfig::new(1, 20), "shfl.sync.idx.b32 %r1, %r10, 0, 31, -1;"), @"");
    assert_snapshot!(report(LaunchConfig::new(1, 32), "setp.ge.u32 %p1, %r10, 16; @%p1 exit; bar.warp.sync -1;"), @"");
    assert_snapshot!(report(LaunchConfig::new(1, 32), "setp.ge.u32 %p1, %r10, 16; @%p1 exit; shfl.sync.idx.b32 %r1, %r10, 17, 31, 0xffff;"), @"");
}

#[test]
fn faults_are_reported_alike() {
    assert_snapshot!(fault(LaunchConfig::new(2, 64), "add.u64 %d1, %d12, 1048320; ld.global.u32 %r1, [%d1];"), @"");
    assert_snapshot!(fault(LaunchConfig::new(1, 64), "setp.eq.u32 %p1, %r10, 0; @%p1 bar.sync 0;"), @"");
    assert_snapshot!(fault(LaunchConfig::new(1, 1), "trap;"), @"");
}
