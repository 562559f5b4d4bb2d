//! The parser refuses or accepts damaged PTX, and it never panics or hangs.

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use simt::ptx::{ast::Op, parse};
use simt::{LoadError, Module, Refusal};

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    ["nvcc_lineinfo.sm_90.ptx", "llvm.sm_75.ptx"]
        .iter()
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .collect()
}

/// Pieces of text that have a meaning in the grammar, for use in wrong places.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ";",
    ":",
    ",",
    "|",
    "@",
    "!",
    "-",
    "+",
    ".",
    "%",
    "_",
    "\"",
    "/*",
    "//",
    "0x",
    "0f",
    "99999999999999999999",
    "18446744073709551615",
    "-9223372036854775808",
    ".reg .b32 %z<1000000>;",
    ".entry",
    ".func",
    "call (a), b, (c);",
    ".section .debug_str {",
    ".loc 1 1 1, function_name x, inlined_at 1 1 1",
    ".v4",
    ".pred",
    "brx.idx %r1, x;",
    "mbarrier.arrive.shared.b64 _, [x], 1;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], [%rd1], 16, [%rd1];",
    ".shared::cluster",
    "x: .branchtargets x;",
    "é",
    "\0",
    "{{{{{{{{{{{{{{{{{{{{",
    ".b8 x[4294967296][4294967296]",
    "[%rd1+-9223372036854775808]",
    "= {{1, 2}, generic(x)+4}",
];

fn examine(text: &str) -> Result<(), TestCaseError> {
    let module = match parse("damaged.ptx", text) {
        Err(error) => {
            prop_assert!(error.line >= 1 && error.column >= 1 && !error.message.is_empty());
            prop_assert!(!error.to_string().is_empty());
            return Ok(());
        }
        Ok(module) => module,
    };
    // A module that is accepted keeps the promises on which lowering relies.
    for function in module.functions.iter().filter(|function| function.defined) {
        prop_assert!(!function.body.is_empty());
        for instruction in &function.body {
            prop_assert!(!module.text(instruction.span).is_empty());
            match &instruction.op {
                Op::Bra { target, .. } => prop_assert!(target.index() < function.body.len()),
                Op::BrxIdx { targets, .. } => {
                    prop_assert!(targets.iter().all(|target| target.index() < function.body.len()));
                }
                Op::Call { callee, .. } => prop_assert!(module.functions[callee.index()].defined),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The line, the column and the message of the error for these bytes.
#[track_caller]
fn refusal(bytes: &[u8]) -> (u32, u32, String) {
    match Module::from_bytes("damaged.ptx", bytes) {
        Ok(module) => {
            let refusals = module.kernels().iter().flat_map(simt::Kernel::refusals);
            let Refusal { line, column, reason, .. } = refusals.last().expect("this was taken");
            (*line, *column, reason.clone())
        }
        Err(LoadError::Syntax(error)) => (error.line, error.column, error.message),
        Err(other) => panic!("{other}"),
    }
}

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

#[test]
fn truncated_at_every_byte() {
    let sample = include_bytes!("data/nvcc_inlined.sm_75.ptx");
    let mut taken = 0;
    for length in 0..sample.len() {
        match Module::from_bytes("damaged.ptx", &sample[..length]) {
            // Before and after a function, the text that is left may be a module.
            Ok(_) => taken += 1,
            Err(LoadError::Syntax(error)) => {
                let line = sample[..length]
                    .split(|byte| *byte == b'\n')
                    .nth(error.line as usize - 1)
                    .unwrap();
                assert!(
                    (1..=line.len() + 1).contains(&(error.column as usize)),
                    "{length} bytes: {error}"
                );
            }
            Err(other) => panic!("{length} bytes: {other}"),
        }
    }
    assert!(taken < sample.len() / 4, "{taken} of {} prefixes were taken", sample.len());
    Module::from_bytes("whole.ptx", sample).unwrap();
}

#[test]
fn bytes_that_are_no_text() {
    let cases = [
        (&b"\xff"[..], (1, 1, "byte 0xff is not UTF-8")),
        (b".version 8.0\n.target \xc3", (2, 9, "byte 0xc3 is not UTF-8")),
        // Columns count characters, and not bytes.
        (
            "// \u{e9}\u{e9}".as_bytes(),
            (1, 6, "expected `.version`, which begins every PTX file, found the end of the file"),
        ),
        (b".version 8.0\0", (1, 13, "unexpected character `\\u{0}`")),
    ];
    for (bytes, expected) in cases {
        let (line, column, message) = refusal(bytes);
        assert_eq!((line, column, message.as_str()), expected);
    }
    let after_text = [b"// \xc3\xa9\xc3\xa9 ", &b"\xe9 latin"[..]].concat();
    assert_eq!(refusal(&after_text), (1, 7, "byte 0xe9 is not UTF-8".to_owned()));
}

#[test]
fn what_nests_without_end() {
    let many = 100_000;
    let cases = [
        (
            format!("{HEAD}.entry k() {{ {}", "{".repeat(many)),
            (4, 269, "blocks nest at most 256 deep"),
        ),
        (
            format!("{HEAD}.global .u32 x = {};", "{".repeat(many)),
            (4, 18, "initialisers nest at most 16 deep"),
        ),
        (
            format!("{HEAD}.global .u32 x = {}1;", "-".repeat(many)),
            (4, 19, "expected a number, found `-`"),
        ),
        (format!("{HEAD}.entry k{}", "(".repeat(many)), (4, 10, "expected `.param`, found `(`")),
    ];
    for (text, (line, column, message)) in cases {
        assert_eq!(refusal(text.as_bytes()), (line, column, message.to_owned()));
    }
}

/// Functions that each call the previous one `calls` times, and a kernel that calls the last
/// function.
fn chain(functions: usize, calls: usize) -> String {
    let mut text = format!("{HEAD}.func f0() {{ ret; }}\n");
    for i in 1..functions {
        let _ =
            writeln!(text, ".func f{i}() {{ {} ret; }}", format!("call f{};", i - 1).repeat(calls));
    }
    text + &format!(".entry k() {{ call f{}; ret; }}", functions - 1)
}

#[test]
fn calls_that_nest_without_end() {
    Module::from_ptx("chain.ptx", &chain(256, 1)).unwrap();
    // This text once caused a stack overflow.
    assert_eq!(
        refusal(chain(100_000, 1).as_bytes()),
        (99_748, 18, "calls nest at most 256 deep".to_owned())
    );
    let (line, _, message) = refusal(chain(60, 2).as_bytes());
    assert_eq!((line, message.as_str()), (5, "more than 4194304 instructions after inlining"));
}

#[test]
fn few_words_that_ask_for_much() {
    let registers = |i| format!(".func f{i}() {{ .reg .b32 %q<1048576>; ret; }}\n");
    let variables = |i| format!(".global .b8 g{i}[16777216] = {{1}};\n");
    let cases = [
        // Each of these texts once took gigabytes of memory.
        (
            (0..5).map(registers).collect(),
            (8, 24, "a module may declare at most 4194304 registers"),
        ),
        (
            (0..17).map(variables).collect(),
            (20, 29, "the initialised variables have more than 268435456 bytes in all"),
        ),
        (
            format!(
                ".func f() {{ .reg .b32 %q<1000000>; mov.u32 %q1, 1; ret; }}\n.entry k() {{ {} ret; }}",
                "call f;".repeat(100)
            ),
            (5, 21, "more than 1048576 registers after inlining"),
        ),
        (
            format!(
                ".entry k() {{ .reg .b32 %r; l: t: .branchtargets {}l; {} ret; }}",
                "l,".repeat(10_000),
                "brx.idx %r, t;".repeat(1_000)
            ),
            (4, 21_520, "branches have more than 1048576 targets in all"),
        ),
        (".shared .b8 x[4000000000]; .entry k() { ret; }".to_owned(), (0, 0, "")),
        (
            ".entry k() { .shared .b8 x[4000000000]; ret; }".to_owned(),
            (4, 14, "more than 232448 bytes of static shared memory"),
        ),
        (
            ".entry k() { .local .b8 x[1099511627776]; ret; }".to_owned(),
            (4, 14, "more than 524288 bytes of local memory for each thread"),
        ),
        (
            ".entry k() { .local .b8 x[1099511627777]; ret; }".to_owned(),
            (4, 26, "this array is larger than 2^40 elements"),
        ),
    ];
    for (text, (line, column, message)) in cases {
        let text = format!("{HEAD}{text}");
        if message.is_empty() {
            // Nothing uses the variable, so its size does not matter.
            assert!(Module::from_ptx("large.ptx", &text).is_ok());
        } else {
            assert_eq!(refusal(text.as_bytes()), (line, column, message.to_owned()));
        }
    }
}

#[test]
fn numbers_that_are_too_large() {
    for (number, message) in [
        ("99999999999999999999", "`99999999999999999999` is not a number"),
        ("0x1ffffffffffffffff", "`0x1ffffffffffffffff` is not a number"),
    ] {
        let text = format!("{HEAD}.entry k() {{ .reg .b32 %r; mov.b32 %r, {number}; }}");
        assert_eq!(refusal(text.as_bytes()), (4, 40, message.to_owned()));
    }
    let digits = "9".repeat(1_000_000);
    let (line, column, message) = refusal(format!("{HEAD}.reg .b32 %r<{digits}>;").as_bytes());
    assert_eq!((line, column, message.len()), (4, 14, digits.len() + 18));
}

/// The file that keeps the seeds of failed cases. It is named here because proptest derives a name
/// only for tests in a folder with a `main.rs`.
#[expect(clippy::unnecessary_wraps, reason = "the type is that of the configuration's field")]
fn kept() -> Option<Box<dyn FailurePersistence>> {
    Some(Box::new(FileFailurePersistence::Direct("tests/proptest-regressions/ptx_robust.txt")))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: kept(),
        ..ProptestConfig::default()
    })]

    #[test]
    fn damaged_files(file in 0usize..2, edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0..PIECES.len()), 1..4)) {
        let mut text = corpus().swap_remove(file);
        for (at, removed, piece) in edits {
            let start = text.floor_char_boundary(at.index(text.len()));
            let end = text.floor_char_boundary((start + removed).min(text.len()));
            text.replace_range(start..end, PIECES[piece]);
        }
        examine(&text)?;
    }

    #[test]
    fn truncated_files(file in 0usize..2, at in any::<prop::sample::Index>()) {
        let mut text = corpus().swap_remove(file);
        text.truncate(text.floor_char_boundary(at.index(text.len())));
        examine(&text)?;
    }

    #[test]
    fn swapped_words(file in 0usize..2, a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let text = corpus().swap_remove(file);
        let mut words: Vec<&str> = text.split_inclusive(|c: char| c.is_whitespace() || ",;[]{}.".contains(c)).collect();
        let (a, b) = (a.index(words.len()), b.index(words.len()));
        words.swap(a, b);
        examine(&words.concat())?;
    }

    #[test]
    fn noise(text in ".{0,200}") {
        examine(&text)?;
        examine(&format!(".version 8.0\n.target sm_75\n{text}"))?;
        examine(&format!(".version 8.0\n.target sm_75\n.entry k() {{ {text} }}"))?;
    }
}
