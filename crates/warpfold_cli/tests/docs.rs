//! The commands `warpfold` in the documentation run, and print what is shown.

#[path = "../../../tests/support/console.rs"]
mod console;
mod help;
mod program;

use std::{fs, path::Path, process::Stdio};

#[test]
fn its_commands_run_and_print_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = ["README.md", "crates/warpfold_cli/README.md", "guide/src"];
    let pages = console::Page::read(&root, &names);
    // The elements 1 2 3 4, a matrix with the rows 1 2 3 and 10 20 30, the offsets 0 1 1 4,
    // and the keys 0 0 2 0, as in the documentation.
    let folder = tempfile::tempdir().unwrap();
    let elements: Vec<u8> = [1i32, 2, 3, 4].into_iter().flat_map(i32::to_le_bytes).collect();
    let path = folder.path().join("data.npy");
    let dtype = warpfold_tools::arrays::Dtype::I32;
    warpfold_tools::arrays::write_npy(&path, dtype, &[4], &elements).unwrap();
    let elements: Vec<u8> =
        [1i32, 2, 3, 10, 20, 30].into_iter().flat_map(i32::to_le_bytes).collect();
    let path = folder.path().join("matrix.npy");
    warpfold_tools::arrays::write_npy(&path, dtype, &[2, 3], &elements).unwrap();
    let offsets: Vec<u8> = [0i32, 1, 1, 4].into_iter().flat_map(i32::to_le_bytes).collect();
    let path = folder.path().join("offsets.npy");
    warpfold_tools::arrays::write_npy(&path, dtype, &[4], &offsets).unwrap();
    let keys: Vec<u8> = [0i32, 0, 2, 0].into_iter().flat_map(i32::to_le_bytes).collect();
    let path = folder.path().join("keys.npy");
    warpfold_tools::arrays::write_npy(&path, dtype, &[4], &keys).unwrap();

    let mut count = 0;
    for command in pages.iter().flat_map(console::commands) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let (["cargo", "run", "--bin", "warpfold", "--", args @ ..] | ["warpfold", args @ ..]) =
            words.as_slice()
        else {
            continue;
        };
        let (args, redirect) = match args {
            [args @ .., ">", file] => (args, Some(file)),
            args => (args, None),
        };
        let output = program::warpfold()
            .args(args)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (mut stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            output.status.code(),
            Some(command.status),
            "{}: $ {}\n{stdout}{stderr}",
            command.place,
            command.line
        );
        if let Some(file) = redirect {
            fs::write(folder.path().join(file), &stdout).unwrap();
            stdout.clear();
        }
        let wrong = command.differences(&stdout, &stderr);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        count += 1;
    }
    assert!(count > 5, "the documentation has such commands");
}

/// The README lists each operation, and nothing else as one.
#[test]
fn the_readme_lists_the_operations() {
    let readme = include_str!("../README.md");
    let (_, table) = readme.split_once("|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let mut listed: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split(','))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    let mut operations = help::operations();
    listed.sort_unstable();
    operations.sort_unstable();
    assert_eq!(listed, operations);
}
