//! Tests of the flags that the text of the documentation names: each is one of a command's.

use std::{collections::BTreeMap, process::Command};

use pulldown_cmark::Event;

use super::{commands::binary, pages};

/// The flags that are those of other programs than `reduce`, `transpose` and `access`.
const OTHERS: [(&str, &str); 5] = [
    ("--axis", "warpfold"),
    ("--count", "simt run"),
    ("--cuda-std", "cargo xtask build-ptx"),
    ("--trace", "simt run"),
    ("--way", "reducer, a benchmark"),
];

/// The commands that write a table.
const WITH_TABLES: [&str; 10] = [
    "reduce ladder",
    "reduce sweep",
    "reduce tune",
    "reduce quiz",
    "reduce profile",
    "reduce compare",
    "reduce rows",
    "transpose compare",
    "transpose profile",
    "access all",
];

/// The help of a command, such as `reduce ladder`.
fn help(command: &str) -> String {
    let (tool, subcommand) = command.split_once(' ').unwrap_or((command, ""));
    let args = subcommand.split_whitespace().chain(["--help"]);
    let output = Command::new(binary(tool)).args(args).output().unwrap();
    assert!(output.status.success(), "{command}");
    String::from_utf8(output.stdout).unwrap()
}

/// The flags in a text, such as `--format`.
fn flags(text: &str) -> impl Iterator<Item = &str> {
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    text.split(is_other).filter(|word| word.starts_with("--") && word.len() > 3)
}

#[test]
fn every_flag_that_the_text_names_is_one() {
    let mut known: BTreeMap<String, String> =
        OTHERS.iter().map(|(flag, command)| ((*flag).to_owned(), (*command).to_owned())).collect();
    let single =
        ["reduce", "transpose", "access", "reduce explain", "transpose explain", "access explain"];
    for command in single.iter().chain(&WITH_TABLES) {
        for flag in flags(&help(command)) {
            known.insert(flag.to_owned(), (*command).to_owned());
        }
    }
    let mut unknown = Vec::new();
    let mut count = 0;
    for page in pages() {
        for (event, range) in page.events() {
            let Event::Code(code) = event else { continue };
            if code.starts_with("cargo ") {
                continue;
            }
            for flag in flags(&code) {
                count += 1;
                if !known.contains_key(flag) {
                    unknown.push(format!("{}: no command has {flag}", page.place(range.start)));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(count > 50, "{count}");
}

/// The chapter on the whole ladder says that every command with a table has these formats.
#[test]
fn every_command_with_a_table_has_the_formats() {
    for command in WITH_TABLES {
        let help = help(command);
        for flag in ["--format", "--json", "--table", "--chart"] {
            assert!(flags(&help).any(|found| found == flag), "{command} has no {flag}");
        }
        for format in ["markdown", "csv", "json", "svg", "html"] {
            assert!(help.contains(format), "{command}: {format}");
        }
    }
}
