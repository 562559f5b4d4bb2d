//! The kernels around the reduction, as PTX that the driver compiles: two kernels for the three
//! producers, a consumer, and a kernel that holds the stream. All contenders share these kernels.

use std::fmt::Write;

use super::Producer;
use crate::{contender::RESULT_BYTES, data::PERIOD};

/// The number of threads in a block of [`Producer::Data`] and [`Producer::Other`].
const BLOCK: u32 = 256;

/// The greatest number of blocks of [`Producer::Data`] and [`Producer::Other`] for each
/// multiprocessor. So many can be resident at once.
const BLOCKS_EACH: u32 = 8;

/// The number of threads in a block of [`Producer::Code`]. Each multiprocessor gets one block.
const CODE_BLOCK: u32 = 1024;

/// The number of threads of a block that run the straight-line code. They are one warp for each of
/// the four schedulers of a multiprocessor, because each scheduler has an instruction cache of its
/// own.
const CODE_THREADS: u32 = 128;

/// The number of rows of straight-line code on a GPU. A row takes `ROW_BYTES`, so all rows take
/// 256 KiB. This is twice the 128 KiB of the instruction cache of a multiprocessor (the L1.5 cache,
/// as Z. Jia et al. measured it in *Dissecting the NVIDIA Volta GPU Architecture via
/// Microbenchmarking*, 2018).
pub(super) const CODE_ROWS: usize = 2048;

/// The number of bytes of machine code in a row: eight instructions of 16 bytes.
#[cfg(test)]
const ROW_BYTES: usize = 128;

/// The number of rows between two branches. The branches keep basic blocks short enough for the
/// driver's compiler.
const ROWS_IN_BLOCK: usize = 32;

/// The name of the consumer.
pub(super) const CONSUMER: &str = "consume";

/// The name of the kernel that holds the stream.
pub(super) const HOLD: &str = "hold";

impl Producer {
    /// The name of the kernel.
    pub(super) fn kernel(self) -> &'static str {
        match self {
            Self::Data | Self::Other => "produce",
            Self::Code => "produce_with_code",
        }
    }

    /// The numbers of blocks and of threads in a block, for a launch that writes `packs` packs of
    /// 16 bytes.
    pub(super) fn shape(self, packs: u32, multiprocessors: u32) -> (u32, u32) {
        match self {
            Self::Data | Self::Other => {
                (packs.div_ceil(BLOCK).clamp(1, multiprocessors * BLOCKS_EACH), BLOCK)
            }
            Self::Code => (multiprocessors, CODE_BLOCK),
        }
    }
}

/// The PTX of all these kernels, with `rows` rows of straight-line code in [`Producer::Code`].
pub(super) fn ptx(rows: usize) -> String {
    let mut ptx = String::from(".version 7.0\n.target sm_70\n.address_size 64\n\n");
    for (producer, rows) in [(Producer::Data, 0), (Producer::Code, rows)] {
        ptx += &produce(producer.kernel(), rows);
    }
    ptx += &consume();
    ptx += &hold();
    ptx
}

/// The PTX of a kernel that copies packs from the source to the target. Pack `i` of the target
/// becomes pack `i % PERIOD` of the source. A thread begins with the pack of its index in the grid,
/// and its step is the number of threads in the grid.
///
/// Before that, the first threads of each block run the rows of straight-line code. They start from
/// the seed and from their index in the block, so the compiler cannot compute the outcome.
fn produce(name: &str, rows: usize) -> String {
    let code = straight_line(rows);
    format!(
        "\
.visible .entry {name}(
    .param .u64 source, .param .u64 target, .param .u32 packs, .param .u32 seed
) {{
    .reg .pred %p, %q;
    .reg .b32 %i, %step, %count, %at, %seed, %thread, %x<4>, %a<4>, %b<4>;
    .reg .b64 %source, %target, %from, %to;
    ld.param.u64 %source, [source];
    ld.param.u64 %target, [target];
    ld.param.u32 %count, [packs];
    ld.param.u32 %seed, [seed];
    cvta.to.global.u64 %source, %source;
    cvta.to.global.u64 %target, %target;
    mov.u32 %thread, %tid.x;
    mov.u32 %at, %ctaid.x;
    mov.u32 %step, %ntid.x;
    mad.lo.u32 %i, %at, %step, %thread;
    mov.u32 %at, %nctaid.x;
    mul.lo.u32 %step, %step, %at;
{code}WRITE:
    setp.ge.u32 %p, %i, %count;
    @%p bra END;
    rem.u32 %at, %i, {PERIOD};
    mad.wide.u32 %from, %at, 16, %source;
    mad.wide.u32 %to, %i, 16, %target;
    ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%from];
    st.global.v4.b32 [%to], {{%x0, %x1, %x2, %x3}};
    add.u32 %i, %i, %step;
    bra WRITE;
END:
    ret;
}}

"
    )
}

/// The PTX of the straight-line code. It has four independent chains, and each row takes each chain
/// one multiplication and one exclusive or further, with other factors in each row. The outcome
/// must be used, because the compiler would remove the code otherwise. So a thread ends without
/// writing if a value equals a certain constant, which is very unlikely.
fn straight_line(rows: usize) -> String {
    let mut code = String::new();
    if rows == 0 {
        return code;
    }
    let mut add = |line: &str| code.extend(["    ", line, "\n"]);
    add(&format!("setp.ge.u32 %p, %thread, {CODE_THREADS};"));
    add("@%p bra WRITE;");
    for chain in 0..4 {
        add(&format!("mad.lo.u32 %a{chain}, %thread, {}, %seed;", 2 * chain + 3));
        add(&format!("xor.b32 %b{chain}, %a{chain}, %seed;"));
    }
    let mut factor = 0x9e37_79b9u32;
    for row in 0..rows {
        for chain in 0..4 {
            // The factors are odd. So a multiplication never maps two values to the same value.
            factor = factor.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) | 1;
            add(&format!("mad.lo.u32 %a{chain}, %a{chain}, {factor}, %b{chain};"));
            add(&format!("xor.b32 %b{chain}, %b{chain}, %a{chain};"));
        }
        if row % ROWS_IN_BLOCK == ROWS_IN_BLOCK - 1 {
            add(&format!("setp.eq.u32 %p, %a{}, 3735928559;", row % 4));
            add("@%p bra END;");
        }
    }
    add("xor.b32 %a0, %a0, %a1;");
    add("xor.b32 %a2, %a2, %a3;");
    add("xor.b32 %a0, %a0, %a2;");
    add("setp.eq.u32 %q, %a0, 3735928559;");
    add("@%q bra END;");
    code
}

/// The PTX of a kernel of one thread that copies a result to a log. Then it overwrites the result,
/// because otherwise the check would not notice if the next reduction wrote no result.
fn consume() -> String {
    let mut body = String::new();
    for at in (0..RESULT_BYTES).step_by(16) {
        let x: Vec<String> = (at / 4..at / 4 + 4).map(|word| format!("%x{word}")).collect();
        writeln!(body, "    ld.global.v4.b32 {{{}}}, [%result+{at}];", x.join(", "))
            .expect("a string takes all that is written to it");
    }
    for at in (0..RESULT_BYTES).step_by(16) {
        let x: Vec<String> = (at / 4..at / 4 + 4).map(|word| format!("%x{word}")).collect();
        writeln!(
            body,
            "    st.global.v4.b32 [%log+{at}], {{{}}};\n    \
             st.global.v4.b32 [%result+{at}], {{%none, %none, %none, %none}};",
            x.join(", ")
        )
        .expect("a string takes all that is written to it");
    }
    let words = RESULT_BYTES / 4;
    format!(
        "\
.visible .entry {CONSUMER}(.param .u64 result, .param .u64 log) {{
    .reg .b32 %x<{words}>, %none;
    .reg .b64 %result, %log;
    ld.param.u64 %result, [result];
    ld.param.u64 %log, [log];
    cvta.to.global.u64 %result, %result;
    cvta.to.global.u64 %log, %log;
    mov.u32 %none, 0xffffffff;
{body}    ret;
}}

"
    )
}

/// The PTX of a kernel of one thread that waits until the given number of nanoseconds has passed.
fn hold() -> String {
    format!(
        "\
.visible .entry {HOLD}(.param .u64 nanoseconds) {{
    .reg .pred %p;
    .reg .b64 %start, %now, %wanted;
    ld.param.u64 %wanted, [nanoseconds];
    mov.u64 %start, %globaltimer;
AGAIN:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %p, %now, %wanted;
    @%p bra AGAIN;
    ret;
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_twice_an_instruction_cache() {
        assert_eq!(CODE_ROWS * ROW_BYTES, 2 * (128 << 10));
        let count = |ptx: &str| ptx.matches("mad.lo.u32 %a").count();
        assert_eq!(count(&ptx(CODE_ROWS)) - count(&ptx(1)), 4 * (CODE_ROWS - 1));
    }

    #[test]
    fn a_producer_has_a_block_for_each_256_packs_or_for_each_multiprocessor() {
        assert_eq!(Producer::Data.shape(1, 132), (1, 256));
        assert_eq!(Producer::Other.shape(1025, 132), (5, 256));
        assert_eq!(Producer::Data.shape(1 << 26, 132), (1056, 256));
        assert_eq!(Producer::Code.shape(1, 132), (132, 1024));
    }
}
