//! Rows for values that cross the lanes of a warp (PTX ISA 9.7.9.6 and 9.7.13).

use crate::{
    operands::{Amount, Operand, Tuple},
    row::{Row, row},
};

const LANES: usize = 32;

/// The first operand of each lane of the thread's warp.
fn lanes<T: Operand>(inputs: &[Tuple], thread: usize) -> [T; LANES] {
    let first = thread / LANES * LANES;
    std::array::from_fn(|lane| T::from_word(inputs[first + lane][0]))
}

/// A mask of the lanes for which a condition holds.
fn ballot(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
}

/// The pseudocode of the ISA for `shfl.sync`: the source lane, and whether it is in bounds.
fn source(mode: &str, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, segment, clamp) = (b & 0x1f, c >> 8 & 0x1f, c & 0x1f);
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (source, inside) = match mode {
        "up" => (i64::from(lane) - i64::from(b), i64::from(lane) - i64::from(b) >= i64::from(max)),
        "down" => (i64::from(lane + b), lane + b <= max),
        "bfly" => (i64::from(lane ^ b), lane ^ b <= max),
        _ => (i64::from(min | (b & !segment)), min | (b & !segment) <= max),
    };
    if inside { (source as u32, true) } else { (lane, false) }
}

fn shuffles(rows: &mut Vec<Row>) {
    for mode in ["up", "down", "bfly", "idx"] {
        let shuffled = move |inputs: &[Tuple], thread: usize, b: u32, c: u32| {
            let (source, inside) = source(mode, (thread % LANES) as u32, b, c);
            (lanes::<u32>(inputs, thread)[source as usize], inside)
        };
        let text = format!(
            "shfl.sync.{mode}.b32 t0|p, a, b, c, -1;
    selp.u32 t1, 1, 0, p;
    mov.b64 d, {{t0, t1}};"
        );
        rows.push(row!(text, (a: u32, b: Amount, c: u32) -> u64, |inputs, thread| {
            let [_, b, c, _] = inputs[thread];
            let (value, inside) = shuffled(inputs, thread, b as u32, c as u32);
            u64::from(inside) << 32 | u64::from(value)
        }));
        // The segments are the whole warp, or eight lanes.
        for (b, c) in
            [(1, 31), (16, 31), (1, 0), (3, 24 << 8 | 7), (4, 24 << 8 | 0x1f), (5, 24 << 8)]
        {
            rows.push(row!(format!("shfl.sync.{mode}.b32 d, a, {b}, {c}, -1;"), (a: u32) -> u32, |inputs, thread| {
                shuffled(inputs, thread, b, c).0
            }));
        }
    }
}

/// Sets `p` in no lane of some warps, and in some lanes of others.
const SOME: &str = "and.b32 t0, thread, 127; sub.u32 t0, t0, 20; setp.le.u32 p, t0, 20;";

fn some(thread: usize) -> bool {
    (20..=40).contains(&(thread % 128))
}

fn votes(rows: &mut Vec<Row>) {
    for (not, negated) in [("", false), ("!", true)] {
        let voted =
            move |thread: usize| ballot(|lane| some(thread / LANES * LANES + lane) ^ negated);
        for (mode, decide) in [
            ("all", (|votes| votes == u32::MAX) as fn(u32) -> bool),
            ("any", |votes| votes != 0),
            ("uni", |votes| votes == 0 || votes == u32::MAX),
        ] {
            let text = format!("{SOME} vote.sync.{mode}.pred q, {not}p, -1; selp.u32 d, 1, 0, q;");
            rows.push(row!(text, () -> u32, |_inputs, thread| decide(voted(thread)).into()));
        }
        let text = format!("{SOME} vote.sync.ballot.b32 d, {not}p, -1;");
        rows.push(row!(text, () -> u32, |_inputs, thread| voted(thread)));
    }
    // Each side of a branch votes among its own lanes.
    let text = "and.b32 t0, a, 1; setp.ne.u32 p, t0, 0; setp.lt.s32 q, a, 0;
    vote.sync.ballot.b32 t1, p, -1;
    @!p bra $even;
    vote.sync.ballot.b32 d, q, t1;
    bra.uni $both;
$even:
    not.b32 t1, t1;
    vote.sync.ballot.b32 d, !q, t1;
$both:
    bar.warp.sync -1;";
    rows.push(row!(text, (a: i32) -> u32, |inputs, thread| {
        let lanes = lanes::<i32>(inputs, thread);
        let odd = inputs[thread][0] % 2 == 1;
        ballot(|lane| (lanes[lane] % 2 != 0) == odd && (lanes[lane] < 0) == odd)
    }));
    let text = "mov.b32 d, 0; and.b32 t0, a, 1; setp.ne.u32 p, t0, 0; @p activemask.b32 d;";
    rows.push(row!(text, (a: u32) -> u32, |inputs, thread| {
        let lanes = lanes::<u32>(inputs, thread);
        if inputs[thread][0] % 2 == 1 { ballot(|lane| lanes[lane] % 2 == 1) } else { 0 }
    }));
}

fn matches(rows: &mut Vec<Row>) {
    let text = "and.b32 t0, a, 5; match.any.sync.b32 d, t0, -1;";
    rows.push(row!(text, (a: u32) -> u32, |inputs, thread| {
        let lanes = lanes::<u32>(inputs, thread);
        ballot(|lane| lanes[lane] & 5 == inputs[thread][0] as u32 & 5)
    }));
    let text = "and.b64 w0, a, 0x8000000000000001; match.any.sync.b64 d, w0, -1;";
    rows.push(row!(text, (a: u64) -> u32, |inputs, thread| {
        let lanes = lanes::<u64>(inputs, thread);
        ballot(|lane| (lanes[lane] ^ inputs[thread][0]) & 0x8000_0000_0000_0001 == 0)
    }));
    // In every other warp all lanes agree.
    for bits in [32, 64] {
        let text = format!(
            "and.b32 t0, thread, 32; setp.ne.u32 p, t0, 0;
    selp.b{bits} a, a, 7, p;
    match.all.sync.b{bits} t1|q, a, -1;
    selp.u32 t2, 1, 0, q;
    mov.b64 d, {{t1, t2}};"
        );
        let expected = move |inputs: &[Tuple], thread: usize| {
            let cut = |value: u64| if bits == 32 { value & 0xffff_ffff } else { value };
            let lanes = lanes::<u64>(inputs, thread);
            let agree = thread & 32 == 0 || lanes.iter().all(|lane| cut(*lane) == cut(lanes[0]));
            if agree { 0x1_ffff_ffff } else { 0 }
        };
        rows.push(if bits == 32 {
            row!(text, (a: u32) -> u64, |inputs, thread| expected(inputs, thread))
        } else {
            row!(text, (a: u64) -> u64, |inputs, thread| expected(inputs, thread))
        });
    }
}

fn reductions(rows: &mut Vec<Row>) {
    macro_rules! redux {
        ($op:literal, $ty:ty, |$x:ident, $y:ident| $combine:expr) => {
            let text = format!("redux.sync.{} d, a, -1;", $op);
            let whole = row!(text, (a: $ty) -> $ty, |inputs, thread| {
                lanes::<$ty>(inputs, thread).into_iter().reduce(|$x, $y| $combine).unwrap()
            });
            // The odd lanes reduce among themselves, and so do the even ones.
            let text = format!(
                "and.b32 t0, thread, 1; setp.ne.u32 p, t0, 0;
    @p bra $odd;
    redux.sync.{0} d, a, 0x55555555;
    bra.uni $both;
$odd:
    redux.sync.{0} d, a, 0xaaaaaaaa;
$both:",
                $op
            );
            let halves = row!(text, (a: $ty) -> $ty, |inputs, thread| {
                let lanes = lanes::<$ty>(inputs, thread).into_iter();
                lanes.skip(thread % 2).step_by(2).reduce(|$x, $y| $combine).unwrap()
            });
            rows.extend([whole.sm_80(), halves.sm_80()]);
        };
    }
    redux!("add.u32", u32, |x, y| x.wrapping_add(y));
    redux!("add.s32", i32, |x, y| x.wrapping_add(y));
    redux!("min.u32", u32, |x, y| x.min(y));
    redux!("min.s32", i32, |x, y| x.min(y));
    redux!("max.u32", u32, |x, y| x.max(y));
    redux!("max.s32", i32, |x, y| x.max(y));
    redux!("and.b32", u32, |x, y| x & y);
    redux!("or.b32", u32, |x, y| x | y);
    redux!("xor.b32", u32, |x, y| x ^ y);
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    shuffles(&mut rows);
    votes(&mut rows);
    matches(&mut rows);
    reductions(&mut rows);
    rows
}
