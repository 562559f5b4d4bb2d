//! Instructions that work across lanes.

use proptest::prelude::*;
use simt::{Arg, LaunchConfig, Memory, count};

use crate::{Lanes, check, eval, kernel};

const ZERO: Lanes = [0; 32];

fn iota() -> Lanes {
    std::array::from_fn(|lane| lane as u64)
}

/// The formulas of the PTX ISA for `shfl.sync`: source lane and predicate.
pub(crate) fn source(mode: &str, lane: i64, b: i64, c: i64) -> (i64, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (j, inside) = match mode {
        "up" => (lane - b, lane - b >= max),
        "down" => (lane + b, lane + b <= max),
        "bfly" => (lane ^ b, (lane ^ b) <= max),
        _ => (min | (b & !segment), (min | (b & !segment)) <= max),
    };
    (if inside { j } else { lane }, inside)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn shuffles(values in proptest::array::uniform32(any::<u32>()), b in 0i64..32, width in 0u32..6, down in 0usize..4) {
        let mode = ["up", "down", "bfly", "idx"][down];
        let segment = 32i64 - (1 << width);
        let c = segment << 8 | if mode == "up" { 0 } else { 31 };
        let values = values.map(u64::from);
        let result = eval(
            &format!("shfl.sync.{mode}.b32 %r0|%p1, %r1, {b}, {c}, -1;\nselp.u32 %r5, 1, 0, %p1;\nmov.b64 %d0, {{%r0, %r5}};"),
            'd', &values, &ZERO, &ZERO,
        );
        for lane in 0..32 {
            let (from, inside) = source(mode, lane as i64, b, c);
            let expected = values[from as usize] | u64::from(inside) << 32;
            prop_assert_eq!(result[lane], expected, "{} {} {:#x} lane {}", mode, b, c, lane);
        }
    }

    #[test]
    fn votes_matches_and_reductions(values in proptest::array::uniform32(0u32..4)) {
        let values = values.map(u64::from);
        let v = [&values, &ZERO, &ZERO];
        let equal = |value: u64| (0..32).filter(|lane| values[*lane] == value).fold(0u64, |mask, lane| mask | 1 << lane);
        check("setp.eq.u32 %p1, %r1, 2;\nvote.sync.ballot.b32 %r0, %p1, -1;", 'r', v, |_, _, _| equal(2));
        check("setp.ne.u32 %p1, %r1, 3;\nvote.sync.all.pred %p0, %p1, -1;", 'p', v, |_, _, _| u64::from(equal(3) == 0));
        check("setp.eq.u32 %p1, %r1, 3;\nvote.sync.any.pred %p0, %p1, -1;", 'p', v, |_, _, _| u64::from(equal(3) != 0));
        check("match.any.sync.b32 %r0, %r1, -1;", 'r', v, |a, _, _| equal(a));
        check("redux.sync.add.s32 %r0, %r1, -1;", 'r', v, |_, _, _| values.iter().sum());
        check("redux.sync.max.u32 %r0, %r1, -1;", 'r', v, |_, _, _| *values.iter().max().unwrap());
        check("redux.sync.xor.b32 %r0, %r1, -1;", 'r', v, |_, _, _| values.iter().fold(0, |x, y| x ^ y));
    }
}

#[test]
fn the_warp_sums_itself_with_butterflies() {
    let mut body = String::from("mov.b32 %r0, %r1;\n");
    for distance in [16, 8, 4, 2, 1] {
        body +=
            &format!("shfl.sync.bfly.b32 %r4, %r0, {distance}, 31, -1;\nadd.u32 %r0, %r0, %r4;\n");
    }
    assert_eq!(eval(&body, 'r', &iota(), &ZERO, &ZERO), [496; 32]);
}

#[test]
fn halves_of_a_warp_have_collectives_of_their_own() {
    // One instruction runs with two member masks.
    let body = "setp.lt.u32 %p1, %r10, 16;\nselp.b32 %r4, 0xffff, 0xffff0000, %p1;\nredux.sync.add.u32 %r0, %r1, %r4;";
    let result = eval(body, 'r', &iota(), &ZERO, &ZERO);
    assert_eq!(result, std::array::from_fn(|lane| if lane < 16 { 120 } else { 376 }));
}

#[test]
fn lanes_from_both_sides_of_a_branch_meet_at_a_shuffle() {
    let body = "
        setp.lt.u32 %p1, %r10, 7;
        @%p1 bra low;
        add.u32 %r4, %r1, 100;
        bra.uni join;
    low:
        add.u32 %r4, %r1, 200;
    join:
        shfl.sync.idx.b32 %r0, %r4, 3, 31, -1;";
    assert_eq!(eval(body, 'r', &iota(), &ZERO, &ZERO), [203; 32]);
}

#[test]
fn activemask_and_elect_see_the_split() {
    let body = "
        mov.u32 %r0, 0;
        setp.lt.u32 %p1, %r10, 4;
        @!%p1 bra end;
        activemask.b32 %r0;
        elect.sync %r4|%p2, 15;
        @%p2 add.u32 %r0, %r0, 1000;
    end:";
    let expected = std::array::from_fn(|lane| match lane {
        0 => 1015,
        1..4 => 15,
        _ => 0,
    });
    assert_eq!(eval(body, 'r', &iota(), &ZERO, &ZERO), expected);
}

#[test]
fn a_sync_counts_where_it_stands() {
    let module = kernel("", "add.u32 %r1, %r10, 1;\nbar.warp.sync -1;\nadd.u32 %r1, %r1, 1;");
    let memory = Memory::new(1 << 20);
    let out = Arg::Pointer(memory.alloc(8).unwrap());
    let config = LaunchConfig::new(1, 32);
    let profile =
        count(module.kernel("k").unwrap(), &config, &[out.clone(), out], &memory).unwrap();
    assert_eq!(profile.counters.warp_syncs, 1);
    let executed = profile.instructions.iter().map(|line| line.counters.warp_instructions);
    assert!(executed.clone().all(|times| times == 1), "{:?}", executed.collect::<Vec<_>>());
}

#[test]
fn members_that_have_exited_are_not_waited_for() {
    let body = "
        setp.ge.u32 %p1, %r10, 8;
        @%p1 exit;
        redux.sync.add.u32 %r0, %r1, -1;
        bar.warp.sync -1;";
    let result = eval(body, 'r', &iota(), &ZERO, &ZERO);
    assert_eq!(result, std::array::from_fn(|lane| if lane < 8 { 28 } else { 0 }));
}
