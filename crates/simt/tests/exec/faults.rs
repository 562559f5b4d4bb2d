//! Every fault, with its whole message, and every refusal of a launch.

use insta::assert_snapshot;
use simt::{Arg, Dim3, LaunchConfig, LaunchError, Memory, MemoryError, Module, launch_named};

use crate::{kernel, run};

/// The message of the fault that `body` raises in 2 blocks of 64 threads. It must be the same with
/// every number of workers.
fn fault(declarations: &str, body: &str) -> String {
    let module = kernel(declarations, body);
    let message = |workers| {
        let config = LaunchConfig { workers: Some(workers), ..LaunchConfig::new(2, 64) };
        run(&module, &config, &[0; 4], 4).expect_err("the kernel must fault").to_string()
    };
    let first = message(1);
    assert_eq!(message(2), first);
    first
}

#[test]
fn memory_faults() {
    assert_snapshot!(fault("", "mad.wide.u32 %d1, %r10, 8, %d10;\nld.global.u64 %d2, [%d1];"), @"kernel `k`, block (0,0,0), thread (4,0,0), test.ptx:18 `ld.global.u64 %d2, [%d1];`: out-of-bounds global read of 8 bytes at 0x100000020, 8 bytes past the end of the nearest allocation (32 bytes at 0x100000000)");
    assert_snapshot!(fault("", "ld.global.u32 %r1, [%d10+-4];"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:17 `ld.global.u32 %r1, [%d10+-4];`: out-of-bounds global read of 4 bytes at 0xfffffffc, 4 bytes before the start of the nearest allocation (32 bytes at 0x100000000)");
    assert_snapshot!(fault("", "st.global.v2.u32 [%d10+4], {%r1, %r1};"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:17 `st.global.v2.u32 [%d10+4], {%r1, %r1};`: misaligned global write of 8 bytes at 0x100000004, which must be a multiple of 8");
    assert_snapshot!(fault("", "mov.u64 %d1, 8;\natom.global.add.u32 %r1, [%d1], 1;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:18 `atom.global.add.u32 %r1, [%d1], 1;`: atomic of 4 bytes through a null pointer (0x8)");
    assert_snapshot!(fault(".shared .u32 tile[4];", "mov.u32 %r1, tile;\nmad.lo.u32 %r1, %r10, 4, %r1;\nst.shared.u32 [%r1], 0;"), @"kernel `k`, block (0,0,0), thread (4,0,0), test.ptx:19 `st.shared.u32 [%r1], 0;`: out-of-bounds shared write of 4 bytes at 0x10, 4 bytes past the end of the 16 shared bytes");
    assert_snapshot!(fault("", ".local .u64 own;\nld.local.u64 %d1, [own+8];"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:18 `ld.local.u64 %d1, [own+8];`: out-of-bounds local read of 8 bytes at 0x8, 8 bytes past the end of the 8 local bytes");
    assert_snapshot!(fault(".shared .u64 tile;", "ld.shared.u64 %d1, [tile+4];"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:17 `ld.shared.u64 %d1, [tile+4];`: misaligned shared read of 8 bytes at 0x4, which must be a multiple of 8");
}

#[test]
fn an_access_at_the_end_of_the_address_space_is_a_fault() {
    let message = fault("", "mov.u64 %d1, 0xfffffffffffffff8;\nld.global.u64 %d2, [%d1];");
    assert!(
        message.contains("out-of-bounds global read of 8 bytes at 0xfffffffffffffff8"),
        "{message}"
    );
}

#[test]
fn a_modules_variables_must_fit_into_memory() {
    let module = kernel(
        ".global .u32 small;\n.global .u32 large[1000];",
        "mov.u64 %d1, small;\nmov.u64 %d2, large;",
    );
    let memory = Memory::new(1000);
    let args = [Arg::Pointer(0), Arg::Pointer(0)];
    let error = launch_named(&module, "k", &LaunchConfig::new(1, 1), &args, &memory).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the variables of module `test.ptx` could not be placed: out of device memory: 4000 bytes were asked for and 996 of 1000 are free"
    );
    assert_eq!(memory.used(), 0);
}

#[test]
fn arithmetic_faults() {
    assert_snapshot!(fault("", "sub.u32 %r1, %r10, 5;\ndiv.s32 %r2, %r10, %r1;"), @"kernel `k`, block (0,0,0), thread (5,0,0), test.ptx:18 `div.s32 %r2, %r10, %r1;`: integer division by zero");
    assert_snapshot!(fault("", "setp.eq.u32 %p1, %r12, 40;\n@%p1 trap;"), @"kernel `k`, block (0,0,0), thread (40,0,0), test.ptx:18 `@%p1 trap;`: trap");
}

#[test]
fn a_failed_assertion_is_a_fault() {
    let declarations = ".extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);";
    let body = "setp.eq.u32 %p1, %r12, 40;\n@%p1 call __assertfail, (0, 0, 7, 0, 1);";
    assert_snapshot!(fault(declarations, body), @"kernel `k`, block (0,0,0), thread (40,0,0), test.ptx:18 `@%p1 call __assertfail, (0, 0, 7, 0, 1);`: assertion failed");
}

#[test]
fn a_freed_allocation_is_named() {
    let module = kernel("", "ld.global.u32 %r1, [%d10+8];");
    let memory = Memory::new(1 << 20);
    let from = memory.alloc(100).unwrap();
    memory.free(from).unwrap();
    let config = LaunchConfig::new(1, 1);
    let error =
        launch_named(&module, "k", &config, &[Arg::Pointer(from), Arg::Pointer(0)], &memory)
            .unwrap_err();
    assert_snapshot!(error, @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:17 `ld.global.u32 %r1, [%d10+8];`: read of 4 bytes at 0x100000008 in freed memory: the allocation of 100 bytes at 0x100000000 was freed");
    assert_eq!(memory.free(from), Err(MemoryError::NotAnAllocation { address: from }));
}

#[test]
fn barriers_that_not_all_reach() {
    assert_snapshot!(fault("", "setp.lt.u32 %p1, %r10, 32;\n@%p1 bar.sync 3;\n@!%p1 bar.sync 4;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:18 `@%p1 bar.sync 3;`: barrier 3 that not all threads reach: warp 0 lanes 0-31 at line 18 `@%p1 bar.sync 3;`, warp 1 lanes 0-31 at line 19 `@!%p1 bar.sync 4;` wait");
    assert_snapshot!(fault("", "setp.lt.u32 %p1, %r10, 7;\n@%p1 bra a;\nbar.sync 0;\nexit;\na:\nbar.sync 0;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:22 `bar.sync 0;`: barrier 0 that not all threads reach: warp 0 lanes 0-6 at line 22 `bar.sync 0;`, warp 0 lanes 7-31 at line 19 `bar.sync 0;`, warp 1 lanes 0-31 at line 19 `bar.sync 0;` wait");
    assert_snapshot!(fault("", "setp.lt.u32 %p1, %r10, 32;\n@%p1 bar.sync 1, 96;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:18 `@%p1 bar.sync 1, 96;`: barrier 1 that not all threads reach: warp 0 lanes 0-31 at line 18 `@%p1 bar.sync 1, 96;` wait; 32 threads have exited");
    assert_snapshot!(fault("", "bar.sync %r12;"), @"kernel `k`, block (0,0,0), thread (32,0,0), test.ptx:17 `bar.sync %r12;`: barrier number 32: it must be 0 to 15");
}

#[test]
fn lanes_that_never_come() {
    let body = "setp.eq.u32 %p1, %r10, 0;\n@%p1 bra a;\nbar.warp.sync -1;\nexit;\na:\nshfl.sync.idx.b32 %r1, %r2, 0, 31, 3;";
    assert_snapshot!(fault("", body), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:22 `shfl.sync.idx.b32 %r1, %r2, 0, 31, 3;`: deadlock: warp 0 lane 0 at line 22 `shfl.sync.idx.b32 %r1, %r2, 0, 31, 3;`, warp 0 lanes 1-31 at line 19 `bar.warp.sync -1;` wait; 32 threads have exited");
    assert_snapshot!(fault("", "vote.sync.ballot.b32 %r1, %p1, 0xfe;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:17 `vote.sync.ballot.b32 %r1, %p1, 0xfe;`: the member mask 0x000000fe leaves out the executing lane 0");
}

/// The message of a warp whose two halves wait at two instructions.
fn halves(low: &str, high: &str) -> String {
    fault("", &format!("setp.lt.u32 %p1, %r10, 16;\n@%p1 bra a;\n{high}\nexit;\na:\n{low}\nexit;"))
}

#[test]
fn other_qualifiers_and_other_masks_do_not_meet() {
    assert_snapshot!(halves("shfl.sync.up.b32 %r1, %r2, 1, 0, -1;", "shfl.sync.down.b32 %r1, %r2, 1, 31, -1;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:22 `shfl.sync.up.b32 %r1, %r2, 1, 0, -1;`: deadlock: warp 0 lanes 0-15 at line 22 `shfl.sync.up.b32 %r1, %r2, 1, 0, -1;`, warp 0 lanes 16-31 at line 19 `shfl.sync.down.b32 %r1, %r2, 1, 31, -1;` wait; 32 threads have exited");
    assert_snapshot!(halves("shfl.sync.idx.b32 %r1, %r2, 1, 31, 0x7fffffff;", "shfl.sync.idx.b32 %r1, %r2, 1, 31, -1;"), @"kernel `k`, block (0,0,0), thread (0,0,0), test.ptx:22 `shfl.sync.idx.b32 %r1, %r2, 1, 31, 0x7fffffff;`: deadlock: warp 0 lanes 0-15 at line 22 `shfl.sync.idx.b32 %r1, %r2, 1, 31, 0x7fffffff;`, warp 0 lanes 16-31 at line 19 `shfl.sync.idx.b32 %r1, %r2, 1, 31, -1;` wait; 32 threads have exited");
    for (low, high) in [
        ("vote.sync.any.pred %p2, %p1, -1;", "vote.sync.all.pred %p2, %p1, -1;"),
        ("vote.sync.ballot.b32 %r1, %p1, -1;", "vote.sync.all.pred %p2, %p1, -1;"),
        ("match.any.sync.b32 %r1, %r2, -1;", "match.all.sync.b32 %r1, %r2, -1;"),
        ("match.any.sync.b32 %r1, %r2, -1;", "match.any.sync.b64 %r1, %d2, -1;"),
        ("redux.sync.add.u32 %r1, %r2, -1;", "redux.sync.max.u32 %r1, %r2, -1;"),
        ("redux.sync.max.s32 %r1, %r2, -1;", "redux.sync.max.u32 %r1, %r2, -1;"),
        ("redux.sync.and.b32 %r1, %r2, -1;", "vote.sync.ballot.b32 %r1, %p1, -1;"),
        ("shfl.sync.idx.b32 %r1, %r2, 1, 31, -1;", "bar.warp.sync -1;"),
    ] {
        for message in [halves(low, high), halves(high, low)] {
            assert!(message.contains(": deadlock: warp 0 lanes 0-15 at line "), "{message}");
        }
    }
}

#[test]
fn launches_that_are_refused() {
    let module = kernel(
        ".extern .shared .u32 tile[];\n.shared .u32 fixed[1024];",
        "mov.u32 %r1, tile;\nmov.u32 %r1, fixed;",
    );
    let memory = Memory::new(1 << 20);
    let args = [Arg::Pointer(0), Arg::Pointer(0)];
    let refused = |name: &str, config: LaunchConfig, args: &[Arg]| {
        launch_named(&module, name, &config, args, &memory)
            .expect_err("must be refused")
            .to_string()
    };
    assert_snapshot!(refused("other", LaunchConfig::new(1, 1), &args), @"module `test.ptx` has no kernel `other`");
    assert_snapshot!(refused("k", LaunchConfig::new(0, 1), &args), @"grid (0,1,1) is not allowed: each dimension must be at least 1 and at most (2147483647,65535,65535)");
    assert_snapshot!(refused("k", LaunchConfig::new((1, 65536), 1), &args), @"grid (1,65536,1) is not allowed: each dimension must be at least 1 and at most (2147483647,65535,65535)");
    assert_snapshot!(refused("k", LaunchConfig::new(1, (32, 33)), &args), @"block (32,33,1) is not allowed: each dimension must be at least 1 and at most (1024,1024,64), with at most 1024 threads in all");
    assert_snapshot!(refused("k", LaunchConfig::new(1, 1), &args[..1]), @"kernel `k` takes 2 arguments and got 1");
    assert_snapshot!(refused("k", LaunchConfig::new(1, 1), &[Arg::Pointer(0), Arg::U32(1)]), @"argument 1 of kernel `k` has 4 bytes and its parameter `out` has 8");
    let shared = LaunchConfig { dynamic_shared_bytes: 230_000, ..LaunchConfig::new(1, 1) };
    assert_snapshot!(refused("k", shared, &args), @"kernel `k` would need 234096 bytes of shared memory in each block and at most 232448 are allowed");
    let workers = LaunchConfig { workers: Some(0), ..LaunchConfig::new(1, 1) };
    assert_snapshot!(refused("k", workers, &args), @"a launch needs at least 1 worker");
    let kernel = module.kernel("k").unwrap();
    assert_eq!((kernel.static_shared_bytes(), kernel.uses_dynamic_shared()), (4096, true));
}

#[test]
fn the_kernels_own_limits_hold() {
    let module = |limit: &str| {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() {limit} {{ ret; }}"
        );
        Module::from_ptx("limits.ptx", &text).unwrap()
    };
    let memory = Memory::new(0);
    let launch = |limit: &str, block: u32| {
        launch_named(&module(limit), "k", &LaunchConfig::new(1, block), &[], &memory)
    };
    assert_eq!(launch(".maxntid 64, 1, 1", 64), Ok(()));
    assert_snapshot!(launch(".maxntid 64, 1, 1", 65).unwrap_err(), @"block (65,1,1) is not allowed: kernel `k` was compiled for blocks of at most 64 threads");
    assert_snapshot!(launch(".reqntid 64, 1, 1", 63).unwrap_err(), @"block (63,1,1) is not allowed: kernel `k` was compiled for blocks of exactly (64,1,1) threads");
}

#[test]
fn the_device_runs_out_of_memory() {
    let memory = Memory::new(1000);
    let first = memory.alloc(600).unwrap();
    assert_snapshot!(memory.alloc(500).unwrap_err(), @"out of device memory: 500 bytes were asked for and 400 of 1000 are free");
    assert_snapshot!(memory.alloc(0).unwrap_err(), @"an allocation must have at least 1 byte");
    assert_snapshot!(memory.write(first + 599, &[0; 2]).unwrap_err(), @"a host copy of 2 bytes at 0x100000257 does not lie inside a live allocation");
    assert_eq!((memory.used(), memory.capacity()), (600, 1000));
    memory.free(first).unwrap();
    assert!(memory.alloc(1000).is_ok());
}

#[test]
fn the_fault_of_the_first_block_is_reported() {
    // Every block from block 3 on faults, and later blocks fault sooner.
    let module = kernel(
        "",
        "setp.lt.u32 %p1, %r11, 3;
        @%p1 exit;
        sub.u32 %r1, 40, %r11;
        mul.lo.u32 %r1, %r1, 500;
    next:
        sub.u32 %r1, %r1, 1;
        setp.ne.u32 %p2, %r1, 0;
        @%p2 bra next;
        trap;",
    );
    for workers in [1, 2, 4] {
        let config = LaunchConfig { workers: Some(workers), ..LaunchConfig::new(32, 32) };
        let Err(LaunchError::Fault(fault)) = run(&module, &config, &[], 1) else {
            panic!("the kernel must fault")
        };
        assert_eq!((fault.block, fault.thread), (Dim3::new(3, 0, 0), Dim3::new(0, 0, 0)));
    }
}
