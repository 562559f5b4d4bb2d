//! The results of simulated kernels, the scheduling of their threads, and their faults.

#![allow(clippy::float_cmp, reason = "PTX compares exactly")]
#![allow(clippy::precedence, reason = "formulas as the PTX ISA writes them")]
#![allow(clippy::format_push_string, reason = "kernels are put together from text")]
#![allow(
    clippy::invalid_upcast_comparisons,
    reason = "casts to a signed type are meant to change the sign"
)]
#![allow(clippy::manual_is_multiple_of, reason = "the kernels under test compute remainders")]
#![allow(clippy::needless_range_loop, reason = "a lane number indexes several arrays at once")]

mod apart;
mod calls;
mod directed;
mod faults;
mod floats;
mod gross;
mod halves;
mod integers;
#[path = "../foreign/nearest.rs"]
mod nearest;
mod refusals;
mod scheduling;
mod simd;
mod vectors;
mod warp;
mod wide;

use simt::{Arg, LaunchConfig, LaunchError, Memory, Module, launch_named};

/// One value for each lane.
pub(crate) type Lanes = [u64; 32];

/// A module with one kernel `k`, which has the pointers `in` and `out` as parameters.
pub(crate) fn kernel(declarations: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{declarations}\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<20>;\n.reg .b64 %d<20>;\n.reg .f32 %f<10>;\n.reg .f64 %g<10>;\n\
         ld.param.u64 %d10, [in];\nld.param.u64 %d11, [out];\nmov.u32 %r10, %tid.x;\nmov.u32 %r11, %ctaid.x;\n\
         mad.lo.u32 %r12, %r11, 32, %r10;\n{body}\nret;\n}}"
    );
    Module::from_ptx("test.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs `k` on an input of 64-bit words, and returns its output.
pub(crate) fn run(
    module: &Module,
    config: &LaunchConfig,
    input: &[u64],
    outputs: usize,
) -> Result<Vec<u64>, LaunchError> {
    let memory = Memory::new(1 << 24);
    let allocate =
        |words: usize| memory.alloc(words as u64 * 8).expect("the memory is large enough");
    let (from, to) = (allocate(input.len().max(1)), allocate(outputs));
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(from, &bytes).expect("the input fits");
    launch_named(module, "k", config, &[Arg::Pointer(from), Arg::Pointer(to)], &memory)?;
    let mut bytes = vec![0; outputs * 8];
    memory.read(to, &mut bytes).expect("the output was allocated");
    Ok(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Runs instructions in one warp. Each lane finds its sources in `%d1 %d2 %d3` (64 bits), `%r1 %r2
/// %r3`, `%h1 %h2 %h3`, `%f1 %f2 %f3` and `%g1 %g2 %g3`. The instructions leave their result in
/// register 0 of the class that `class` names.
pub(crate) fn eval(body: &str, class: char, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let mut text = String::from(
        "mul.wide.u32 %d12, %r10, 8;\nadd.s64 %d10, %d10, %d12;\nadd.s64 %d11, %d11, %d12;\n",
    );
    for i in 1..4 {
        text += &format!(
            "ld.global.u64 %d{i}, [%d10+{}];\ncvt.u32.u64 %r{i}, %d{i};\ncvt.u16.u64 %h{i}, %d{i};\n\
             mov.b32 %f{i}, %r{i};\nmov.b64 %g{i}, %d{i};\n",
            (i - 1) * 256
        );
    }
    text += body;
    text += match class {
        'd' => "",
        'r' => "\ncvt.u64.u32 %d0, %r0;",
        'h' => "\ncvt.u64.u16 %d0, %h0;",
        'f' => "\nmov.b32 %r0, %f0;\ncvt.u64.u32 %d0, %r0;",
        'g' => "\nmov.b64 %d0, %g0;",
        'p' => "\nselp.u64 %d0, 1, 0, %p0;",
        other => panic!("no register class {other}"),
    };
    text += "\nst.global.u64 [%d11], %d0;";
    let input: Vec<u64> = a.iter().chain(b).chain(c).copied().collect();
    let module = kernel("", &text);
    let config = LaunchConfig { workers: Some(1), ..LaunchConfig::new(1, 32) };
    let result =
        run(&module, &config, &input, 32).unwrap_or_else(|error| panic!("{error}\n{body}"));
    result.try_into().expect("there are 32 lanes")
}

/// Compares the result of instructions with a function of the three sources.
#[track_caller]
pub(crate) fn check(
    body: &str,
    class: char,
    [a, b, c]: [&Lanes; 3],
    expected: impl Fn(u64, u64, u64) -> u64,
) {
    let result = eval(body, class, a, b, c);
    for lane in 0..32 {
        let (a, b, c) = (a[lane], b[lane], c[lane]);
        let expected = expected(a, b, c);
        assert_eq!(
            result[lane], expected,
            "`{body}` of {a:#x}, {b:#x}, {c:#x}: {:#x}, not {expected:#x}",
            result[lane]
        );
    }
}
