//! Damaged PTX is refused or taken, but never stops the parser itself.

use std::path::Path;

use proptest::prelude::*;
use simt::ptx::{ast::Op, parse};

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    ["nvcc_lineinfo.sm_90.ptx", "llvm.sm_75.ptx"]
        .iter()
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .collect()
}

/// Pieces that the grammar cares about, put where they do not belong.
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
    // What is taken keeps the promises that lowering relies on.
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

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
