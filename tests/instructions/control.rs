//! Rows for branches, loops, calls, barriers and special registers (PTX ISA 9.7.12, 9.7.13.1, 10).

use crate::{
    BLOCK, THREADS,
    operands::{Amount, Tuple},
    row::{Row, row},
};

fn branches(rows: &mut Vec<Row>) {
    rows.push(row!(
        "setp.lt.s32 p, a, b;
    @p bra $less;
    setp.lt.s32 q, b, c;
    @q bra $inner;
    add.s32 d, a, b;
    bra.uni $join;
$inner:
    sub.s32 d, c, a;
    bra.uni $join;
$less:
    setp.gt.s32 q, c, 0;
    mul.lo.s32 d, a, b;
    @!q bra $join;
    xor.b32 d, d, c;
$join:
    add.s32 d, d, 1;",
        (a: i32, b: i32, c: i32) -> i32 = {
            let value = match (a < b, b < c, c > 0) {
                (false, false, _) => a.wrapping_add(b),
                (false, true, _) => c.wrapping_sub(a),
                (true, _, false) => a.wrapping_mul(b),
                (true, _, true) => a.wrapping_mul(b) ^ c,
            };
            value.wrapping_add(1)
        }
    ));
    // Each lane makes its own number of iterations.
    rows.push(row!(
        "mov.u32 t0, a; mov.u32 d, 0;
$next:
    setp.eq.u32 p, t0, 0;
    @p bra $done;
    sub.u32 t1, t0, 1;
    and.b32 t0, t0, t1;
    add.u32 d, d, 1;
    bra $next;
$done:",
        (a: u32) -> u32 = a.count_ones()
    ));
    rows.push(
        row!(
            "mov.u32 t0, a; mov.u32 t1, b;
$next:
    rem.u32 t2, t0, t1;
    mov.u32 t0, t1; mov.u32 t1, t2;
    setp.ne.u32 p, t1, 0;
    @p bra $next;
    mov.u32 d, t0;",
            (a: u32, b: u32) -> u32 = {
                let (mut a, mut b) = (a, b);
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                a
            }
        )
        .divides(),
    );
    // These loops are nested, and the lanes leave them early.
    rows.push(row!(
        "and.b32 a, a, 15; and.b32 b, b, 15; mov.u32 d, 0; mov.u32 t0, 0;
$outer:
    mov.u32 t1, 0;
$inner:
    mad.lo.u32 d, d, 31, t1;
    add.u32 d, d, t0;
    and.b32 t2, d, 63;
    setp.eq.u32 q, t2, 17;
    @q bra $done;
    add.u32 t1, t1, 1;
    setp.lt.u32 p, t1, b;
    @p bra $inner;
    add.u32 t0, t0, 1;
    setp.lt.u32 p, t0, a;
    @p bra $outer;
$done:",
        (a: u32, b: u32) -> u32 = {
            let (mut d, rows, columns) = (0_u32, (a % 16).max(1), (b % 16).max(1));
            'all: for i in 0..rows {
                for j in 0..columns {
                    d = d.wrapping_mul(31).wrapping_add(j).wrapping_add(i);
                    if d % 64 == 17 {
                        break 'all;
                    }
                }
            }
            d
        }
    ));
    // Some lanes exit and the others go on. The result of a lane that exits stays the zero that was
    // there.
    rows.push(row!(
        "setp.lt.s32 p, a, 0; @p exit; add.s32 d, a, b;",
        (a: i32, b: i32) -> i32 = if a < 0 { 0 } else { a.wrapping_add(b) }
    ));
    rows.push(row!(
        "setp.lt.s32 p, a, 0; mov.b32 d, b; @p add.s32 d, d, a; @!p sub.s32 d, d, a;",
        (a: i32, b: i32) -> i32 = if a < 0 { b.wrapping_add(a) } else { b.wrapping_sub(a) }
    ));
    rows.push(row!(
        "and.b32 t0, a, 3;
$ways: .branchtargets $zero, $one, $two, $three;
    brx.idx t0, $ways;
$zero:
    mov.b32 d, b;
    bra $join;
$one:
    neg.s32 d, b;
    bra $join;
$two:
    not.b32 d, b;
    bra $join;
$three:
    abs.s32 d, b;
$join:",
        (a: i32, b: i32) -> i32 = match a & 3 {
            0 => b,
            1 => b.wrapping_neg(),
            2 => !b,
            _ => b.wrapping_abs(),
        }
    ));
    // A function is called, also from diverged lanes.
    rows.push(row!(
        "mov.b32 d, b;
    setp.lt.u32 p, a, b;
    @!p bra $skip;
    {
        .param .b32 value;
        .param .b32 result;
        st.param.b32 [value], a;
        call.uni (result), thrice, (value);
        ld.param.b32 d, [result];
    }
$skip:",
        (a: u32, b: u32) -> u32 = if a < b { a.wrapping_mul(3) } else { b }
    ));
}

/// Sets `p` in all threads of some blocks, in no thread of others, and in some threads of one.
const LATE: &str = "setp.ge.u32 p, thread, 1000;";

const ODD: &str = "and.b32 t0, a, 1; setp.ne.u32 p, t0, 0;";

fn barriers(rows: &mut Vec<Row>) {
    let odd = |inputs: &[Tuple], thread: usize| {
        let block = &inputs[thread / BLOCK * BLOCK..][..BLOCK];
        block.iter().filter(|tuple| tuple[0] % 2 == 1).count()
    };
    let text = format!("{ODD} bar.red.popc.u32 d, 0, p;");
    rows.push(row!(text, (a: u32) -> u32, |inputs, thread| odd(inputs, thread) as u32));
    let text = format!("{ODD} barrier.red.popc.u32 d, 1, !p;");
    rows.push(row!(text, (a: u32) -> u32, |inputs, thread| (BLOCK - odd(inputs, thread)) as u32));
    let text = format!("{LATE} bar.red.and.pred q, 0, p; selp.u32 d, 1, 0, q;");
    rows.push(row!(text, () -> u32, |_inputs, thread| (thread / BLOCK * BLOCK >= 1000).into()));
    let text = format!("{LATE} bar.red.or.pred q, 2, p; selp.u32 d, 1, 0, q;");
    rows.push(
        row!(text, () -> u32, |_inputs, thread| (thread / BLOCK * BLOCK + BLOCK > 1000).into()),
    );
    // The first warp waits for the second alone, and reads the values that the second wrote.
    rows.push(row!(
        "mov.u32 t0, %tid.x; mov.u64 w0, buffer; and.b32 t1, t0, 31; mad.wide.u32 w0, t1, 8, w0;
    shr.u32 t1, t0, 5; mov.b64 d, a;
    setp.ne.u32 p, t1, 1; @p bra $first;
    st.shared.b64 [w0], a;
    barrier.arrive 3, 64;
    bra $done;
$first:
    setp.ne.u32 p, t1, 0; @p bra $done;
    barrier.sync 3, 64;
    ld.shared.b64 d, [w0];
$done:",
        (a: u64) -> u64,
        |inputs, thread| inputs[if thread % BLOCK < 32 { thread + 32 } else { thread }][0]
    ));
    rows.push(row!("membar.gl; fence.acq_rel.gpu; fence.sc.cta; nanosleep.u32 20; mov.b32 d, a;", (a: u32) -> u32 = a));
}

/// The value of a special register in each thread.
type Value = fn(usize) -> u32;

fn special_registers(rows: &mut Vec<Row>) {
    let lane = |thread: usize| thread as u32 % 32;
    let registers: [(&str, Value); 13] = [
        ("%tid.x", |thread| (thread % BLOCK) as u32),
        ("%tid.y", |_| 0),
        ("%tid.z", |_| 0),
        ("%ntid.x", |_| BLOCK as u32),
        ("%ntid.y", |_| 1),
        ("%ntid.z", |_| 1),
        ("%ctaid.x", |thread| (thread / BLOCK) as u32),
        ("%ctaid.y", |_| 0),
        ("%ctaid.z", |_| 0),
        ("%nctaid.x", |_| (THREADS / BLOCK) as u32),
        ("%nctaid.y", |_| 1),
        ("%nctaid.z", |_| 1),
        ("%dynamic_smem_size", |_| 0),
    ];
    for (name, value) in registers {
        rows.push(row!(format!("mov.u32 d, {name};"), () -> u32, |_inputs, thread| value(thread)));
    }
    rows.extend([
        row!("mov.u32 d, %laneid;", () -> u32, |_inputs, thread| lane(thread)),
        row!("mov.u32 d, %lanemask_eq;", () -> u32, |_inputs, thread| 1 << lane(thread)),
        row!("mov.u32 d, %lanemask_lt;", () -> u32, |_inputs, thread| (1 << lane(thread)) - 1),
        row!("mov.u32 d, %lanemask_le;", () -> u32, |_inputs, thread| u32::MAX >> (31 - lane(thread))),
        row!("mov.u32 d, %lanemask_ge;", () -> u32, |_inputs, thread| u32::MAX << lane(thread)),
        row!("mov.u32 d, %lanemask_gt;", () -> u32, |_inputs, thread| u32::MAX << lane(thread) << 1),
        // This shifts by the lane's number, to show that a special register is an operand like any
        // other.
        row!("mov.u32 t0, %laneid; shl.b32 d, b, t0;", (b: Amount) -> u32, |inputs, thread| {
            (inputs[thread][0] as u32) << lane(thread)
        }),
        // A clock never goes back.
        row!("mov.u64 w0, %clock64; mov.u64 w1, %clock64; setp.ge.u64 p, w1, w0; selp.u32 d, 1, 0, p;", () -> u32 = 1),
    ]);
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    branches(&mut rows);
    barriers(&mut rows);
    special_registers(&mut rows);
    rows
}
