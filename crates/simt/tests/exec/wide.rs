//! 128 bits: moves, loads, stores and atomics.

use simt::{FaultKind, LaunchConfig, LaunchError};

use crate::{kernel, run};

const REGISTERS: &str = ".reg .b128 %q<6>;\n";
const SHARED: &str = ".shared .align 16 .b8 tile[64];";

fn launch(blocks: u32, body: &str, input: &[u64], outputs: usize) -> Result<Vec<u64>, LaunchError> {
    let module = kernel(SHARED, &format!("{REGISTERS}{body}"));
    run(
        &module,
        &LaunchConfig { workers: Some(4), ..LaunchConfig::new(blocks, 32) },
        input,
        outputs,
    )
}

#[test]
fn halves_are_packed_and_unpacked() {
    let found = launch(
        1,
        "ld.global.b128 %q1, [%d10]; mov.b128 {%d1, %d2}, %q1; mov.b128 %q2, {%d2, 7};
         mov.b128 %q3, %q2; mov.b128 {_, %d3}, %q3; mov.b128 %q3, %q1;
         st.global.b128 [%d11], %q2; st.global.v2.u64 [%d11+16], {%d1, %d3};
         cvta.shared.u64 %d4, tile; st.b128 [%d4+16], %q3; ld.shared.b128 %q4, [tile+16];
         st.global.b128 [%d11+32], %q4;",
        &[0x0123_4567_89ab_cdef, u64::MAX - 1],
        6,
    );
    let (low, high) = (0x0123_4567_89ab_cdef, u64::MAX - 1);
    assert_eq!(found.unwrap(), [high, 7, low, 7, low, high]);
}

/// Blocks on four workers count in 128 bits by compare and exchange. The count passes 2^64.
#[test]
fn a_count_by_compare_and_exchange_loses_nothing() {
    let start = u128::from(u64::MAX) - 99;
    let count = "
        ld.global.b128 %q1, [%d11];
    again:
        mov.b128 {%d1, %d2}, %q1; add.cc.u64 %d1, %d1, 1; addc.u64 %d2, %d2, 0;
        mov.b128 %q2, {%d1, %d2};
        atom.global.cas.b128 %q3, [%d11], %q1, %q2;
        mov.b128 {%d3, %d4}, %q1; mov.b128 {%d5, %d6}, %q3;
        setp.ne.u64 %p1, %d3, %d5; setp.ne.or.u64 %p1, %d4, %d6, %p1;
        mov.b128 %q1, %q3;
        @%p1 bra again;";
    // The first thread of the first block sets the start, and the others wait for it.
    let body = format!(
        "mov.u32 %r1, %ctaid.x; or.b32 %r1, %r1, %r10; setp.ne.u32 %p2, %r1, 0;
         @%p2 bra wait;
         mov.b128 %q5, {{{}, {}}}; atom.global.exch.b128 %q4, [%d11], %q5; membar.gl;
         st.volatile.global.u64 [%d11+16], 1;
     wait: ld.volatile.global.u64 %d7, [%d11+16]; setp.eq.u64 %p3, %d7, 0; @%p3 bra wait;
         membar.gl;
         {count}",
        start as u64,
        (start >> 64) as u64
    );
    let found = launch(8, &body, &[], 4).unwrap();
    let counted = u128::from(found[0]) | u128::from(found[1]) << 64;
    assert_eq!(counted, start + 8 * 32);
}

#[test]
fn an_exchange_returns_what_was_there() {
    for (place, address) in [("global", "%d11"), ("shared", "tile")] {
        let found = launch(
            1,
            &format!(
                "cvt.u64.u32 %d1, %r10; not.b64 %d2, %d1; mov.b128 %q1, {{%d1, %d2}};
                 atom.{place}.exch.b128 %q2, [{address}], %q1;
                 mad.wide.u32 %d3, %r10, 16, %d11; st.global.b128 [%d3+16], %q2;"
            ),
            &[],
            2 + 64,
        )
        .unwrap();
        assert_eq!(found[2..4], [0, 0], "{place}");
        for lane in 1..32 {
            let before = lane as u64 - 1;
            assert_eq!(found[2 + 2 * lane..][..2], [before, !before], "{place}");
        }
    }
}

#[test]
fn addresses_are_multiples_of_16() {
    let error = launch(1, "ld.global.b128 %q1, [%d11+8];", &[], 4);
    let Err(LaunchError::Fault(fault)) = error else { panic!("{error:?}") };
    assert!(matches!(fault.kind, FaultKind::Misaligned { bytes: 16, align: 16, .. }), "{fault}");
    let error = launch(1, "atom.global.exch.b128 %q1, [%d11+8], %q2;", &[], 4);
    let Err(LaunchError::Fault(fault)) = error else { panic!("{error:?}") };
    assert!(matches!(fault.kind, FaultKind::Misaligned { bytes: 16, .. }), "{fault}");
}

#[test]
fn strong_loads_are_refused() {
    let error = launch(1, "ld.relaxed.gpu.global.b128 %q1, [%d11];", &[], 4).unwrap_err();
    assert!(matches!(error, LaunchError::Unsupported { .. }), "{error}");
}
