//! Lanes of a warp that execute one collective at several instructions.

use proptest::prelude::*;
use simt::{Arg, LaunchConfig, Memory, Profile, count};

use crate::warp::source;
use crate::{Lanes, eval, kernel, run};

const ZERO: Lanes = [0; 32];

fn iota() -> Lanes {
    std::array::from_fn(|lane| lane as u64)
}

/// The results `%r0` of a warp in whose lanes `%r1` is the lane's number. Lanes with `%p1`, which
/// are those below `first`, run the first of the two texts.
fn halves(first: u32, a: &str, b: &str) -> Lanes {
    let branch = |guard: &str, taken: &str, other: &str| {
        let body = format!(
            "mov.u32 %r0, 0;
            setp.lt.u32 %p1, %r10, {first};
            {guard} bra taken;
            {other}
            bra join;
        taken:
            {taken}
        join:"
        );
        eval(&body, 'r', &iota(), &ZERO, &ZERO)
    };
    let result = branch("@%p1", a, b);
    // The order of the two sides in the text makes no difference.
    assert_eq!(branch("@!%p1", b, a), result);
    result
}

fn by_lane(value: impl Fn(u64) -> u64) -> Lanes {
    iota().map(value)
}

#[test]
fn halves_shuffle_at_instructions_of_their_own() {
    // The two halves give different registers, and take from lanes of both halves.
    let give = "add.u32 %r4, %r1, 100;";
    let result = halves(
        16,
        &format!("{give} shfl.sync.idx.b32 %r0, %r4, 20, 31, -1;"),
        "shfl.sync.idx.b32 %r0, %r1, 3, 31, -1;",
    );
    assert_eq!(result, by_lane(|lane| if lane < 16 { 20 } else { 103 }));
    let result = halves(
        16,
        &format!("{give} shfl.sync.down.b32 %r0, %r4, 1, 31, -1;"),
        "shfl.sync.down.b32 %r0, %r1, 2, 31, -1;",
    );
    let down = by_lane(|lane| match lane {
        0..15 => lane + 101,
        15 => 16,
        16..30 => lane + 2,
        _ => lane,
    });
    assert_eq!(result, down);
    let result = halves(
        16,
        &format!("{give} shfl.sync.up.b32 %r0, %r4, 1, 0, -1;"),
        "shfl.sync.up.b32 %r0, %r1, 2, 0, -1;",
    );
    let up = by_lane(|lane| match lane {
        0 => 100,
        1..16 => lane + 99,
        16 | 17 => lane + 98,
        _ => lane - 2,
    });
    assert_eq!(result, up);
    let result = halves(
        16,
        &format!("{give} shfl.sync.bfly.b32 %r0, %r4, 16, 31, -1;"),
        "shfl.sync.bfly.b32 %r0, %r1, 17, 31, -1;",
    );
    assert_eq!(result, by_lane(|lane| if lane < 16 { lane + 16 } else { (lane ^ 0x11) + 100 }));
}

#[test]
fn a_result_may_replace_its_source_and_only_some_results_may_be_asked_for() {
    let result = halves(
        7,
        "mov.b32 %r0, %r1; shfl.sync.down.b32 %r0, %r0, %r0, 31, -1;",
        "shfl.sync.down.b32 %r2|%p2, %r1, 4, 31, -1; selp.u32 %r0, %r2, 1000, %p2;",
    );
    let expected = |lane| match lane {
        0..7 => 2 * lane,
        7..28 => lane + 4,
        _ => 1000,
    };
    assert_eq!(result, by_lane(expected));
}

#[test]
fn a_guard_parts_the_lanes_of_a_shuffle() {
    let body = "
        mov.u32 %r0, 0;
        and.b32 %r2, %r10, 1;
        setp.eq.u32 %p1, %r2, 1;
        @%p1 shfl.sync.idx.b32 %r0, %r1, 2, 31, -1;
        @!%p1 shfl.sync.idx.b32 %r0, %r1, 5, 31, -1;";
    let result = eval(body, 'r', &iota(), &ZERO, &ZERO);
    assert_eq!(result, by_lane(|lane| if lane % 2 == 1 { 2 } else { 5 }));
}

#[test]
fn three_instructions_make_one_shuffle() {
    let body = "
        rem.u32 %r2, %r10, 3;
        ways: .branchtargets zero, one, two;
        brx.idx %r2, ways;
    zero:
        shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;
        bra join;
    one:
        add.u32 %r4, %r1, 100;
        shfl.sync.bfly.b32 %r0, %r4, 1, 31, -1;
        bra join;
    two:
        add.u32 %r5, %r1, 200;
        shfl.sync.bfly.b32 %r0, %r5, 1, 31, -1;
    join:";
    let result = eval(body, 'r', &iota(), &ZERO, &ZERO);
    assert_eq!(result, by_lane(|lane| (lane ^ 1) + 100 * ((lane ^ 1) % 3)));
}

#[test]
fn every_kind_of_collective_meets() {
    let low = 0x3ff_u64;
    // One side votes with a predicate, and the other with its opposite.
    let ballot = halves(
        10,
        "setp.lt.u32 %p2, %r1, 4; vote.sync.ballot.b32 %r0, %p2, -1;",
        "setp.lt.u32 %p3, %r1, 30; vote.sync.ballot.b32 %r0, !%p3, -1;",
    );
    assert_eq!(ballot, [0xc000_000f; 32]);
    for (limit, all) in [(10, 1), (9, 0)] {
        let a = format!(
            "setp.lt.u32 %p2, %r1, {limit}; vote.sync.all.pred %p3, %p2, -1; selp.u32 %r0, 1, 0, %p3;"
        );
        let b =
            "setp.lt.u32 %p4, %r1, 32; vote.sync.all.pred %p5, %p4, -1; selp.u32 %r0, 1, 0, %p5;";
        assert_eq!(halves(10, &a, b), [all; 32]);
    }
    let sum = halves(
        10,
        "redux.sync.add.u32 %r0, %r1, -1;",
        "mul.lo.u32 %r5, %r1, 1000; redux.sync.add.u32 %r0, %r5, -1;",
    );
    assert_eq!(sum, [45 + 451_000; 32]);
    let least = halves(
        10,
        "redux.sync.min.s32 %r0, %r1, -1;",
        "neg.s32 %r5, %r1; redux.sync.min.s32 %r0, %r5, -1;",
    );
    assert_eq!(least, [u64::from(-31_i32 as u32); 32]);
    // The lanes of the two sides give 7 and 7, and then 7 and 8.
    for (wide, other, expected) in [
        ("32", 7, [0xffff_ffff; 2]),
        ("64", 7, [0xffff_ffff; 2]),
        ("64", 8, [low, !low & 0xffff_ffff]),
    ] {
        let register = if wide == "32" { "%r" } else { "%d" };
        let side = |number: u32, value: u32| {
            format!(
                "mov.b{wide} {register}{number}, {value}; match.any.sync.b{wide} %r0, {register}{number}, -1;"
            )
        };
        let result = halves(10, &side(4, 7), &side(5, other));
        assert_eq!(result, by_lane(|lane| expected[usize::from(lane >= 10)]), "{wide} {other}");
    }
    let elected = halves(
        10,
        "elect.sync %r4|%p2, -1; selp.u32 %r0, 100, %r4, %p2;",
        "elect.sync %r5|%p3, -1; selp.u32 %r0, 200, %r5, %p3;",
    );
    assert_eq!(elected, by_lane(|lane| if lane == 0 { 100 } else { 0 }));
}

#[test]
fn groups_meet_apart_and_at_one_instruction_at_the_same_time() {
    // The lower half has the mask of a half, as has the upper half. The upper half alone is spread
    // over two instructions, of which it shares one with the lower half. No half ends before the
    // other one.
    let side = "redux.sync.add.u32 %r0, %r1, %r5;";
    let body = |guard: &str, least: u32| {
        format!(
            "setp.lt.u32 %p1, %r10, 16;
            selp.b32 %r5, 0xffff, 0xffff0000, %p1;
            setp.lt.u32 %p2, %r10, {least};
            {guard} bra taken;
            {side}
            bra join;
        taken:
            {side}
        join:
            bar.warp.sync -1;"
        )
    };
    for guard in ["@%p2", "@!%p2"] {
        for least in [24, 8] {
            let result = eval(&body(guard, least), 'r', &iota(), &ZERO, &ZERO);
            assert_eq!(
                result,
                by_lane(|lane| if lane < 16 { 120 } else { 376 }),
                "{guard} {least}"
            );
        }
    }
}

#[test]
fn lanes_that_exit_are_not_waited_for_apart() {
    // Lanes 30 and 31 exit after the others have begun to wait at two instructions.
    let module = kernel(
        "",
        "setp.ge.u32 %p3, %r10, 30;
        @%p3 bra leave;
        setp.lt.u32 %p1, %r10, 16;
        @%p1 bra low;
        redux.sync.max.u32 %r0, %r10, -1;
        bra join;
    low:
        redux.sync.max.u32 %r0, %r11, -1;
        bra join;
    leave:
        add.u32 %r4, %r10, 1;
        exit;
    join:
        mad.wide.u32 %d11, %r10, 8, %d11;
        cvt.u64.u32 %d0, %r0;
        st.global.u64 [%d11], %d0;",
    );
    let result = run(&module, &LaunchConfig::new(1, 32), &[], 32).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(result, [vec![29; 30], vec![0; 2]].concat());
}

#[test]
fn a_loop_meets_its_unrolled_copy() {
    // Each lane sums the warp by butterflies. Some lanes do so in a loop.
    let step = |distance: u32| {
        format!("shfl.sync.bfly.b32 %r4, %r0, {distance}, 31, -1; add.u32 %r0, %r0, %r4;")
    };
    let unrolled: String = [16, 8, 4, 2, 1].map(step).concat();
    let body = format!(
        "mov.b32 %r0, %r1;
        mov.u32 %r6, 16;
        and.b32 %r2, %r10, 5;
        setp.eq.u32 %p1, %r2, 4;
        @%p1 bra next;
        {unrolled}
        bra join;
    next:
        shfl.sync.bfly.b32 %r5, %r0, %r6, 31, -1;
        add.u32 %r0, %r0, %r5;
        shr.u32 %r6, %r6, 1;
        setp.ne.u32 %p2, %r6, 0;
        @%p2 bra next;
    join:"
    );
    assert_eq!(eval(&body, 'r', &iota(), &ZERO, &ZERO), [496; 32]);
}

#[test]
fn each_instruction_counts_its_own_lanes() {
    let module = kernel(
        "",
        "setp.lt.u32 %p1, %r10, 7;
        @%p1 bra low;
        add.u32 %r1, %r10, 1;
        shfl.sync.idx.b32 %r0, %r1, 3, 31, -1;
        add.u32 %r0, %r0, 1;
        bar.warp.sync -1;
        bra join;
    low:
        shfl.sync.idx.b32 %r0, %r11, 3, 31, -1;
        add.u32 %r0, %r0, 2;
        bar.warp.sync -1;
    join:
        add.u32 %r0, %r0, 3;
        bar.warp.sync -1;",
    );
    let memory = Memory::new(1 << 20);
    let out = Arg::Pointer(memory.alloc(8).unwrap());
    let config = LaunchConfig::new(1, 32);
    let profile: Profile =
        count(module.kernel("k").unwrap(), &config, &[out.clone(), out], &memory).unwrap();
    let counted = |name: &str| -> Vec<(u64, u64)> {
        let lines = profile.instructions.iter().filter(|line| line.text.contains(name));
        lines
            .map(|line| (line.counters.warp_instructions, line.counters.thread_instructions))
            .collect()
    };
    assert_eq!(counted("shfl"), [(1, 25), (1, 7)]);
    assert_eq!(counted("bar.warp"), [(1, 25), (1, 7), (1, 32)]);
    assert_eq!((profile.counters.shuffles, profile.counters.warp_syncs), (2, 3));
}

/// One step of all lanes: a collective, and an operand for each way through the program.
#[derive(Debug, Clone)]
struct Step {
    kind: usize,
    operands: [u32; 4],
    width: u32,
}

const MODES: [&str; 4] = ["up", "down", "bfly", "idx"];

impl Step {
    /// The text of the step on one way: `%r0` is what the lane gives and what it gets.
    fn text(&self, way: usize) -> String {
        let (operand, clamp) = (self.operands[way], self.clamp());
        match self.kind {
            0..4 => {
                let mode = MODES[self.kind];
                format!(
                    "shfl.sync.{mode}.b32 %r{}, %r0, {operand}, {clamp}, -1; mov.b32 %r0, %r{};",
                    4 + way,
                    4 + way
                )
            }
            4 => format!(
                "setp.gt.u32 %p{way}, %r0, {operand}; vote.sync.ballot.b32 %r0, %p{way}, -1;"
            ),
            5 => format!(
                "xor.b32 %r{}, %r0, {operand}; redux.sync.add.u32 %r0, %r{}, -1;",
                4 + way,
                4 + way
            ),
            _ => format!(
                "and.b32 %r{}, %r0, {operand}; match.any.sync.b32 %r0, %r{}, -1;",
                4 + way,
                4 + way
            ),
        }
    }

    fn clamp(&self) -> u32 {
        (32 - (1 << self.width)) << 8 | if self.kind == 0 { 0 } else { 31 }
    }

    /// What each lane gets, given what each gives and which way each takes.
    fn result(&self, given: &[u32; 32], ways: &[usize; 32]) -> [u32; 32] {
        let operand = |lane: usize| self.operands[ways[lane]];
        let clamp = i64::from(self.clamp());
        let bits = |holds: &dyn Fn(usize) -> bool| {
            (0..32).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
        };
        std::array::from_fn(|lane| match self.kind {
            0..4 => {
                given[source(MODES[self.kind], lane as i64, operand(lane).into(), clamp).0 as usize]
            }
            4 => bits(&|lane| given[lane] > operand(lane)),
            5 => (0..32).fold(0, |sum: u32, lane| sum.wrapping_add(given[lane] ^ operand(lane))),
            _ => bits(&|other| given[other] & operand(other) == given[lane] & operand(lane)),
        })
    }
}

prop_compose! {
    fn step()(kind in 0usize..7, operands in proptest::array::uniform4(0u32..32), width in 0u32..6) -> Step {
        Step { kind, operands, width }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Each lane goes one of four ways, which have the same collectives, with operands and
    /// registers of their own. The ways compute for different times between the collectives.
    #[test]
    fn four_ways_with_the_same_collectives(
        steps in proptest::collection::vec(step(), 1..6),
        ways in proptest::array::uniform32(0usize..4),
        values in proptest::array::uniform32(0u32..64),
        delays in proptest::array::uniform4(0u32..40),
    ) {
        let mut body = String::from(
            "mov.b32 %r0, %r1;
            ways: .branchtargets way0, way1, way2, way3;
            brx.idx %r2, ways;\n",
        );
        for way in 0..4 {
            body += &format!("way{way}:\n");
            for (i, step) in steps.iter().enumerate() {
                let delay = delays[(way + i) % 4];
                body += &format!(
                    "mov.u32 %r8, {delay};
                delay{way}_{i}:
                    setp.eq.u32 %p9, %r8, 0;
                    @!%p9 add.u32 %r8, %r8, -1;
                    @!%p9 bra delay{way}_{i};
                    {}\n",
                    step.text(way)
                );
            }
            body += "bra join;\n";
        }
        body += "join:";
        let mut expected = values;
        for step in &steps {
            expected = step.result(&expected, &ways);
        }
        let result = eval(&body, 'r', &values.map(u64::from), &ways.map(|way| way as u64), &ZERO);
        prop_assert_eq!(result, expected.map(u64::from), "{}", body);
    }
}
