//! Rows for loads, stores and atomics in all state spaces (PTX ISA 9.7.9, 9.7.13).

use crate::{
    BLOCK,
    float::flushed,
    integer::Int,
    operands::Tuple,
    row::{Row, row},
};

/// Each space has sixteen bytes for each thread alone. This lists the modifier of the space, and
/// instructions that put the address of the bytes into `w0`.
const SPACES: [(&str, &str); 6] = [
    (".global", "mov.u64 w0, own;"),
    (".shared", SHARED),
    (".local", "mov.u64 w0, stack;"),
    ("", "cvta.global.u64 w0, own;"),
    ("", GENERIC_SHARED),
    ("", "mov.u64 w0, stack; cvta.local.u64 w0, w0;"),
];

const SHARED: &str = "mov.u32 t0, %tid.x; mov.u64 w0, buffer; mad.wide.u32 w0, t0, 16, w0;";
const GENERIC_SHARED: &str =
    "mov.u32 t0, %tid.x; mov.u64 w0, buffer; mad.wide.u32 w0, t0, 16, w0; cvta.shared.u64 w0, w0;";

fn loads_and_stores(rows: &mut Vec<Row>) {
    for (space, address) in SPACES {
        for bits in [8, 16, 32, 64] {
            for signed in [false, true] {
                let ty = Int { bits, signed };
                // A value is loaded from each place in the word and extended to 64 bits.
                for offset in (0..8).step_by(bits as usize / 8) {
                    let text = format!(
                        "{address} st{space}.b64 [w0+8], a; ld{space}.{} d, [w0+{}];",
                        ty.name(),
                        8 + offset
                    );
                    rows.push(row!(text, (a: u64) -> u64, |inputs, thread| {
                        ty.value(inputs[thread][0] >> (8 * offset)) as u64
                    }));
                }
            }
            let text = format!(
                "{address} st{space}.b64 [w0], a; st{space}.b{bits} [w0], b; ld{space}.b64 d, [w0];"
            );
            rows.push(row!(text, (a: u64, b: u64) -> u64 = {
                let mask = u64::MAX >> (64 - bits);
                a & !mask | b & mask
            }));
        }
        let moves = [
            ("v2.b64", "{a, b}", "v2.b64", "{w1, w2}", "xor.b64 w1, w1, w2; not.b64 d, w1;"),
            (
                "v2.b64",
                "{a, b}",
                "v4.b32",
                "{t0, t1, t2, t3}",
                "xor.b32 t0, t0, t2; xor.b32 t1, t1, t3; mov.b64 w1, {t0, t1}; not.b64 d, w1;",
            ),
        ];
        for (stored, values, loaded, registers, combine) in moves {
            let text = format!(
                "{address} st{space}.{stored} [w0], {values}; ld{space}.{loaded} {registers}, [w0]; {combine}"
            );
            rows.push(row!(text, (a: u64, b: u64) -> u64 = !(a ^ b)));
        }
        let text =
            format!("{address} st{space}.v4.b32 [w0], {{a, b, c, e}}; ld{space}.b64 d, [w0+8];");
        rows.push(
            row!(text, (a: u32, b: u32, c: u32, e: u32) -> u64 = u64::from(e) << 32 | u64::from(c)),
        );
        let text = format!(
            "{address} st{space}.v2.b32 [w0+8], {{a, b}}; ld{space}.v2.u16 {{t0, t1}}, [w0+12]; mov.b64 d, {{t0, t1}};"
        );
        rows.push(row!(text, (a: u32, b: u32) -> u64 = {
            u64::from(b >> 16) << 32 | u64::from(b & 0xffff)
        }));
        let text = format!(
            "{address} st{space}.v2.b8 [w0+2], {{a, b}}; st{space}.b8 [w0+1], c; st{space}.b8 [w0], e; ld{space}.v4.u8 {{t0, t1, t2, t3}}, [w0];
    mov.b64 w1, {{t0, t1}}; mov.b64 w2, {{t2, t3}};
    shl.b64 w2, w2, 8; or.b64 d, w1, w2;"
        );
        rows.push(row!(text, (a: u32, b: u32, c: u32, e: u32) -> u64 = {
            let byte = |value: u32| u64::from(value & 0xff);
            byte(e) | byte(c) << 32 | byte(a) << 8 | byte(b) << 40
        }));
    }
    rows.extend([
        row!(
            "and.b32 t0, a, 15; mov.u64 w0, table; mad.wide.u32 w0, t0, 4, w0; ld.const.u32 d, [w0];",
            (a: u32) -> u32 = 1000 + a % 16
        ),
        row!("ld.const.u32 t0, [table+20]; add.u32 d, a, t0;", (a: u32) -> u32 = a.wrapping_add(1005)),
        row!("ld.const.v4.u32 {t0, t1, t2, t3}, [table+48]; sub.u32 d, a, t3;", (a: u32) -> u32 = {
            a.wrapping_sub(1015)
        }),
        row!(
            "ld.param.u64 w0, [input]; cvta.to.global.u64 w0, w0; mad.wide.u32 w0, thread, 32, w0;
        ld.global.nc.b32 t0, [w0+8]; sub.u32 d, t0, a;",
            (a: u32, b: u32) -> u32 = b.wrapping_sub(a)
        ),
        row!(
            "ld.param.u32 t0, [output]; ld.param.u64 w0, [output]; cvt.u32.u64 t1, w0; sub.u32 d, t0, t1;",
            () -> u32 = 0
        ),
    ]);
    // Memory orderings and cache operators do not change values.
    for store in [
        "volatile.global",
        "relaxed.gpu.global",
        "release.sys.global",
        "global.cg",
        "global.cs",
        "global.wt",
    ] {
        for load in [
            "volatile.global",
            "relaxed.cta.global",
            "acquire.gpu.global",
            "global.ca",
            "global.cg",
            "global.cv",
        ] {
            let text = format!("st.{store}.b32 [slot], a; membar.cta; ld.{load}.u32 d, [slot];");
            rows.push(row!(text, (a: u32) -> u32 = a));
        }
    }
    // Values pass from thread to thread through shared memory.
    let text = format!(
        "{SHARED} st.shared.b64 [w0], a;
    bar.sync 0;
    xor.b32 t0, t0, 127; mov.u64 w0, buffer; mad.wide.u32 w0, t0, 16, w0;
    ld.shared.b64 d, [w0];"
    );
    rows.push(row!(text, (a: u64) -> u64, |inputs, thread| inputs[thread ^ (BLOCK - 1)][0]));
}

/// Rows for generic addresses.
fn addresses(rows: &mut Vec<Row>) {
    for (space, address) in &SPACES[3..] {
        let text = format!("{address} st{space}.b64 [w0], a; ld.volatile.b64 d, [w0];");
        rows.push(row!(text, (a: u64) -> u64 = a));
    }
    for (space, index) in [("global", 0), ("shared", 1), ("local", 2)] {
        for (place, (_, address)) in SPACES[3..].iter().enumerate() {
            let text = format!("{address} isspacep.{space} p, w0; selp.u32 d, 1, 0, p;");
            rows.push(row!(text, () -> u32 = (place == index).into()));
        }
        let (_, own) = SPACES[index];
        let text = format!(
            "{own} cvta.{space}.u64 w1, w0; cvta.to.{space}.u64 w2, w1; sub.u64 d, w2, w0;"
        );
        rows.push(row!(text, () -> u64 = 0));
    }
}

/// Rows for `atom` and `red`. Both put the new value into memory; `atom` also returns the old one.
fn atomics(rows: &mut Vec<Row>) {
    macro_rules! atomic {
        ($op:literal, $ty:literal, $rust:ty, |$a:ident, $b:ident| $new:expr) => {
            for (space, address) in [SPACES[0], SPACES[1], SPACES[3], SPACES[4]] {
                let (op, ty, bits) = ($op, $ty, <$rust>::BITS);
                let word = if bits == 64 { 'w' } else { 't' };
                let text = format!(
                    "{address} st{space}.b{bits} [w0], a;
    atom{space}.{op}.{ty} {word}1, [w0], b;
    ld{space}.b{bits} {word}2, [w0];
    brev.b{bits} {word}2, {word}2;
    xor.b{bits} d, {word}1, {word}2;"
                );
                rows.push(row!(text, ($a: $rust, $b: $rust) -> $rust = {
                    let new: $rust = $new;
                    $a ^ new.reverse_bits()
                }));
                if op != "exch" {
                    let text = format!(
                        "{address} st{space}.b{bits} [w0], a; red{space}.{op}.{ty} [w0], b; ld{space}.b{bits} d, [w0];"
                    );
                    rows.push(row!(text, ($a: $rust, $b: $rust) -> $rust = $new));
                }
            }
        };
    }
    atomic!("add", "u32", u32, |a, b| a.wrapping_add(b));
    atomic!("add", "s32", i32, |a, b| a.wrapping_add(b));
    atomic!("add", "u64", u64, |a, b| a.wrapping_add(b));
    atomic!("min", "u32", u32, |a, b| a.min(b));
    atomic!("min", "s32", i32, |a, b| a.min(b));
    atomic!("min", "u64", u64, |a, b| a.min(b));
    atomic!("min", "s64", i64, |a, b| a.min(b));
    atomic!("max", "u32", u32, |a, b| a.max(b));
    atomic!("max", "s32", i32, |a, b| a.max(b));
    atomic!("max", "u64", u64, |a, b| a.max(b));
    atomic!("max", "s64", i64, |a, b| a.max(b));
    atomic!("and", "b32", u32, |a, b| a & b);
    atomic!("and", "b64", u64, |a, b| a & b);
    atomic!("or", "b32", u32, |a, b| a | b);
    atomic!("or", "b64", u64, |a, b| a | b);
    atomic!("xor", "b32", u32, |a, b| a ^ b);
    atomic!("xor", "b64", u64, |a, b| a ^ b);
    atomic!("inc", "u32", u32, |a, b| if a >= b { 0 } else { a + 1 });
    atomic!("dec", "u32", u32, |a, b| if a == 0 || a > b { b } else { a - 1 });
    atomic!("exch", "b32", u32, |a, b| b);
    atomic!("exch", "b64", u64, |a, b| b);
    for (space, address) in [SPACES[0], SPACES[1], SPACES[3], SPACES[4]] {
        let cas = |bits: u32, word: char| {
            format!(
                "{address} st{space}.b{bits} [w0], a;
    atom{space}.cas.b{bits} {word}1, [w0], b, c;
    ld{space}.b{bits} {word}2, [w0];
    shl.b{bits} {word}2, {word}2, 1;
    xor.b{bits} d, {word}1, {word}2;"
            )
        };
        rows.extend([
            row!(cas(16, 'h').replace("h2", "h0"), (a: u16, b: u16, c: u16) -> u16 = {
                a ^ (if a == b { c } else { a }) << 1
            }),
            row!(cas(32, 't'), (a: u32, b: u32, c: u32) -> u32 = a ^ (if a == b { c } else { a }) << 1),
            row!(cas(64, 'w'), (a: u64, b: u64, c: u64) -> u64 = a ^ (if a == b { c } else { a }) << 1),
        ]);
        let sum = |bits: u32| {
            format!(
                "{address} st{space}.b{bits} [w0], a; red{space}.add.f{bits} [w0], b; ld{space}.b{bits} d, [w0];"
            )
        };
        rows.push(row!(sum(64), (a: f64, b: f64) -> f64 = a + b));
        // The ISA says that subnormals are flushed in global memory and not in shared memory.
        let flushes = !address.contains("buffer");
        rows.push(row!(sum(32), (a: f32, b: f32) -> f32 = {
            if flushes { flushed(flushed(a) + flushed(b)) } else { a + b }
        }));
    }
}

/// Rows in which many threads use one address.
fn contended(rows: &mut Vec<Row>) {
    let own_counter = "mov.u32 t0, %tid.x; setp.eq.u32 p, t0, 0; mov.u64 w0, buffer;
    @p st.shared.v2.b32 [w0], {0, 0}; bar.sync 0;";
    rows.extend([
        row!("atom.global.add.u32 d, [common], 1;", () -> u32, |_inputs, thread| thread as u32).unordered(),
        row!("atom.global.add.s32 d, [common], -1;", () -> u32, |_inputs, thread| {
            (thread as u32).wrapping_neg()
        })
        .unordered(),
        row!("atom.global.inc.u32 d, [common], 99;", () -> u32, |_inputs, thread| thread as u32 % 100).unordered(),
        row!("atom.global.dec.u32 d, [common], 99;", () -> u32, |_inputs, thread| {
            (100 - thread as u32 % 100) % 100
        })
        .unordered(),
        row!(format!("{own_counter} atom.shared.add.u32 d, [w0], 1;"), () -> u32, |_inputs, thread| {
            (thread % BLOCK) as u32
        })
        .unordered(),
        row!(
            format!("{own_counter} red.shared.max.u32 [w0], a; bar.sync 0; ld.shared.u32 d, [w0];"),
            (a: u32) -> u32,
            |inputs, thread| block(inputs, thread).map(|a| a as u32).max().unwrap()
        ),
        row!(
            format!("{own_counter} red.shared.add.u64 [w0], a; bar.sync 0; ld.shared.u64 d, [w0];"),
            (a: u64) -> u64,
            |inputs, thread| block(inputs, thread).fold(0, u64::wrapping_add)
        ),
        row!("red.global.xor.b64 [common], a; mov.b64 d, a;", (a: u64) -> u64 = a),
        row!("red.global.min.s32 [common], a; red.global.add.u32 [common+4], a; mov.b32 d, a;", (a: u32) -> u32 = a),
        // The lanes of one warp wait for a lock.
        row!(
            format!(
                "{own_counter}
$again:
    atom.shared.cas.b32 t0, [w0], 0, 1;
    setp.ne.u32 p, t0, 0;
    @p bra $taken;
    membar.cta;
    ld.volatile.shared.u32 d, [w0+4];
    add.u32 t1, d, 1;
    st.volatile.shared.u32 [w0+4], t1;
    membar.cta;
    atom.shared.exch.b32 t0, [w0], 0;
$taken:
    @p bra $again;"
            ),
            () -> u32,
            |_inputs, thread| (thread % BLOCK) as u32
        )
        .unordered(),
    ]);
}

/// The first operands of all threads in the thread's block.
fn block(inputs: &[Tuple], thread: usize) -> impl Iterator<Item = u64> {
    inputs[thread / BLOCK * BLOCK..][..BLOCK].iter().map(|tuple| tuple[0])
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    loads_and_stores(&mut rows);
    addresses(&mut rows);
    atomics(&mut rows);
    contended(&mut rows);
    rows
}
