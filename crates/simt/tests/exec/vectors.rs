//! `atom` and `red` on vectors of floats. All sums here are of small integers, which are exact.

use half::{bf16, f16};
use simt::{Arg, FaultKind, LaunchConfig, LaunchError, Memory, count};

use crate::{kernel, run};

/// Converts a number to a half of a format.
type Bits = fn(f32) -> u16;

fn of_f16(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

fn of_bf16(value: f32) -> u16 {
    bf16::from_f32(value).to_bits()
}

/// Runs a kernel in which each thread of `blocks` blocks of 32 has its lane in `%f1`, and finds the
/// four output words at `%d11`. Returns the words.
fn words(blocks: u32, body: &str) -> Vec<u64> {
    let module = kernel("", &format!("cvt.rn.f32.u32 %f1, %r10;\n{body}"));
    run(&module, &LaunchConfig::new(blocks, 32), &[], 4).unwrap_or_else(|error| panic!("{error}"))
}

/// The four words as halves.
fn halves(words: &[u64]) -> Vec<u16> {
    words.iter().flat_map(|word| (0..4).map(move |i| (word >> (16 * i)) as u16)).collect()
}

#[test]
fn singles_add_element_by_element() {
    let found = words(
        3,
        "add.f32 %f2, %f1, 0f3F800000; neg.f32 %f3, %f1; mov.f32 %f4, 0f40000000;
         red.global.add.v4.f32 [%d11], {%f1, %f2, %f3, %f4};
         red.global.add.v2.f32 [%d11+16], {%f2, %f4};
         red.add.v2.f32 [%d11+24], {%f4, %f4};",
    );
    let singles: Vec<f32> = found
        .iter()
        .flat_map(|word| [*word as u32, (word >> 32) as u32].map(f32::from_bits))
        .collect();
    // The lanes from 0 to 31 add up to 496.
    assert_eq!(singles, [1488.0, 1584.0, -1488.0, 192.0, 1584.0, 192.0, 192.0, 192.0]);
}

#[test]
fn halves_add_element_by_element() {
    for (ty, bits) in [("f16", of_f16 as Bits), ("bf16", of_bf16 as Bits)] {
        let found = words(
            2,
            &format!(
                "mov.f32 %f2, 0f3F800000; mov.f32 %f3, 0f40000000; mov.f32 %f4, 0fBF800000;
                 cvt.rn.{ty}.f32 %h1, %f2; cvt.rn.{ty}.f32 %h2, %f3; cvt.rn.{ty}.f32 %h3, %f4;
                 mov.b32 %r1, {{%h1, %h2}}; mov.b32 %r2, {{%h3, %h2}};
                 red.global.add.noftz.v8.{ty} [%d11], {{%h1, %h2, %h3, %h1, %h2, %h3, %h1, %h2}};
                 red.global.add.noftz.v2.{ty} [%d11+16], {{%h2, %h3}};
                 red.relaxed.gpu.global.add.noftz.v2.{ty}x2 [%d11+24], {{%r1, %r2}};"
            ),
        );
        let (one, two, minus) = (bits(64.0), bits(128.0), bits(-64.0));
        assert_eq!(
            halves(&found),
            [one, two, minus, one, two, minus, one, two, two, minus, 0, 0, one, two, minus, two],
            "{ty}"
        );
    }
}

#[test]
fn least_and_greatest_halves_are_kept() {
    for (ty, bits) in [("f16", of_f16 as Bits), ("bf16", of_bf16 as Bits)] {
        let found = words(
            2,
            &format!(
                "sub.f32 %f2, %f1, 0f41200000; neg.f32 %f3, %f2;
                 cvt.rn.{ty}.f32 %h1, %f2; cvt.rn.{ty}.f32 %h2, %f3; mov.b32 %r1, {{%h1, %h2}};
                 red.global.max.noftz.v4.{ty} [%d11], {{%h1, %h2, %h1, %h2}};
                 red.global.min.noftz.v4.{ty} [%d11+8], {{%h1, %h2, %h1, %h2}};
                 red.global.max.noftz.v2.{ty}x2 [%d11+16], {{%r1, %r1}};
                 red.global.min.noftz.v2.{ty}x2 [%d11+24], {{%r1, %r1}};"
            ),
        );
        // The lanes give -10 to 21 and 10 to -21, and memory begins as 0.
        let (greatest, least) = ([bits(21.0), bits(10.0)], [bits(-10.0), bits(-21.0)]);
        let expected = [greatest, greatest, least, least, greatest, greatest, least, least];
        assert_eq!(halves(&found), expected.concat(), "{ty}");
    }
}

/// The lanes of a warp change memory in ascending order, and a result may replace the source.
#[test]
fn the_old_elements_are_returned() {
    let module = kernel(
        "",
        "cvt.rn.f32.u32 %f1, %r10; add.f32 %f2, %f1, %f1; mov.f32 %f3, %f1;
         atom.global.add.v2.f32 {%f2, %f1}, [%d11], {%f1, %f2};
         atom.global.add.v2.f32 {_, %f3}, [%d11+8], {%f3, %f3};
         mad.wide.u32 %d1, %r10, 16, %d11; st.global.v2.f32 [%d1+16], {%f2, %f1};
         st.global.f32 [%d1+24], %f3;",
    );
    let found = run(&module, &LaunchConfig::new(1, 32), &[], 2 + 64).unwrap();
    let single = |bits: u64| f32::from_bits(bits as u32);
    for lane in 0..32 {
        let before = (lane * (lane.max(1) - 1) / 2) as f32;
        let (pair, third) = (found[2 + 2 * lane], single(found[3 + 2 * lane]));
        assert_eq!([single(pair), single(pair >> 32), third], [before, 2.0 * before, before]);
    }
    assert_eq!([single(found[0]), single(found[0] >> 32)], [496.0, 992.0]);
}

#[test]
fn a_vector_is_one_request() {
    let module = kernel(
        "",
        "mad.wide.u32 %d1, %r10, 16, %d11; red.global.add.v4.f32 [%d1], {%f1, %f1, %f1, %f1};
         atom.global.add.v2.f32 {%f1, %f2}, [%d1], {%f3, %f3}; add.f32 %f1, %f1, %f2;",
    );
    let memory = Memory::new(1 << 20);
    let out = Arg::Pointer(memory.alloc(512).unwrap());
    let kernel = module.kernel("k").unwrap();
    let profile = count(kernel, &LaunchConfig::new(1, 32), &[out.clone(), out], &memory).unwrap();
    let global = profile.counters.global;
    assert_eq!((global.reduction.requests, global.reduction.bytes), (1, 512));
    assert_eq!((global.reduction.sectors, global.atomic.bytes), (16, 256));
}

#[test]
fn vectors_are_aligned_and_global() {
    let fault = |body: &str| {
        let module = kernel(".shared .align 16 .b8 tile[64];", body);
        match run(&module, &LaunchConfig::new(1, 32), &[], 64) {
            Err(LaunchError::Fault(fault)) => fault.kind,
            other => panic!("{other:?}"),
        }
    };
    let misaligned = fault("red.global.add.v4.f32 [%d11+8], {%f1, %f1, %f1, %f1};");
    assert!(
        matches!(misaligned, FaultKind::Misaligned { bytes: 16, align: 16, .. }),
        "{misaligned}"
    );
    let shared = fault("cvta.shared.u64 %d1, tile; red.add.v2.f32 [%d1+8], {%f1, %f1};");
    assert_eq!(shared, FaultKind::NotGlobal { address: 8 });
}
